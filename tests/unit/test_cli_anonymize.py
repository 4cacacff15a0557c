"""lapwing anonymize: rows and what is said about them, in files and on stderr."""

import json

import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from helpers.source_tree import PACKAGE

DATA, SCHEMA = PACKAGE / "examples" / "adult.parquet", PACKAGE / "examples" / "adult.schema.json"
NOTICE = "k-anonymous with k = 25, not differentially private; homogeneous groups can reveal shared values"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return a few hundred rows of Adult."""
    path = tmp_path_factory.mktemp("anonymize") / "small.parquet"
    pl.read_parquet(DATA).head(400).write_parquet(path)
    return path


def anonymize(data, out, *more, size=25):
    return lapwing("anonymize", data, "--schema", SCHEMA, "--min-group-size", size, "-o", out, *more)


def test_the_notice_is_on_stderr_and_in_both_files(small, tmp_path):
    said = anonymize(small, tmp_path / "out.parquet", "--seed", 1)

    assert (said.status, said.out) == (0, "")
    assert said.err.splitlines()[0] == f"lapwing: {NOTICE}"
    about = json.loads((tmp_path / "out.parquet.anonymous.json").read_text())
    assert (about["notice"], about["k"], about["rows"], about["seed"]) == (NOTICE, 25, 400, 1)
    assert json.loads(pl.read_parquet_metadata(tmp_path / "out.parquet")["lapwing"]) == about
    assert {path.name for path in tmp_path.iterdir()} == {"out.parquet", "out.parquet.anonymous.json"}


def test_the_rows_are_those_of_the_function(small, tmp_path):
    chosen = ("--partition", "mdav", "--no-improve", "--categories", "mode", "--rows", 50, "--seed", 7)

    said = anonymize(small, tmp_path / "out.parquet", *chosen)

    assert said.status == 0
    made = lw.anonymize(small, SCHEMA, 25, partition="mdav", improve=False, categories="mode", rows=50, seed=7)
    assert pl.read_parquet(tmp_path / "out.parquet").equals(made.data)
    about = json.loads((tmp_path / "out.parquet.anonymous.json").read_text())
    assert about == json.loads(json.dumps(made.to_dict()))
    assert about["settings"] == {
        "min_group_size": 25,
        "variant": "default",
        "partition": "mdav",
        "improve": False,
        "output": "systematic",
        "categories": "mode",
        "rows": 50,
    }
