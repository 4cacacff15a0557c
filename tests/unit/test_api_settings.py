"""Settings of a release: checked before any row is read, and written to the transcript whole."""

from fractions import Fraction

import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import ParameterError, SchemaError
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.release.runs.reading import read_settings
from lapwing.release.runs.settings import SETTINGS, Settings

FIELDS = {"fields": [{"name": "x", "type": "boolean"}]}


def settings(schema=FIELDS, **changes):
    return read_settings(schema, **({"epsilon": 1} | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"neighbours": "bounded"}, "neighbours must be one of add-remove, replace-one"),
        ({"mechanism": "AIM"}, "there is no mechanism 'AIM'; choose one of"),
        ({"mechanism": Independent}, "mechanism must be a name or settings"),
        ({"mechanism": 3}, "mechanism must be a name or settings"),
        ({"expected_rows": 0}, "expected_rows must be a whole number from 1"),
        ({"expected_rows": 10.5}, "expected_rows must be a whole number from 1"),
        ({"expected_rows": True}, "expected_rows must be a whole number from 1"),
        ({"seed": -3}, "seed must be a whole number"),
        ({"rho": 1}, "epsilon"),
        ({"epsilon": None}, "epsilon"),
    ],
)
def test_a_setting_outside_its_range_is_refused(changes, message):
    with pytest.raises(ParameterError, match=message):
        settings(**changes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lw.Schema.learn([], epsilon=1), r"learn\(\): missing a required argument: 'schema'; it takes data"),
        (lambda: lw.synthesize([], FIELDS, 1), r"too many positional arguments; .* and, by name, epsilon, delta, rho"),
        (lambda: lw.synthesize([], FIELDS, epsilo=1), "unexpected keyword argument 'epsilo'; .* epsilon, delta"),
        (
            lambda: lw.Synthesizer(FIELDS, epsilo=1),
            r"Synthesizer\(\): .* 'epsilo'; it takes schema and, by",
        ),
        (lambda: lw.Synthesizer(FIELDS, data=1), "unexpected keyword argument 'data'"),
        (lambda: lw.Synthesizer(FIELDS).set_params(epsilo=1), "no setting 'epsilo'; Synthesizer takes schema, epsilon"),
    ],
)
def test_a_missing_or_unknown_setting_is_named_with_the_valid_ones(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


def test_a_mechanism_that_does_not_support_the_relation_is_refused():
    class ReplaceOnly(lw.Mechanism):
        name = "ReplaceOnly"
        relations = ("replace-one",)

        def run(self, curator, schema, budget, rng):
            """Do nothing."""

    with pytest.raises(ParameterError, match="ReplaceOnly supports the neighbour relation replace-one"):
        settings(mechanism=lw.Trusted(ReplaceOnly()))


def test_a_draft_is_told_what_is_open_and_a_filled_one_that_it_is_a_draft():
    with pytest.raises(SchemaError, match=r"is a draft; still open: age \(minimum, maximum, provenance\); fill"):
        settings(lw.Schema.draft(pl.DataFrame({"age": [1]})))
    with pytest.raises(SchemaError, match="the schema is a draft: its owner must"):
        settings({**FIELDS, "draft": True})


def test_settings_survive_their_json_form():
    asked = settings(epsilon=None, rho="0.1", mechanism=Independent(groups=9), seed=5, expected_rows=100)

    read = Settings.from_dict(SETTINGS.write(asked))

    assert read == asked
    assert read.request.budget.amount == Fraction(1, 10)
