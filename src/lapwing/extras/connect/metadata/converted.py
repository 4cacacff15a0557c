"""What every reader of a foreign format returns, and what readers share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lapwing.errors import SchemaError
from lapwing.schema.fields import Field, FieldType, PrivacyUnit
from lapwing.schema.reading import DIALECT_KEYS, PLAIN_FILE, Dialect, Reading, dialect_from, reading_from
from lapwing.schema.scalars import (
    category_key,
    finite_number,
    is_encodable,
    names_in_short,
    quote,
)
from lapwing.schema.schemas import Schema

WRITTEN_OTHERWISE: Final = (
    "the file is not written as plain CSV; write it with commas, double quotes, and one line of names"
)
_USUAL: Final = {"delimiter": (",",), "encoding": ("utf-8", "UTF-8", "utf8", None)}

UNIT_LACK: Final = "whose rows are protected together"


MISREAD: Final = "LW261"
"""The code of a foreign file that is not as its format has it."""


def refusal(said: str) -> SchemaError:
    """Return the error that a foreign file is not as its format has it."""
    return SchemaError(said, code="LW261")


@dataclass(frozen=True, slots=True)
class Lack:
    """One thing that a schema needs and a foreign file does not say.

    >>> Lack("age", "whether the numbers are whole", "choose type integer or number").question
    'field "age": whether the numbers are whole: choose type integer or number'
    """

    field: str
    what: str
    way_out: str  # a command or an edit
    is_blank: bool = False  # the schema shows it; all else becomes a question of the schema

    @property
    def question(self) -> str:
        """What the owner has to answer, in words."""
        where = f"field {quote(self.field)}: " if self.field else ""
        return f"{where}{self.what}: {self.way_out}"


@dataclass(frozen=True, slots=True)
class ConvertedTable:
    """A foreign file, read: a draft where anything is missing, its fields ``assumed``, and sentences about it."""

    schema: Schema
    format: str  # as the person who uses its tool calls it
    lacks: tuple[Lack, ...] = ()  # in the order of the fields
    notes: tuple[str, ...] = ()  # what was read and has no counterpart in a schema


def converted_table(
    fields: Iterable[Field],
    form: str = "",
    *,
    name: str = "",
    unit: PrivacyUnit | None = None,
    lacks: Iterable[Lack] = (),
    notes: Iterable[str] = (),
    dialect: Dialect = PLAIN_FILE,
) -> ConvertedTable:
    """Return what a reader made: a draft where there is any lack; what no blank of the schema shows is a question."""
    listed = tuple(fields)
    way_out = "fill them in from public knowledge, or learn them with lapwing schema learn"
    blanks = (Lack(field.name, " and ".join(field.blank), way_out, is_blank=True) for field in listed if field.blank)
    missing = (*lacks, *blanks)
    places = {field.name: place for place, field in enumerate(listed)}
    in_order = tuple(sorted(missing, key=lambda lack: places.get(lack.field, -1)))
    title = name if is_encodable(name) else ""
    questions = tuple(lack.question for lack in in_order if not lack.is_blank)
    schema = Schema(
        fields=listed, privacy_unit=unit, is_draft=bool(in_order), name=title, questions=questions, dialect=dialect
    )
    return ConvertedTable(schema, form, in_order, tuple(notes))


def unit_lack(why: str, how: str = '"privacyUnit": {"field": ..., "maxRows": ...}') -> Lack:
    """Return the lack of a privacy unit where a file leaves open, or says in vain, whose rows belong together."""
    return Lack("", UNIT_LACK, f"{why}: write {how}, or remove this question if each row is another person's")


def chosen_table(tables: Sequence[str], wanted: str | None, what: str, also: Sequence[str | None] = ()) -> str:
    """Return the table to read: the only one, or the one that was asked for, perhaps by its other name in `also`."""
    if wanted not in tables and also.count(wanted) == 1:
        wanted = tables[also.index(wanted)]
    if not tables:
        raise SchemaError(f"{what} describes no table; give a file with columns", code="LW262")
    if wanted is None and len(tables) == 1:
        return tables[0]
    if wanted in tables:
        return str(wanted)
    listed = names_in_short(tables, 20)
    if wanted is None:
        raise SchemaError(f"{what} describes several tables; choose one with table= or --table: {listed}", code="LW262")
    raise SchemaError(f"{what} has no table {quote(wanted)}; choose one of {listed}", code="LW262")


def text_or_empty(value: object) -> str:
    """Return a text that can be written again, or the empty text for anything else."""
    return value if isinstance(value, str) and is_encodable(value) else ""


class Remarks:
    """Collect what has no counterpart, one sentence for each kind of thing, however many fields it concerns."""

    def __init__(self, most: int = 8) -> None:
        self._fields: dict[str, list[str]] = {}
        self._most = most

    def add(self, text: str, *fields: str) -> None:
        """Note something, of fields or of the whole file."""
        self._fields.setdefault(text, []).extend(fields)

    def texts(self) -> tuple[str, ...]:
        """Return the sentences, in the order in which their kinds were first met."""
        return tuple(
            f"{text}: {names_in_short(fields, self._most)}" if fields else text for text, fields in self._fields.items()
        )


def reading_of(kind: FieldType, **keys: object) -> Reading | None:
    """Return how cells are written, by keys of a field in the file format; None where a schema cannot say so."""
    try:
        return reading_from("", {"type": kind, **keys})
    except SchemaError:
        return None


def dialect_of(about: Mapping[str, Any], others: Mapping[str, Any]) -> Dialect | None:
    """Return how a file is written; None where a schema cannot say so; others: keys, and where they say nothing."""
    if any(about.get(key, usual) != usual for key, usual in others.items()):
        return None
    found = {key: about[key] for key in DIALECT_KEYS & about.keys() if about[key] not in _USUAL.get(key, ())}
    try:
        return dialect_from(found)
    except SchemaError:
        return None


def missing_texts(categories: Iterable[object] | None, texts: Iterable[str] = ("",)) -> tuple[str, ...]:
    """Return the texts that are read as missing: those given, less the ones that are categories."""
    taken = {category_key(value) for value in categories or () if isinstance(value, str | int | float)}
    return tuple(text for text in dict.fromkeys(texts) if text not in taken)


def scalars(values: Iterable[object], where: str) -> list[str | int | float]:
    """Return values that are texts or numbers, as they are."""
    found = []
    for value in values:
        if not isinstance(value, str) and (isinstance(value, bool) or finite_number(value) is None):
            raise refusal(f"{where}: the value {quote(value)} must be a text or a finite number; correct it")
        assert isinstance(value, str | int | float)
        found.append(value)
    return found
