"""Rules as rows are drawn: which columns they tie together, which rows break them, and what a release has fixed.

A dependency without a public map (`DependencyRule`) says nothing of one row by itself. A ruled model fixes the map: it
is read off the model's atoms, so that every row that is drawn later is held to the same one.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from lapwing.model.model import ReleasedModel
from lapwing.model.sampling.fixed import FixedMap, fixed_map, is_point, points
from lapwing.model.sampling.public_maps import PublicPairs, public_pairs, public_votes
from lapwing.schema.fields import Field
from lapwing.schema.rules.codes import CombinationRule, DependencyRule, ExactSum, OrderPair, coded_rules, components
from lapwing.schema.schemas import Schema

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
        """Return the component with the maps that weighted rows say, chosen one by one in the order of the columns.

        codes: mapping of str to integers (k,); weights: float64 (k,); is_settled: whether the rows keep maps already,
        which are read off. Otherwise public tables have a say.
        """
        seen = dict(codes)
        maps: dict[int, FixedMap] = {}
        links = {(rule.of, (rule.column,)) for rule in self.dependencies}
        ordered = {field.name for field in self.fields if field.domain.ordered}
        for place in self._in_order():
            rule = self.dependencies[place]
            is_mutual = ((rule.column,), rule.of) in links
            own, votes = seen, weights
            if self.public[place]:
                own, votes = public_votes(self.public[place], seen, weights, is_settled=is_settled)
            found = fixed_map(rule.of, rule.column, own, votes, one_to_one=is_mutual, is_ordered=rule.column in ordered)
            maps[place] = found
            seen[rule.column] = found.value(seen)
        return replace(self, maps=tuple(maps[place] for place in range(len(self.dependencies))))

    def _in_order(self) -> list[int]:
        """Return the dependencies by the place of their column."""
        return sorted(range(len(self.dependencies)), key=lambda at: self.columns.index(self.dependencies[at].column))


def rule_components(schema: Schema) -> tuple[Component, ...]:
    """Return the sets of columns that the rules of a schema tie together, with nothing fixed.

    Returns causes before effects, and what a dependency determines right after that: what is left to give way when both
    a dependency and another rule bind a column is then a column that no dependency binds.
    """
    rules = coded_rules(schema)
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


def taken_back(
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
