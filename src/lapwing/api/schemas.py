"""`Schema.draft`, which looks at a private table (internal); `from_foreign` and `from_frame_types`, which do not."""

from dataclasses import asdict
from typing import Final

import polars as pl

from lapwing.errors import LapwingWarning, warn
from lapwing.on_demand import extra
from lapwing.rows.entry import private_boundary
from lapwing.schema.scalars import names_in_short, visible
from lapwing.schema.schemas import Schema
from lapwing.typing import ForeignLike, IntoFrame

__all__ = ["Schema", "check", "draft", "from_foreign", "from_frame_types"]


@private_boundary
def draft(data: IntoFrame) -> Schema:
    """Draft a schema from the names and types of a table's columns. Internal: its result was made by looking.

    Parameters
    ----------
    data : path, list of paths, pandas, Polars (eager or lazy) or PyArrow table
        The private rows. Only names and types are looked at; a CSV file has no types, so each of its columns gets the
        narrowest one that all its cells can be read as.

    Returns
    -------
    Schema
        With ``is_draft`` set and every domain blank: no release accepts it before its owner has filled in bounds and
        categories from public knowledge.

    Raises
    ------
    DataError
        If the table cannot be read, or a column holds lists, records or bytes.

    Notes
    -----
    The command ``lapwing schema draft`` writes the same skeleton to a file, and also prints what each column looks
    like and may need in the schema: texts that are numbers or dates, markers for missing, codes, special values.

    Examples
    --------
    >>> import polars as pl
    >>> draft(pl.DataFrame({"age": [31], "sex": ["f"]})).to_dict()["fields"][0]["constraints"]
    {'minimum': None, 'maximum': None}
    """
    found: Schema = extra("schemas").draft_schema(data).value
    return found


@private_boundary
def check(self: Schema, data: IntoFrame) -> pl.DataFrame:
    """Count the cells of a private table that do not fit the schema. Internal: exact counts, free, not to be published.

    Parameters
    ----------
    data : path, list of paths, pandas, Polars (eager or lazy) or PyArrow table, or Query
        The private rows.

    Returns
    -------
    polars.DataFrame
        One line per modelled column: ``column``; the number of its ``cells``, ``missing``, ``special``,
        ``out_of_bounds`` (a release takes the nearest bound) and ``misfit`` (a release takes them as missing where that
        is allowed); ``folded`` and ``unlisted``, of categories; ``cure``, what to mend, if it can be told.

    Raises
    ------
    DataError
        If the table cannot be read.

    Notes
    -----
    No noise and no budget: a bound that is moved because of what is seen here is ``assumed``, not ``public``. The
    command ``lapwing schema check`` also shows rules, public tables and rows per privacy unit.

    Examples
    --------
    >>> schema = Schema.load({"fields": [{"name": "sex", "type": "string", "categories": ["f", "m"]}]})
    >>> schema.check(pl.DataFrame({"sex": ["f", "F", None]}))["misfit"].to_list()
    [1]
    """
    found = pl.DataFrame([asdict(fit) for fit in extra("schemas").check_table(data, self).value])
    return found.rename({"name": "column", "clamped": "out_of_bounds"})


_LONGEST: Final = 300


def from_foreign(path: ForeignLike, *, table: str | None = None) -> Schema:
    """Return the schema that another tool's description of a table gives.

    Parameters
    ----------
    path : path, mapping or class
        A JSON file of at most 64 MiB, or a YAML file of at most 8; or what such a file holds. The format is recognised
        by what is in it. Or a class that says what a row is: a pydantic model, a dataclass, a typed dictionary, or a
        model or schema of Pandera: bounds come from ``Field`` and ``Annotated``, lists from ``Literal`` and ``Enum``,
        and what does not take None is required.
    table : str or None
        Which table, where the file describes several.

    Returns
    -------
    Schema
        A draft where the file leaves anything open: blank bounds and lists, and ``questions`` to you. Bounds,
        categories and ``required`` are taken where the file states them; every field is ``assumed``. ``lapwing schema
        convert`` says what is missing, how to supply it, and what has no place in a schema.

    Raises
    ------
    SchemaError
        Where the file cannot be read, is of no known format, or is broken.

    Warns
    -----
    LapwingWarning
        Where anything is open, once: how many questions and blanks there are, and where they stand.

    Examples
    --------
    >>> from_foreign({"age": 85, "sex": 2}).field("age").maximum
    84
    """
    found = extra("metadata").read_foreign(path, table=table)
    schema: Schema = found.schema
    still_open = _still_open(schema)
    if still_open:
        said = f"the schema is a draft: {still_open}. `lapwing schema convert` says how to supply what is missing"
        warn(LapwingWarning(said, code="LW203"))
    return schema


def _still_open(schema: Schema) -> str:
    """Return how many questions and blanks a schema has, and where they are; nothing for a complete one."""
    questions = schema.questions
    blank = [field.name for field in schema.columns if field.blank]
    parts = []
    if questions:
        first = visible(questions[0])
        shown = first if len(first) <= _LONGEST else f"{first[:_LONGEST]}..."
        parts.append(f"{_counted(len(questions), 'open question')} in its .questions, the first is: {shown}")
    if blank:
        parts.append(f"{_counted(len(blank), 'field')} with blank bounds or categories: {names_in_short(blank)}")
    return "; ".join(parts)


def _counted(count: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


@private_boundary
def from_frame_types(frame: IntoFrame) -> Schema:
    """Return a draft of a schema from the names and types of a frame's columns; no cell is looked at.

    Parameters
    ----------
    frame : pandas, Polars (eager or lazy), PyArrow, DuckDB or Spark frame
        Its types are taken to be public. Where a library guessed them from cells, as ``pandas.read_csv`` does, they
        are not, and `Schema.draft` says so.

    Returns
    -------
    Schema
        A draft while bounds and lists are open. Lists come from Polars' ``Enum`` alone, and wait for their
        ``provenance``: a list that was made of the cells is not public.

    Raises
    ------
    DataError
        If it is no frame, or a column holds lists, records or bytes.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [41], "sex": ["f"]}, schema_overrides={"sex": pl.Enum(["f", "m"])})
    >>> schema = from_frame_types(frame) | {"age": {"minimum": 0, "maximum": 99}, "sex": {"provenance": "public"}}
    >>> schema["sex"].categories, schema.is_draft
    (('f', 'm'), False)
    """
    found: Schema = extra("schemas").draft_of_types(frame)
    return found
