"""Three attacks that a synthetic table may help with: sanity checks, never proof.

What is computed from private rows is private: nothing here adds noise.
"""

from dataclasses import dataclass

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """Hold how often an attack succeeded, beside what it is to be read against.

    Parameters
    ----------
    key : str
        Its name in files: lower case, with underscores.
    title : str
        Its name in tables, at most 60 characters.
    attacks : int
        Attempts, at least 1.
    successes : int
        Attempts that succeeded, 0 to ``attacks``.
    ties : int, default 0
        Attempts without a decision, which count half.
    rate : float
        ``(successes + ties / 2) / attacks``, 0 to 1.
    lower, upper : float
        Ends of its Wilson interval at 95 %.
    baseline : float or None
        The rate that chance, or a guess without the synthetic rows' relations, gives.
    baseline_interval : (float, float) or None
        Its Wilson interval at 95 %; None where the baseline is exact or missing.
    control : float or None
        The rate of the same attack on holdout rows, which the synthetic table was not made from.
    control_interval : (float, float) or None
        Its Wilson interval at 95 %.
    excess : float or None
        ``(rate - control) / (1 - control)``: the share of what was left to learn that the attack learns about the rows
        of the release only, at most 1, and below 0 by chance.
    excess_interval : (float, float) or None
        Its interval at 95 %.
    meaning : str
        One sentence for a reader who has never met it.
    """

    key: str
    title: str
    attacks: int
    successes: int
    ties: int = 0
    rate: float
    lower: float
    upper: float
    baseline: float | None = None
    baseline_interval: Interval | None = None
    control: float | None = None
    control_interval: Interval | None = None
    excess: float | None = None
    excess_interval: Interval | None = None
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosestDistances:
    """Hold quantiles of the distances from synthetic rows to the closest real ones.

    Parameters
    ----------
    percents : tuple of int
        Which quantiles, in percent.
    real : tuple of float
        Of the distances to rows that the synthetic table was made from, 0 to 1: the mean over the columns.
    holdout : tuple of float or None
        Of the distances to as many holdout rows; None without a holdout.
    """

    percents: tuple[int, ...]
    real: tuple[float, ...]
    holdout: tuple[float, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosure:
    """Hold the outcome of all attacks.

    Parameters
    ----------
    risks : tuple of Risk
        Those that could be tried.
    rows : int
        Real rows that took part.
    has_holdout : bool
        Whether there were rows that the synthetic table was not made from.
    notes : tuple of str
        Sentences that must stand beside the figures, in public words.
    distances : ClosestDistances or None
        None where distances could not be computed.
    """

    risks: tuple[Risk, ...]
    rows: int
    has_holdout: bool
    notes: tuple[str, ...]
    distances: ClosestDistances | None = None
