"""Files of other tools are recognised by what is in them, and hostile ones refused in bounded time; several tables."""

import datetime as dt
import enum
import json
import shutil
import sys
import time
import tomllib
import uuid
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Literal, Optional

import pandas as pd
import polars as pl
import pytest
import yaml

import lapwing as lw
from helpers.command import lapwing
from helpers.foreign_files import FOREIGN, ROOT
from lapwing.errors import DataError, LapwingWarning, SchemaError
from lapwing.extras.connect.metadata import reading
from lapwing.extras.connect.metadata.reading import is_mbi, read_foreign, read_foreign_tables, read_mbi
from lapwing.schema.schemas import Schema

CASES = {
    **{
        (kind, text): said
        for kind, cases in tomllib.loads(
            (ROOT / "tests" / "cases" / "foreign.toml").read_text(encoding="utf-8")
        ).items()
        for text, said in cases.items()
    },
    ("files", "a: [" + "[" * 10**6): "nested more than 20 deep",
    ("files", "\n".join(" " * depth + "a:" for depth in range(2000))): "nested more than 20 deep",
    ("files", "a: " + "9" * 5000): "number or date that does not exist",
}
ADULT = {"age": 85, "workclass": 9, "fnlwgt": 100, "sex": 2, "income>50K": 2}


def write(folder, text):
    path = folder / "metadata"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "table", "expected"),
    [
        ("sdv1-single.json", None, "SDV metadata"),
        ("sdv2-visits.json", "visits", "SDV metadata"),
        ("smartnoise-visits.yaml", "visits", "SmartNoise SQL metadata"),
        ("mbi-adult-domain.json", None, "mbi domain"),
    ],
    ids=["sdv1", "sdv2", "smartnoise", "mbi"],
)
def test_the_name_of_a_file_says_nothing(tmp_path, name, table, expected):
    odd = tmp_path / "table.parquet"
    shutil.copy(FOREIGN / name, odd)

    assert read_foreign(odd, table=table).format == expected


def test_a_schema_of_lapwing_is_called_one():
    with pytest.raises(SchemaError, match="is a schema of Lapwing already; use it as it is"):
        read_foreign(ROOT / "src" / "lapwing" / "examples" / "adult.schema.json")


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.csv", b"a,b\n1,2\n"), ("t.CSV", b"a: b: c"), ("t.parquet", b"PAR1\x15\x04\x80\xff"), ("t.tsv", b"[1")],
    ids=["words", "no yaml", "bytes", "no json"],
)
def test_a_table_is_sent_to_the_command_that_reads_tables(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)

    with pytest.raises(SchemaError, match="a table by its name; `lapwing schema draft`"):
        read_foreign(tmp_path / name)
    with pytest.raises(SchemaError, match="does not exist"):
        read_foreign(tmp_path / f"no-{name}")


@pytest.mark.parametrize(
    "name", ["sdv1-single.json", "smartnoise-adult.yaml", "mbi-adult-domain.json", "croissant/people.json"]
)
def test_what_a_file_holds_is_read_as_the_file_is(name):
    held = yaml.safe_load((FOREIGN / name).read_text(encoding="utf-8"))

    for mapping in (held, MappingProxyType(held)):
        assert read_foreign(mapping) == read_foreign(FOREIGN / name)


def test_what_is_no_metadata_is_refused_in_a_sentence():
    deep, around = {}, {}
    for _ in range(10**5):
        deep = {"a": deep}
    around["a"] = around
    for value in (deep, around, {"a": object()}, {"a": float("nan")}, {"a": 10**5000}, {(1, 2): 3}):
        with pytest.raises(SchemaError, match="the metadata"):
            read_foreign(value)
    for value in (None, 3, [{"a": 2}], {2}):
        with pytest.raises(SchemaError, match="metadata is a path, a mapping or a class"):
            read_foreign(value)


@pytest.mark.parametrize(("kind", "text"), CASES, ids=[f"{kind} {text[:50]!a}" for kind, text in CASES])
def test_a_broken_file_is_refused_with_its_fault(tmp_path, kind, text):
    begun = time.process_time()

    with pytest.raises(SchemaError) as caught:
        (read_foreign_tables if kind == "tables" else read_foreign)(write(tmp_path, text))

    assert CASES[kind, text] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert time.process_time() - begun < 5


def test_aliases_that_multiply_are_refused_before_they_are_built(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]

    with pytest.raises(SchemaError, match="write them out"):
        read_foreign(write(tmp_path, "\n".join(lines)))


def test_huge_files_are_refused_before_they_are_parsed(tmp_path, monkeypatch):
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(65 * 2**20)
    with pytest.raises(SchemaError, match="larger than 64 MiB"):
        read_foreign(tmp_path / "huge")
    monkeypatch.setattr(reading, "MAX_YAML_BYTES", 10)
    with pytest.raises(SchemaError, match="larger than 8 MiB, the most that is read of YAML"):
        read_foreign(write(tmp_path, "a: 2\nb: 345"))


@pytest.mark.parametrize("count", [10**4, pytest.param(10**5, marks=pytest.mark.full)], ids=["many", "most"])
def test_many_columns_are_read_in_seconds(tmp_path, count):
    domain = {f"c{i}": 2 for i in range(count)}
    listed = {name: {"sdtype": "categorical"} for name in domain}
    begun = time.process_time()

    found = read_foreign(write(tmp_path, json.dumps(domain)))
    assert len(found.schema.fields) == count
    found = read_foreign(write(tmp_path, json.dumps({"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": listed})))
    assert len(found.lacks) == count

    assert time.process_time() - begun < count / 1000


def test_without_pyyaml_the_extra_is_named_and_json_still_read(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)

    with pytest.raises(SchemaError, match=r"is not JSON; to read YAML, run .*pip install .*\[connect\]"):
        read_foreign(FOREIGN / "smartnoise-visits.yaml")
    assert read_foreign(FOREIGN / "mbi-adult-domain.json").format == "mbi domain"


def test_a_size_is_so_many_whole_numbers_from_zero():
    found = read_mbi(ADULT, "the file")

    assert [(field.name, field.maximum + 1) for field in found.schema.fields] == list(ADULT.items())
    assert {(field.type, field.minimum, field.required) for field in found.schema.fields} == {("integer", 0, True)}
    assert [field.domain.values for field in found.schema.columns] == list(ADULT.values())


def test_one_value_that_is_no_whole_number_makes_it_another_format():
    for other in (1.5, True, "2", None, [2], {}):
        assert not is_mbi({"a": 2, "b": other})
    assert not is_mbi({})
    assert not is_mbi([2])


def test_a_domain_has_no_tables():
    with pytest.raises(SchemaError, match='leave out the table "t"'):
        read_foreign(FOREIGN / "mbi-adult-domain.json", table="t")


# --------------------------- files of several tables, of SDV and Frictionless, become one draft: a tree, and questions


CODES = {"type": "integer", "constraints": {"minimum": 0, "maximum": 9}}


def resource(name, columns, key=None, **foreign):
    fields = [{"name": column, "type": "integer"} if isinstance(column, str) else column for column in columns]
    keys = [{"fields": column, "reference": {"resource": to, "fields": of}} for column, (to, of) in foreign.items()]
    return {"name": name, "schema": {"fields": fields, "primaryKey": key, "foreignKeys": keys}}


def clinic():
    """Return a package of a chain of three tables, and a lookup."""
    return {
        "resources": [
            resource(
                "visits",
                ["visit", "person", {"name": "clinic", "type": "string"}, {"name": "day", "type": "date"}],
                "visit",
                person=("people", "person"),
                clinic=("clinics", "clinic"),
            ),
            resource("clinics", [{"name": "clinic", "type": "string"}, {"name": "beds", **CODES}], ["clinic"]),
            resource("people", ["person", "home", {"name": "age", **CODES}], "person", home=("homes", "home")),
            resource("homes", ["home", {"name": "owned", "type": "boolean"}], "home"),
            {"name": "map", "path": "map.png"},
        ]
    }


LINK = ("child_table_name", "child_foreign_key", "parent_table_name", "parent_primary_key")


def linked_by_sdv(relationships, **tables):
    described = {
        name: {"columns": {column: {"sdtype": sdtype} for column, sdtype in columns.items()}}
        for name, columns in tables.items()
    }
    links = [dict(zip(LINK, each, strict=True)) for each in relationships]
    return {"METADATA_SPEC_VERSION": "V1", "tables": described, "relationships": links}


def shape(found):
    """Return what the draft says of each table beside its fields."""
    return {
        name: {key: table[key] for key in ("primaryKey", "foreignKeys", "maxRows", "order") if key in table}
        for name, table in found.to_dict()["tables"].items()
    }


def listed(name, fields, **settings):
    """Return a table as the oldest files of SDV have it."""
    return {"name": name, "fields": [{"name": each, **about} for each, about in fields.items()], **settings}


@pytest.mark.parametrize("version", ["V1", "V2", "MULTI_TABLE_V1"])
def test_metadata_of_sdv_give_a_parent_and_its_children(version):
    value = json.loads((FOREIGN / "sdv1-visits.json").read_text()) | {"METADATA_SPEC_VERSION": version}

    found = read_foreign_tables(value)

    assert shape(found) == {
        "patients": {"primaryKey": "patient_id"},
        "visits": {"primaryKey": "visit", "foreignKeys": {"patient_id": "patients"}, "maxRows": None},
    }
    alone = read_foreign(value, table="visits").schema
    assert found.tables["visits"].schema.fields == alone.fields


def test_metadata_of_sdv_before_its_first_version_give_the_same():
    users = {"id": {"type": "id", "subtype": "integer"}, "age": {"type": "numerical", "subtype": "integer"}}
    sessions = {
        "user": {"type": "id", "subtype": "integer", "ref": {"table": "users", "field": "id"}},
        "at": {"type": "datetime", "format": "%d.%m.%Y"},
        "mail": {"type": "categorical", "pii": True, "pii_category": ["email", "x"]},
        "share": {"type": "numerical", "subtype": "float"},
        "ok": {"type": "boolean"},
    }
    old = {"tables": {"sessions": {"fields": sessions}, "users": {"fields": users, "primary_key": "id"}}}

    found = read_foreign_tables(old)

    assert shape(found) == {
        "users": {"primaryKey": "id"},
        "sessions": {"foreignKeys": {"user": "users"}, "maxRows": None},
    }
    assert [(field.name, field.type, field.identifier) for field in found.tables["sessions"].schema.fields] == [
        ("user", "string", True),
        ("at", "date", False),
        ("mail", "string", True),
        ("share", "number", False),
        ("ok", "boolean", False),
    ]
    assert found.tables["sessions"].schema.field("mail").made_up == "e-mail"
    assert read_foreign(old, table="users").schema.fields == found.tables["users"].schema.fields
    oldest = {"path": "", "tables": [listed("sessions", sessions), listed("users", users, primary_key="id")]}
    assert read_foreign_tables(oldest) == found


def test_a_chain_comes_parents_first_and_a_lookup_is_a_column_of_its_keys():
    found = read_foreign_tables(clinic())

    assert shape(found) == {
        "homes": {"primaryKey": "home"},
        "people": {"primaryKey": "person", "foreignKeys": {"home": "homes"}, "maxRows": None},
        "visits": {
            "primaryKey": "visit",
            "foreignKeys": {"person": "people", "clinic": "clinics"},
            "maxRows": None,
        },
        "clinics": {"primaryKey": "clinic"},
    }
    visits = {field.name: field for field in found.tables["visits"].schema.fields}
    assert [name for name, field in visits.items() if field.identifier] == ["visit", "person"]
    assert (visits["person"].type, visits["clinic"].type) == ("integer", "string")
    assert not any(lack.field == "clinic" for lack in found.tables["visits"].lacks)
    assert [lack.field for lack in found.tables["clinics"].lacks] == [""]


def test_every_thing_that_the_file_does_not_say_is_a_question_and_nothing_is_said_to_be_public():
    drafts = read_foreign_tables(clinic()).to_dict()["tables"]

    asked = {name: [question.partition(":")[0] for question in draft["questions"]] for name, draft in drafts.items()}
    assert asked == {
        "homes": ["whose rows are protected together"],
        "people": ["maxRows", "whether its rows have an order"],
        "visits": ["maxRows", "whether its rows have an order"],
        "clinics": ["whether everybody may see this table"],
    }
    assert all(draft["draft"] for draft in drafts.values())
    assert not any("public" in draft for draft in drafts.values())


def test_of_two_private_parents_the_first_is_taken_and_the_other_asked_about():
    value = linked_by_sdv(
        [("b", "x", "a", "x"), ("c", "x", "a", "x"), ("d", "y", "b", "y"), ("d", "z", "c", "z")],
        a={"x": "id", "f": "boolean"},
        b={"x": "id", "y": "id", "f": "boolean"},
        c={"x": "id", "z": "id", "f": "boolean"},
        d={"y": "id", "z": "id", "f": "boolean"},
    )

    found = read_foreign_tables(value)

    assert shape(found)["d"] == {"foreignKeys": {"y": "b"}, "maxRows": None}
    assert 'whether "c" is the parent of these rows, and not "b"' in [lack.what for lack in found.tables["d"].lacks]
    value["tables"]["d"]["columns"].pop("f")
    with pytest.raises(SchemaError, match='table "d" has keys alone'):
        read_foreign_tables(value)


def test_a_first_table_of_keys_alone_has_these():
    value = linked_by_sdv([("b", "x", "a", "x")], a={"x": "id"}, b={"x": "id", "f": "boolean"})

    drafts = read_foreign_tables(value).to_dict()["tables"]

    assert [field["name"] for field in drafts["a"]["fields"]] == ["x"]


def test_keys_that_linked_tables_do_not_have_are_told():
    value = linked_by_sdv(
        [("b", "x", "a", "x"), ("b", ["y", "z"], "a", ["u", "v"]), ("a", "u", "a", "x")],
        a={"x": "id", "u": "id", "v": "id", "f": "boolean"},
        b={"x": "id", "y": "id", "z": "id", "f": "boolean"},
    )

    found = read_foreign_tables(value)

    assert 'its key of several columns to "a"' in [lack.what for lack in found.tables["b"].lacks]
    assert 'the key "u" to its own table has no counterpart' in found.tables["a"].notes
    assert shape(found)["b"]["foreignKeys"] == {"x": "a"}


@pytest.mark.parametrize(
    "value",
    [
        {"resources": [resource("a", ["x"]), resource("b", ["x"])]},
        linked_by_sdv([], a={"x": "boolean"}, b={"x": "boolean"}),
        linked_by_sdv([("a", "y", "a", "x")], a={"x": "id", "y": "id", "f": "boolean"}),
        {"columns": {"a": {"sdtype": "boolean"}}},
        {"age": 85},
    ],
    ids=["package", "no relationship", "to itself", "one table", "another format"],
)
def test_files_without_keys_between_tables_give_none(value):
    assert read_foreign_tables(value) is None


# ------------------------------- what a file leaves open, and no blank shows, is a question until its owner answers it


AGE = {"type": "int", "lower": 0, "upper": 120}
ID = {"type": "int", "private_id": True}
UNIT = "whose rows are protected together: "


def sdv(columns, **table):
    return {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": columns, **table}


def smartnoise(columns):
    return {"Database": {"s": {"people": columns}}}


def croissant(unit, *names):
    fields = [{"@id": f"rows/{name}", "dataType": "sc:Boolean"} for name in ("paid", *names)]
    return {"recordSet": {"@id": "rows", "field": fields}, "differentialPrivacy": {"privacy_unit": unit}}


OPEN = {
    "sdv sequence": (sdv({"p": {"sdtype": "id"}, "paid": {"sdtype": "boolean"}}, sequence_key="p"), UNIT),
    "sdv ranges": (
        sdv({"age": {"sdtype": "numerical", "decimal_places": 0, "range_min": 17, "range_max": 90}}),
        "whether the ranges and lists in the file are public: ",
    ),
    "sdv number": (sdv({"age": {"sdtype": "numerical"}}), 'field "age": whether the numbers are whole: choose '),
    "sdv unknown": (
        sdv({"odd": {"sdtype": "unknown"}, "paid": {"sdtype": "boolean"}}),
        'field "odd": its type, which the file calls unknown: ',
    ),
    "smartnoise no id": (smartnoise({"age": AGE}), UNIT),
    "smartnoise ids": (smartnoise({"age": AGE, "p": ID, "q": ID}), UNIT),
    "croissant dropped": (croissant("person:5"), UNIT),
    "croissant many rows": (croissant("person:9999999999", "person"), UNIT),
    "croissant no rows": (croissant("person:0", "person"), UNIT),
    "croissant odd": (croissant({"field": "person"}, "person"), UNIT),
}


@pytest.mark.parametrize("name", list(OPEN))
def test_what_no_blank_shows_is_a_question_of_the_schema(name):
    value, begins = OPEN[name]
    found = read_foreign(value)

    assert found.schema.questions[0].startswith(begins)
    assert len(found.schema.questions) == 1
    assert found.schema.is_draft
    assert Schema.load_draft(json.loads(json.dumps(found.schema.to_dict()))) == found.schema


@pytest.mark.parametrize("name", list(OPEN))
def test_nothing_is_released_or_learned_before_the_questions_are_answered(name, tmp_path):
    with pytest.warns(LapwingWarning, match="1 open question in its .questions"):
        schema = lw.Schema.from_foreign(OPEN[name][0])
    (tmp_path / "t.csv").write_text("p,age,paid,person,q,odd\n" + "1,30,true,1,1,a\n" * 20)

    with pytest.raises(SchemaError, match=r"question|draft"):
        lw.synthesize(tmp_path / "t.csv", schema, epsilon=1.0)
    with pytest.raises(SchemaError, match="question"):
        lw.Schema.learn(tmp_path / "t.csv", schema, epsilon=1.0)


def test_the_command_says_where_the_questions_are_and_what_to_do_with_them(tmp_path):
    metadata, output = tmp_path / "m.json", tmp_path / "s.json"
    metadata.write_text(json.dumps(smartnoise({"age": AGE})))

    said = lapwing("schema", "convert", metadata, "-o", output)

    assert '1 question stands in "questions" of the file: remove each once it is answered' in said.out
    assert json.loads(output.read_text())["questions"] == list(read_foreign(metadata).schema.questions)
    output.unlink()
    visits = lapwing("schema", "convert", FOREIGN / "sdv1-visits.json", "--table", "visits", "-o", output)
    assert '2 questions stand in "questions" of the file' in visits.out
    output.unlink()
    assert "questions" not in lapwing("schema", "convert", FOREIGN / "mbi-adult-domain.json", "-o", output).out


# ----------------------------------------------------------------- classes that say what a row is, and types of frames


pydantic = pytest.importorskip("pydantic", minversion="2")
at = pytest.importorskip("annotated_types")

Column = pydantic.Field


class Sex(enum.Enum):
    female = "f"
    male = "m"


class Patient(pydantic.BaseModel):
    key: uuid.UUID
    age: int = Column(ge=0, lt=120, description="in years")
    beds: int = Column(gt=0, lt=10)
    sex: Sex
    grade: Literal[1, 2, 3] | None = None
    weight: Optional[float] = Column(None, gt=0, le=300, multiple_of=0.5)  # noqa: UP045 - people write it
    cost: Annotated[Decimal, Column(ge=0, le=100, decimal_places=2)]
    seen: Annotated[dt.date, Column(ge=dt.date(2020, 1, 1), le=dt.date(2021, 1, 1))]
    smokes: bool = Column(alias="Smokes")
    city: Annotated[Literal["x", "y"], Column(pattern="x")]


def fields_of(schema):
    told = [dict(field) for field in schema.to_dict()["fields"]]
    return {field.pop("name"): {key: each for key, each in field.items() if key != "provenance"} for field in told}


def test_a_pydantic_model_gives_types_bounds_lists_and_what_is_required():
    schema = lw.Schema.from_foreign(Patient)

    required = {"required": True}
    assert (schema.name, schema.is_draft) == ("Patient", False)
    assert fields_of(schema) == {
        "key": {"type": "string", "role": "identifier"},
        "age": {
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": 119, **required},
            "description": "in years",
        },
        "beds": {"type": "integer", "constraints": {"minimum": 1, "maximum": 9, **required}},
        "sex": {"type": "string", "categories": ["f", "m"], "constraints": required},
        "grade": {"type": "integer", "categories": [1, 2, 3]},
        "weight": {"type": "number", "constraints": {"minimum": 0, "maximum": 300}, "resolution": 0.5},
        "cost": {"type": "number", "constraints": {"minimum": 0, "maximum": 100, **required}, "resolution": 0.01},
        "seen": {"type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2021-01-01", **required}},
        "Smokes": {"type": "boolean", "constraints": required},
        "city": {"type": "string", "categories": ["x", "y"], "constraints": required},
    }
    assert {field.provenance for field in schema.fields} == {"assumed"}


@dataclass
class Row:
    age: Annotated[int, at.Interval(ge=0, le=99)]
    sex: Literal["f", "m", None]
    smokes: "bool | None"


class Lists(pydantic.BaseModel):
    tags: list[int]


class Either(pydantic.BaseModel):
    what: int | str


@dataclass
class Nowhere:
    what: "Missing"  # noqa: F821 - it is meant to be missing


@dataclass
class Nothing:
    pass


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Lists, 'field "tags": no column holds the type "list"; give it one of int'),
        (Either, 'field "what": no column holds the type "int | str"'),
        (Nowhere, "class Nowhere names a type that is not found where the class stands"),
        (Nothing, "class Nothing has no field"),
        (int, "metadata is a path, a mapping or a class, got a type"),
        (Row(41, "f", True), "metadata is a path, a mapping or a class, got a Row"),
    ],
)
def test_a_class_that_is_no_row_is_refused(given, said):
    with pytest.raises(SchemaError, match=said.replace("|", r"\|")) as caught:
        lw.Schema.from_foreign(given)

    assert "41" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support:FutureWarning")  # pandera imports it
def test_pandera_models_and_schemas_are_read(monkeypatch):
    monkeypatch.setenv("PYARROW_IGNORE_TIMEZONE", "1")  # so that what PySpark's pandas sets ends with this test
    pandera = pytest.importorskip("pandera.pandas")
    polars = pytest.importorskip("pandera.polars")

    class Model(pandera.DataFrameModel):
        age: int = pandera.Field(ge=0, lt=120)
        sex: str = pandera.Field(isin=["f", "m"])
        weight: float = pandera.Field(in_range={"min_value": 0, "max_value": 300}, nullable=True)
        grade: pandera.typing.Series[pd.CategoricalDtype] = pandera.Field(
            dtype_kwargs={"categories": ["a", "b"], "ordered": True}
        )

    class Lazy(polars.DataFrameModel):
        size: pl.Enum = polars.Field(dtype_kwargs={"categories": ["s", "l"]})
        smokes: bool

    required = {"required": True}
    assert fields_of(lw.Schema.from_foreign(Model)) == {
        "age": {"type": "integer", "constraints": {"minimum": 0, "maximum": 119, **required}},
        "sex": {"type": "string", "categories": ["f", "m"], "constraints": required},
        "weight": {"type": "number", "constraints": {"minimum": 0, "maximum": 300}},
        "grade": {"type": "string", "categories": ["a", "b"], "categoriesOrdered": True, "constraints": required},
    }
    assert fields_of(lw.Schema.from_foreign(Lazy)) == {
        "size": {"type": "string", "categories": ["s", "l"], "constraints": required},
        "smokes": {"type": "boolean", "constraints": required},
    }
    inferred = pandera.infer_schema(pd.DataFrame({"age": [41, 17]}))
    with pytest.warns(lw.LapwingWarning, match="the first is: whether the bounds and lists are public: infer_schema"):
        assert lw.Schema.from_foreign(inferred).is_draft
    with pytest.raises(SchemaError, match="is a pattern of names"):
        lw.Schema.from_foreign(pandera.DataFrameSchema({"a.*": pandera.Column(int, regex=True)}))


# -- Types of frames.


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("rows.csv", "for files and queries there is Schema.draft"),
        (3, "data of type int is not a table"),
        (pl.DataFrame({"a": [[41]]}), 'column "a" is of type List'),
        (pl.DataFrame(), "the table has no column"),
    ],
)
def test_what_has_no_types_of_columns_is_refused(given, said):
    with pytest.raises(DataError, match=said) as caught:
        lw.Schema.from_frame_types(given)

    assert "41" not in str(caught.value)
