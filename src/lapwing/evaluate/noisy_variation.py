"""Mean total variation of some tables, found from one noisy sum of distances: the figure and where it surely lies."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from lapwing.errors import ParameterError
from lapwing.evaluate.public_tables import PublicTables
from lapwing.numerics.noise_tails import sum_tail
from lapwing.release.cell_sums import NoisySums
from lapwing.release.table_distances import TableDistances


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyVariation:
    """Hold how far a synthetic table is from the real one in tables of some number of columns; releasable.

    Parameters
    ----------
    ways : int
        Columns of each table.
    tables : int
        How many were compared.
    possible : int
        How many there are.
    mean : float
        Mean total variation distance, 0 to 1, noise included.
    lower, upper : float
        Where the mean without noise lies.
    noise_sd : float
        Standard deviation of the noise on the mean.
    floor : float
        What the mean would be on average if the real rows were drawn from the synthetic shares.
    """

    ways: int
    tables: int
    possible: int
    mean: float
    lower: float
    upper: float
    noise_sd: float
    floor: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON values."""
        return asdict(self)


def noisy_variations(
    compared: Sequence[PublicTables],
    answers: Sequence[NoisySums],
    *,
    rows: int,
    rows_error: int | None,
    failure: Fraction,
) -> tuple[NoisyVariation, ...]:
    """Return the mean total variation of each group of tables.

    Parameters
    ----------
    compared : sequence of PublicTables
        What the rows were compared with.
    answers : sequence of NoisySums
        To a `TableDistances` for each of them, with what is expected of ``rows`` rows.
    rows : int
        At least 1: the number N that the tables of the synthetic rows were scaled to.
    rows_error : int or None
        How far the true number n is from it at most; None where nothing is known.
    failure : Fraction
        Probability that the noise on one answer goes further than is allowed for.

    Returns
    -------
    tuple of NoisyVariation
        All intervals hold at once with a probability of at least 1 minus the failure of each answer, beside that of
        ``rows_error``, provided that there is a row.

    Notes
    -----
    Let q be the synthetic shares of a table and c the real counts. The answer gives ``v = |c / N - q|_1 / 2`` for the
    mean of the tables, with noise and with the rounding of ``N q``. The total variation distance is
    ``d = |c / n - q|_1 / 2``, and ``|v - d| <= |c|_1 |1 / N - 1 / n| / 2 = |n / N - 1| / 2``. Where n is a mere guess,
    that is bounded all the same: in every table v is at least half of ``|sum of c / N - sum of q| = |n / N - 1|``, so
    the smallest upper end of any of the means v bounds the effect of n on all of them.

    Examples
    --------
    See `lapwing.evaluate`.
    """
    found = []
    for tables, answer in zip(compared, answers, strict=True):
        asked = answer.question
        if not isinstance(asked, TableDistances) or asked.tables != tables.tables:
            raise ParameterError("each answer must be about its own tables; pass them in the order of the questions")
        unit = 2 * rows * asked.scale
        reach = sum_tail(answer.noise.kind, answer.noise.parameter, 1, failure)
        error = reach / unit + tables.rounding(rows, asked.bits)
        found.append((tables, int(answer.values[0]) / unit, error, answer.noise.sd / unit))
    effects = [max(0.0, mean + error) for _, mean, error, _ in found]
    effect = min([*effects, *([] if rows_error is None else [rows_error / (2 * rows)])])
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


def _inside(share: float) -> float:
    return min(max(share, 0.0), 1.0)
