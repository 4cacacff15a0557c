"""Tables of the released model, with labels."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal, Protocol

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Number, exact_number
from lapwing.kernel.questions.questions import Answer
from lapwing.model.evidence import PUBLIC, AskedTable, CellIntervals, intervals, measured_groupings
from lapwing.model.sampling.marginals import marginal, weighted_marginal
from lapwing.model.statistics.expressions import Condition
from lapwing.release.asked import meeting
from lapwing.schema.groupings.grouping import Grouping, evenly, identity, interval_grouping
from lapwing.schema.groupings.hierarchies import common_refinement
from lapwing.schema.public_tables.cells import CodedTable, coded_tables
from lapwing.schema.scalars import is_among, safe_repr
from lapwing.schema.schemas import Schema
from lapwing.schema.values import labels

if TYPE_CHECKING:
    import polars as pl

    from lapwing.model.certificate.certificate import Certificate
    from lapwing.model.model import ReleasedModel


class Parts(Protocol):
    """What a release consists of."""

    @property
    def schema(self) -> Schema:
        """The public schema."""

    @property
    def model(self) -> "ReleasedModel":
        """What rows are drawn from."""

    @property
    def certificate(self) -> "Certificate":
        """What was spent on what."""

    @property
    def noisy(self) -> tuple[Answer, ...]:
        """Every answer that the mechanism saw."""


Groups = int | Literal["measured"]

INTERVAL: Final = ("lower", "upper", "basis")  # columns of a queried table that tell where the true counts are


def query_table(
    release: Parts,
    columns: str | Sequence[str],
    *,
    groups: Groups = 20,
    confidence: Number = "0.95",
    weighted: bool = False,
    where: Condition | None = None,
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the model's table over some columns as arrays, and which of their intervals for the true ones are known.

    See `Release.query`; `as_frame` makes a frame of it. where: of those rows alone that meet a condition, as for
    `Release.accuracy`: no line is returned for cells in which it is never true; groups of a column that it looks at end
    where it does; ``share`` is of the rows that meet it.
    """
    schema, noisy, public_rows = release.schema, release.noisy, release.certificate.public_rows
    if not isinstance(weighted, bool):
        raise ParameterError(f"weighted must be true or false, got {safe_repr(weighted)}", code="LW304")
    if weighted and schema.weight is None:
        raise ParameterError(
            "weighted totals need a survey weight, and the release's schema names none; name the column of weights "
            'under "weight" in the schema before the release, or ask for plain counts',
            code="LW332",
        )
    if weighted and where is not None:
        raise ParameterError("weighted totals are of all rows; leave the conditions out, or the weight", code="LW332")
    columns = listed_columns(columns)
    failure = failure_of_confidence(confidence)
    asked = AskedTable(columns, query_groupings(schema, noisy, columns, groups))
    if weighted and schema.weight is not None:
        weight = schema.field(schema.weight)
        counts = weighted_marginal(release.model, weight, columns, asked.groupings)
        return _cell_rows(
            schema, asked, counts, intervals(noisy, asked, failure, weight=weight, public_rows=public_rows)
        )
    if where is not None:
        asked = meeting(asked, where, schema)
    counts = asked.summed(marginal(release.model, asked.columns, asked.groupings))
    found = intervals(noisy, asked, failure, public_rows=public_rows)
    public, is_public = public_counts(schema, asked)
    lower, upper = (np.where(is_public, public, ends) for ends in (found.lower, found.upper))
    terms, misfits_out = np.where(is_public, PUBLIC, found.terms), found.misfits_out & ~is_public
    return _cell_rows(schema, asked, counts, CellIntervals(lower, upper, terms, misfits_out), called="count")


def as_frame(cells: Mapping[str, np.ndarray], is_known: np.ndarray) -> "pl.DataFrame":
    """Return what `listed` does as a frame, with null ends where no interval is known."""
    import polars as pl  # noqa: PLC0415

    texts = {name: pl.String for name, each in cells.items() if each.dtype == object}
    frame = pl.DataFrame(
        {name: pl.Series(each.tolist() if name in texts else each) for name, each in cells.items()},
        schema_overrides=texts,
    )
    lower, upper = list(cells)[-3:-1]
    return frame.with_columns(pl.when(pl.Series(is_known)).then(pl.col(lower, upper)))


def _cell_rows(
    schema: Schema, asked: AskedTable, counts: np.ndarray, found: CellIntervals, *, called: str = "total"
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return each cell's labels, what the model says and the interval, and where this is known.

    Where an interval is known, the value in it that is nearest to the model's is shown.
    """
    columns = asked.columns[: len(asked.shape)]
    shown = [group_labels(schema, *each) for each in zip(columns, asked.groupings, strict=False)]
    inside = tuple(slice(0, len(texts)) for texts in shown)
    is_known, ends = found.terms[inside] != 0, (found.lower[inside], found.upper[inside])
    counts = np.where(is_known, np.clip(counts[inside], *ends), counts[inside])
    cells = np.indices(counts.shape).reshape(len(columns), -1)
    found_cells = {
        name: np.array(texts, dtype=object)[cell] for name, texts, cell in zip(columns, shown, cells, strict=True)
    }
    total = counts.sum()
    share = counts.ravel() / total if total > 0 else np.zeros(counts.size)
    lower, upper, basis = (free_name(name, columns) for name in INTERVAL)
    found_cells |= {free_name(called, columns): counts.ravel(), free_name("share", columns): share}
    found_cells |= {lower: ends[0].ravel(), upper: ends[1].ravel()}
    found_cells[basis] = found.basis()[inside].ravel()
    these = slice(None) if asked.inside is None else asked.is_met[inside].ravel()
    return {name: each[these] for name, each in found_cells.items()}, is_known.ravel()[these]


def listed_columns(columns: str | Sequence[str]) -> list[str]:
    """Return the names of columns, or refuse what is no name or list of distinct ones."""
    listed = [columns] if isinstance(columns, str) else columns
    is_named = isinstance(listed, Sequence) and all(isinstance(each, str) for each in listed)
    if not is_named or not listed or len(set(listed)) != len(listed):
        raise ParameterError(
            f"columns must be a column name or a list of distinct ones, got {safe_repr(columns)}", code="LW330"
        )
    return list(listed)


def failure_of_confidence(confidence: Number) -> Fraction:
    """Return the chance of a miss that a confidence allows, above 0 and below 1."""
    failure = 1 - exact_number("confidence", confidence)
    if not 0 < failure < 1:
        raise ParameterError(f"confidence must be above 0 and below 1, got {confidence}; 0.95 is usual", code="LW301")
    return failure


def free_name(name: str, taken: Sequence[str]) -> str:
    """Return a name for a result column: the name itself, with underscores where the table has a column called so."""
    while name in taken:
        name += "_"
    return name


def query_groupings(
    schema: Schema, noisy: Sequence[Answer], columns: Sequence[str], groups: Groups
) -> tuple[Grouping, ...]:
    """Return the groupings under which columns are shown together; see `Release.query`."""
    measured = measured_groupings(noisy, columns)
    if is_among(groups, ("measured",)):
        if measured is None:
            raise ParameterError(
                f"no noisy answer counted {', '.join(columns)} together; give a number of groups such as 20",
                code="LW333",
            )
        return measured
    if isinstance(groups, bool) or not isinstance(groups, int) or groups < 2:
        several = "; to count several columns together, give a list of them" if is_among(groups, schema.names) else ""
        raise ParameterError(
            f"groups must be at least 2, or 'measured', got {safe_repr(groups)}{several}", code="LW302"
        )
    wanted = tuple(query_grouping(schema, name, groups) for name in columns)
    if measured is None:
        return wanted
    return tuple(_snap_ends(schema, *each) for each in zip(columns, wanted, measured, strict=True))


def query_grouping(schema: Schema, name: str, groups: int) -> Grouping:
    """Return the grouping under which a column is shown: value by value where it has few, else nearly equal runs."""
    field = schema.field(name)
    domain = field.domain
    if field.is_categorical or domain.values <= groups:
        return identity(domain)
    return evenly(domain, groups)


def _snap_ends(schema: Schema, name: str, wanted: Grouping, measured: Grouping) -> Grouping:
    """Return runs with their ends moved to the nearest ones that were measured, where these are no fewer."""
    if measured.kind == "table" or measured.regular < wanted.regular or wanted.regular == 1:
        return wanted
    asked, known = (each.pieces()[0][1 : each.regular] for each in (wanted, measured))
    after = np.searchsorted(known, asked).clip(1, known.size - 1) if known.size > 1 else np.zeros_like(asked)
    before = np.maximum(after - 1, 0)
    nearest = np.where(asked - known[before] <= known[after] - asked, known[before], known[after])
    return interval_grouping(schema.field(name).domain, np.unique(nearest))


def group_labels(schema: Schema, name: str, grouping: Grouping) -> list[str]:
    """Return the labels of a column's groups, without the misfit group, which the model never has."""
    field = schema.field(name)
    texts = labels(grouping, field)
    return texts if field.domain.missing else texts[:-1]


# -- Counts of a queried table that the public tables of the schema determine.


_MOST_COMBINATIONS: Final = 2**22


def public_counts(schema: Schema, asked: AskedTable) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts of a table that follow from exact public tables.

    schema: with its public tables; priors are of another population and are not looked at. Returns counts: int64, of
    the asked shape, in rows of the public tables; 0 where none determines them; known: bool, of the asked shape, where
    one public table has all columns, and each of its cells that counts anybody and meets the cell lies inside it.
    Tables that tell more than 2**22 combinations apart are passed over.
    """
    shape = tuple(grouping.groups for grouping in asked.groupings)
    counts, known = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.bool_)
    for table in coded_tables(schema):
        pairs = _matching_cells(table, asked) if set(asked.columns) <= set(table.columns) else None
        if pairs is None:
            continue
        met, cell = pairs
        is_cut = np.bincount(cell, minlength=table.counts.size) > 1
        spoiled = np.bincount(met[is_cut[cell]], minlength=counts.size) > 0
        sums = np.zeros(counts.size, dtype=np.int64)
        np.add.at(sums, met, table.counts[cell])
        new = ~spoiled.reshape(shape) & ~known
        counts[new] = sums.reshape(shape)[new]
        known |= new
    return asked.summed(counts), asked.everywhere(known)


def _matching_cells(table: CodedTable, asked: AskedTable) -> tuple[np.ndarray, np.ndarray] | None:
    """Return which asked cell meets which cell with a count, each pair once; None where there are too many to see."""
    wanted = dict(zip(asked.columns, asked.groupings, strict=True))
    shape = tuple(grouping.groups for grouping in asked.groupings)
    axes = [_axis(own, wanted.get(name)) for name, own in zip(table.columns, table.groupings, strict=True)]
    if np.prod([float(axis.shape[1]) for axis in axes]) > _MOST_COMBINATIONS:
        return None
    grids = np.meshgrid(*(np.arange(axis.shape[1]) for axis in axes), indexing="ij")
    cell = table.cell[tuple(axis[0][grid] for axis, grid in zip(axes, grids, strict=True))]
    by_name = {name: axis[1][grid] for name, axis, grid in zip(table.columns, axes, grids, strict=True)}
    met = np.ravel_multi_index(tuple(by_name[name] for name in asked.columns), shape)
    counts_any = (cell >= 0) & (table.counts[np.maximum(cell, 0)] > 0)
    pairs = np.unique(np.stack([met[counts_any], cell[counts_any]]), axis=1)
    return pairs[0], pairs[1]


def _axis(own: Grouping, asked: Grouping | None) -> np.ndarray:
    """Return which groups of a table's column meet which asked groups: (2, pairs); one group 0 where none is asked."""
    if asked is None:
        return np.stack([np.arange(own.groups), np.zeros(own.groups, dtype=np.int64)])
    return np.asarray(np.unique(common_refinement([own, asked])[1], axis=1))
