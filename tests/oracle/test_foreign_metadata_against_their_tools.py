"""Metadata of SDV, SmartNoise SQL and mbi: the files are what the tools write, and the schema what the tools read.

make oracle
python3 tools/bootstrap.py oracle-sdv
.venv-oracle-sdv/bin/python -m pytest tests/oracle/test_foreign_metadata_against_their_tools.py
"""

import json

import pytest

from helpers.foreign_files import FOREIGN
from helpers.foreign_makers import make, tools
from lapwing.extras.connect.metadata.reading import read_foreign

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

TOOLS = tools()
if not TOOLS:
    pytest.skip("needs requirements/oracle-sdv.txt, -sdv1, -smartnoise or -mbi", allow_module_level=True)
SDV = [tool for tool in TOOLS if tool.startswith("sdv")]
SDTYPES = {"boolean": "boolean", "numerical": "number", "categorical": "string", "ordinal": "string"}


def value_of(text, name):
    if name.endswith(".json"):
        return json.loads(text)
    import yaml

    return yaml.safe_load(text)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_files_are_what_the_tool_writes_today(tool):
    written = make(tool)

    assert written
    for name, text in written.items():
        assert value_of((FOREIGN / name).read_text(encoding="utf-8"), name) == value_of(text, name), name


@pytest.mark.parametrize("tool", SDV)
@pytest.mark.parametrize("name", ["adult", "visits"])
def test_sdv_reads_the_same_columns_from_its_file(tool, name):
    from sdv.metadata import Metadata

    path = FOREIGN / f"{tool}-{name}.json"
    theirs = Metadata.load_from_json(path)
    theirs.validate()
    for table, described in theirs.tables.items():
        ours = read_foreign(path, table=table).schema
        assert [field.name for field in ours.fields] == list(described.columns)
        for field in ours.fields:
            check_sdv(field, described.columns[field.name], described)


def check_sdv(field, theirs, table):
    """Compare one field with SDV's column."""
    sdtype = theirs["sdtype"]
    is_key = field.name == table.primary_key or field.name in table.alternate_keys
    is_made_up = is_key or (sdtype not in SDTYPES | {"datetime": ""} and theirs.get("pii", True))
    assert field.identifier == bool(is_made_up)
    if is_made_up:
        return
    assert field.required == (not theirs.get("range_is_nullable", True))
    if sdtype == "datetime":
        import pandas as pd

        for bound, key in ((field.minimum, "range_min"), (field.maximum, "range_max")):
            stated = theirs.get(key)
            assert (bound is None) == (stated is None)
            assert stated is None or pd.Timestamp(bound) == pd.to_datetime(stated, format=theirs["datetime_format"])
        return
    assert (field.minimum, field.maximum) == (theirs.get("range_min"), theirs.get("range_max"))
    listed = theirs.get("range_values", theirs.get("order"))
    assert (field.categories is None) == (listed is None)
    assert set(field.categories or ()) == set(listed or ())
    is_whole = theirs.get("decimal_places") == 0 or "Int" in theirs.get("computer_representation", "")
    assert field.type == ("integer" if is_whole else SDTYPES.get(sdtype, "string"))


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool == "smartnoise"])
@pytest.mark.parametrize(
    ("name", "table"), [("adult", "adult"), ("visits", "visits"), ("visits", "wards")], ids=["adult", "visits", "wards"]
)
def test_smartnoise_reads_the_same_columns_from_its_file(tool, name, table):
    from snsql.metadata import Metadata

    path = FOREIGN / f"smartnoise-{name}.yaml"
    (theirs,) = [found for found in Metadata.from_file(str(path)).tables() if found.name == table]
    ours = read_foreign(path, table=table).schema
    keys = theirs.key_cols()

    assert [field.name for field in ours.fields] == [column.name for column in theirs.columns()]
    assert ours.unit_label == (f"{keys[0].name}:{theirs.max_ids}" if keys and not theirs.row_privacy else "row")
    kinds = {"int": "integer", "float": "number"}
    for field, column in zip(ours.fields, theirs.columns(), strict=True):
        assert field.identifier == column.is_key
        assert field.type == kinds.get(column.typename(), column.typename())
        assert (field.minimum, field.maximum) == (getattr(column, "lower", None), getattr(column, "upper", None))
        assert field.required == (not column.nullable and not column.is_key and column.missing_value is None)


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool == "mbi"])
def test_mbi_reads_the_same_sizes_from_its_file(tool):
    from tmlt.private_pgm import Domain

    path = FOREIGN / "mbi-adult-domain.json"
    theirs = Domain.fromdict(json.loads(path.read_text()))
    ours = read_foreign(path).schema

    assert tuple(field.name for field in ours.columns) == theirs.attrs
    assert tuple(field.domain.values for field in ours.columns) == theirs.shape
