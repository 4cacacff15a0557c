"""Synthetic rows go to SPSS and Stata with their labels, and no schema makes the writing fail after the debit."""

import json
import resource
import signal
import sys
from pathlib import Path

import polars as pl
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as lw
from helpers import make
from helpers.command import lapwing
from lapwing.errors import LapwingError
from lapwing.extras.connect.tables.statistics_out import write_statistics
from lapwing.rows.out.writers import write_rows
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

READ = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=90)
NAMES = TEXTS.filter(lambda text: text and "\0" not in text) | st.sampled_from(
    ["all", "ALL", "int", "str3", "a", "A", "*", "^.*$", "_n", "1", "a b", "x" * 300, "é" * 40]
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([2.0**31 - 1, 0.5, 1e308])
VALUES = {"integer": st.integers(-(2**53) + 1, 2**53 - 1), "number": NUMBERS, "string": TEXTS}
SEXES = [{"value": 1, "label": "male"}, {"value": 2, "label": "female"}]
LABELLED = {
    "fields": [
        {"name": "sex", "type": "integer", "categories": SEXES},
        {"name": "age", "type": "number", "constraints": {"minimum": 0, "maximum": 9},
         "special": [{"value": -9, "label": "refused"}], "description": "Age in years"},
        {"name": "of code", "type": "string", "categories": [{"value": "A", "label": "Alpha"}, "B"]},
    ]
}  # fmt: skip


@st.composite
def listed_field(draw, name):
    kind = draw(st.sampled_from(sorted(VALUES)))
    values = tuple(draw(st.lists(VALUES[kind], min_size=1, max_size=4, unique=True)))
    keys = [str(value) if kind != "number" else repr(value).removesuffix(".0") for value in values]
    labels = tuple((key, draw(TEXTS) * draw(st.integers(0, 5))) for key in keys)
    return Field(name=name, type=kind, categories=values, labels=labels, description=draw(TEXTS), missing_values=())


@pytest.mark.parametrize("suffix", READ)
@given(names=st.lists(NAMES, min_size=1, max_size=5, unique=True), data=st.data())
def test_no_name_label_or_value_of_a_schema_makes_it_fail(tmp_path_factory, suffix, names, data):
    fields = [data.draw(listed_field(name)) for name in names]
    frame = pl.DataFrame({field.name: pl.Series([field.categories[-1], None], strict=False) for field in fields})
    place = tmp_path_factory.mktemp("out") / f"rows{suffix}"
    write_statistics(iter([frame, frame]), place, suffix, fields)
    found, about = READ[suffix](place, output_format="dict")
    assert len({name.lower() for name in found}) == len(names)
    assert {len(cells) for cells in found.values()} == {4}
    for written, field in zip(found, fields, strict=True):
        assert about.column_names_to_labels[written] or field.name == written or field.description


@pytest.mark.parametrize("suffix", READ)
def test_labels_of_a_schema_come_back_out(place, suffix):
    make.files(place, {"s.json": LABELLED})
    pl.DataFrame({"sex": [1, 2] * 300, "age": [3.5, -9.0] * 300, "of code": ["A", "B"] * 300}).write_csv("d.csv")
    said = lapwing(f"synthesize d.csv --schema s.json --epsilon 5 --delta 1e-6 -o out{suffix} --model m.lapwing")
    assert said.status == 0, said.err
    assert lapwing(f"certificate verify out{suffix}.certificate.json out{suffix} m.lapwing").status == 0
    assert lapwing(f"sample m.lapwing --rows 50 -o again{suffix}").status == 0
    for name, rows in (("out", None), ("again", 50)):
        found, about = READ[suffix](f"{name}{suffix}", output_format="dict")
        assert set(found["sex"]) <= {1, 2, None}
        assert rows in (None, len(found["sex"]))
        labels = {"sex": {1: "male", 2: "female"}, "age": {-9: "refused"}}
        assert about.variable_value_labels == labels | ({"of_code": {"A": "Alpha"}} if suffix == ".sav" else {})
        assert about.column_names_to_labels == {"sex": None, "age": "Age in years", "of_code": "of code"}
    # What was written describes itself as the first file did.
    assert lapwing(f"schema convert out{suffix} -o back.json").status == 0
    (sex, *_) = json.loads(Path("back.json").read_text())["fields"]
    assert sex["categories"] == SEXES


def test_labels_stay_with_the_values_that_a_field_has():
    schema = Schema.load(LABELLED)
    assert schema.to_dict()["fields"][0]["categories"] == SEXES
    assert Schema.load(schema.to_dict()) == schema
    sex = Field(name="sex", type="integer", categories=(2, 1), labels=(("1", "male"), ("3", "other"), ("2", "")))
    assert sex.labels == (("1", "male"),)
    with pytest.raises(lw.LapwingError, match="labels"):
        Field(name="sex", type="integer", categories=(2, 1), labels=("1", "male"))


def test_without_the_library_nothing_is_paid(place, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    make.files(place, {"s.json": LABELLED})
    pl.DataFrame({"sex": [1, 2], "age": [3.5, -9.0], "of code": ["A", "B"]}).write_csv("d.csv")
    opened = "ledger init d --unit zcdp --limit 9 --neighbours add-remove --privacy-unit row --delta 1e-5"
    assert lapwing(opened).status == 0
    before = lapwing("ledger show d").out
    said = lapwing("synthesize d.csv --schema s.json --epsilon 5 --delta 1e-6 -o out.sav --ledger d")
    assert said.status != 0
    assert "[LW701]" in said.err
    assert lapwing("ledger show d").out == before
    assert not Path("out.sav").exists()


@pytest.mark.parametrize("suffix", READ)
def test_a_disk_that_is_full_is_told(tmp_path, suffix):
    """The library writes what fits, and says nothing."""
    rows = pl.DataFrame({"age": [float(each) for each in range(50_000)]})
    field = Field(name="age", type="number", minimum=0, maximum=9)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, limits[1]))
    try:
        with pytest.raises(LapwingError, match="not whole when it is read back; is the disk full"):
            write_rows(iter([rows]), tmp_path / f"rows{suffix}", suffix[1:], fields=[field])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
