"""Functional dependencies that a public table knows: which value a determinant can have where the table counts rows.

A map that nobody listed is read off a model's atoms, which follow noise. Where an exact public table holds all columns
of the dependency, only what it leaves counts as a vote, so that the model can be raked to it afterwards.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.model.sampling.fixed import KnownTuples
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.public_tables.cells import CodedTable, coded_tables, values_left
from lapwing.schema.rules.codes import DependencyRule, coded_rules
from lapwing.schema.rules.rules import Determines
from lapwing.schema.schemas import Schema


@dataclass(frozen=True, slots=True, eq=False)
class PublicPairs:
    """What one public table leaves of a dependency.

    columns: those that determine, then the one that is determined; groupings: of each column, the groups that the table
    tells apart; left: bool, shaped by the groups, which value determinants can have; none where the table counts nobody
    with them.
    """

    columns: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    left: np.ndarray

    @property
    def is_counted(self) -> np.ndarray:
        """Which determinants the table counts somebody with, shaped by their groups."""
        return np.asarray(self.left.any(axis=-1))

    @property
    def tells_all(self) -> bool:
        """Whether each determinant that is counted has one value, so that nothing is left to guess."""
        starts, stops, group = self.groupings[-1].pieces()
        is_one = np.bincount(group, stops - starts) == 1
        return bool((self.left.sum(axis=-1) <= 1).all() and is_one[np.nonzero(self.left)[-1]].all())

    def groups(self, codes: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the groups of rows in each column, the determined one last."""
        pairs = zip(self.columns, self.groupings, strict=True)
        return tuple(grouping.apply(codes[name]) for name, grouping in pairs)

    def values(self, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return a code for each combination of groups of determinants, -1 where the table counts nobody.

        It lies in the group with the most weight of those that are left, and is the commonest one there.

        codes: integers (k,), of the determined column; weights: float64 (k,).
        """
        starts, _, _ = self.groupings[-1].pieces()
        # The first code of each group stands for one that no row has.
        known, place = np.unique(np.concatenate([starts, codes]), return_inverse=True)
        mass = np.bincount(place.reshape(-1), np.concatenate([np.zeros(starts.size), weights]))
        own = self.groupings[-1].apply(known)
        order = np.lexsort((known, -mass, own))
        common = known[order][np.searchsorted(own[order], np.arange(self.groupings[-1].groups))]
        best = np.where(self.left, np.bincount(own, mass, self.groupings[-1].groups), -1.0).argmax(axis=-1)
        return np.where(self.is_counted, common[best], -1)


def public_pairs(schema: Schema, rule: Determines) -> tuple[PublicPairs, ...]:
    """Return what the exact public tables that hold all columns of a dependency leave of it, the finest first."""
    return _public_pairs(schema).get(rule, ())


@functools.lru_cache(maxsize=8)
def _public_pairs(schema: Schema) -> dict[Determines, tuple[PublicPairs, ...]]:
    """Return the pairs of each dependency that some table holds; kept for the last few schemas."""
    found = {}
    for rule in coded_rules(schema):
        if isinstance(rule, DependencyRule):
            own = [_pairs(coded, rule) for coded in coded_tables(schema) if set(rule.columns) <= set(coded.columns)]
            found[rule.rule] = tuple(sorted(own, key=lambda each: -each.left.size))
    return found


def _pairs(coded: CodedTable, rule: DependencyRule) -> PublicPairs:
    """Return what a table that holds all columns of a dependency leaves of it."""
    groupings = tuple(coded.groupings[coded.columns.index(name)] for name in rule.columns)
    return PublicPairs(rule.columns, groupings, values_left(coded, rule))


def public_votes(
    tables: Sequence[PublicPairs], codes: Mapping[str, np.ndarray], weights: np.ndarray, *, is_settled: bool
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return weighted rows from which a map follows that public tables leave.

    codes: mapping of str to integers (k,), of weighted rows; weights: float64 (k,), not all 0. Rows without weight do
    not count as a row of their determinants; is_settled: whether the rows keep a map, so that only determinants without
    a row are looked for. Returns codes: dict of str to int64 (m,), of the columns of the dependency: the rows, without
    weight where tables do not leave them, and behind them one for each determinant that is counted and has no row with
    weight. Of determinants that a table does not tell apart and that have no row at all, the first gets one; weights:
    float64 (m,).
    """
    *of, column = tables[0].columns
    own = {name: np.asarray(codes[name], dtype=np.int64) for name in (*of, column)}
    voting = np.asarray(weights, dtype=np.float64)
    weighted = np.flatnonzero(voting)
    added = [_without_rows(tables[0], {name: values[weighted] for name, values in own.items()})]
    shares = [np.full(len(added[0]), voting[weighted].min())]
    if not is_settled:
        for table in tables:
            groups = table.groups(own)
            voting = np.where(table.left[groups] | ~table.is_counted[groups[:-1]], voting, 0.0)
        known = KnownTuples.of([own[name] for name in of])
        owner = known.find([own[name] for name in of])
        _, example = np.unique(owner, return_index=True)
        masses = np.stack([np.bincount(owner, each) for each in (weights, voting)])
        is_counted = tables[0].is_counted[tuple(each[example] for each in tables[0].groups(own)[:-1])]
        lost = np.flatnonzero((masses[0] > 0) & (masses[1] == 0) & is_counted)
        added.append(np.stack([own[name][example[lost]] for name in of], axis=1))
        shares.append(masses[0, lost])
    more = dict(zip(of, np.concatenate(added).T, strict=True))
    groups = tuple(each.apply(more[name]) for name, each in zip(of, tables[0].groupings[:-1], strict=True))
    more[column] = tables[0].values(own[column], weights)[groups]
    found = {name: np.concatenate([values, more[name]]) for name, values in own.items()}
    return found, np.concatenate([voting, *shares])


def _without_rows(table: PublicPairs, codes: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the first code of each column, for determinants that are counted and have no row: shape (m, columns)."""
    is_open = table.is_counted
    is_open[table.groups(codes)[:-1]] = False
    firsts = []
    for grouping in table.groupings[:-1]:
        starts, _, group = grouping.pieces()
        firsts.append(starts[np.unique(group, return_index=True)[1]])
    return np.stack([own[at] for own, at in zip(firsts, np.nonzero(is_open), strict=True)], axis=1)
