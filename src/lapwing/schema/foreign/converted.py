"""What every reader of a foreign format returns, and what readers share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lapwing.errors import SchemaError
from lapwing.schema.checks import is_encodable
from lapwing.schema.fields import Field
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import PrivacyUnit, Schema

UNIT_LACK: Final = "whose rows are protected together"


@dataclass(frozen=True, slots=True)
class Lack:
    """One thing that a schema needs and a foreign file does not say.

    Parameters
    ----------
    field : str
        Name of the field; empty where it is the whole table that lacks something.
    what : str
        What is missing, such as ``"minimum and maximum"``.
    way_out : str
        How to supply it, as a command or an edit.
    is_blank : bool, default False
        Whether the schema itself shows it, as blank bounds or a blank list. All else becomes a question of the schema.

    Examples
    --------
    >>> Lack("age", "whether the numbers are whole", "choose type integer or number").question
    'field "age": whether the numbers are whole: choose type integer or number'
    """

    field: str
    what: str
    way_out: str
    is_blank: bool = False

    @property
    def question(self) -> str:
        """What the owner has to answer, in words."""
        where = f"field {quote(self.field)}: " if self.field else ""
        return f"{where}{self.what}: {self.way_out}"


@dataclass(frozen=True, slots=True)
class Converted:
    """A foreign file, read.

    Parameters
    ----------
    schema : Schema
        A draft where anything is missing; every field is ``assumed``, as a file cannot say that it is public. What
        is missing beside blank bounds and lists stands in its questions.
    format : str
        The format, as the person who uses its tool calls it.
    lacks : tuple of Lack
        What is missing, in the order of the fields.
    notes : tuple of str
        What was read and has no counterpart in a schema, one sentence each without a full stop.
    """

    schema: Schema
    format: str
    lacks: tuple[Lack, ...] = ()
    notes: tuple[str, ...] = ()


def converted(
    fields: Iterable[Field],
    form: str,
    *,
    name: str = "",
    unit: PrivacyUnit | None = None,
    lacks: Iterable[Lack] = (),
    notes: Iterable[str] = (),
) -> Converted:
    """Return what a reader made, with a lack for each blank domain, as a draft where there is any lack.

    Lacks that no blank of the schema shows become its questions, without whose answers nothing is learned or released.

    Parameters
    ----------
    fields : iterable of Field
        In the order of the file; blank where it says nothing.
    form : str
        The format.
    name : str
        Name of the table, may be empty.
    unit : PrivacyUnit or None
        Whose records are protected together.
    lacks : iterable of Lack
        What is missing beside blank bounds and categories: questions to the owner.
    notes : iterable of str
        What has no counterpart.

    Raises
    ------
    SchemaError
        Where the fields do not make a schema: none to model, or a name that stands twice.

    Examples
    --------
    >>> found = converted([Field(name="age", type="integer")], "SDV metadata")
    >>> found.schema.is_draft, found.lacks[0].what
    (True, 'minimum and maximum')
    """
    listed = tuple(fields)
    missing = (*lacks, *(blank_lack(field) for field in listed if field.blank))
    places = {field.name: place for place, field in enumerate(listed)}
    in_order = tuple(sorted(missing, key=lambda lack: places.get(lack.field, -1)))
    title = name if is_encodable(name) else ""
    questions = tuple(lack.question for lack in in_order if not lack.is_blank)
    schema = Schema(fields=listed, privacy_unit=unit, is_draft=bool(in_order), name=title, questions=questions)
    return Converted(schema, form, in_order, tuple(notes))


def blank_lack(field: Field) -> Lack:
    """Return the lack of a field whose domain is blank."""
    return Lack(
        field.name,
        " and ".join(field.blank),
        "write them into the file from public knowledge, or buy them with lapwing schema learn",
        is_blank=True,
    )


def unit_lack(why: str, how: str = '"privacyUnit": {"field": ..., "maxRows": ...}') -> Lack:
    """Return the lack of a privacy unit where a file leaves open, or says in vain, whose rows belong together."""
    return Lack(
        "",
        UNIT_LACK,
        f"{why}: write {how}, or remove this question if each row is another person's",
    )


def chosen_table(tables: Sequence[str], wanted: str | None, what: str) -> str:
    """Return the table to read: the only one, or the one that was asked for.

    Parameters
    ----------
    tables : sequence of str
        Names of all tables in the file.
    wanted : str or None
        The one that was asked for.
    what : str
        Begins the error sentence; names the file.

    Raises
    ------
    SchemaError
        Where there is no table, no such table, or several and none was asked for; the sentence lists them.
    """
    if not tables:
        raise SchemaError(f"{what} describes no table; give a file with columns", code="LW262")
    if wanted is None and len(tables) == 1:
        return tables[0]
    if wanted in tables:
        return str(wanted)
    more = f" and {len(tables) - 20} more" if len(tables) > 20 else ""
    listed = ", ".join(map(quote, tables[:20])) + more
    if wanted is None:
        raise SchemaError(f"{what} describes several tables; choose one with table= or --table: {listed}", code="LW262")
    raise SchemaError(f"{what} has no table {quote(wanted)}; choose one of {listed}", code="LW262")


def names_in_short(names: Sequence[str]) -> str:
    """Return names in quotes, the first ten of them."""
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(map(quote, names[:10])) + more


def text_or_empty(value: object) -> str:
    """Return a text that can be written again, or the empty text for anything else."""
    return value if isinstance(value, str) and is_encodable(value) else ""


def flag(source: Mapping[str, Any], key: str, where: str, *, default: bool) -> bool:
    """Return a yes/no setting, refusing anything else."""
    value = source.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise SchemaError(f"{where}: {key} must be true or false, got {quote(value)}", code="LW206")
    return value
