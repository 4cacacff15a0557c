"""`lapwing plan`: the plan on stdout, refusals on stderr, no file and no row."""

import json

import pytest

import lapwing as lw
from helpers.command import lapwing

SCHEMA = {"fields": [{"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}}]}


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "s.json"
    path.write_text(json.dumps(SCHEMA))
    return path


def test_it_prints_the_plan_and_writes_nothing(schema):
    said = lapwing("plan", "--schema", schema, "--expected-rows", 5000, "--epsilon", "0.5")

    assert (said.status, said.err) == (0, "")
    assert said.out == lw.plan(SCHEMA, expected_rows=5000, epsilon="0.5").text()
    assert [path.name for path in schema.parent.iterdir()] == ["s.json"]


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (["--epsilon", "1", "--delta", "1e-9"], {"epsilon": 1, "delta": "1e-9"}),
        (["--rho", "0.1", "--neighbours", "replace-one"], {"rho": "0.1", "neighbours": "replace-one"}),
        (["--rho", "1", "--mechanism", "independent"], {"rho": 1, "mechanism": "Independent"}),
        (
            ["--rho", "1", "--mechanism", "PMM", "--set", "depth=3", "--set", "variant=paper"],
            {"rho": 1, "mechanism": lw.PMM(depth=3, variant="paper")},
        ),
    ],
)
def test_its_options_are_the_settings_of_the_function(schema, options, settings):
    said = lapwing("plan", "--schema", schema, "--expected-rows", 5000, *options)

    assert said.out == lw.plan(SCHEMA, expected_rows=5000, **settings).text()
