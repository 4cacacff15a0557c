"""Metadata that csvw writes, read as a schema, in an environment of its own.

python3.11 -m venv /tmp/mlcroissant
/tmp/mlcroissant/bin/python -m pip install --require-hashes -r requirements/oracle-mlcroissant.txt
PYTHONPATH=src /tmp/mlcroissant/bin/python -m pytest tests/oracle/test_csvw_against_csvw.py
"""

import json
from pathlib import Path

import pytest

metadata = pytest.importorskip("csvw.metadata", reason="needs requirements/oracle-mlcroissant.txt")

FIXTURE = Path(__file__).resolve().parents[1] / "data" / "foreign" / "csvw" / "people.json"

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

COLUMNS = [
    {"name": "id", "datatype": "integer"},
    {"name": "age", "datatype": {"base": "integer", "minimum": "0", "maximum": "120"}, "required": True},
    {"name": "height", "datatype": {"base": "decimal", "minimum": "0.3", "maximum": "2.5"}, "null": "NA"},
    {"name": "born", "datatype": {"base": "date", "minimum": "1900-01-01", "maximum": "2030-12-31"}},
    {"name": "smokes", "datatype": {"base": "boolean", "format": "yes|no"}},
    {"name": "city", "titles": "City of birth", "datatype": {"base": "string", "format": "Aix|Brno|Cork"}},
    {"name": "tags", "separator": ";"},
]


def group():
    people = {"url": "people.csv", "tableSchema": {"columns": COLUMNS, "primaryKey": "id"}}
    cities = {"url": "cities.csv", "tableSchema": {"columns": [{"name": "name"}]}}
    return metadata.TableGroup.fromvalue({"@context": "http://www.w3.org/ns/csvw", "tables": [people, cities]})


def test_the_file_that_the_tests_read_is_what_csvw_writes_today(tmp_path):
    group().to_file(tmp_path / "people.json")

    assert json.loads((tmp_path / "people.json").read_text()) == json.loads(FIXTURE.read_text())


def test_csvw_reads_a_table_by_the_bounds_that_were_taken_over(tmp_path):
    group().to_file(tmp_path / "people.json")
    (tmp_path / "people.csv").write_text(
        "id,age,height,born,smokes,City of birth,tags\n1,120,2.5,2030-12-31,no,Cork,a;b\n"
    )
    people = metadata.TableGroup.from_file(tmp_path / "people.json").tabledict["people.csv"]

    [row] = list(people)

    assert (row["age"], str(row["height"]), row["smokes"], row["city"]) == (120, "2.5", False, "Cork")
    (tmp_path / "people.csv").write_text(
        "id,age,height,born,smokes,City of birth,tags\n1,121,2.5,2030-12-31,no,Cork,a;b\n"
    )
    with pytest.raises(ValueError, match="120"):
        list(people)
