"""Mean total variation of some tables, found from one noisy sum of distances: the figure and where it surely lies."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Final

from lapwing.errors import ParameterError
from lapwing.judge.tables.public_tables import PublicTables
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.maths.noise_tails import sum_tail

_UP: Final = 1 + 1e-9  # more than the rounding of a few floats
_STEP: Final = 1e-12
_FLAT: Final = 300  # tanh of more is 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyVariation:
    """Hold how far a synthetic table is from the real one in tables of some number of columns; releasable.

    mean: mean total variation distance, 0 to 1, noise included; floor: what the mean would be on average if the real
    rows were drawn from the synthetic shares.
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
