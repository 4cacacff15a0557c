"""Tables of the released model, with labels."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal, Protocol

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Number, exact_number
from lapwing.kernel.questions.questions import Answer
from lapwing.maths.noise_tails import sum_tail
from lapwing.model.intervals import (
    PUBLIC,
    CellIntervals,
    CoveringView,
    cell_intervals,
    covering_views,
    measured_groupings,
)
from lapwing.model.sampling.marginals import marginal, weighted_marginal
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, cut, evenly, identity
from lapwing.schema.groupings.hierarchies import told_apart
from lapwing.schema.public_tables.cells import CodedTable, coded_tables
from lapwing.schema.scalars import is_among, told
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


def queried(
    release: Parts, columns: str | Sequence[str], *, groups: Groups, confidence: Number, weighted: bool
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the model's table over some columns as arrays, and which of their intervals for the true ones are known.

    See `Release.query`; `framed` makes a frame of it.
    """
    schema, noisy, public_rows = release.schema, release.noisy, release.certificate.public_rows
    if not isinstance(weighted, bool):
        raise ParameterError(f"weighted must be true or false, got {told(weighted)}", code="LW304")
    if weighted and schema.weight is None:
        raise ParameterError(
            "weighted totals need a survey weight, and the release's schema names none; name the column of weights "
            'under "weight" in the schema before the release, or ask for plain counts',
            code="LW332",
        )
    columns = listed_columns(columns)
    failure = checked_failure(confidence)
    groupings = query_groupings(schema, noisy, columns, groups)
    if weighted and schema.weight is not None:
        weight = schema.field(schema.weight)
        totals = weighted_marginal(release.model, weight, columns, groupings)
        found = weighted_intervals(noisy, weight, columns, groupings, failure=failure, public_rows=public_rows)
        return listed(schema, columns, groupings, totals, found, called="total")
    counts = marginal(release.model, columns, groupings)
    found = cell_intervals(noisy, columns, groupings, failure, public_rows)
    public, is_public = public_counts(schema, columns, groupings)
    lower, upper = (np.where(is_public, public, ends) for ends in (found.lower, found.upper))
    terms, misfits_out = np.where(is_public, PUBLIC, found.terms), found.misfits_out & ~is_public
    return listed(schema, columns, groupings, counts, CellIntervals(lower, upper, terms, misfits_out), called="count")


def framed(cells: Mapping[str, np.ndarray], is_known: np.ndarray) -> "pl.DataFrame":
    """Return what `listed` does as a frame, with null ends where no interval is known."""
    import polars as pl  # noqa: PLC0415

    texts = {name: pl.String for name, each in cells.items() if each.dtype == object}
    frame = pl.DataFrame(
        {name: pl.Series(each.tolist() if name in texts else each) for name, each in cells.items()},
        schema_overrides=texts,
    )
    lower, upper = list(cells)[-3:-1]
    return frame.with_columns(pl.when(pl.Series(is_known)).then(pl.col(lower, upper)))


def listed(
    schema: Schema,
    columns: Sequence[str],
    groupings: Sequence[Grouping],
    counts: np.ndarray,
    found: CellIntervals,
    *,
    called: str,
    kept: np.ndarray | None = None,
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return each cell's labels, what the model says and the interval, and where this is known; `kept`: these alone.

    Where an interval is known, the value in it that is nearest to the model's is shown.
    """
    shown = [_shown(schema, name, grouping) for name, grouping in zip(columns, groupings, strict=True)]
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
    these = slice(None) if kept is None else kept[inside].ravel()
    return {name: each[these] for name, each in found_cells.items()}, is_known.ravel()[these]


def listed_columns(columns: str | Sequence[str]) -> list[str]:
    """Return the names of columns, or refuse what is no name or list of distinct ones."""
    listed = [columns] if isinstance(columns, str) else columns
    is_named = isinstance(listed, Sequence) and all(isinstance(each, str) for each in listed)
    if not is_named or not listed or len(set(listed)) != len(listed):
        raise ParameterError(
            f"columns must be a column name or a list of distinct ones, got {told(columns)}", code="LW330"
        )
    return list(listed)


def checked_failure(confidence: Number) -> Fraction:
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
        raise ParameterError(f"groups must be at least 2, or 'measured', got {told(groups)}{several}", code="LW302")
    wanted = tuple(query_grouping(schema, name, groups) for name in columns)
    if measured is None:
        return wanted
    return tuple(_moved(schema, *each) for each in zip(columns, wanted, measured, strict=True))


def query_grouping(schema: Schema, name: str, groups: int) -> Grouping:
    """Return the grouping under which a column is shown: value by value where it has few, else nearly equal runs."""
    field = schema.field(name)
    domain = field.domain
    if field.is_categorical or domain.values <= groups:
        return identity(domain)
    return evenly(domain, groups)


def _moved(schema: Schema, name: str, wanted: Grouping, measured: Grouping) -> Grouping:
    """Return runs with their ends moved to the nearest ones that were measured, where these are no fewer."""
    if measured.kind == "table" or measured.regular < wanted.regular or wanted.regular == 1:
        return wanted
    asked, known = (each.pieces()[0][1 : each.regular] for each in (wanted, measured))
    after = np.searchsorted(known, asked).clip(1, known.size - 1) if known.size > 1 else np.zeros_like(asked)
    before = np.maximum(after - 1, 0)
    nearest = np.where(asked - known[before] <= known[after] - asked, known[before], known[after])
    return cut(schema.field(name).domain, np.unique(nearest))


def _shown(schema: Schema, name: str, grouping: Grouping) -> list[str]:
    """Return the labels of a column's groups, without the misfit group, which the model never has."""
    field = schema.field(name)
    texts = labels(grouping, field)
    return texts if field.domain.missing else texts[:-1]


# -- Counts of a queried table that the public tables of the schema determine.


_MOST_COMBINATIONS: Final = 2**22


def public_counts(
    schema: Schema, columns: Sequence[str], groupings: Sequence[Grouping]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts of a table that follow from exact public tables.

    schema: with its public tables; priors are of another population and are not looked at. Returns counts: int64, of
    the table's shape, in rows of the public tables; 0 where none determines them; known: bool, of the table's shape,
    where one public table has all columns, and each of its cells that counts anybody and meets the cell lies inside it.
    Tables that tell more than 2**22 combinations apart are passed over.
    """
    shape = tuple(grouping.groups for grouping in groupings)
    counts, known = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.bool_)
    for table in coded_tables(schema):
        pairs = None if not set(columns) <= set(table.columns) else _met(table, columns, groupings)
        if pairs is None:
            continue
        asked, cell = pairs
        is_cut = np.bincount(cell, minlength=table.counts.size) > 1
        spoiled = np.bincount(asked[is_cut[cell]], minlength=counts.size) > 0
        sums = np.zeros(counts.size, dtype=np.int64)
        np.add.at(sums, asked, table.counts[cell])
        new = ~spoiled.reshape(shape) & ~known
        counts[new] = sums.reshape(shape)[new]
        known |= new
    return counts, known


def _met(
    table: CodedTable, columns: Sequence[str], groupings: Sequence[Grouping]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return which asked cell meets which cell with a count, each pair once; None where there are too many to see."""
    wanted = dict(zip(columns, groupings, strict=True))
    asked_shape = tuple(grouping.groups for grouping in groupings)
    axes = [_axis(own, wanted.get(name)) for name, own in zip(table.columns, table.groupings, strict=True)]
    if np.prod([float(axis.shape[1]) for axis in axes]) > _MOST_COMBINATIONS:
        return None
    grids = np.meshgrid(*(np.arange(axis.shape[1]) for axis in axes), indexing="ij")
    cell = table.cell[tuple(axis[0][grid] for axis, grid in zip(axes, grids, strict=True))]
    by_name = {name: axis[1][grid] for name, axis, grid in zip(table.columns, axes, grids, strict=True)}
    asked = np.ravel_multi_index(tuple(by_name[name] for name in columns), asked_shape)
    counts_any = (cell >= 0) & (table.counts[np.maximum(cell, 0)] > 0)
    pairs = np.unique(np.stack([asked[counts_any], cell[counts_any]]), axis=1)
    return pairs[0], pairs[1]


def _axis(own: Grouping, asked: Grouping | None) -> np.ndarray:
    """Return which groups of a table's column meet which asked groups: (2, pairs); one group 0 where none is asked."""
    if asked is None:
        return np.stack([np.arange(own.groups), np.zeros(own.groups, dtype=np.int64)])
    return np.asarray(np.unique(told_apart([own, asked])[1], axis=1))


# -- How far weighted sums of discrete Laplace and Gaussian noise go with a given probability: never too little.


_UP: Final = 1 + 1e-9  # more than the relative rounding of these sums
_TRIED: Final = 200  # places of u, of which the best is taken


def weighted_sum_tail(
    kind: Literal["laplace", "gaussian"],
    parameter: Fraction,
    factors: np.ndarray,
    terms: np.ndarray,
    failure: Fraction | float,
) -> float:
    """Return a t with P(|S| > t) <= failure for S the sum of each factor times so many independent noise values.

    factors: float64 (k,), at least 0; terms: int64 (k,), noise values that each factor multiplies, at least 0. Returns
    never too small; at a failure of 0.05 about 1.4 (Gaussian) to 2 (Laplace) times the smallest one.

    References
    ----------
    Canonne, Kamath, Steinke (2020), "The Discrete Gaussian for Differential Privacy", Corollary 17 (sub-Gaussian); the
    moment generating function of a two-sided geometric law is a sum of geometric series.

    >>> round(weighted_sum_tail("gaussian", Fraction(25), np.array([1.0, 2.0]), np.array([4, 1]), 0.05), 2)
    38.41
    >>> round(weighted_sum_tail("laplace", Fraction(10), np.array([3.0]), np.array([1]), 0.05), 1)
    90.0
    """
    if parameter <= 0 or not 0 < failure < 1 or (factors < 0).any() or (terms < 0).any():
        raise ParameterError(
            "weighted noise needs a positive parameter, factors and terms from 0 up, 0 < failure < 1", code="LW390"
        )
    is_used = (factors > 0) & (terms > 0)
    used, count = factors[is_used], terms[is_used].astype(np.float64)
    if used.size <= 1:  # no weights to speak of: the tails of plain sums are sharper
        return float(used[0]) * sum_tail(kind, parameter, int(count[0]), failure) * _UP if used.size else 0.0
    budget = math.log(2 / failure)
    if kind == "gaussian":
        return math.sqrt(2 * float(parameter) * float((count * used**2).sum()) * budget) * _UP
    rate = 1 / float(parameter)
    tried = rate / used.max() * np.arange(1, _TRIED) / _TRIED
    placed = np.outer(tried, used)
    # log of (1 - q)^2 / ((1 - q e^v)(1 - q e^-v)), by expm1 so that small rates lose no digits
    logs = 2 * math.log(-math.expm1(-rate)) - np.log(-np.expm1(placed - rate)) - np.log(-np.expm1(-placed - rate))
    return float(((logs @ count + budget) / tried).min()) * _UP


_LARGEST = 2.0**61  # totals beyond say nothing, and would leave int64


def weighted_intervals(
    noisy: Sequence[Answer],
    weight: Field,
    columns: Sequence[str],
    groupings: Sequence[Grouping],
    *,
    failure: Fraction,
    public_rows: int | None = None,
) -> CellIntervals:
    """Return an interval for the true weighted total of each cell of a table, where a noisy answer tells of it.

    noisy: of one release, in the order in which they were given; failure: the most that the chance of a miss may be,
    for each cell. Returns ends rounded outwards; `terms` counts the noisy counts of groups with any weight. A cell is
    covered where every group of weights above 0 is.
    """
    shape = tuple(grouping.groups for grouping in groupings)
    lower, upper, terms = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    misfits_out = np.zeros(shape, dtype=np.bool_)
    names = (*columns, weight.name)
    for answer in noisy:
        found = measured_groupings([answer], names)
        if found is None:
            continue
        least, most = _weight_ends(weight, found[-1])
        for view in covering_views(answer, names, (*groupings, found[-1])):
            own = _terms_of_cells(view, most)
            new = (terms == 0) & (own > 0)
            if new.any():
                terms[new], misfits_out[new] = own[new], view.misfits_out
                lower[new], upper[new] = _ends(view, new, least, most, failure)
    largest = _LARGEST if public_rows is None else min(public_rows * float(weight.range.top), _LARGEST)
    ceiling = int(np.ceil(largest))
    return CellIntervals(np.clip(lower, 0, ceiling), np.clip(upper, 0, ceiling), terms, misfits_out)


def _weight_ends(weight: Field, grouping: Grouping) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest weight in each group of weights; 0 for what is missing or special."""
    found = weight.range
    starts, stops, group = (np.asarray(each) for each in grouping.pieces())
    is_regular = starts < found.values
    first, last = starts[is_regular], np.minimum(stops[is_regular], found.values) - 1
    # Without steps, codes are cells of a continuous range; one more on either side, as their ends are rounded.
    step = (found.hi - found.lo) / found.values if found.step is None else float(found.step)
    below, above = (1, 2) if found.step is None else (0, 0)
    low, high = found.lo + (first - below) * step, found.lo + (last + above) * step
    least, most = np.full(grouping.groups, np.inf), np.zeros(grouping.groups)
    np.minimum.at(least, group[is_regular], np.clip(low, found.lo, found.hi))
    np.maximum.at(most, group[is_regular], np.clip(high, found.lo, found.hi))
    return np.where(np.isfinite(least), least, 0.0), most


def _terms_of_cells(view: CoveringView, most: np.ndarray) -> np.ndarray:
    """Return how many noisy counts each cell's weighted total is made of; 0 where a group of weights is not covered."""
    needed = view.terms[..., most > 0]
    return np.where((needed > 0).all(axis=-1), needed.sum(axis=-1), 0)


def _ends(
    view: CoveringView, cells: np.ndarray, least: np.ndarray, most: np.ndarray, failure: Fraction
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the intervals of some cells."""
    sums, terms = view.sums()[cells].astype(np.float64), view.terms[cells]
    kinds, places = np.unique(terms, axis=0, return_inverse=True)
    law = view.noise
    # A tail of both sides at the whole failure probability is one of one side at half of it.
    below, above = (
        np.array([weighted_sum_tail(law.kind, law.parameter, factors, each, failure) for each in kinds])
        for factors in (least, most)
    )
    lower = np.floor(sums @ least - below[places.reshape(-1)])
    upper = np.ceil(sums @ most + above[places.reshape(-1)])
    cut = np.clip((lower, upper), -_LARGEST, _LARGEST).astype(np.int64)  # where they say nothing
    return cut[0], cut[1]
