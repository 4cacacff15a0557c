"""Whole schemas: reading, writing, looking up, and every way a file can be broken."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from lapwing.errors import DataError, SchemaError
from lapwing.schema.fields import Field, PrivacyUnit
from lapwing.schema.schemas import Schema

AGE: dict[str, Any] = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}}
SEX: dict[str, Any] = {"name": "sex", "type": "string", "categories": ["f", "m"], "provenance": "public"}
ID: dict[str, Any] = {"name": "id", "type": "integer", "role": "identifier"}


def table(*fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"fields": list(fields or (AGE, SEX)), **more}


def write(folder: Path, content: bytes) -> Path:
    path = folder / "schema.json"
    path.write_bytes(content)
    return path


def test_every_shared_schema_loads_and_survives_saving(shared_data: Path, tmp_path: Path) -> None:
    paths = sorted(shared_data.glob("*/schema.json"))

    for path in paths:
        schema = Schema.load(path)
        schema.save(tmp_path / "saved.json")
        again = Schema.load(str(tmp_path / "saved.json"))

        assert again == schema
        assert again.fingerprint == schema.fingerprint
        assert all(field.domain.size > 1 for field in schema.columns)
    assert len(paths) == 26


def test_a_schema_is_loaded_from_a_mapping_or_as_it_is() -> None:
    schema = Schema.load(table())

    assert Schema.load(schema) is schema
    assert Schema.load(schema.to_dict()) == schema


def test_the_privacy_unit_is_read() -> None:
    schema = Schema.load(table(ID, AGE, privacyUnit={"field": "id", "maxRows": 5.0}))

    assert schema.privacy_unit == PrivacyUnit("id", 5)
    assert (schema.max_rows, schema.unit_label) == (5, "id:5")


def test_an_unknown_field_is_answered_with_close_matches() -> None:
    schema = Schema.load(table())

    with pytest.raises(SchemaError, match=r'no field is called "agge"; did you mean "age"\?'):
        schema.field("agge")


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ({"fields": []}, "the schema has no field to model"),
        (table(AGE, AGE), 'field "age": the name stands twice'),
        (table(privacyUnit={"field": "id", "maxRows": 1}), 'privacyUnit: no field is called "id"'),
        (table(missingValues=["f"]), 'field "sex": "f" is both a category and a missing value'),
    ],
)
def test_a_broken_rule_of_the_table_is_named(source: Any, rule: str, tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps(source).encode())

    with pytest.raises(SchemaError) as caught:
        Schema.load(path)

    assert rule in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_byte_order_mark_is_read_past(tmp_path: Path) -> None:
    path = write(tmp_path, b"\xef\xbb\xbf" + json.dumps(table()).encode())

    assert Schema.load(path) == Schema.load(table())


def test_a_draft_may_leave_domains_open_until_it_is_a_file_again() -> None:
    draft = Schema(fields=(Field(name="age", type="integer"), Field(name="sex", type="string")), is_draft=True)

    written = draft.to_dict()

    assert written["fields"][0]["constraints"] == {"minimum": None, "maximum": None}
    assert written["fields"][1]["categories"] is None
    says = r"the schema is a draft; still open: age \(minimum, maximum\), sex \(categories\); fill them in from public "
    with pytest.raises(SchemaError, match=says):
        Schema.load(written)


def test_all_that_a_draft_leaves_open_is_named_at_once(tmp_path: Path) -> None:
    half = {"name": "height", "type": "number", "constraints": {"minimum": 0, "maximum": None}}
    blank = {"name": "ward", "type": "string", "categories": None}
    few = write(tmp_path, json.dumps(table(ID, AGE, half, blank, draft=True)).encode())

    with pytest.raises(SchemaError) as caught:
        Schema.load(few)
    with pytest.raises(SchemaError, match=r"c19 \(categories\) and 80 more fields; fill"):
        Schema.load(table(*({**blank, "name": f"c{number}"} for number in range(100)), draft=True))

    assert "still open: height (maximum), ward (categories); " in str(caught.value)


def test_missing_values_of_the_table_hold_for_fields_without_their_own() -> None:
    own = {**SEX, "missingValues": ["?"]}
    blank = {"name": "answer", "type": "string", "categories": ["", "x"]}

    schema = Schema.load(table(AGE, own, missingValues=["", "NA"]))
    default = Schema.load(table(AGE, blank))

    assert [field.missing_values for field in schema.fields] == [("", "NA"), ("?",)]
    assert [field.missing_values for field in default.fields] == [("",), ()]
    assert Schema.load(schema.to_dict()) == schema
    assert Schema.load(default.to_dict()) == default


def test_missing_values_that_all_fields_share_are_written_once() -> None:
    written = Schema.load(table(missingValues=["NA"])).to_dict()

    assert written["missingValues"] == ["NA"]
    assert all("missingValues" not in field for field in written["fields"])


def test_the_normal_form_says_only_what_is_not_default() -> None:
    assert Schema.load(table()).to_dict() == {
        "fields": [
            {
                "name": "age",
                "type": "integer",
                "constraints": {"minimum": 0, "maximum": 120},
                "provenance": "assumed",
            },
            {"name": "sex", "type": "string", "categories": ["f", "m"], "provenance": "public"},
        ]
    }


def test_the_fingerprint_does_not_depend_on_the_order_of_keys_or_the_form_of_numbers() -> None:
    reordered = {"fields": [dict(reversed(AGE.items())), SEX]}
    reformed = table({**AGE, "constraints": {"maximum": 120.0, "minimum": 0.0}}, SEX)

    prints = {Schema.load(source).fingerprint for source in (table(), reordered, reformed)}

    assert len(prints) == 1
    assert len(prints.pop()) == 64


def test_equal_schemas_are_saved_as_the_same_bytes(tmp_path: Path) -> None:
    Schema.load(table(name="naïve", missingValues=["NA"])).save(tmp_path / "a.json")
    Schema.load({"missingValues": ["NA"], **table(), "name": "naïve"}).save(str(tmp_path / "b.json"))

    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.json"]


def test_a_target_that_is_a_folder_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()

    with pytest.raises(DataError, match="cannot be written"):
        Schema.load(table()).save(tmp_path / "taken")

    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_million_categories_load_in_three_seconds(tmp_path: Path) -> None:
    names = [f"category {number}" for number in range(10**6)]
    path = write(tmp_path, json.dumps(table({"name": "code", "type": "string", "categories": names})).encode())

    started = time.process_time()
    schema = Schema.load(path)
    seconds = time.process_time() - started

    assert schema.columns[0].domain.values == 10**6
    # Measured 0.9 s on the reference machine; the limit is the issue's.
    assert seconds <= 3
