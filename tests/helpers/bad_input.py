"""Make bad input in every form, run it through Python and the command line, and look for planted values."""

import json
from pathlib import Path

import pandas as pd

import lapwing as lw
from helpers import planted_values as canary
from helpers.command import lapwing
from helpers.planted_values import SCHEMA, watched

FORMS = ["polars", "lazy", "pandas", "pandas objects", "arrow", "parquet", "csv", "two files"]


def in_form(frame, form, folder):
    """Return a table as a frame of some library, or as the files that hold it."""
    if form == "polars":
        return frame
    if form == "lazy":
        return frame.lazy()
    if form == "pandas":
        return frame.to_pandas()
    if form == "pandas objects":
        return pd.DataFrame({name: pd.Series(frame[name].to_list(), dtype=object) for name in frame.columns})
    if form == "arrow":
        return frame.to_arrow()
    if form == "two files":
        half = frame.height // 2
        return [in_form(frame[:half], "csv", folder), in_form(frame[half:], "parquet", folder)]
    path = folder / f"data.{form}"
    frame.write_parquet(path) if form == "parquet" else frame.write_csv(path)
    return path


def synthesize(data, schema=SCHEMA, **settings):
    settings = {"epsilon": 1, "seed": 1, **settings}
    return watched(lambda: lw.synthesize(data, schema, **settings))


def assert_hidden(outcome, capfd, folder, inputs=()):
    """Check every place where a planted value could show."""
    said = capfd.readouterr()
    assert canary.traces_in(said.out + said.err + outcome.warned) == []
    assert canary.traces_in_exception(outcome.error) == []
    assert canary.traces_in_files(folder, but=set(inputs)) == []


def assert_refused(outcome, kind, says):
    """Check that an error is one clear sentence of ours."""
    assert isinstance(outcome.error, kind), outcome
    message = str(outcome.error)
    assert says in message
    assert "\n" not in message
    assert message[:1].islower() or message.startswith(("Independent", "/"))
    assert not message.startswith("unexpected")


def command(data, schema="s.json", *more):
    """Run `lapwing synthesize` on files, and check that an error is one line and leaves no file."""
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    place = () if "-o" in more else ("-o", "out.csv")
    said = lapwing("synthesize", data, "--schema", schema, *place, *(more or ("--epsilon", "1")))
    assert canary.traces_in(said.out + said.err) == []
    if said.status:
        assert said.error
        assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before
    return said


def save_schema(schema=SCHEMA, name="s.json"):
    Path(name).write_text(json.dumps(schema))
