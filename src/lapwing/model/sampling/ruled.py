"""Hold a released model to the rules of its schema: afterwards no atom, and so no row, breaks one.

The columns that rules name are pinned: each atom holds one code of each of them (`pinned`). Codes that are forbidden by
themselves move inside the cells in which they were counted (`moved_in_cells`). Then, each step for the rows that
still break a rule: copies of one atom exchange codes (`swapped`), which changes no one-way law; the columns that rules
determine, and then all tied columns, are drawn again from the atom's own laws; as few columns as can be are changed
(`repaired`). Last, what a dependency without a public map leaves open is fixed (`fixed_map`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.maths.runs import covered, inside
from lapwing.model.model import Indexed, ReleasedModel
from lapwing.model.sampling.draws import AtomRows, Histogram, draw_column
from lapwing.model.sampling.fixed import is_point, pinned, points, split, taken, with_points
from lapwing.model.sampling.keeping import Codes, Component, RowRule, rule_components
from lapwing.model.sampling.repair import Pool, repaired
from lapwing.schema.rules.codes import CombinationRule, ExactSum, components
from lapwing.schema.rules.rules import Rule
from lapwing.schema.rules.search import completed
from lapwing.schema.schemas import Schema

_MOST_ATOMS = 400_000
_LEAST_ATOMS = 20_000
_REDRAWS = 20


@dataclass(frozen=True, slots=True, eq=False)
class Ruled:
    """A released model that keeps the rules.

    model: each column that a rule names is a point in each atom; moved: share of the weight whose codes had to change
    against the mechanism's model, from 0 to 1; ``endless`` columns are left out; by_rule: per rule of the schema the
    share of the weight that broke it before; for a dependency, what was not of the commonest value of its determinants;
    changed: the same with the ``endless`` columns, from 0 to 1: at most this is the total variation distance from the
    mechanism's model, once each of its atoms holds one code of each of these columns; endless: columns without
    resolution that others determine, without a public map: hardly two of their values were equal before, so that nearly
    all had to change.
    """

    model: ReleasedModel
    moved: float
    by_rule: tuple[float, ...]
    changed: float = 0.0
    endless: tuple[str, ...] = ()


def ruled(model: ReleasedModel, schema: Schema, rng: np.random.Generator) -> Ruled:
    """Return a released model of which no row breaks a rule of the schema.

    Returns the model as it is, where the schema has no rules. Otherwise of about ``2 * rows`` atoms, 20,000 at least
    and 400,000 at most, or as many as it had. Columns that no rule names keep their laws and their weights.

    Guarantee: post-processing of released numbers, public rules and public randomness; costs no budget. Rows drawn from
    the model keep every rule, one by one and, for dependencies, all together, in one sample or several: what an atom
    holds in these columns is fixed. Time ``O(atoms * (columns + rules))`` for each of at most 40 rounds, over those
    atoms that still break a rule.
    """
    found = rule_components(schema)
    if not found:
        return Ruled(model, 0.0, ())
    names = [name for component in found for name in component.columns]
    least = min(_MOST_ATOMS, max(2 * model.rows, _LEAST_ATOMS))
    wide, origin = _split(model, found, names, rng, least)
    start = points(wide, names)
    weights = wide.weights
    # Rules on codes are made once for all equal schemas: they are found by what they say, and equal ones together.
    broken: dict[Rule, np.ndarray] = {}
    for each in schema.coded_rules:
        broken[each.rule] = broken.get(each.rule, np.zeros(weights.size, dtype=bool)) | each.broken(start)
    by_rule = tuple(float(weights[broken[rule]].sum() / weights.sum()) for rule in schema.rules)
    inside = moved_in_cells(model, schema, start, rng)
    codes: dict[str, np.ndarray] = {}
    for component in found:
        own = {name: inside[name] for name in component.columns}
        codes |= _kept(component, own, _Atoms(model, origin, weights), schema, rng)
    endless = tuple(
        dict.fromkeys(
            rule.column
            for component in found
            for rule in component.dependencies
            if schema.field(rule.column).domain.continuous
        )
    )
    moved = _changed_share([name for name in names if name not in endless], start, codes, weights)
    return Ruled(with_points(wide, codes), moved, by_rule, _changed_share(names, start, codes, weights), endless)


def _changed_share(names: Sequence[str], before: Codes, after: Codes, weights: np.ndarray) -> float:
    """Return the share of the weight with another code in some column."""
    is_changed = np.zeros(weights.size, dtype=bool)
    for name in names:
        is_changed |= after[name] != before[name]
    return float(weights[is_changed].sum() / weights.sum())


@dataclass(frozen=True, slots=True, eq=False)
class _Atoms:
    """Where pinned atoms come from: the mechanism's model, the atom of it that each is a copy of, and the weights."""

    model: ReleasedModel
    origin: np.ndarray
    weights: np.ndarray


def _split(
    model: ReleasedModel, found: Sequence[Component], names: Sequence[str], rng: np.random.Generator, least: int
) -> tuple[ReleasedModel, np.ndarray]:
    """Pin columns; split what is a point already only where it breaks a rule, so that it may go different ways."""
    wide = pinned(model, names, rng, least=least)
    origin = split(model, names, least)
    codes = points(wide, names)
    is_single = np.bincount(origin)[origin] == 1
    is_broken = np.logical_or.reduce([each.broken(codes) for each in found])
    copies = np.ones(wide.atoms, dtype=np.int64)
    share = np.where(is_broken & is_single, wide.weights, 0.0) / wide.weights.sum()
    copies += np.floor(share * max(least - wide.atoms, 0)).astype(np.int64)
    if (copies == 1).all():
        return wide, origin
    every = np.repeat(np.arange(wide.atoms), copies)
    laws = {name: taken(law, every) for name, law in wide.laws.items()}
    weights = (wide.weights / copies)[every]
    return ReleasedModel(weights=weights, rows=wide.rows, laws=laws, log_linear=wide.log_linear), origin[every]


def _kept(
    component: Component, start: Codes, atoms: _Atoms, schema: Schema, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return codes of the columns of a component that keep its rules."""
    weights = atoms.weights
    codes = swapped(component, start, atoms.origin, rng)
    _redraw(component, codes, atoms, rng)
    if component.rules:
        codes = _repaired(component, codes, weights, schema, rng)
    if component.dependencies:
        component = component.fixed(codes, weights)
        codes = _repaired(component, codes, weights, schema, rng)
    return codes


def _redraw(component: Component, codes: dict[str, np.ndarray], atoms: _Atoms, rng: np.random.Generator) -> None:
    """Draw columns of atoms that break a rule again from their own laws; changes ``codes``.

    First effects given their causes, column by column, and then all columns that are tied together. Sums do not count:
    hardly a draw keeps one but those where something is missing.
    """
    rules = [rule for rule in component.rules if not isinstance(rule, ExactSum)]
    before: set[str] = set()
    for name in component.columns:
        before.add(name)
        closing = [rule for rule in rules if name in rule.columns and before.issuperset(rule.columns)]
        _redraw_columns((name,), closing, codes, atoms, rng)
    for names in components(rules):
        _redraw_columns(names, [rule for rule in rules if rule.columns[0] in names], codes, atoms, rng)


def _redraw_columns(
    names: Sequence[str],
    rules: Sequence[RowRule],
    codes: dict[str, np.ndarray],
    atoms: _Atoms,
    rng: np.random.Generator,
) -> None:
    """Draw some columns again, up to 20 times, where rules are broken that they tie; changes ``codes``."""
    if not rules:
        return
    laws = {name: atoms.model.laws[name] for name in names}
    is_wide = ~np.logical_and.reduce([is_point(law) for law in laws.values()])[atoms.origin]
    tables = {name: Histogram.of(law.laws) for name, law in laws.items() if isinstance(law, Indexed)}
    rows = np.flatnonzero(_any_broken(rules, codes) & is_wide)
    others = {other for rule in rules for other in rule.columns}.difference(names)
    for _ in range(_REDRAWS):
        if not rows.size:
            return
        drawn_from = AtomRows.of(atoms.origin[rows])
        drawn = {
            name: draw_column(law, tables.get(name), drawn_from, rng).astype(np.int64) for name, law in laws.items()
        }
        is_broken = _any_broken(rules, drawn | {other: codes[other][rows] for other in others})
        for name, values in drawn.items():
            codes[name][rows[~is_broken]] = values[~is_broken]
        rows = rows[is_broken]


def _any_broken(rules: Sequence[RowRule], codes: Codes) -> np.ndarray:
    """Return which rows break one of the rules."""
    return np.asarray(np.logical_or.reduce([rule.broken(codes) for rule in rules]))


def _repaired(
    component: Component, codes: Codes, weights: np.ndarray, schema: Schema, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Change what still breaks a rule; what cannot be changed takes whole rows of others, or the witness."""
    found, is_lost = repaired(component, codes, _pool(codes, weights, ~component.broken(codes)), rng)
    if is_lost.any() and not is_lost.all():
        found, is_lost = repaired(component, found, _pool(found, weights, ~is_lost), rng)
    if is_lost.any():
        row = completed(schema, {}, component.columns)
        assert row is not None, "a schema whose rules leave no row that is found is refused when it is read"
        found = {name: np.full(weights.size, row[name], dtype=np.int64) for name in component.columns}
    return found


def _pool(codes: Codes, weights: np.ndarray, is_kept: np.ndarray) -> Pool:
    """Return the rows that keep all rules."""
    return Pool({name: values[is_kept] for name, values in codes.items()}, weights[is_kept])


# -- Rows of one atom that exchange codes, so that fewer of them break rules and their one-way laws stay as they are.


_ROUNDS = 20
_WORTH = 0.01
"""A round that helps fewer of the rows it tries is the last."""


def swapped(component: Component, codes: Codes, atoms: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Let rows that break rules exchange single codes with rows of the same atom.

    codes: mapping of str to int64 (k,), of its columns; not changed; atoms: integers (k,), what rows are drawn from,
    increasing. Given the atom, columns are independent, so that an exchange within one is as likely as it was before.
    Returns dict of str to int64 (k,), the codes after at most 20 rounds; in each a row is offered one other row per
    column, and they exchange their codes where both together then break fewer rules. Sums are broken by nearly all
    pairs of rows, so that no row is offered another for their sake.
    """
    found = {name: np.array(codes[name], dtype=np.int64) for name in component.columns}
    starts = np.flatnonzero(np.diff(atoms, prepend=-1))
    sizes = np.diff(starts, append=atoms.size)
    first, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    broken = [rule.broken(found) for rule in component.rules]
    if not broken:
        return found
    for _ in range(_ROUNDS):
        tried = helped = 0
        for name in reversed(component.columns):
            own = [
                is_broken
                for rule, is_broken in zip(component.rules, broken, strict=True)
                if name in rule.columns and not isinstance(rule, ExactSum)
            ]
            rows = np.flatnonzero(np.logical_or.reduce(own) & (size > 1)) if own else np.empty(0, dtype=np.intp)
            tried += rows.size
            rows, partners = _paired(rows, first, size, rng)
            if rows.size:
                helped += _exchanged(component, name, found, broken, (rows, partners))
        if helped <= _WORTH * tried:
            break
    return found


def _paired(
    rows: np.ndarray, first: np.ndarray, size: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and a random other row of the same atom for each, so that no row is named twice."""
    steps = 1 + (rng.random(rows.size) * (size[rows] - 1)).astype(np.int64)
    partners = first[rows] + (rows - first[rows] + steps) % size[rows]
    # The last pair that names a row has it; a pair stays if it has both of its rows.
    pair = np.arange(rows.size)
    holder = np.empty(size.size, dtype=np.int64)
    holder[rows] = pair
    holder[partners] = pair
    kept = (holder[rows] == pair) & (holder[partners] == pair)
    return rows[kept], partners[kept]


def _exchanged(
    component: Component,
    name: str,
    codes: dict[str, np.ndarray],
    broken: list[np.ndarray],
    pairs: tuple[np.ndarray, np.ndarray],
) -> int:
    """Exchange one column in the pairs of rows that are better off; changes codes and what is broken."""
    rules = {place: rule for place, rule in enumerate(component.rules) if name in rule.columns}
    names = {other for rule in rules.values() for other in rule.columns}
    one, two = ({other: codes[other][rows] for other in names} for rows in pairs)
    one[name], two[name] = two[name], one[name]
    after = {place: (rule.broken(one), rule.broken(two)) for place, rule in rules.items()}
    gain = np.zeros(pairs[0].size, dtype=np.int64)
    for place, then in after.items():
        for rows, is_broken in zip(pairs, then, strict=True):
            gain += broken[place][rows].astype(np.int64) - is_broken
    better = gain > 0
    for side, rows, exchanged in ((0, pairs[0], one), (1, pairs[1], two)):
        codes[name][rows[better]] = exchanged[name][better]
        for place, then in after.items():
            broken[place][rows[better]] = then[side][better]
    return int(np.count_nonzero(better))


# -- Codes that a rule about one column forbids move to codes beside them, inside the cell in which they were counted.


def moved_in_cells(
    model: ReleasedModel, schema: Schema, codes: Mapping[str, np.ndarray], rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return codes drawn from a model, of which those forbidden by themselves stay in their cell, if it has others.

    model: from whose laws the codes were drawn: the ends of all pieces of a column's laws are the ends of its cells;
    codes: mapping of str to integers (n,), of some columns. Returns dict of str to (n,), a forbidden code is replaced
    by one of its cell's other codes, all with the same chance. Where a cell has none, and where a rule speaks of
    several columns, codes stay as they are.
    """
    own = [rule for rule in schema.coded_rules if isinstance(rule, CombinationRule) and len(rule.columns) == 1]
    moved = dict(codes)
    for name in dict.fromkeys(rule.columns[0] for rule in own):
        law = model.laws[name]
        if name in codes and isinstance(law, Indexed):
            cells = np.unique(np.concatenate((law.laws.starts, law.laws.stops)).astype(np.int64))
            runs = _allowed_runs([rule for rule in own if rule.columns == (name,)])
            moved[name] = _moved_codes(codes[name], cells, runs, rng)
    return moved


def _allowed_runs(rules: Sequence[CombinationRule]) -> np.ndarray:
    """Return the runs of codes that no rule of one column forbids: ndarray of int64, shape (runs, 2)."""
    parts = [rule.groupings[0].pieces() for rule in rules]
    starts = np.unique(np.concatenate([part[0] for part in parts]))
    stops = np.append(starts[1:], max(int(part[1][-1]) for part in parts))
    is_allowed = ~np.any([rule.broken({rule.columns[0]: starts}) for rule in rules], axis=0)
    return np.stack((starts[is_allowed], stops[is_allowed]), axis=1)


def _moved_codes(codes: np.ndarray, cells: np.ndarray, runs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return codes that lie in the runs wherever their cell has codes in them."""
    if not len(runs):
        return codes
    code = codes.astype(np.int64)
    wrong = np.flatnonzero(~inside(code, runs))
    cell = np.searchsorted(cells, code[wrong], side="right") - 1
    first = covered(cells[cell], runs)
    room = covered(cells[cell + 1], runs) - first
    wrong, first, room = wrong[room > 0], first[room > 0], room[room > 0]
    place = first + np.minimum((rng.random(wrong.size) * room).astype(np.int64), room - 1)
    before = np.concatenate(([0], np.cumsum(runs[:, 1] - runs[:, 0])))
    run = np.searchsorted(before, place, side="right") - 1
    code[wrong] = runs[run, 0] + place - before[run]
    return code.astype(codes.dtype)
