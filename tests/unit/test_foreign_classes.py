"""Schemas of classes that say what a row is, and of the types of frames: what is taken, and what is left open."""

import datetime as dt
import enum
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal, Optional

import pandas as pd
import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import DataError, SchemaError

pydantic = pytest.importorskip("pydantic", minversion="2")
at = pytest.importorskip("annotated_types")

Column = pydantic.Field


class Sex(enum.Enum):
    female = "f"
    male = "m"


class Patient(pydantic.BaseModel):
    key: uuid.UUID
    age: int = Column(ge=0, lt=120, description="in years")
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
