"""Which rules real rows break, as far as noisy counts tell: released numbers only, whatever a mechanism fitted to them.

A table that holds all columns of a rule has cells that no row may be in. Two one-way tables tell too: when each husband
is male, there are at least as many men as husbands.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from lapwing.release.questions import Answer, NoisyCounts
from lapwing.schema.groupings import Grouping
from lapwing.schema.rule_codes import CodedRule, CombinationRule, DependencyRule, coded_rules
from lapwing.schema.schemas import Schema

SURE_DEVIATIONS = 4
"""So many standard deviations of its noise a sum of counts may be off."""

_MOST_CELLS = 2**22
_MOST_PATTERNS = 64


def broken_at_least(schema: Schema, answers: Sequence[Answer]) -> dict[str, float]:
    """Return for rules of a schema a share of the rows of which noise can hardly say that fewer break them.

    Parameters
    ----------
    schema : Schema
        With its rules.
    answers : sequence of answers
        Of one release. Tables of noisy counts are looked at; others tell nothing here.

    Returns
    -------
    dict of str to float
        By the rule's text, above 0 and at most 1; what is left out may be broken all the same. For rules on two columns
        one-way tables bound the share as well: rows that lie in a set of groups of the one column must lie in groups of
        the other that go with it, and where there are fewer of those, the difference breaks the rule.

    Notes
    -----
    Guarantee: post-processing of noisy answers and public rules; costs no budget. A sum of counts is taken to be off by
    at most four standard deviations of its noise. Tables of more than 2**22 cells are passed over, and of a rule's sets
    of groups at most 64 are looked at.

    References
    ----------
    That the difference is a lower bound is the easy half of Hall's theorem (P. Hall, On representatives of subsets,
    J. London Math. Soc. 10, 1935), counted in rows.
    """
    found: dict[str, float] = {}
    tables = [answer for answer in answers if isinstance(answer, NoisyCounts) and answer.question.columns]
    for rule in coded_rules(schema):
        if isinstance(rule, DependencyRule):
            continue
        for share in (*_in_joint_tables(rule, tables), *_between_one_way_tables(rule, tables)):
            text = rule.rule.text
            if share > found.get(text, 0.0):
                found[text] = min(share, 1.0)
    return found


def _in_joint_tables(rule: CodedRule, tables: Sequence[NoisyCounts]) -> Iterator[float]:
    """Yield what tables that hold all columns of a rule say."""
    for table in tables:
        names = table.question.columns
        if not set(rule.columns) <= set(names):
            continue
        places = [names.index(name) for name in rule.columns]
        alive = _alive(rule, [table.question.groupings[place] for place in places])
        if alive is None or alive.all():
            continue
        rest = [place for place in range(len(names)) if place not in places]
        counts = np.transpose(table.counts, (*places, *rest)).reshape(*alive.shape, -1)
        dead = counts[~alive]
        yield _sure_share(float(dead.sum()), dead.size * table.noise.sd**2, [table])


def _between_one_way_tables(rule: CodedRule, tables: Sequence[NoisyCounts]) -> Iterator[float]:
    """Yield what two one-way tables say of a rule on two columns."""
    if len(rule.columns) != 2:
        return
    own = [[table for table in tables if table.question.columns == (name,)] for name in rule.columns]
    for one, two in product(*own):
        alive = _alive(rule, (one.question.groupings[0], two.question.groupings[0]))
        if alive is None:
            continue
        for inside, reached in _sets(alive):
            excess = float(one.counts[inside].sum() - two.counts[reached].sum())
            variance = inside.sum() * one.noise.sd**2 + reached.sum() * two.noise.sd**2
            yield _sure_share(excess, float(variance), (one, two))


def _sure_share(rows: float, variance: float, tables: Sequence[NoisyCounts]) -> float:
    """Return a noisy number of rows as a share, less what noise explains."""
    least = rows - SURE_DEVIATIONS * math.sqrt(variance)
    most = [
        float(table.counts.sum()) + SURE_DEVIATIONS * table.noise.sd * math.sqrt(table.counts.size) for table in tables
    ]
    return least / max(*most, 1.0)


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
        starts, stops, owner = grouping.pieces()
        low = np.full(grouping.groups, np.iinfo(np.int64).max)
        high = np.zeros_like(low)
        np.minimum.at(low, owner, starts)
        np.maximum.at(high, owner, stops)
        boxes[name] = (low[group], high[group])
    return np.asarray(rule.possible(boxes)).reshape(shape)


def _combined(rule: CombinationRule, groupings: Sequence[Grouping]) -> np.ndarray | None:
    """Return the combinations of groups of which some codes keep a rule, one column after the other."""
    alive = np.asarray(rule.alive)
    for axis, (own, wanted) in enumerate(zip(rule.groupings, groupings, strict=True)):
        if alive.size // own.groups * max(own.groups, wanted.groups) > _MOST_CELLS:
            return None
        meets = _meets(wanted, own).astype(np.float32)
        reached = np.tensordot(meets, np.moveaxis(alive, axis, 0).astype(np.float32), axes=1)
        alive = np.moveaxis(reached > 0, 0, axis)
    return alive


def _meets(one: Grouping, two: Grouping) -> np.ndarray:
    """Return which groups of two maps of one domain have codes in common: ndarray of bool, shape (one, two)."""
    pieces = one.pieces(), two.pieces()
    starts = np.union1d(pieces[0][0], pieces[1][0])
    groups = [group[np.searchsorted(first, starts, side="right") - 1] for first, _, group in pieces]
    found = np.zeros((one.groups, two.groups), dtype=bool)
    found[groups[0], groups[1]] = True
    return found
