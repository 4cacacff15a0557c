"""Marginals of public rows, for a question to compare with private ones, and the total variation by its answer.

A synthetic table that has been released may be looked at freely. Here its contingency tables are chosen and counted,
scaled to another number of rows in whole numbers, and compared with what chance alone would make of them.
"""

import hashlib
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from lapwing.errors import DataError, ParameterError
from lapwing.kernel.codec import PLAIN
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.questions import RECORDS
from lapwing.kernel.questions.table_distances.question import LARGEST_CELL, MOST_TABLES, TableDistances
from lapwing.maths.arrays import Codes, read_only
from lapwing.maths.noise_tails import sum_tail
from lapwing.model.compared import choose_tables, compared_cells
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

MOST_LISTED: Final = 2**24
"""Cells of all tables of one size together; where there would be more, fewer tables are compared."""

_FULL: Final = 4  # a table is listed whole where so many of its cells, for each one that occurs, are all it has
_SMALL: Final = 1024  # or where it has at most so many
_COUNTED: Final = 4  # cells for each row up to which counting is faster than sorting


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PublicTables:
    """Hold the contingency tables of a public table of rows with some number of columns each.

    tables: the positions of the columns of each, increasing; cells, counts: for each table the numbers of its listed
    cells in C order, increasing (all that occur, and perhaps empty ones), and the rows in each of them.
    """

    ways: int
    possible: int
    columns: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    tables: tuple[tuple[int, ...], ...]
    cells: tuple[np.ndarray, ...]
    counts: tuple[np.ndarray, ...]
    rows: int

    @property
    def digest(self) -> str:
        """SHA-256 of which tables these are, and of their cells and counts."""
        head = repr((self.ways, self.columns, list(map(RECORDS.write, self.groupings)), self.tables, self.rows))
        digest = hashlib.sha256(head.encode())
        for each in (*self.cells, *self.counts):
            digest.update(np.ascontiguousarray(each, dtype="<i8").data)
        return digest.hexdigest()

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table."""
        return tuple(tuple(self.columns[place] for place in table) for table in self.tables)

    def expected(self, rows: int, bits: int) -> tuple[np.ndarray, ...]:
        """Return what each listed cell would hold of so many rows, times ``2**bits``, rounded to whole numbers exactly.

        ``rows * 2**bits`` is at most ``2**46``.
        """
        # Count * units / rows, divided in two steps so that nothing leaves int64.
        whole, rest = divmod(rows << bits, self.rows)
        return tuple(counts * whole + (counts * rest + self.rows // 2) // self.rows for counts in self.counts)

    def rounding(self, rows: int, bits: int) -> float:
        """Bound how far rounding of `expected` moves the mean total variation: half a unit in each occurring cell."""
        occurring = sum(int(np.count_nonzero(counts)) for counts in self.counts)
        return occurring / (4 * len(self.tables) * (rows << bits))

    def floor(self, rows: int) -> float:
        """Return the sampling floor: the expected mean total variation of so many rows drawn from these shares.

        Of each cell it is half the mean absolute deviation of a binomial number, over the rows.
        """
        values, times = np.unique(np.concatenate(self.counts), return_counts=True)
        return float(times @ _deviations(values / self.rows, rows)) / (2 * rows * len(self.tables))


def public_tables(
    codes: Codes, schema: Schema, *, ways: Sequence[int] = (1, 2, 3), rng: np.random.Generator
) -> tuple[PublicTables, ...]:
    """Return tables of a public table of rows: all of one and two columns, and a sample of those with three.

    rng: chooses the tables: first as `choose_tables` does, then some of them where they are too many: at most 4096
    tables of one size that list at most ``2**24`` cells together; a first table is always kept. Tables with more than
    ``2**62`` cells are left out. Time ``O(m + k)`` for each table of k cells where k is at most 4 m, ``O(m log m)``
    beyond; memory 16 bytes for each listed cell.
    """
    columns = tuple(column.name for column in schema.columns)
    if not len(codes[columns[0]]):
        raise DataError("the synthetic table has no row; there is nothing to compare", code="LW110")
    groupings = tuple(compared_cells(column.domain) for column in schema.columns)
    groups = [grouping.apply(codes[name]) for name, grouping in zip(columns, groupings, strict=True)]
    place_of = {name: place for place, name in enumerate(columns)}
    found = []
    for chosen in choose_tables(schema, ways=ways, rng=rng):
        tables = [tuple(place_of[name] for name in table) for table in chosen]
        counted = _counted(tables, groups, groupings, rng)
        if counted:
            places, cells, counts = zip(*counted, strict=True)
            found.append(
                PublicTables(
                    ways=len(places[0]),
                    possible=math.comb(len(columns), len(places[0])),
                    columns=columns,
                    groupings=groupings,
                    tables=places,
                    cells=cells,
                    counts=counts,
                    rows=len(groups[0]),
                )
            )
    return tuple(found)


_Counted = tuple[tuple[int, ...], np.ndarray, np.ndarray]


def _counted(
    tables: Sequence[tuple[int, ...]],
    groups: Sequence[np.ndarray],
    groupings: Sequence[Grouping],
    rng: np.random.Generator,
) -> list[_Counted]:
    """Count tables in a random order, as long as they list few enough cells; return them in their own order."""
    sizes = {table: math.prod(groupings[place].groups for place in table) for table in tables}
    order = [tables[number] for number in rng.permutation(len(tables)).tolist()]
    order = [table for table in order if sizes[table] <= LARGEST_CELL]
    found: list[_Counted] = []
    listed = 0
    for table in itertools.islice(order, MOST_TABLES):
        cells, counts = _listed(table, groups, groupings, sizes[table])
        listed += len(cells)
        if found and listed > MOST_LISTED:
            break
        found.append((table, cells, counts))
    return sorted(found, key=lambda each: each[0])


def _listed(
    table: tuple[int, ...], groups: Sequence[np.ndarray], groupings: Sequence[Grouping], size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the listed cells of one table, and their rows."""
    numbers = groups[table[0]]
    for place in table[1:]:
        numbers = numbers * groupings[place].groups + groups[place]
    if size > _COUNTED * len(numbers) + _SMALL:
        cells, counts = np.unique(numbers, return_counts=True)
    else:
        every = np.bincount(numbers, minlength=size)
        cells = np.flatnonzero(every)
        if size <= _SMALL or size <= _FULL * len(cells):
            cells = np.arange(size)
        counts = every[cells]
    return read_only(cells, np.int64), read_only(counts, np.int64)


def _deviations(shares: np.ndarray, rows: int) -> np.ndarray:
    """Return the mean absolute deviation of binomial numbers, by de Moivre's formula: ``2 v (1 - p) P[X = v]``.

    There v is the least whole number above the mean; P[X = v] is 0 where v is above the number of rows.
    """
    from scipy.special import gammaln, xlog1py, xlogy  # noqa: PLC0415

    above = np.minimum(np.floor(rows * shares) + 1, rows)
    logarithm = gammaln(rows + 1) - gammaln(above + 1) - gammaln(rows - above + 1)
    logarithm += xlogy(above, shares) + xlog1py(rows - above, -shares)
    return np.asarray(2 * above * (1 - shares) * np.exp(logarithm))


_UP: Final = 1 + 1e-9  # more than the rounding of a few floats
_STEP: Final = 1e-12
_FLAT: Final = 300  # tanh of more is 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyVariation:
    """Hold how far a synthetic table is from the real one in tables of some number of columns; releasable.

    mean: mean total variation distance, noise included; floor: what the mean would be on average if the real rows were
    drawn from the synthetic shares.
    """

    ways: int
    tables: int
    possible: int
    mean: float
    lower: float
    upper: float
    noise_sd: float
    floor: float

    @property
    def texts(self) -> tuple[str, ...]:
        """How many tables were compared, their mean with its interval, and the floor."""
        interval = f"{self.lower:.4f} to {self.upper:.4f}"
        return f"{self.tables} of {self.possible}", f"{self.mean:.4f}", interval, f"{self.floor:.4f}"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON values."""
        return PLAIN.write(self)


def noisy_variations(
    compared: Sequence[PublicTables],
    answers: Sequence[NoisySums],
    *,
    rows: int,
    rows_noise: NoiseLaw | None = None,
    rows_error: int | None = None,
    failure: Fraction,
) -> tuple[NoisyVariation, ...]:
    """Return the mean total variation of each group of tables.

    answers: to a `TableDistances` for each of them, with what is expected of ``rows`` rows; rows: at least 1: the
    number N that the tables of the synthetic rows were scaled to; rows_noise: where N is the true number n plus noise
    of this law, drawn before, and brought into a range that n is in; rows_error: where N is public: how far n is from
    it at most. Without both nothing is known of n. Returns all intervals hold at once with a probability of at least 1
    minus the failure, provided that there is a row.

    References
    ----------
    Anderson (1955), "The integral of a symmetric unimodal function"; Birnbaum (1948), "On random variables with
    comparable peakedness".

    Let q be the synthetic shares of a table and c the real counts. The answer gives ``v = |c / N - q|_1 / 2`` for the
    mean of the tables, with noise and with the rounding of ``N q``. The total variation distance is
    ``d = |c / n - q|_1 / 2``, and ``|v - d| <= |c|_1 |1 / N - 1 / n| / 2 = |n / N - 1| / 2``. Where n is a mere guess,
    that is bounded all the same: in every table v is at least half of ``|sum of c / N - sum of q| = |n / N - 1|``, so
    the smallest upper end of any of the means v bounds the effect of n on all of them.

    Where N is noisy, both errors together are ``(Z + g) / (2 N)``: Z the noise on the sum in rows, and g a function of
    the noise Y on the number of rows with ``|g| <= |Y|``. With uniform variables U that fill the steps of their
    lattices, ``|Z + g|`` is at most ``|Z + U + g|`` and half a step. Z + U is symmetric and unimodal, so that a larger
    shift makes it leave an interval around 0 more often (Anderson): ``P(|Z + U + g| > r)`` is at most
    ``P(|Z + U + Y| > r)``, and for Y half a step is added likewise. Discrete Laplace noise with its U is more peaked
    than a real Laplace variable of scale ``b = 1 / (2 tanh(1 / (2 scale)))`` steps (`lapwing.maths.noise_tails`),
    and so are sums (Birnbaum): the sum of two real ones goes beyond ``b x`` with probability ``exp(-x) (1 + x / 2)``.
    That is a third less than the two tails apart, which are used where they are shorter, and for Gaussian noise.

    See `lapwing.evaluate`.
    """
    each_failure = failure / len(compared)
    found = []
    for tables, answer in zip(compared, answers, strict=True):
        asked = answer.question
        if not isinstance(asked, TableDistances) or asked.tables != tables.tables:
            raise ParameterError(
                "each answer must be about its own tables; pass them in the order of the questions", code="LW802"
            )
        reach = _reach(answer.noise, asked.scale, rows_noise, each_failure)
        error = reach / (2 * rows) + tables.rounding(rows, asked.bits)
        unit = 2 * rows * asked.scale
        found.append((tables, int(answer.values[0]) / unit, error, answer.noise.sd / unit))
    effect = 0.0
    if rows_noise is None:
        known = [] if rows_error is None else [rows_error / (2 * rows)]
        effect = min([*(max(0.0, mean + error) for _, mean, error, _ in found), *known])
    return tuple(
        NoisyVariation(
            ways=tables.ways,
            tables=len(tables.tables),
            possible=tables.possible,
            mean=_inside(mean),
            lower=_inside(mean - error - effect),
            upper=_inside(mean + error + effect),
            noise_sd=noise_sd,
            floor=tables.floor(rows),
        )
        for tables, mean, error, noise_sd in found
    )


def _reach(noise: NoiseLaw, scale: int, rows_noise: NoiseLaw | None, failure: Fraction) -> float:
    """Return how far, in rows, the noise on a sum and on the number of rows go together, but for a failure."""
    if rows_noise is None:
        return sum_tail(noise.kind, noise.parameter, 1, failure) / scale
    tails = [sum_tail(law.kind, law.parameter, 1, failure / 2) for law in (noise, rows_noise)]
    apart = tails[0] / scale + tails[1]
    if noise.kind != "laplace" or rows_noise.kind != "laplace":
        return apart
    wider = max(_real_scale(noise.parameter) / scale, _real_scale(rows_noise.parameter))
    return min(apart, wider * _two_laplace_tail(float(failure)) * _UP + 0.5 + 0.5 / scale)


def _real_scale(parameter: Fraction) -> float:
    """Return the scale of a real Laplace variable that is less peaked than discrete noise filled to its steps."""
    return 0.5 / math.tanh(float(min(1 / (2 * parameter), Fraction(_FLAT))))


def _two_laplace_tail(failure: float) -> float:
    """Return an x beyond which the sum of two real Laplace variables of scale 1 goes with at most this probability."""
    low, high = 0.0, 2.0
    while math.exp(-high) * (1 + high / 2) > failure:
        high *= 2
    while high - low > _STEP * high:
        middle = (low + high) / 2
        low, high = (middle, high) if math.exp(-middle) * (1 + middle / 2) > failure else (low, middle)
    return high


def _inside(share: float) -> float:
    return min(max(share, 0.0), 1.0)
