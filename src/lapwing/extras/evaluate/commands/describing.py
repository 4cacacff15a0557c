"""The schema of a guided start, column by column: from public knowledge, from a code book, or learned with budget."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lapwing.cli.asking import ask_until_answered, positive, tell, wrong
from lapwing.cli.tables import default_file, stem_of, words_of
from lapwing.errors import LapwingError
from lapwing.extras.evaluate.words import say
from lapwing.schema.scalars import align_lines, in_full, nearest, visible

if TYPE_CHECKING:
    from lapwing.extras.evaluate.internal.suggestions import Suggestion
    from lapwing.rows.entry import Source
    from lapwing.schema.fields import Field
    from lapwing.schema.schemas import Schema

_MOST_ROWS = 5
_TEXTS_SHOWN = 20
_BOOK_SHOWN = 200


@dataclass(frozen=True, slots=True)
class StartFiles:
    """The private table of one guided start, and its files, beside each other and named after it.

    run: runs a command line of `lapwing`.
    """

    table: "Source"
    folder: Path
    run: Callable[[list[str]], object]

    def __getitem__(self, ending: str) -> Path:
        return self.folder / default_file(self.table, ending)

    @property
    def name(self) -> str:
        """What the data set is called."""
        return stem_of(default_file(self.table, "x"))


@dataclass(frozen=True, slots=True)
class _Book:
    """The fields that a code book lists the codes of; unsure: those whose codes may not be all that occur."""

    fields: "Mapping[str, Field]"
    unsure: frozenset[str]


_NO_BOOK = _Book({}, frozenset())


def described_schema(files: StartFiles) -> "Schema":
    """Return the schema that is there already, or the one that the answers describe."""
    from lapwing.schema.schemas import Schema  # noqa: PLC0415

    place = files["schema.json"]
    if place.exists():
        tell(say("start.using", place=place))
        return Schema.load_draft(place)

    drafted, suggestions, book = _drafted(files)
    seen = {each.name: each for each in suggestions}
    if drafted.dialect.to_dict():
        tell(say("start.detected", keys=_keys(drafted.dialect.to_dict())))
    for question in drafted.questions:
        tell(say("start.question", question=visible(question)))
    unit = _unit([field.name for field in drafted.fields])
    fields = []
    for place_of, field in enumerate(drafted.fields, start=1):
        tell(say("start.column", place=place_of, columns=len(drafted.fields), name=field.name, written=_written(field)))
        for doubt in seen[field.name].doubts if field.name in seen else ():
            tell(f"  {doubt}")
        found = {"name": field.name, "type": "string", "role": "identifier"} if unit and field.name == unit[0] else None
        found = found or _field(files, drafted, field, seen.get(field.name), book)
        if found is not None:
            fields.append(found)
    _mark_target(fields)
    described: dict[str, Any] = {"name": files.name, "fields": fields}
    if drafted.dialect.to_dict():
        described["dialect"] = drafted.dialect.to_dict()
    if unit:
        described["privacyUnit"] = {"field": unit[0], "maxRows": unit[1]}
    has_blank = any(each.get("provenance") == "dp" for each in fields)
    schema = Schema.load_draft({**described, "draft": has_blank})
    schema.save(place)
    tell(say("start.written", place=place))
    return schema


def _drafted(files: StartFiles) -> "tuple[Schema, Sequence[Suggestion], _Book]":
    """Return names and types of columns, what they look like, and the code book in the file, if it has one."""
    from lapwing.extras.evaluate.internal.suggestions import look, suggest  # noqa: PLC0415
    from lapwing.schema.named_files import PROGRAMS  # noqa: PLC0415

    file = files.table.file
    if file is None or file.suffix.lower() not in PROGRAMS:
        given = shlex.join(words_of(files.table))
        tell(say("start.draft", table=given))
        return *look(files.table).value, _NO_BOOK

    from lapwing.extras.connect.metadata.reading import read_foreign  # noqa: PLC0415

    place = files["schema.json"]
    tell(say("start.convert", file=shlex.quote(str(file)), place=place))
    found = read_foreign(file)
    fields = {field.name: field for field in found.schema.columns if field.is_categorical and not field.blank}
    if not fields:
        return found.schema, suggest(files.table, found.schema).value, _NO_BOOK
    question = say("start.code_book", file=file.name, fields=", ".join(map(visible, fields)))
    if not typer.confirm(question, default=True):
        return *look(files.table).value, _NO_BOOK
    return (
        found.schema,
        suggest(files.table, found.schema).value,
        _Book(fields, frozenset(lack.field for lack in found.lacks)),
    )


def _written(field: "Field") -> str:
    keys = field.reading.to_dict()
    return say("start.written_with", type=field.type, keys=_keys(keys)) if keys else field.type


def _keys(found: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value!r}" for key, value in found.items())


def _unit(names: Sequence[str]) -> tuple[str, int] | None:
    """Ask whose rows are protected together."""
    if typer.confirm(say("start.own_row"), default=True):
        return None
    column = ask_until_answered(
        say("start.person"), None, lambda text: text if text in names else wrong(", ".join(names))
    )
    most = ask_until_answered(say("start.most_rows"), str(_MOST_ROWS), positive)
    return column, most


def _mark_target(fields: list[dict[str, Any]]) -> None:
    """Ask for the column that models will predict, and give it that role."""
    names = [each["name"] for each in fields if "role" not in each]

    def read(text: str) -> str:
        near = nearest(text, names)
        return (
            text
            if text in ("none", *names)
            else wrong(say("start.near", name=visible(near[0])) if near else say("start.no_column"))
        )

    chosen = ask_until_answered(say("start.target"), "none", read)
    for each in fields:
        if each["name"] == chosen != "none":
            each["role"] = "target"


def _field(
    files: StartFiles, drafted: "Schema", field: "Field", seen: "Suggestion | None", book: _Book
) -> dict[str, Any] | None:
    """Ask for the domain of one column that no code book gives; None for a column that is left out."""
    from lapwing.schema.catalogue import entries_for  # noqa: PLC0415
    from lapwing.schema.files import field_to_dict  # noqa: PLC0415

    whole = {**field_to_dict(field, ("",)), "provenance": "public"}
    kept = {key: value for key, value in whole.items() if key not in ("categories", "constraints", "provenance")}
    is_in_book = field.name in book.fields
    if is_in_book:
        missing = ", ".join(text for text in field.missing_values if text)
        said = visible(f"{field.description[:_BOOK_SHOWN]}{f'; missing: {missing}' if missing else ''}")
        tell(f"  code book: {said}")
    if field.type == "boolean" or (is_in_book and field.name not in book.unsure):
        return whole
    known = entries_for(field.name, field.type)
    for entry in known:
        tell(f"  catalogue: {entry.name}, {entry.title} ({entry.source})")
    default = "codes" if is_in_book else known[0].name if len(known) == 1 else "learn"
    if seen is not None and seen.is_identifier:
        default = "id"
    kind = "list" if field.type == "string" else "ranged"
    if is_in_book:
        tell(say("start.whole_book"))

    def read(text: str) -> dict[str, Any] | None:
        if text == "codes" and is_in_book:
            return whole
        if text == "look":
            _look(files, drafted, field, seen)
            wrong(say(f"start.help.{kind}"))
        return _described(text, field, kept)

    return ask_until_answered(say("start.domain"), default, read, help_text=say(f"start.help.{kind}"))


def _described(text: str, field: "Field", kept: dict[str, Any]) -> dict[str, Any] | None:
    """Return the field that an answer describes; None to leave it out."""
    from lapwing.schema.files import field_from  # noqa: PLC0415

    if text == "drop":
        return None
    if text == "learn":
        return {**kept, "provenance": "dp"}
    if text == "id":
        return {"name": field.name, "type": "integer" if field.type == "integer" else "string", "role": "identifier"}
    found = {**kept, "provenance": "public", **_domain(text, field)}
    try:
        field_from(found)
    except LapwingError as error:
        said = str(error)
    else:
        return found
    wrong(said)


def _domain(text: str, field: "Field") -> dict[str, Any]:
    """Return the keys of a field that an answer stands for: of the catalogue, a range or a list."""
    from lapwing.schema.catalogue import catalogue  # noqa: PLC0415

    if text == "list":
        lines = [(each.name, each.title, each.source) for each in catalogue().values()]
        wrong(align_lines([("name", "what", "source"), *lines]))
    if text in catalogue():
        return {"domain": text}
    low, dots, high = text.partition("..")
    try:
        if dots and field.type != "string":
            return {"constraints": {"minimum": _cell(low, field), "maximum": _cell(high, field)}}
        if field.type == "string" or "," in text:
            return {"categories": [_cell(part, field) for part in text.split(",") if part.strip()]}
    except ValueError:
        pass
    wrong(say("start.write_range") if field.type != "string" else say("start.write_texts"))


def _cell(text: str, field: "Field") -> int | float | str:
    """Return a value as the field's type wants it in a schema; a ValueError where it is none."""
    bare = text.strip()
    if field.type == "integer":
        return int(bare)
    return float(bare) if field.type == "number" else bare


def _look(files: StartFiles, drafted: "Schema", field: "Field", seen: "Suggestion | None") -> None:
    """Show what a column holds: internal, because its owner asked for it."""
    from lapwing.extras.evaluate.internal.suggestions import frequent_texts  # noqa: PLC0415
    from lapwing.extras.evaluate.report.page import NOTICE  # noqa: PLC0415

    tell(f"  {NOTICE}")
    if seen is not None:
        within = say("start.within", within=seen.within) if seen.within else ""
        tell(say("start.seen", seen=seen) + within)
        for advice in seen.advice:
            tell(f"  {advice}")
    if field.type == "string":
        for text, count in frequent_texts(files.table, drafted, field.name, _TEXTS_SHOWN).value:
            tell(f"  {count:>8}  {in_full(text)}")
        tell(say("start.copied"))
