"""Which rules real rows break, as far as noisy counts show: released numbers only, whatever a mechanism fitted to them.

A table that holds all columns of a rule has cells that no row may be in. Two one-way tables can show it, too: when each
husband is male, there are at least as many men as husbands.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, Literal

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.questions import Answer
from lapwing.model.evidence import MeasuredTable, plain_tables
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import common_refinement, group_ends
from lapwing.schema.rules.codes import CodedRule, CombinationRule, DependencyRule
from lapwing.schema.schemas import Schema

# -- What a certificate says of the rules that every synthetic row keeps.


_KEPT: Final = ("in the model", "in the rows")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRule:
    """A rule of the schema that no synthetic row breaks.

    provenance: whether the rule is public knowledge or its owner's decision; kept: whether the mechanism's model kept
    it already, or rows were changed to keep it; broke: share of the weight of the mechanism's model that broke it
    before, from 0 to 1.
    """

    text: str
    provenance: Literal["public", "assumed"]
    kept: Literal["in the model", "in the rows"]
    broke: float

    def __post_init__(self) -> None:
        if self.provenance not in ("public", "assumed") or self.kept not in _KEPT or not 0 <= self.broke <= 1:
            raise ParameterError(
                "a rule of a certificate is public or assumed, kept in the model or in the rows, and was broken by a "
                "share from 0 to 1 before",
                code="LW621",
            )


# -- What a certificate says of the public tables that a release holds or leans on.


_HOLDS: Final = ("exact", "prior")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTable:
    """A public table of the schema.

    hold: whether synthetic rows meet it, or it only steered the mechanism; before: of an exact one: share of the
    weight of the mechanism's model that had to move between its cells, 0 to 1; missed: of an exact one that could not
    be held: the share by which the released model is off, above 0.
    """

    columns: tuple[str, ...]
    source: str
    cells: int
    total: int
    hold: Literal["exact", "prior"]
    before: float | None = None
    missed: float | None = None

    def __post_init__(self) -> None:
        is_share = all(each is None or 0 <= each <= 1 for each in (self.before, self.missed))
        if self.hold not in _HOLDS or not self.columns or min(self.cells, self.total) < 1 or not is_share:
            raise ParameterError(
                "a public table of a certificate has columns, cells and a total of at least 1, is exact or a prior, "
                "and the model before and after was off by a share from 0 to 1",
                code="LW621",
            )


FALSE_WARNING = 1e-3
"""At most so likely is it that some share of all that `broken_at_least` returns is larger than the true one."""

_MOST_CELLS = 2**18
_MOST_PATTERNS = 64
_RATES = 512
_LEAST_PARAMETER = 1e-9  # a wider law is safe, and its square is above 0

Noises = tuple[tuple[NoiseLaw, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Test:
    """A noisy number of rows that break a rule, if it is above 0; its noise; and tables that count all rows."""

    rows: float
    noises: Noises
    tables: tuple[MeasuredTable, ...]

    def share(self, failure: float) -> float:
        """Return the rows as a share, less what noise explains: too much with probability 2 * failure at most."""
        least = self.rows - sum_reach(self.noises, failure)
        most = [
            float(table.counts.sum()) + sum_reach(((table.law, table.counts.size),), failure) for table in self.tables
        ]
        return least / max(*most, 1.0)


def broken_at_least(schema: Schema, answers: Sequence[Answer]) -> dict[str, float]:
    """Return for rules of a schema a share of the rows of which noise can hardly say that fewer break them.

    answers: of one release. Tables of noisy counts are looked at; others tell nothing here. Returns by the rule's text,
    above 0 and at most 1; what is left out may be broken all the same. For rules on two columns one-way tables bound
    the share as well: rows that lie in a set of groups of the one column must lie in groups of the other that go with
    it, and where there are fewer of those, the difference breaks the rule.

    Guarantee: post-processing of noisy answers and public rules; costs no budget. With probability 0.999 at least no
    share returned is larger than the true one: the probability of 0.001 is divided evenly among all sums of counts that
    are looked at (Bonferroni; where a mechanism chose its later tables by earlier noise, that is nearly so). Of tables
    whose groups of a rule's columns have more than 2**18 combinations nothing is told, and of a rule's sets of groups
    at most 64 are looked at.

    References
    ----------
    That the difference is a lower bound is the easy half of Hall's theorem (P. Hall, On representatives of subsets,
    J. London Math. Soc. 10, 1935), counted in rows.
    """
    tests: list[tuple[str, _Test]] = []
    tables = plain_tables(answers)
    for rule in schema.coded_rules:
        if isinstance(rule, DependencyRule):
            continue
        own = (*_in_joint_tables(rule, tables), *_between_one_way_tables(rule, tables))
        tests += [(rule.rule.text, test) for test in own]
    found: dict[str, float] = {}
    for text, test in tests:
        share = test.share(FALSE_WARNING / (2 * len(tests)))
        if share > found.get(text, 0.0):
            found[text] = min(share, 1.0)
    return found


def sum_reach(noises: Noises, failure: float) -> float:
    """Return what a sum of independent noise reaches with at most a given probability.

    noises: laws, and how many terms have each; at least one term. Returns a k with ``P(Z_1 + ... + Z_t >= k) <=
    failure``, in the unit of the noise.

    Chernoff's bound: the smallest ``(log(1 / failure) + sum of log E exp(r Z_i)) / r`` on a grid of rates r, each of
    which is valid. Discrete Gaussian noise is sub-Gaussian with its sigma (Canonne, Kamath and Steinke, 2020). Discrete
    Laplace noise of scale s has ``E exp(r Z) = 1 / (1 - (sinh(r / 2) / sinh(1 / (2 s)))**2)``, which is at most ``1 /
    (1 - (r s)**2)`` for ``r s < 1``, as sinh is convex. Closed form, because there are many sums, of two laws some.

    >>> from fractions import Fraction
    >>> round(sum_reach(((NoiseLaw("gaussian", Fraction(100)), 1),), 0.001), 1)
    37.2
    >>> round(sum_reach(((NoiseLaw("laplace", Fraction(10)), 1),), 0.001), 1)
    95.2
    """
    known = [(law.kind, max(float(law.parameter), _LEAST_PARAMETER), terms) for law, terms in noises]
    scales = [parameter for kind, parameter, _ in known if kind == "laplace"]
    variance = sum(terms * (2 * value**2 if kind == "laplace" else value) for kind, value, terms in known)
    surprise = -math.log(failure)
    # The best rate of Gaussian noise of this variance is beyond that of any other sum here.
    largest = min([math.sqrt(2 * surprise / variance), *(1 / scale for scale in scales)])
    rates = largest * np.arange(1, _RATES) / _RATES
    logs = sum(
        terms * (-np.log1p(-((rates * value) ** 2)) if kind == "laplace" else value * rates**2 / 2)
        for kind, value, terms in known
    )
    return float(((surprise + logs) / rates).min())


def _in_joint_tables(rule: CodedRule, tables: Sequence[MeasuredTable]) -> Iterator[_Test]:
    """Yield what tables that hold all columns of a rule say."""
    for table in tables:
        names = table.columns
        if not set(rule.columns) <= set(names):
            continue
        places = [names.index(name) for name in rule.columns]
        alive = _alive(rule, table.groupings_of(rule.columns))
        if alive is None or alive.all():
            continue
        rest = [place for place in range(len(names)) if place not in places]
        counts = np.transpose(table.counts, (*places, *rest)).reshape(*alive.shape, -1)
        dead = counts[~alive]
        yield _Test(float(dead.sum()), ((table.law, dead.size),), (table,))


def _between_one_way_tables(rule: CodedRule, tables: Sequence[MeasuredTable]) -> Iterator[_Test]:
    """Yield what two one-way tables say of a rule on two columns."""
    if len(rule.columns) != 2:
        return
    own = [[table for table in tables if table.columns == (name,)] for name in rule.columns]
    for one, two in product(*own):
        alive = _alive(rule, (*one.groupings_of(rule.columns[:1]), *two.groupings_of(rule.columns[1:])))
        if alive is None:
            continue
        for inside, reached in _sets(alive):
            # Misfits count as missing: rows of the one that may be among them are reached by the other's.
            more = two.misfits if two.misfits is not None and reached[-1] else None
            excess = float(int(one.counts[inside].sum()) - int(two.counts[reached].sum()) - (more or 0))
            noises = (one.law, int(inside.sum())), (two.law, int(reached.sum()) + (more is not None))
            yield _Test(excess, noises, (one, two))


def _sets(alive: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield sets of groups of the one column, and the groups of the other that rows in them may be in.

    Of all groups that go with a set, every group that goes with nothing else belongs to it. It is enough to begin with
    what single groups go with: these are nested where a rule is an order.
    """
    patterns = np.unique(alive, axis=0)
    patterns = patterns[~patterns.all(axis=1)]
    if len(patterns) > _MOST_PATTERNS:
        by_size = patterns[np.argsort(patterns.sum(axis=1), kind="stable")]
        patterns = by_size[np.linspace(0, len(patterns) - 1, _MOST_PATTERNS).round().astype(np.intp)]
    for pattern in patterns:
        inside = ~alive[:, ~pattern].any(axis=1)
        yield np.asarray(inside), np.asarray(alive[inside].any(axis=0))


# ------------------------------------------------------------------------------------------ rules on groups of a table


def _alive(rule: CodedRule, groupings: Sequence[Grouping]) -> np.ndarray | None:
    """Return for each combination of groups whether some of their codes keep a rule; None where they are too many."""
    shape = tuple(grouping.groups for grouping in groupings)
    if math.prod(shape) > _MOST_CELLS:
        return None
    if isinstance(rule, CombinationRule):
        return _combined(rule, groupings)
    assert not isinstance(rule, DependencyRule)
    chosen = np.unravel_index(np.arange(math.prod(shape)), shape)
    boxes = {}
    for name, grouping, group in zip(rule.columns, groupings, chosen, strict=True):
        low, high = group_ends(grouping)
        boxes[name] = (low[group], high[group])
    return np.asarray(rule.possible(boxes)).reshape(shape)


def _combined(rule: CombinationRule, groupings: Sequence[Grouping]) -> np.ndarray | None:
    """Return the combinations of groups of which some codes keep a rule, one column after the other."""
    alive = np.asarray(rule.alive)
    for axis, (own, wanted) in enumerate(zip(rule.groupings, groupings, strict=True)):
        if alive.size // own.groups * max(own.groups, wanted.groups) > _MOST_CELLS:
            return None
        _, (asked, known) = common_refinement([wanted, own])
        meets = np.zeros((wanted.groups, own.groups), dtype=np.float32)  # which groups have codes in common
        meets[asked, known] = 1
        reached = np.tensordot(meets, np.moveaxis(alive, axis, 0).astype(np.float32), axes=1)
        alive = np.moveaxis(reached > 0, 0, axis)
    return alive
