"""The release of linked tables: a part for each, and rows of all that belong together."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from lapwing.errors import ParameterError
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.files import SavedRelease, save_release
from lapwing.model.sampling.conditions import Conditioned, conditioned
from lapwing.on_demand import Shown, extra
from lapwing.release.linked.rows import Drawn, LinkedRows
from lapwing.release.linked.targets import write_into
from lapwing.release.release import Release
from lapwing.release.rows_out import Where
from lapwing.release.runs.generators import chosen_seed, generator
from lapwing.rows.kinds import Layout, Like
from lapwing.rows.out.outputs import write_output
from lapwing.schema.linked.database import LinkedTables
from lapwing.schema.linked.tables import LinkedTable
from lapwing.schema.scalars import checked_rows, path_text, told
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    import polars as pl


class Tables(tuple[Any, ...]):
    """Frames of linked tables, in the order of the schema; ``tables["people"]`` and ``tables[1]`` are both one.

    >>> tables = Tables(["homes", "people"], [1, 2])
    >>> homes, people = tables
    >>> tables["people"], tables.names
    (2, ('homes', 'people'))
    """

    names: tuple[str, ...]

    def __new__(cls, names: Sequence[str], frames: Sequence[Any]) -> "Tables":  # noqa: D102
        found = super().__new__(cls, frames)
        found.names = tuple(names)
        return found

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401 - a frame of any library
        if isinstance(key, str):
            if key not in self.names:
                raise ParameterError(f"there is no table {told(key)}; tables are {', '.join(self.names)}", code="LW301")
            key = self.names.index(key)
        return super().__getitem__(key)

    def items(self) -> Iterator[tuple[str, Any]]:
        """Return names and frames."""
        return zip(self.names, self, strict=True)


def _of_one(verb: str) -> Callable[..., Any]:
    """Return what asks a verb of the table that has the columns in question, or says how to ask it of one."""

    def ask(release: "LinkedRelease", columns: Any = None, *others: Any, where: Any = None, **asked: Any) -> Any:  # noqa: ANN401
        of = columns if where is None else where
        names = [of] if isinstance(of, str) and where is None else of
        if (
            not isinstance(names, Mapping | list | tuple)
            or not all(isinstance(name, str) for name in names)
            or not names
        ):
            names = release.linked.names
            raise ParameterError(
                f"{verb} is about the rows of one table, and this release has {', '.join(names)}; name columns, or "
                f"call release.tables[{names[-1]!r}].{verb}(...)",
                code="LW252",
            )
        given = (columns, *others) if columns is not None or others else ()
        condition = {} if where is None else {"where": where}
        return getattr(release.tables[release.linked.home_of(names, verb)], verb)(*given, **condition, **asked)

    return ask


def _of_each(what: str, why: str) -> Callable[..., NoReturn]:
    """Return what refuses what only a table by itself has, and says why."""

    def refuse(release: "LinkedRelease", *_: object, **__: object) -> NoReturn:
        last = release.linked.names[-1]
        raise ParameterError(f"{why}; take release.tables[{last!r}].{what}", code="LW252")

    return refuse


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinkedRelease(Shown):
    """A differentially private release of linked tables; every method is free post-processing.

    Parameters
    ----------
    tables : mapping of str to Release
        By table: of its rows with their place, the row before and the rows above. ``tables["people"].query(...)`` and
        all else costs nothing. Rows that it draws by itself belong to none of another table; `sample` gives those
        that do.
    certificate : Certificate
        What was spent on all parts together, what is kept and what is not.
    seed : int or None
        The caller's seed, used by `sample` when it is given none.

    Examples
    --------
    >>> import lapwing as lw
    >>> import polars as pl
    >>> schema = {"privacyUnit": {"field": "who", "maxRows": 3}, "order": "day", "fields": [
    ...     {"name": "who", "type": "integer", "role": "identifier"},
    ...     {"name": "day", "type": "integer", "constraints": {"minimum": 1, "maximum": 9, "required": True}}]}
    >>> days = pl.DataFrame({"who": [1, 1, 2] * 50, "day": [1, 4, 2] * 50})
    >>> release = lw.synthesize(days, schema, epsilon=100, seed=1)
    >>> release.sample(4).columns
    ['who', 'day']
    """

    tables: Mapping[str, Release]
    certificate: Certificate
    seed: int | None = None

    def __repr__(self) -> str:
        return f"LinkedRelease({self.certificate.short})"

    @property
    def schema(self) -> Schema:
        """The public schema."""
        return Schema(linked=self.linked)

    @property
    def linked(self) -> LinkedTables:
        """What it says of the tables together."""
        assert self.certificate.linked is not None
        return self.certificate.linked

    @property
    def answers(self) -> "pl.DataFrame":
        """All noisy answers, as of `Release.answers`; the first column, ``linked_table``, says whose each is."""
        import polars as pl  # noqa: PLC0415

        found = [
            part.answers.select(pl.lit(name).alias("linked_table"), pl.all()) for name, part in self.tables.items()
        ]
        return pl.concat(found)

    def answer_tables(self) -> "list[tuple[str, pl.DataFrame]]":
        """Return each noisy table, as of `Release.answer_tables`; its name begins with that of the table."""
        return [(f"{of}: {name}", each) for of, part in self.tables.items() for name, each in part.answer_tables()]

    query, accuracy, support, plot = map(_of_one, ("query", "accuracy", "support", "plot"))
    replicates = _of_each("replicates(...)", "simulated rows are of one table, and belong to no rows of another")
    certified_errors = _of_each("certified_errors(...)", "these are bounds of the workload of one table")
    rows = _of_each("rows(...)", "rows of several tables are drawn together, by sample, frames and write")
    to_croissant = _of_each("to_croissant(...)", "it is about rows of one table; --croissant of the command is of all")
    model = property(_of_each("model", "each table has a model of its own"))
    noisy = property(_of_each("noisy", "each table has answers of its own, and release.answers has them all"))
    kind = property(_of_each("kind", "each table has frames of its own kind"))
    layout = property(_of_each("layout", "each table has frames of its own layout"))

    @property
    def parent(self) -> Release:
        """The part of the first table."""
        return self.tables[self.linked.names[0]]

    @property
    def child(self) -> Release:
        """The part of the second table."""
        return self.tables[self.linked.names[1]]

    def sample(self, n: int | None = None, seed: int | None = None, where: Where = None, *, like: Any = None) -> Any:  # noqa: ANN401 - frames
        """Draw rows of the first table from the released model, and all that belong to them.

        Parameters
        ----------
        n : int, at least 0, optional
            Number of privacy units, the rows of the first table; by default the released one, or of those expected to
            match ``where``.
        seed : int, optional
            Of the public generator; by default the release's own seed, else a fresh one.
        where : mapping of column to value, list of values or lw.between, optional
            Only units whose row in the first table matches, and the rows that belong to them. Columns are those of the
            first table, also as ``TABLE.COLUMN``, and the numbers of rows of its child tables; of events those that
            are one for each person, and ``rows``.
        like : frame, or sequence or mapping of frames, optional
            For events, or for each table, as for `Release.sample`.

        Returns
        -------
        frame or Tables
            Of events one frame. Else one for each table, by order or name, in the layout of its input and with the
            columns of its schema. Keys are fresh numbers, and each row has that of its parent; rows of a parent stand
            together, in their order.

        Raises
        ------
        ParameterError
            If ``n``, the seed or a condition is out of range, or ``like`` has other columns than the schema.

        Notes
        -----
        Each row of a parent has as many rows as its number of rows says. The first is drawn from the released model
        given the parent's columns and these numbers, each other one given the row before it too.
        """
        import polars as pl  # noqa: PLC0415

        from lapwing.rows.out.writers import to_layout  # noqa: PLC0415

        names = self.linked.given
        layouts = self._layouts(like)
        drawn: dict[str, list[pl.DataFrame]] = {name: [] for name in names}
        for frames in self.frames(n, seed=seed, where=where):
            for name, frame in frames.items():
                drawn[name].append(frame)
        found = []
        for name in names:
            schema = self.linked.as_written(name)
            rows = pl.concat(drawn[name])
            found.append(to_layout(rows, layouts[name], schema) if set(schema.names) <= set(rows.columns) else rows)
        return found[0] if self.linked.is_events else Tables(names, found)

    def frames(
        self, n: int | None = None, *, seed: int | None = None, where: Where = None
    ) -> "Iterator[dict[str, pl.DataFrame]]":
        """Draw the rows of `sample` in chunks of whole units: Polars frames by table."""
        asked = None if where is None else self._asked(where)
        known = (self.parent.model if asked is None else asked.model).rows
        count = checked_rows(f"the number of rows of {self.linked.names[0]}", known if n is None else n)
        chosen = chosen_seed(self.seed if seed is None else seed)
        return self._frames(count, generator(chosen, "rows"), asked)

    def write(self, path: str | Path, n: int | None = None, seed: int | None = None, where: Where = None) -> None:
        """Draw rows as `sample` does and write all tables, public ones too, in the memory of a few chunks.

        Parameters
        ----------
        path : path or address
            A folder, which gets a Parquet file for each table; a new file that ends in ``.duckdb``, ``.sqlite`` or
            ``.db``; or ``postgresql://user@host/name``. Databases get the keys declared.
        n, seed, where
            As for `sample`.

        Raises
        ------
        ParameterError
            As `sample`; or if a database is there already, or a folder with other files in it.
        DataError
            If it cannot be written; then nothing is.
        """
        write_into(self.linked, self.frames(n, seed=seed, where=where), path_text("path", path))

    def save(self, path: str | Path) -> None:
        """Write all parts to one ``.lapwing`` file, for `lapwing.load`; it holds released numbers only."""
        saved = {
            name: SavedRelease(part.schema, part.model, part.certificate, part.noisy)
            for name, part in self.tables.items()
        }
        save_release(self.certificate, saved, Path(path_text("path", path)))

    def to_html(self, path: str | Path) -> None:
        """Write a report that may be published: what holds for all tables, then each, as `Release.to_html`.

        Parameters
        ----------
        path : path
            The file, whose name usually ends in ``.html``.

        Raises
        ------
        LapwingError
            If ``lapwing[evaluate]`` is not installed.
        DataError
            If the file cannot be written.
        """
        write_output(path, extra("report of tables").linked_html(self.tables, self.certificate))

    def _layouts(self, like: Any) -> dict[str, Layout]:  # noqa: ANN401 - frames
        """Return the layout of each table: that of the input, or one that was asked for."""
        linked = self.linked
        if like is None:
            return {name: self.tables[name].layout or Layout(self.tables[name].kind) for name in linked.given}
        if linked.is_events or isinstance(like, str):
            like = [like] * len(linked.given)
        from lapwing.rows.layouts import layout_like  # noqa: PLC0415 - it imports polars

        frames: Mapping[str, Like] = like if isinstance(like, Mapping) else dict(zip(linked.given, like, strict=True))
        return {name: layout_like(frames[name], linked.as_written(name)) for name in linked.given}

    def _asked(self, where: Where) -> Conditioned:
        """Return the model of the first table given a condition on its columns."""
        if not isinstance(where, Mapping):
            raise ParameterError(
                f"of linked tables where must be a mapping of columns of {self.linked.names[0]} to values, got "
                f"{told(type(where).__name__)}; draw once for each condition",
                code="LW320",
            )
        first = {self.linked.first_column(name): value for name, value in where.items()}
        return conditioned(self.parent.model, self.parent.schema, first)

    def _frames(
        self, n: int, rng: np.random.Generator, asked: Conditioned | None
    ) -> "Iterator[dict[str, pl.DataFrame]]":
        """Draw chunk by chunk; keys count on from chunk to chunk."""
        before = dict.fromkeys(self.linked.names, 0)
        rows = LinkedRows(self.linked, {name: part.model for name, part in self.tables.items()}, asked)
        for drawn in rows.chunks(n, rng):
            found: dict[str, pl.DataFrame] = {}
            for table in self.linked.tables:
                found[table.name] = self._frame(table, drawn, found, before[table.name])
                before[table.name] += drawn[table.name].rows
            yield {name: found[name].select(self._written(name)) for name in self.linked.given}

    def _written(self, name: str) -> list[str]:
        """Return the columns that are written of a table."""
        return list(self.linked.columns) or [field.name for field in self.linked.table(name).written]

    def _frame(
        self, table: LinkedTable, drawn: Mapping[str, Drawn], found: "Mapping[str, pl.DataFrame]", before: int
    ) -> "pl.DataFrame":
        """Return the rows of one table with their keys, and those of their parents."""
        from lapwing.rows.out.decode import decode  # noqa: PLC0415 - polars takes a quarter of a second to import

        frame = decode(drawn[table.name].codes, table.schema, before)
        if table.parent is None or table.link is None:
            return frame
        parents = found[table.parent]
        own = drawn[table.name].parents
        key = self.linked.table(table.parent).key or ""
        given = [key, *(field.name for field in self.linked.tables[0].own)] if self.linked.is_events else [key]
        columns = [parents[each].gather(own).alias(table.link if each == key else each) for each in given]
        return frame.with_columns(columns)
