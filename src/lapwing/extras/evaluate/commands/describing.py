"""The schema of a guided start, column by column: from public knowledge, from a code book, or learned with budget."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lapwing.cli.asking import ask_until_answered, positive, tell, wrong
from lapwing.cli.tables import default_file, stem_of, words_of
from lapwing.extras.evaluate.words import say
from lapwing.schema.scalars import in_full, nearest, visible

if TYPE_CHECKING:
    from lapwing.extras.evaluate.internal.suggestions import Suggestion
    from lapwing.rows.entry import Source
    from lapwing.schema.fields import Field, PrivacyUnit
    from lapwing.schema.schemas import Schema

_TEXTS_SHOWN = 20
_BOOK_SHOWN = 200
NONE = "none"
"""The answer of who means no column."""


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
    from lapwing.schema.fields import Field  # noqa: PLC0415 - it needs NumPy
    from lapwing.schema.schemas import Schema  # noqa: PLC0415

    place = files["schema.json"]
    if place.exists():
        tell(say("start.using", place=place))
        return Schema.load_draft(place)

    drafted, suggestions, book = _drafted(files)
    seen = {each.name: each for each in suggestions}
    if drafted.dialect.to_dict():
        tell(say("start.detected", keys=_keys(drafted.dialect.to_dict())))
    drafted = _read_as_asked(drafted)
    unit = _unit(drafted, seen)
    asked = _Asked(files, drafted, seen, book)
    fields: list[Field] = []
    for place_of, field in enumerate(drafted.fields, start=1):
        tell(say("start.column", place=place_of, columns=len(drafted.fields), name=field.name, written=_written(field)))
        for doubt in seen[field.name].doubts if field.name in seen else ():
            tell(f"  {doubt}")
        is_unit = unit is not None and field.name == unit.field
        found = Field(name=field.name, type="string", identifier=True) if is_unit else _field(asked, field)
        fields += [] if found is None else [found]
    fields = _with_target(
        _with_origins(fields, {name: each.answer for name, each in seen.items() if name not in book.fields})
    )
    schema = Schema(
        fields=tuple(fields),
        name=files.name,
        dialect=drafted.dialect,
        privacy_unit=unit,
        is_draft=any(field.blank for field in fields),
    )
    schema.save(place)
    tell(say("start.written", place=place))
    return schema


def schema_asked_again(files: StartFiles, schema: "Schema", why: Mapping[str, str]) -> "Schema":
    """Ask again about some columns, and return the schema that is written down then.

    why: of each of them, what is wrong.
    """
    from lapwing.extras.evaluate.internal.suggestions import look  # noqa: PLC0415

    drafted, suggestions = look(files.table).value
    asked = _Asked(files, drafted, {each.name: each for each in suggestions}, _NO_BOOK)
    fields: list[Field] = []
    for field in schema.fields:
        found: Field | None = field
        if field.name in why:
            tell(say("start.asked_again", name=field.name, why=why[field.name]))
            found = _field(asked, drafted.field(field.name), field)
        if found is not None:
            fields.append(replace(found, target=field.target and not found.identifier))
    fields = _with_origins(fields, {name: each.answer for name, each in asked.seen.items() if name in why})
    changed = replace(schema, fields=tuple(fields), is_draft=any(field.blank for field in fields))
    changed.save(files["schema.json"])
    return changed


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


def _read_as_asked(drafted: "Schema") -> "Schema":
    """Ask whether white space and case mean nothing, where a draft says so; tell what else it asks about the file."""
    from lapwing.extras.evaluate.internal.untyped import SPELLED  # noqa: PLC0415

    keys = {say(f"layout.{key}"): key for key in SPELLED}
    for question in drafted.questions:
        said = say("start.question", question=visible(question))
        if question not in keys:
            tell(said)
        elif not typer.confirm(said, default=True):
            other: dict[str, Any] = {keys[question]: False}
            drafted = replace(drafted, dialect=replace(drafted.dialect, **other))
    return drafted


def _written(field: "Field") -> str:
    keys = field.reading.to_dict()
    return say("start.written_with", type=field.type, keys=_keys(keys)) if keys else field.type


def _keys(found: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value!r}" for key, value in found.items())


def _unit(drafted: "Schema", seen: "Mapping[str, Suggestion]") -> "PrivacyUnit | None":
    """Ask whose rows are protected together."""
    from lapwing.extras.evaluate.internal.suggestions import MOST_ROWS, proposed_unit  # noqa: PLC0415
    from lapwing.schema.fields import PrivacyUnit  # noqa: PLC0415 - it needs NumPy

    proposed = proposed_unit(drafted, seen)
    column = column_or_none(say("start.person"), drafted.names, NONE if proposed is None else proposed.field)
    if column is None:
        return None
    usual = proposed.max_rows if proposed is not None and proposed.field == column else MOST_ROWS
    return PrivacyUnit(column, ask_until_answered(say("start.most_rows"), str(usual), positive))


def column_or_none(question: str, names: Sequence[str], default: str = NONE) -> str | None:
    """Ask for one of some columns; None for none of them."""

    def read(text: str) -> str:
        if text in (NONE, *names):
            return text
        near = nearest(text, names)
        wrong(say("start.near", name=visible(near[0])) if near else say("start.no_column"))

    found = ask_until_answered(question, default, read)
    return None if found == NONE else found


def _with_target(fields: "list[Field]") -> "list[Field]":
    """Ask for the column that models will predict, and give it that role."""
    chosen = column_or_none(say("start.target"), [each.name for each in fields if not each.identifier])
    return [replace(each, target=each.name == chosen) for each in fields]


def _with_origins(fields: "list[Field]", answers: Mapping[str, str]) -> "list[Field]":
    """Ask whether lists that were proposed are known without the rows; else they are assumed."""
    from lapwing.schema.catalogue import catalogue  # noqa: PLC0415

    proposed = {}
    for field in fields:
        answer = answers.get(field.name, "drop")
        if field.categories is not None and answer not in catalogue() and _is_said(field, answer, field):
            proposed[field.name] = answer
    said = "; ".join(f"{visible(name)}: {answer}" for name, answer in proposed.items())
    if not proposed or typer.confirm(say("start.known", fields=said), default=False):
        return fields
    return [replace(each, provenance="assumed") if each.name in proposed else each for each in fields]


def _is_said(field: "Field", answer: str, drafted: "Field") -> bool:
    """Tell whether a field is what an answer describes, wherever it is known from."""
    from lapwing.extras.evaluate.answers import described_field  # noqa: PLC0415 - it needs NumPy

    found = described_field(answer, drafted)
    return found is not None and replace(found, provenance=field.provenance, target=field.target) == field


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is known of the columns that are asked for."""

    files: StartFiles
    drafted: "Schema"
    seen: "Mapping[str, Suggestion]"
    book: _Book


def _field(asked: _Asked, field: "Field", before: "Field | None" = None) -> "Field | None":
    """Ask for the domain of one column that no code book gives; None for a column that is left out.

    before: what was said of it, and did not fit.
    """
    from lapwing.schema.catalogue import entries_for  # noqa: PLC0415
    from lapwing.schema.values import described  # noqa: PLC0415

    seen, book = asked.seen.get(field.name), asked.book
    whole = replace(field, provenance="public")
    is_in_book = field.name in book.fields
    if is_in_book:
        missing = ", ".join(text for text in field.missing_values if text)
        said = visible(f"{described(field)[:_BOOK_SHOWN]}{f'; missing: {missing}' if missing else ''}")
        tell(f"  code book: {said}")
    if before is None and (field.type == "boolean" or (is_in_book and field.name not in book.unsure)):
        return whole
    for entry in entries_for(field.name, field.type):
        tell(f"  catalogue: {entry.name}, {entry.title} ({entry.source})")
    default = "codes" if is_in_book else "learn" if seen is None else seen.answer
    if before is not None and _is_said(before, default, field):
        default = "drop"
    kind = "list" if field.type == "string" else "ranged"
    if is_in_book:
        tell(say("start.whole_book"))

    from lapwing.extras.evaluate.answers import described_field  # noqa: PLC0415 - likewise

    def read(text: str) -> "Field | None":
        if text == "codes" and is_in_book:
            return whole
        if text == "look":
            _look(asked, field)
            wrong(say(f"start.help.{kind}"))
        return described_field(text, field)

    return ask_until_answered(say("start.domain"), default, read, help_text=say(f"start.help.{kind}"))


def _look(asked: _Asked, field: "Field") -> None:
    """Show what a column holds: internal, because its owner asked for it."""
    from lapwing.extras.evaluate.internal.suggestions import frequent_texts  # noqa: PLC0415
    from lapwing.extras.evaluate.report.page import NOTICE  # noqa: PLC0415

    seen = asked.seen.get(field.name)
    tell(f"  {NOTICE}")
    if seen is not None:
        within = say("start.within", within=seen.within) if seen.within else ""
        tell(say("start.seen", seen=seen) + within)
        for advice in seen.advice:
            tell(f"  {advice}")
    if field.type == "string":
        for text, count in frequent_texts(asked.files.table, asked.drafted, field.name, _TEXTS_SHOWN).value:
            tell(f"  {count:>8}  {in_full(text)}")
        tell(say("start.copied"))
