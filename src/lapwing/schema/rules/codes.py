"""Rules on codes: which rows break them. Public rules and domains only; no row comes here but what a caller passes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.rules.comparisons import Boxes, ExactSum, OrderPair
from lapwing.schema.rules.rules import Determines, Implies, Rule, Sum

__all__ = [
    "Boxes",
    "CodedRule",
    "CombinationRule",
    "ComparisonRule",
    "DependencyRule",
    "ExactSum",
    "OrderPair",
    "RuledSchema",
    "coded_rules",
    "components",
]


@dataclass(frozen=True, slots=True, eq=False)
class CombinationRule:
    """Some combinations of groups of codes stand in no row.

    columns: its columns; of an implication or a map, what follows stands last; groupings: per column the groups that it
    tells apart; reserved codes are groups of their own; alive: bool, shaped by the numbers of groups, which
    combinations rows may hold; all that hold a misfit.
    """

    rule: Rule
    columns: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    alive: npt.NDArray[np.bool_]

    def broken(self, codes: Mapping[str, np.ndarray]) -> npt.NDArray[np.bool_]:
        """Return which rows break the rule.

        codes: mapping of column to integers (n,). Returns bool (n,).
        """
        pairs = zip(self.columns, self.groupings, strict=True)
        return ~np.asarray(self.alive[tuple(grouping.apply(codes[name]) for name, grouping in pairs)])


@dataclass(frozen=True, slots=True, eq=False)
class DependencyRule:
    """Rows that agree in some columns agree in another, in what nobody says beforehand.

    misfits: the misfit code of each of ``columns``; None where missing is allowed. Rows with one keep the rule.
    """

    rule: Determines
    of: tuple[str, ...]
    column: str
    misfits: tuple[int | None, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that determine, then the one that is determined."""
        return (*self.of, self.column)

    def broken(self, codes: Mapping[str, np.ndarray]) -> npt.NDArray[np.bool_]:
        """Return the rows whose value is not the commonest of those that share their determinants.

        codes: mapping of column to integers (n,). Returns bool (n,), of equally common values the one with the lowest
        code is right.
        """
        columns = [np.asarray(codes[name]).astype(np.int64) for name in self.columns]
        is_bound = np.ones(len(columns[0]), dtype=bool)
        for own, misfit in zip(columns, self.misfits, strict=True):
            if misfit is not None:
                is_bound &= own != misfit
        found = np.zeros(len(is_bound), dtype=bool)
        if not is_bound.any():
            return found
        kept = [own[is_bound] for own in columns]
        _, cause = np.unique(np.stack(kept[:-1]), axis=1, return_inverse=True)
        pairs, pair, counts = np.unique(
            np.stack([cause.reshape(-1), kept[-1]]), axis=1, return_inverse=True, return_counts=True
        )
        # Sorted by cause, then commonest first, then lowest code: the first of each cause is right.
        order = np.lexsort((pairs[1], -counts, pairs[0]))
        is_first = np.diff(pairs[0][order], prepend=-1) != 0
        is_right = np.zeros(len(order), dtype=bool)
        is_right[order[is_first]] = True
        found[is_bound] = ~is_right[pair.reshape(-1)]
        return found


ComparisonRule = OrderPair | ExactSum
CodedRule = CombinationRule | OrderPair | ExactSum | DependencyRule


class RuledSchema(Protocol):
    """What rules need of a `lapwing.schema.schemas.Schema`, which imports this module and not the other way round."""

    @property
    def coded_rules(self) -> tuple[CodedRule, ...]:
        """The rules on the codes of the columns."""
        ...

    def field(self, name: str) -> Field:
        """Return the field of a name."""
        ...


def coded_rules(schema: RuledSchema) -> tuple[CodedRule, ...]:
    """Return the rules of a schema on the codes of its columns, in the order of its rules.

    Returns several for some rules: an order gives one per pair of neighbours, an implication one per column of
    ``then``.
    """
    return schema.coded_rules


def components(rules: Sequence[CodedRule]) -> tuple[tuple[str, ...], ...]:
    """Return the sets of columns that rules tie together.

    Returns each set with causes before effects as far as that is possible: what determines, ``when`` and the terms of a
    sum before what follows from them; else as the rules name them.
    """
    home: dict[str, list[str]] = {}
    for rule in rules:
        joined = list(dict.fromkeys(name for own in rule.columns for name in home.get(own, [own])))
        home.update(dict.fromkeys(joined, joined))
    sets = {id(names): names for names in home.values()}
    causes: dict[str, set[str]] = {name: set() for name in home}
    for rule in rules:
        if isinstance(rule.rule, Implies | Determines | Sum):
            causes[rule.columns[-1]].update(rule.columns[:-1])
    return tuple(_causes_first(names, causes) for names in sets.values())


def _causes_first(names: Sequence[str], causes: Mapping[str, set[str]]) -> tuple[str, ...]:
    """Put causes before effects; of columns in a circle the first as named goes first."""
    left, found = list(names), list[str]()
    while left:
        free = next((name for name in left if not causes[name].intersection(left)), left[0])
        left.remove(free)
        found.append(free)
    return tuple(found)
