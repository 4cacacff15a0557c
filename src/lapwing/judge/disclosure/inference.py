"""Whether the synthetic rows closest to a real row tell the value of a column that they were not compared by.

What is computed from private rows is private: nothing here adds noise.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.judge.disclosure.nearest_rows import closest_rows
from lapwing.judge.disclosure.proportions import Outcome, wilson
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.schemas import Schema

Codes = Mapping[str, npt.NDArray[np.integer]]
Ints = npt.NDArray[np.int64]

TOLERANCE: Final = 100
"""A guess of an ordered column is right within its regular codes divided by this; exactly, where there are fewer."""


def guess_secret(
    targets: Codes,
    controls: Codes | None,
    synthetic_codes: Codes,
    schema: Schema,
    secret: str,
    *,
    rng: np.random.Generator,
) -> Outcome:
    """Return how often the closest synthetic row tells a column of real rows.

    targets: mapping of str to integers (n,), real rows that the synthetic table was made from, at least one; controls:
    mapping of str to integers, or None, holdout rows, at least one; synthetic_codes: mapping of str to integers (m,),
    at least one row, shuffled: of several closest rows, any is taken; secret: the column that is guessed. The attacker
    knows all others. Returns a guess is right where the codes are equal; for regular codes of an ordered column with
    100 or more, where they are at most a hundredth of their number apart. Missing and special values are guessed like
    others. The baseline is the best guess that is the same for all targets and known from the synthetic column alone.

    References
    ----------
    M. Giomi, F. Boenisch, C. Wehmeyer, B. Tasnádi, "A unified framework for quantifying privacy risk in synthetic
    data", PoPETs 2023 (2), 312-328, the inference attack. Changed: public bounds scale the columns, numbers are right
    within a share of their range instead of their value, and the baseline is the best constant guess instead of a
    random one.

    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]})
    >>> rows = {"a": np.array([0, 1, 1]), "b": np.array([1, 0, 0])}
    >>> found = guess_secret(rows, None, rows, schema, "b", rng=np.random.default_rng(0))
    >>> found.attack.rate, round(found.baseline.rate, 3)
    (1.0, 0.667)
    """
    columns = [column for column in schema.columns if column.name != secret]
    domain = schema.field(secret).domain
    parts = [targets] if controls is None else [targets, controls]
    rows = {column.name: np.concatenate([codes[column.name] for codes in parts]) for column in columns}
    [found] = closest_rows(rows, [synthetic_codes], columns, rng=rng)
    guessed = synthetic_codes[secret][found.positions]
    truth = np.concatenate([codes[secret] for codes in parts])
    is_right = is_close(guessed, truth, domain)
    size = len(targets[secret])
    constant = np.full(size, best_constant(synthetic_codes[secret], domain))
    return Outcome(
        attack=wilson(int(is_right[:size].sum()), size),
        baseline=wilson(int(is_close(constant, targets[secret], domain).sum()), size),
        control=None if controls is None else wilson(int(is_right[size:].sum()), len(truth) - size),
    )


def is_close(guessed: npt.NDArray[np.integer], truth: npt.NDArray[np.integer], domain: Domain) -> npt.NDArray[np.bool_]:
    """Return which guesses are right.

    guessed, truth: integers (n,), codes of one column. Returns bool (n,).

    >>> age = Domain(201, 0, True, True, False)
    >>> is_close(np.array([7, 7, 200]), np.array([9, 10, 201]), age).tolist()
    [True, False, False]
    """
    return np.asarray(np.abs(_apart(guessed, domain) - _apart(truth, domain)) <= _tolerance(domain))


def best_constant(codes: npt.NDArray[np.integer], domain: Domain) -> int:
    """Return the code that is right for most rows of a column.

    codes: integers (m,), at least one.

    >>> best_constant(np.array([0, 5, 5, 3]), Domain(10, 0, True, True, False))
    5
    """
    ordered = np.sort(codes)
    apart, reach = _apart(ordered, domain), _tolerance(domain)
    right = np.searchsorted(apart, apart + reach, side="right") - np.searchsorted(apart, apart - reach, side="left")
    return int(ordered[right.argmax()])


def _tolerance(domain: Domain) -> int:
    return domain.values // TOLERANCE if domain.ordered else 0


def _apart(codes: npt.NDArray[np.integer], domain: Domain) -> Ints:
    """Return codes with the reserved ones moved so far apart that each is close to itself only."""
    wide = codes.astype(np.int64)
    return np.asarray(wide + np.maximum(wide - (domain.values - 1), 0) * _tolerance(domain))
