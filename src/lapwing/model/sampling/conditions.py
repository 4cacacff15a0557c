"""Condition a released model on values of some columns.

A mixture of products stays one: each atom's weight is multiplied by the chance that it matches, and its laws are cut to
what matches.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from lapwing.errors import LapwingWarning, ParameterError, warn
from lapwing.maths.runs import count_covered, distinct_pairs, inside, overlaps, ranks
from lapwing.model.laws import Laws
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, LogLinear, ReleasedModel, Spans, narrow
from lapwing.model.sampling.fixed import KnownTuples, is_point, points, take_laws, with_points
from lapwing.model.sampling.grouped import settle_theta
from lapwing.model.sampling.keeping import Component, kept_components, rule_components
from lapwing.model.statistics.expressions import Condition, asked_codes
from lapwing.schema.rules.rules import Rule
from lapwing.schema.rules.search import complete_row, is_impossible
from lapwing.schema.schemas import Schema

_refused = partial(ParameterError, code="LW322")

FEW_ATOMS = 50
"""Below this effective number of atoms rows repeat a few patterns: they are drawn from the log-linear part, or, where
there is none, a warning says so."""

_Pieces = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Law, start, stop and probability of pieces of laws."""


@dataclass(frozen=True, slots=True, eq=False)
class ConditionedModel:
    """A released model given a condition.

    is_matched: whether its atoms are those of the model that match. If not, no atom does: its atoms match in some of
    the columns only, stand on the base laws in the others, and serve as starts for Gibbs sweeps.
    """

    model: ReleasedModel
    is_matched: bool


def condition_model(model: ReleasedModel, schema: Schema, where: Condition) -> ConditionedModel:
    """Return a released model given that some columns have some values, and whether atoms of it match.

    where: what each column must be, also as a text; None (or NaN) asks for missing. All hold together. Returns the
    exact conditional mixture: the atoms that can match, reweighted, their laws cut. ``rows`` is the expected number of
    matching rows, rounded. A log-linear part stays, its base laws cut. Where no atom matches but the base laws allow
    the condition, the atoms are those that match in most columns, moved into it, and ``rows`` is 0.
    """
    wanted = asked_codes(where, schema)
    chances = {name: _chance(model.laws[name], runs) for name, runs in wanted.items()}
    weights = _matching(model, chances)
    atoms = np.flatnonzero(weights)
    part = None if model.log_linear is None else _conditioned_part(model.log_linear, wanted)
    if atoms.size == 0:
        refuse_forbidden(schema, wanted)
        if part is not None:
            starts = _starts(model, part, wanted, chances)
            return ConditionedModel(lawful_starts(starts, model, schema, wanted), is_matched=False)
        rows = f"rows that match where on {', '.join(wanted)}"
        raise _refused(f"the model gives {rows} probability 0; ask for a wider condition")
    share = float(weights.sum() / model.weights.sum())
    matching = weights[atoms] / weights.max()
    effective = effective_atoms(matching)
    if wanted and effective < FEW_ATOMS and model.log_linear is None and model.atoms > 1:
        said = f"only {effective:.1f} effective atoms of the model match where, below {FEW_ATOMS}"
        way_out = "rows will repeat few patterns, so ask for a wider condition"
        warn(LapwingWarning(f"{said}; {way_out}", code="LW322"))
    laws = {
        name: _given(law, wanted[name], atoms) if name in wanted else take_laws(law, atoms)
        for name, law in model.laws.items()
    }
    found = ReleasedModel(weights=matching, rows=round(model.rows * share), laws=laws, log_linear=part)
    return ConditionedModel(found, is_matched=True)


def support(model: ReleasedModel, schema: Schema, where: Condition) -> tuple[float, float]:
    """Return how well a model knows rows that meet a condition."""
    wanted = asked_codes(where, schema)
    weights = _matching(model, {name: _chance(model.laws[name], runs) for name, runs in wanted.items()})
    if not weights.any():
        return 0.0, 0.0
    return effective_atoms(weights), float(weights.sum() / model.weights.sum())


def _matching(model: ReleasedModel, chances: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the weight of each atom times its chance to match."""
    weights = np.array(model.weights)
    for chance in chances.values():
        weights *= chance
    return weights


def effective_atoms(weights: np.ndarray) -> float:
    """Return the effective number of atoms, ``(sum of w)**2 / (sum of w**2)``; the weights must not all be 0."""
    scaled = weights / weights.max()
    return float(scaled.sum() ** 2 / np.square(scaled).sum())


def _cut_pieces(pieces: _Pieces, runs: np.ndarray) -> _Pieces:
    """Return the parts of pieces that lie in the runs, with their probabilities."""
    owner, starts, stops, masses = pieces
    first, counts = overlaps(starts, stops, runs)
    piece = np.repeat(np.arange(starts.size), counts)
    run = first[piece] + ranks(counts)
    begin, end = np.maximum(starts[piece], runs[run, 0]), np.minimum(stops[piece], runs[run, 1])
    return owner[piece], begin, end, masses[piece] * ((end - begin) / (stops - starts)[piece])


def _pieces(laws: Laws) -> _Pieces:
    """Return the pieces of a table of laws."""
    return laws.law_of_piece, laws.starts, laws.stops, laws.probabilities


def _chance(law: ColumnLaw, runs: np.ndarray) -> np.ndarray:
    """Return the chance of each atom to lie in the runs."""
    match law:
        case Indexed():
            owner, _, _, masses = _cut_pieces(_pieces(law.laws), runs)
            # Rounding may leave a law that lies inside the runs just above 1.
            chances = np.minimum(np.bincount(owner, masses, minlength=law.laws.count), 1.0)
            return np.asarray(chances[law.index])
        case Spans():
            starts, stops = law.starts.astype(np.int64), law.stops.astype(np.int64)
            return np.asarray((count_covered(stops, runs) - count_covered(starts, runs)) / (stops - starts))
        case Bernoulli():
            zero, one = inside(np.array([0, 1]), runs)
            p = law.p.astype(np.float64)
            return np.asarray(p * one + (1.0 - p) * zero)


def _given(law: ColumnLaw, runs: np.ndarray, atoms: np.ndarray) -> ColumnLaw:
    """Return the laws of some atoms, each of which can lie in the runs, given that it does."""
    match law:
        case Indexed():
            used, index = np.unique(law.index[atoms], return_inverse=True)
            return Indexed(narrow(index), _cut_laws(_pieces(law.laws), runs, used))
        case Spans():
            return _given_spans(law, runs, atoms)
        case Bernoulli():
            zero, one = inside(np.array([0, 1]), runs)
            p = law.p[atoms]
            return Bernoulli(p if zero and one else np.full_like(p, one))


def _given_spans(law: Spans, runs: np.ndarray, atoms: np.ndarray) -> ColumnLaw:
    """Return spans cut to the runs; a table of laws where one of them falls into several parts."""
    starts, stops = law.starts[atoms].astype(np.int64), law.stops[atoms].astype(np.int64)
    first, counts = overlaps(starts, stops, runs)
    if counts.max() == 1:
        dtype = law.starts.dtype
        return Spans(np.maximum(starts, runs[first, 0]).astype(dtype), np.minimum(stops, runs[first, 1]).astype(dtype))
    starts, stops, which = distinct_pairs(starts, stops)
    every = np.arange(starts.size)
    return Indexed(narrow(which), _cut_laws((every, starts, stops, np.ones(starts.size)), runs, every))


def _cut_laws(pieces: _Pieces, runs: np.ndarray, used: np.ndarray) -> Laws:
    """Return the table of the used laws, each with mass in the runs, cut to them."""
    owner, starts, stops, masses = _cut_pieces(pieces, runs)
    # A part whose probability vanished in rounding is no part.
    kept = (masses > 0) & np.isin(owner, used)
    owner, starts, stops, masses = (values[kept] for values in (owner, starts, stops, masses))
    order = np.argsort(owner, kind="stable")
    number = np.searchsorted(used, owner[order])
    sizes = np.bincount(number, minlength=used.size)
    totals = np.bincount(number, masses[order], minlength=used.size)
    return Laws(np.concatenate(([0], np.cumsum(sizes))), starts[order], stops[order], masses[order] / totals[number])


def _conditioned_part(part: LogLinear, wanted: Mapping[str, np.ndarray]) -> LogLinear:
    """Return a log-linear part whose base laws are cut, which conditions the whole of it."""
    part = settle_theta(part)
    base = dict(part.base)
    for name, runs in wanted.items():
        if not _cut_pieces(_pieces(base[name]), runs)[3].any():
            raise _refused(f"the model expects no row where {name!r} is what where asks for; ask for a wider condition")
        base[name] = _cut_laws(_pieces(base[name]), runs, np.zeros(1, dtype=np.intp))
    return replace(part, base=base)


def _starts(
    model: ReleasedModel, part: LogLinear, wanted: Mapping[str, np.ndarray], chances: Mapping[str, np.ndarray]
) -> ReleasedModel:
    """Return atoms that match in as many columns as any does, with the base laws in the columns where they do not."""
    pattern = np.stack([chance > 0 for chance in chances.values()])
    matched = np.where(model.weights > 0, pattern.sum(axis=0), -1)
    candidates = np.flatnonzero(matched == matched.max())
    # Of the atoms that match in equally many columns, those of the heaviest set of columns.
    kinds, kind = np.unique(pattern[:, candidates], axis=1, return_inverse=True)
    heaviest = int(np.bincount(kind.reshape(-1), model.weights[candidates]).argmax())
    atoms = candidates[kind.reshape(-1) == heaviest]
    weights = model.weights[atoms]
    laws: dict[str, ColumnLaw] = {name: take_laws(law, atoms) for name, law in model.laws.items() if name not in wanted}
    for (name, runs), is_matched in zip(wanted.items(), kinds[:, heaviest], strict=True):
        if is_matched:
            laws[name] = _given(model.laws[name], runs, atoms)
        else:
            laws[name] = Indexed(np.zeros(atoms.size, dtype=np.uint8), part.base[name])
    ordered = {name: laws[name] for name in model.laws}
    return ReleasedModel(weights=weights / weights.max(), rows=0, laws=ordered, log_linear=part)


# -- Starts for Gibbs sweeps under a condition that no atom meets: rows that keep the rules from the first.


_NAMED = 8
_TRIED = 64
"""So many of the tuples that a model fixed are looked at for one that a row may be completed to."""


def lawful_starts(
    starts: ReleasedModel, model: ReleasedModel, schema: Schema, wanted: Mapping[str, np.ndarray]
) -> ReleasedModel:
    """Return starts whose columns that rules tie together meet a condition and keep the rules.

    starts: atoms that meet the condition; some of their columns may break rules; wanted: mapping of str to int64 (runs,
    2), the runs of codes that columns must lie in. Returns where a wanted column is tied to others and was moved, all
    of these are those of an atom of the model that meets the condition in them, by weight; or, where there is none, of
    one row that keeps the rules.
    """
    for component in kept_components(model, schema):
        asked = {name: wanted[name] for name in component.columns if name in wanted}
        is_kept = all(bool(is_point(starts.laws[name]).all()) for name in component.columns)
        if not asked or (is_kept and not component.broken(points(starts, component.columns)).any()):
            continue
        codes = points(model, component.columns)
        is_met = np.logical_and.reduce([inside(codes[name], runs) for name, runs in asked.items()])
        donors = np.flatnonzero(is_met & (model.weights > 0))
        if donors.size:
            # For each start the donor that lies as far along the running sum of weights.
            spots = (np.cumsum(starts.weights) - starts.weights / 2) / starts.weights.sum()
            reached = np.cumsum(model.weights[donors]) / model.weights[donors].sum()
            chosen = donors[np.minimum(np.searchsorted(reached, spots), donors.size - 1)]
            starts = with_points(starts, {name: values[chosen] for name, values in codes.items()})
        else:
            starts = with_points(starts, _one_row(component, asked, schema, model, starts.atoms))
    return starts


def refuse_forbidden(schema: Schema, wanted: Mapping[str, np.ndarray]) -> None:
    """Refuse a condition that rules forbid, whatever the model."""
    for component in rule_components(schema):
        asked = {name: wanted[name] for name in component.columns if name in wanted}
        if asked and is_impossible(schema, asked, component.columns):
            raise _refusal(asked, [rule.rule for rule in component.rules], is_general=True)


def _refusal(asked: Mapping[str, np.ndarray], rules: Sequence[Rule], *, is_general: bool) -> ParameterError:
    """Return the error that names a condition's columns and the rules that leave no row, in any model or in this."""
    texts = list(dict.fromkeys(rule.text for rule in rules))
    more = f"; and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    named = f"the rule{'s' * (len(texts) > 1)} {'; '.join(map(repr, texts[:_NAMED]))}{more}"
    kept = "keeps" if is_general else "was found that keeps the others with what this model has fixed of"
    return _refused(f"no row that matches where on {', '.join(asked)} {kept} {named}; ask for a wider condition")


def _one_row(
    component: Component, asked: Mapping[str, np.ndarray], schema: Schema, model: ReleasedModel, count: int
) -> dict[str, np.ndarray]:
    """Return one row that meets the condition and keeps the rules and what the model fixed, again and again."""
    for mapped in _mapped(component, asked, model):
        row = complete_row(schema, {**asked, **mapped}, component.columns)
        if row is not None:
            return {name: np.full(count, code, dtype=np.int64) for name, code in row.items()}
    # The rules themselves leave rows (`refuse_forbidden`), but what the model has fixed of a dependency does not.
    rules = [rule.rule for rule in component.dependencies or component.rules]
    raise _refusal(asked, rules, is_general=not component.dependencies)


def _mapped(
    component: Component, asked: Mapping[str, np.ndarray], model: ReleasedModel
) -> Iterator[dict[str, np.ndarray]]:
    """Yield what the columns of the component's maps may be together: the heaviest that the model's atoms hold."""
    names = list(dict.fromkeys(name for each in component.maps for name in (*each.of, each.column)))
    if not names:
        yield {}
        return
    codes = points(model, names)
    is_met = model.weights > 0
    for name in asked.keys() & set(names):
        is_met &= inside(codes[name], asked[name])
    rows = np.flatnonzero(is_met)
    if not rows.size:
        return
    own = [codes[name][rows] for name in names]
    known = KnownTuples.of(own)
    number = known.find(own)
    heaviest = np.argsort(-np.bincount(number, model.weights[rows]), kind="stable")[:_TRIED]
    for each in heaviest.tolist():
        row = rows[np.argmax(number == each)]
        yield {name: np.array([[codes[name][row], codes[name][row] + 1]]) for name in names}
