"""Starts for Gibbs sweeps under a condition that no atom meets: rows that keep the rules from the first."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from lapwing.errors import ParameterError
from lapwing.model.model import ReleasedModel
from lapwing.model.rules.keeping import Component, kept_components, rule_components
from lapwing.model.sampling.fixed import KnownTuples, is_point, points, with_points
from lapwing.schema.rules.rules import Rule
from lapwing.schema.rules.search import completed, forbidding
from lapwing.schema.schemas import Schema

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
        if not asked or _keep(component, starts):
            continue
        codes = points(model, component.columns)
        is_met = np.logical_and.reduce([_inside(codes[name], runs) for name, runs in asked.items()])
        donors = np.flatnonzero(is_met & (model.weights > 0))
        if donors.size:
            chosen = donors[_by_weight(starts.weights, model.weights[donors])]
            starts = with_points(starts, {name: values[chosen] for name, values in codes.items()})
        else:
            starts = with_points(starts, _row(component, asked, schema, model, starts.atoms))
    return starts


def refuse_forbidden(schema: Schema, wanted: Mapping[str, np.ndarray]) -> None:
    """Refuse a condition that rules forbid, whatever the model.

    wanted: mapping of str to int64 (runs, 2), the runs of codes that columns must lie in.
    """
    for component in rule_components(schema):
        asked = {name: wanted[name] for name in component.columns if name in wanted}
        rules = forbidding(schema, asked, component.columns) if asked else ()
        if rules:
            raise _refusal(asked, rules, is_general=True)


def _refusal(asked: Mapping[str, np.ndarray], rules: Sequence[Rule], *, is_general: bool) -> ParameterError:
    """Return the error that names a condition's columns and the rules that leave no row, in any model or in this."""
    texts = list(dict.fromkeys(rule.text for rule in rules))
    more = f"; and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    named = f"the rule{'s' * (len(texts) > 1)} {'; '.join(map(repr, texts[:_NAMED]))}{more}"
    kept = "keeps" if is_general else "was found that keeps the others with what this model has fixed of"
    return ParameterError(
        f"no row that matches where on {', '.join(asked)} {kept} {named}; ask for a wider condition", code="LW322"
    )


def _keep(component: Component, starts: ReleasedModel) -> bool:
    """Return whether all starts keep the rules of a component as they are."""
    if not all(bool(is_point(starts.laws[name]).all()) for name in component.columns):
        return False
    return not component.broken(points(starts, component.columns)).any()


def _row(
    component: Component, asked: Mapping[str, np.ndarray], schema: Schema, model: ReleasedModel, count: int
) -> dict[str, np.ndarray]:
    """Return one row that meets the condition and keeps the rules and what the model fixed, again and again."""
    for mapped in _mapped(component, asked, model):
        row = completed(schema, {**asked, **mapped}, component.columns)
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
        is_met &= _inside(codes[name], asked[name])
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


def _by_weight(weights: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return for each weight the other one that lies as far along the running sum."""
    spots = (np.cumsum(weights) - weights / 2) / weights.sum()
    reached = np.cumsum(others) / others.sum()
    return np.asarray(np.minimum(np.searchsorted(reached, spots), others.size - 1))


def _inside(codes: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """Return whether each code lies in one of the runs."""
    place = np.searchsorted(runs[:, 1], codes, side="right")
    return np.asarray((place < len(runs)) & (runs[np.minimum(place, len(runs) - 1), 0] <= codes))
