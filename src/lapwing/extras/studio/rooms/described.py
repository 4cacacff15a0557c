"""The schema of a job while it is described: where its files are, how it is changed, what is left to say.

Once it is said to be done it stays so while nothing is open.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request

from lapwing.api.schemas import draft
from lapwing.errors import SchemaError
from lapwing.extras.connect.metadata.converted import UNIT_LACK
from lapwing.extras.evaluate.answers import proposed_schema
from lapwing.extras.evaluate.internal.suggestions import look, proposed_unit
from lapwing.extras.studio.jobs import Job
from lapwing.extras.studio.pages import job_of, texts
from lapwing.extras.studio.rooms.fields import count_of, in_words, is_poor, name_of
from lapwing.rows.entry import source_of
from lapwing.schema.changes import open_keys
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema
from lapwing.schema.values import described

FIRST: Final = "schema.first.json"
"""The schema as the job began with it."""

_SCHEMA: Final = "schema.json"


@dataclass(frozen=True, slots=True)
class Card:
    """A column as the page of all columns shows it; open: what is left to say of it, as `Field.blank` has it."""

    number: int
    name: str
    type: str
    is_name: bool
    values: str
    count_of_values: str
    description: str
    provenance: str
    open: tuple[str, ...]
    is_poor: bool


def job_and_schema(request: Request) -> tuple[Job, Schema]:
    """Return the job that an address names, and its schema; 404 where it has none yet."""
    job = job_of(request)
    schema = job.schema
    if schema is None:
        raise HTTPException(404)
    return job, schema


def begin(job: Job, first: Schema, proposed: Schema | None = None) -> None:
    """Write down the schema that a job begins with, unless it has one: of two tabs the first has the word.

    proposed: the same with what is proposed of its columns, some of which may be left out.
    """
    if job.file(_SCHEMA).exists():
        return
    first.save(job.file(FIRST))
    (proposed or first).save(job.file(_SCHEMA))


def begin_by_look(job: Job) -> None:
    """Begin with names and types; where these are guessed from the cells, with all that the cells speak for."""
    if source_of(job.data).is_typed:
        begin(job, draft(job.data))
        return
    drafted, seen = look(job.data).value
    unit = proposed_unit(drafted, {each.name: each for each in seen})
    begin(job, drafted, proposed_schema(drafted, {each.name: each.answer for each in seen}, unit))


def first_of(job: Job, schema: Schema) -> Schema:
    """Return the schema that a job began with; the one it has where that is not known."""
    place = job.file(FIRST)
    return Schema.load_draft(place) if place.exists() else schema


def keep(job: Job, schema: Schema) -> None:
    """Write down a changed schema, unless nothing is open and its rules contradict each other or the columns."""
    if not _is_open(schema):
        replace(schema, is_draft=False)
    schema.save(job.file(_SCHEMA))


def with_keys(schema: Schema, changes: Mapping[str, Any]) -> Schema:
    """Return a schema with other keys of the file format at its top; None takes a key out."""
    found = {**schema.to_dict(), **changes}
    return Schema.load_draft({key: value for key, value in found.items() if value is not None})


def with_field(schema: Schema, field: Field) -> Schema:
    """Return a schema with another field of a name."""
    fields = tuple(field if each.name == field.name else each for each in schema.fields)
    is_open = bool(open_keys(field)) and not field.identifier
    return replace(schema, fields=fields, is_draft=schema.is_draft or is_open)


def without_field(schema: Schema, name: str) -> Schema:
    """Return a schema without a column; what names it goes with it."""
    unit = schema.privacy_unit
    if unit is not None and unit.field == name:
        raise SchemaError(
            "the column identifies the person, and stays; first say that each row belongs to a different person",
            code="LW217",
        )
    if not schema.dialect.header:
        raise SchemaError(
            "the file has no line of names, so every column needs a field; make it an identifier instead", code="LW207"
        )
    found = schema.select([each for each in schema.names if each != name])
    return replace(found, fields=tuple(each for each in schema.fields if each.name != name))


def with_field_back(schema: Schema, field: Field, first: Schema) -> Schema:
    """Return a schema with a column that was left out, in the order of the one that the job began with."""
    found = {each.name: each for each in (*schema.fields, field)}
    order = dict.fromkeys((*(name for name in first.names if name in found), *found))
    is_open = bool(open_keys(field)) and not field.identifier
    return replace(schema, fields=tuple(found[name] for name in order), is_draft=schema.is_draft or is_open)


def with_unit(schema: Schema, name: str, most: object) -> Schema:
    """Return a schema whose rows belong together by a column, no longer modelled; an empty name: each row by itself."""
    questions = [each for each in schema.questions if not each.startswith(UNIT_LACK)]
    if not name:
        return with_keys(schema, {"privacyUnit": None, "questions": questions})
    old = schema.field(name)
    kind = "integer" if old.type == "integer" else "string"
    named = {"name": name, "type": kind, "role": "identifier", "constraints": {"required": old.required}}
    fields = [named if each["name"] == name else each for each in schema.to_dict()["fields"]]
    unit = {"field": name, "maxRows": most}
    return with_keys(schema, {"fields": fields, "privacyUnit": unit, "questions": questions})


def _is_open(schema: Schema) -> bool:
    return bool(schema.questions) or any(map(open_keys, schema.columns))


def cards(schema: Schema) -> list[Card]:
    """Return all columns as the page shows them."""
    return [
        Card(
            number=number,
            name=name_of(field),
            type=field.type,
            is_name=field.identifier,
            values=in_words(field),
            count_of_values=count_of(field),
            description=described(field),
            provenance="" if field.identifier else field.provenance,
            open=() if field.identifier else open_keys(field),
            is_poor=is_poor(field),
        )
        for number, field in enumerate(schema.fields, start=1)
    ]


def protects(schema: Schema) -> str:
    """Say in a sentence whose rows are protected together."""
    known, unit = texts()["schema"], schema.privacy_unit
    if unit is None:
        return str(known["protects_row"])
    return str(known["protects_column"]).format(name=name_of(schema.field(unit.field)), most=unit.max_rows)


def to_buy(schema: Schema) -> list[Field]:
    """Return the columns that are to be bought with budget."""
    return [field for field in schema.columns if field.blank and field.provenance == "dp"]


def still_open(schema: Schema) -> list[int]:
    """Return the numbers of columns of which something is left to say, but for those that are to be bought."""
    return [
        number
        for number, field in enumerate(schema.fields, start=1)
        if not field.identifier and open_keys(field) and field.provenance != "dp"
    ]
