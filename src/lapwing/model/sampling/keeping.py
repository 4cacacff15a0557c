"""Rules as rows are drawn: which columns they tie together, which rows break them, and what a release has fixed.

A dependency without a public map (`DependencyRule`) says nothing of one row by itself. A ruled model fixes the map: it
is read off the model's atoms, so that every row that is drawn later is held to the same one.
"""

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lapwing.model.model import ReleasedModel
from lapwing.model.sampling.fixed import FixedMap, KnownTuples, fixed_map, is_point, points
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.public_tables.cells import coded_tables, values_left
from lapwing.schema.rules.codes import CombinationRule, DependencyRule, ExactSum, OrderPair, components
from lapwing.schema.rules.rules import Determines
from lapwing.schema.schemas import Schema

# -- Functional dependencies that a public table knows: which value a determinant can have where the table counts rows.


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
    for rule in schema.coded_rules:
        if not isinstance(rule, DependencyRule):
            continue
        own = []
        for coded in coded_tables(schema):
            if set(rule.columns) <= set(coded.columns):
                groupings = tuple(coded.groupings[coded.columns.index(name)] for name in rule.columns)
                own.append(PublicPairs(rule.columns, groupings, values_left(coded, rule)))
        found[rule.rule] = tuple(sorted(own, key=lambda each: -each.left.size))
    return found


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


RowRule = CombinationRule | OrderPair | ExactSum
Codes = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """Columns that rules tie together.

    public: what public tables leave of each dependency; empty where none holds all its columns; maps: what a release
    has fixed of the dependencies, one each; empty as long as nothing is fixed.
    """

    fields: tuple[Field, ...]
    rules: tuple[RowRule, ...]
    dependencies: tuple[DependencyRule, ...]
    public: tuple[tuple[PublicPairs, ...], ...]
    maps: tuple[FixedMap, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(field.name for field in self.fields)

    @property
    def ordered_maps(self) -> tuple[FixedMap, ...]:
        """The maps in the order of their columns: what a map says may be what the next one asks for."""
        return tuple(sorted(self.maps, key=lambda each: self.columns.index(each.column)))

    def broken(self, codes: Codes) -> np.ndarray:
        """Return which rows break a rule, or hold what the maps do not: ndarray of bool, shape (n,)."""
        found = np.zeros(len(codes[self.fields[0].name]), dtype=bool)
        for each in (*self.rules, *self.maps):
            found |= each.broken(codes)
        return found

    def fixed(self, codes: Codes, weights: np.ndarray, *, is_settled: bool = False) -> "Component":
        """Return the component with the maps that weighted rows say, chosen one by one in the order of the columns."""
        seen = dict(codes)
        maps: dict[int, FixedMap] = {}
        links = {(rule.of, (rule.column,)) for rule in self.dependencies}
        ordered = {field.name for field in self.fields if field.domain.ordered}
        for place in sorted(
            range(len(self.dependencies)), key=lambda at: self.columns.index(self.dependencies[at].column)
        ):
            rule = self.dependencies[place]
            is_mutual = ((rule.column,), rule.of) in links
            own, votes = seen, weights
            if self.public[place]:
                own, votes = public_votes(self.public[place], seen, weights, is_settled=is_settled)
            found = fixed_map(rule.of, rule.column, own, votes, one_to_one=is_mutual, is_ordered=rule.column in ordered)
            maps[place] = found
            seen[rule.column] = found.value(seen)
        return replace(self, maps=tuple(maps[place] for place in range(len(self.dependencies))))


def rule_components(schema: Schema) -> tuple[Component, ...]:
    """Return the sets of columns that the rules of a schema tie together, with nothing fixed.

    Returns causes before effects, and what a dependency determines right after that: what is left to give way when both
    a dependency and another rule bind a column is then a column that no dependency binds.
    """
    rules = schema.coded_rules
    found = []
    for names in components(rules):
        own = [rule for rule in rules if rule.columns[0] in names]
        dependencies = tuple(rule for rule in own if isinstance(rule, DependencyRule))
        rows = tuple(rule for rule in own if not isinstance(rule, DependencyRule))
        ordered = _determined_first(names, dependencies)
        public = tuple(public_pairs(schema, rule.rule) for rule in dependencies)
        found.append(Component(tuple(schema.field(name) for name in ordered), rows, dependencies, public))
    return tuple(found)


def kept_components(model: ReleasedModel, schema: Schema) -> tuple[Component, ...]:
    """Return what rows of a ruled model are held to.

    model: as `ruled` returns it, or such a model given a condition. Returns with the maps that the model's atoms keep.
    Empty where the schema has no rules, or the model was not ruled: a column that a rule names is no point in some
    atom.
    """
    found = rule_components(schema)
    names = [name for each in found for name in each.columns]
    if not all(bool(is_point(model.laws[name]).all()) for name in names):
        return ()
    codes = points(model, names)
    return tuple(each.fixed(codes, model.weights, is_settled=True) for each in found)


def restore_rows(
    kept: tuple[Component, ...], codes: dict[str, np.ndarray], start: Codes, held: Collection[str] = ()
) -> None:
    """Give rows that break a rule the codes back that they had, of all columns that the rule ties together.

    codes: dict of str to integers (n,), moved rows; changed in place; start: mapping of str to integers (n,), the rows
    as they were: they keep all rules; held: columns that may not move; a row where a rule would move one takes its
    codes back as well.
    """
    for component in kept:
        for each in component.ordered_maps:
            value = each.value(codes)
            codes[each.column] = np.where(value >= 0, value, codes[each.column])
        is_broken = component.broken(codes)
        for name in component.columns:
            if name in held:
                is_broken |= codes[name] != start[name]
        for name in component.columns:
            codes[name] = np.where(is_broken, start[name], codes[name])


def _determined_first(names: tuple[str, ...], dependencies: tuple[DependencyRule, ...]) -> list[str]:
    """Put what is determined right after what determines it."""
    found: list[str] = []
    left = list(names)
    while left:
        ready = [rule.column for rule in dependencies if rule.column in left and set(rule.of) <= set(found)]
        name = ready[0] if ready else left[0]
        left.remove(name)
        found.append(name)
    return found
