"""Rows of several tables that belong together, as frames with their keys."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lapwing.errors import ParameterError
from lapwing.model.files import SavedRelease
from lapwing.model.rows import seed_text
from lapwing.model.sampling.conditions import ConditionedModel, condition_model
from lapwing.model.statistics.expressions import read_conditions
from lapwing.release.linked.rows import DrawnTable, LinkedRows
from lapwing.release.rows_out import Where
from lapwing.release.runs.generators import chosen_seed, generator
from lapwing.rows.kinds import FrameLayout, Like
from lapwing.rows.out.outputs import check_made_up
from lapwing.schema.linked.database import LinkedTables
from lapwing.schema.linked.tables import LinkedTable
from lapwing.schema.scalars import check_row_count, safe_repr

if TYPE_CHECKING:
    import polars as pl


class NamedFrames(tuple[Any, ...]):
    """Frames of linked tables, in the order of the schema; ``tables["people"]`` and ``tables[1]`` are both one.

    >>> tables = NamedFrames(["homes", "people"], [1, 2])
    >>> homes, people = tables
    >>> tables["people"], tables.names
    (2, ('homes', 'people'))
    """

    names: tuple[str, ...]

    def __new__(cls, names: Sequence[str], frames: Sequence[Any]) -> "NamedFrames":  # noqa: D102
        found = super().__new__(cls, frames)
        found.names = tuple(names)
        return found

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401 - a frame of any library
        if isinstance(key, str):
            if key not in self.names:
                raise ParameterError(
                    f"there is no table {safe_repr(key)}; tables are {', '.join(self.names)}", code="LW301"
                )
            key = self.names.index(key)
        return super().__getitem__(key)

    def items(self) -> Iterator[tuple[str, Any]]:
        """Return names and frames."""
        return zip(self.names, self, strict=True)


def together(
    linked: LinkedTables, chunks: "Iterable[Mapping[str, pl.DataFrame]]", layouts: Mapping[str, FrameLayout]
) -> Any:  # noqa: ANN401 - frames
    """Return all chunks as one frame for each table, as its layout says; of events as the only frame."""
    import polars as pl  # noqa: PLC0415

    from lapwing.rows.out.writers import to_layout  # noqa: PLC0415

    names = linked.given
    drawn: dict[str, list[pl.DataFrame]] = {name: [] for name in names}
    for frames in chunks:
        for name, frame in frames.items():
            drawn[name].append(frame)
    found = []
    for name in names:
        schema = linked.as_written(name)
        rows = pl.concat(drawn[name])
        found.append(to_layout(rows, layouts[name], schema) if set(schema.names) <= set(rows.columns) else rows)
    return found[0] if linked.is_events else NamedFrames(names, found)


def linked_frames(
    linked: LinkedTables, parts: Mapping[str, SavedRelease], n: int | None, where: Where, seed: int | None
) -> "Iterator[dict[str, pl.DataFrame]]":
    """Draw the rows of several tables in chunks of whole units: Polars frames by table."""
    check_made_up(field for table in linked.tables for field in table.schema.fields)
    first = parts[linked.names[0]]
    asked = None if where is None else _asked(linked, first, where)
    known = (first.model if asked is None else asked.model).rows
    count = check_row_count(f"the number of rows of {linked.names[0]}", known if n is None else n)
    rows = LinkedRows.settled(linked, {name: part.model for name, part in parts.items()}, asked)
    return _frames(rows, count, generator(chosen_seed(seed), "rows"))


def layouts_of(linked: LinkedTables, own: Mapping[str, FrameLayout], like: Any) -> Mapping[str, FrameLayout]:  # noqa: ANN401
    """Return the layout of each table: that of the input, or one that was asked for."""
    if like is None:
        return own
    if linked.is_events or isinstance(like, str):
        like = [like] * len(linked.given)
    from lapwing.rows.layouts import layout_like  # noqa: PLC0415 - it imports polars

    frames: Mapping[str, Like] = like if isinstance(like, Mapping) else dict(zip(linked.given, like, strict=True))
    return {name: layout_like(frames[name], linked.as_written(name)) for name in linked.given}


def _asked(linked: LinkedTables, of: SavedRelease, where: Where) -> ConditionedModel:
    """Return the model of the first table given a condition on its columns."""
    if isinstance(where, str):
        where = read_conditions([where], of.schema, linked.first_column) or {}
    if not isinstance(where, Mapping):
        raise ParameterError(
            f"of linked tables where must be a text, or a mapping of columns of {linked.names[0]} to values, got "
            f"{safe_repr(type(where).__name__)}; draw once for each condition",
            code="LW320",
        )
    return condition_model(of.model, of.schema, {linked.first_column(name): value for name, value in where.items()})


def _frames(rows: LinkedRows, n: int, rng: np.random.Generator) -> "Iterator[dict[str, pl.DataFrame]]":
    """Draw chunk by chunk; keys count on from chunk to chunk."""
    linked = rows.linked
    before, seed = dict.fromkeys(linked.names, 0), seed_text(rng)
    for drawn in rows.chunks(n, rng):
        found: dict[str, pl.DataFrame] = {}
        for table in linked.tables:
            found[table.name] = _frame(linked, table, drawn, found, (before[table.name], f"{seed} {table.name}"))
            before[table.name] += drawn[table.name].rows
        yield {name: found[name].select(_written(linked, name)) for name in linked.given}


def _written(linked: LinkedTables, name: str) -> list[str]:
    """Return the columns that are written of a table."""
    return list(linked.columns) or [field.name for field in linked.table(name).written]


def _frame(
    linked: LinkedTables,
    table: LinkedTable,
    drawn: Mapping[str, DrawnTable],
    found: "Mapping[str, pl.DataFrame]",
    known: tuple[int, str],
) -> "pl.DataFrame":
    """Return the rows of one table with their keys, and those of their parents.

    known: how many rows are before these, and what names are made up from.
    """
    from lapwing.rows.out.decode import decode  # noqa: PLC0415 - polars takes a quarter of a second to import

    frame = decode(drawn[table.name].codes, table.schema, *known)
    if table.parent is None or table.link is None:
        return frame
    parents = found[table.parent]
    own = drawn[table.name].parents
    key = linked.table(table.parent).key or ""
    given = [key, *(field.name for field in linked.tables[0].own)] if linked.is_events else [key]
    columns = [parents[each].gather(own).alias(table.link if each == key else each) for each in given]
    return frame.with_columns(columns)
