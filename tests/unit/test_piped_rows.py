"""Zipped rows out, and rows that come by standard input and go by standard output."""

import datetime as dt
import gzip
import json
import subprocess
import sys

import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from lapwing.extras.evaluate.internal.schemas import draft_schema
from lapwing.schema.schemas import Schema

FRAME = pl.DataFrame(
    {
        "age": [31, 45, None, 7],
        "sex": ["f", "m", "m", None],
        "day": [dt.date(2010, 12, 31), None, dt.date(2001, 2, 3), dt.date(2020, 2, 29)],
    }
)
SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}},
            {"name": "sex", "type": "string", "categories": ["f", "m"]},
            {"name": "day", "type": "date", "constraints": {"minimum": "2000-01-01", "maximum": "2029-12-31"}},
        ]
    }
)


def many(tmp_path):
    data = pl.concat([FRAME] * 100)
    SCHEMA.save(tmp_path / "s.json")
    data.write_csv(tmp_path / "rows.csv")
    return data


SPEND = ["--schema", "s.json", "--epsilon", "50", "--mechanism", "independent", "--seed", "1"]


def test_zipped_rows_hold_what_plain_ones_do_and_equal_rows_are_equal_files(tmp_path):
    release = lw.synthesize(many(tmp_path), SCHEMA, epsilon=50, mechanism="independent", seed=1)
    for name in ("a.csv", "a.csv.gz", "b.CSV.GZ"):
        release.write(tmp_path / name)

    plain, zipped, other = ((tmp_path / name).read_bytes() for name in ("a.csv", "a.csv.gz", "b.CSV.GZ"))
    assert gzip.decompress(zipped) == plain
    assert zipped == other


def piped(folder, *arguments, given=b""):
    """Run a command line in a process of its own, and return what it wrote to standard output."""
    line = [sys.executable, "-c", "from lapwing.cli.main import run; run()", *arguments]
    done = subprocess.run(line, input=given, capture_output=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("is_zipped", [False, True])
def test_rows_come_by_standard_input_and_go_by_standard_output(tmp_path, is_zipped):
    many(tmp_path)
    given = (tmp_path / "rows.csv").read_bytes()

    out = piped(
        *(tmp_path, "synthesize", "-", *SPEND, "-o", "-", "--certificate", "c.json"),
        given=gzip.compress(given) if is_zipped else given,
    )

    found = pl.read_csv(out)
    assert found.columns == FRAME.columns
    assert 300 < found.height < 500
    assert 0.15 < found["sex"].null_count() / found.height < 0.35
    assert json.loads((tmp_path / "c.json").read_text())["written_rows"] == found.height
    assert not (tmp_path / "-").exists()


def test_rows_of_standard_output_need_a_place_for_the_certificate_or_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    release = lw.synthesize(many(tmp_path), SCHEMA, epsilon=50, mechanism="independent", seed=1)
    release.save(tmp_path / "m.lapwing")

    refused = lapwing("synthesize", "rows.csv", *SPEND, "-o", "-")
    drawn = piped(tmp_path, "sample", "m.lapwing", "--rows", "5", "-o", "-")
    alone = piped(tmp_path, "synthesize", "rows.csv", *SPEND, "-o", "-", "--no-certificate")

    assert "name it with --certificate C.json, or give --no-certificate" in refused.error
    assert refused.code == "LW316"
    assert len(drawn.splitlines()) == 6
    assert {each.splitlines()[0] for each in (drawn, alone)} == {b"age,sex,day"}


def test_a_draft_of_standard_input_is_that_of_the_file(tmp_path):
    many(tmp_path)

    piped(tmp_path, "schema", "draft", "-", "-o", "drafted.json", given=(tmp_path / "rows.csv").read_bytes())

    assert Schema.load_draft(tmp_path / "drafted.json") == draft_schema(tmp_path / "rows.csv").value
