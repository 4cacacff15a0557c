"""Rules in rows some of whose columns are given: the others give way, and what cannot be kept is refused."""

from collections.abc import Iterator, Mapping

import numpy as np

from lapwing.errors import ParameterError
from lapwing.release.model import ReleasedModel
from lapwing.sample.fixed_maps import FixedMap
from lapwing.sample.pinned import points
from lapwing.sample.rule_keeping import Component, RowRule, taken_back
from lapwing.sample.rule_repair import Pool, repaired
from lapwing.schema.rule_codes import OrderPair
from lapwing.schema.rule_search import completed
from lapwing.schema.schemas import Schema

Codes = Mapping[str, np.ndarray]
_Refused = tuple[np.ndarray, str]
"""Numbers of rows, and what is wrong with them."""


def lawful_rows(
    model: ReleasedModel,
    schema: Schema,
    kept: tuple[Component, ...],
    codes: Codes,
    rng: np.random.Generator,
    *,
    given: Codes,
    called: np.ndarray,
) -> dict[str, np.ndarray]:
    """Return rows that keep the rules, changed only where they broke one and in columns that are not given.

    Parameters
    ----------
    model : ReleasedModel
        Ruled; its atoms are where codes are taken from.
    schema : Schema
    kept : tuple of Component
        As `kept_components` gives them for the model.
    codes : mapping of str to ndarray of integers, shape (n,)
        All columns.
    rng : numpy.random.Generator
        Public randomness.
    given : mapping of str to ndarray of integers, shape (n,)
        Those that stay.
    called : ndarray of integers, shape (n,)
        What rows are called in an error.

    Returns
    -------
    dict of str to ndarray of integers, shape (n,)

    Raises
    ------
    ParameterError
        If given codes break a rule, or no row that keeps all rules has them.
    """
    found = dict(codes)
    for component in kept:
        for rows, reason in _changed(model, schema, component, found, rng, given=given):
            raise ParameterError(f"condition row {called[rows[0]]}{reason}", code="LW322")
    return found


def lawless_rows(
    model: ReleasedModel,
    schema: Schema,
    kept: tuple[Component, ...],
    codes: Codes,
    rng: np.random.Generator,
    *,
    given: Codes,
) -> np.ndarray:
    """Return which rows `lawful_rows` refuses.

    Parameters
    ----------
    model, schema, kept, codes, rng, given
        As for `lawful_rows`.

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    found = dict(codes)
    is_refused = np.zeros(next(iter(codes.values())).size, dtype=bool)
    for component in kept:
        for rows, _ in _changed(model, schema, component, found, rng, given=given):
            is_refused[rows] = True
    return is_refused


def _changed(
    model: ReleasedModel,
    schema: Schema,
    component: Component,
    codes: dict[str, np.ndarray],
    rng: np.random.Generator,
    *,
    given: Codes,
) -> Iterator[_Refused]:
    """Make rows keep the rules of a component, in place; yield those that are refused, and why."""
    own = {name: np.asarray(codes[name], dtype=np.int64) for name in component.columns}
    if not component.broken(own).any():
        return
    fixed = [name for name in component.columns if name in given]
    has_weight = model.weights > 0
    atoms = {name: each[has_weight] for name, each in points(model, component.columns).items()}
    changed, is_lost = repaired(component, own, Pool(atoms, model.weights[has_weight]), rng, fixed=fixed)
    lost = np.flatnonzero(is_lost)
    if lost.size:
        yield from _completed(schema, component, changed, lost, fixed)
    codes |= changed


def held_rows(kept: tuple[Component, ...], moved: Codes, start: Codes, given: Codes) -> dict[str, np.ndarray]:
    """Return moved rows, with the codes that they started with in columns of rules that they break.

    Parameters
    ----------
    kept : tuple of Component
        As `kept_components` gives them.
    moved : mapping of str to ndarray of integers, shape (n,)
        Rows after sweeps.
    start : mapping of str to ndarray of integers, shape (n,)
        The same rows before, which keep all rules.
    given : mapping of str to ndarray of integers, shape (n,)
        What must not change.

    Returns
    -------
    dict of str to ndarray of integers, shape (n,)
    """
    found = dict(moved)
    taken_back(kept, found, start)
    for component in kept:
        fixed = [name for name in component.columns if name in given]
        if fixed:
            # What a map says of the moved columns may differ from what is given.
            is_changed = np.logical_or.reduce([found[name] != given[name] for name in fixed])
            for name in component.columns:
                found[name] = np.where(is_changed, start[name], found[name])
    return found


def _completed(
    schema: Schema, component: Component, codes: dict[str, np.ndarray], lost: np.ndarray, fixed: list[str]
) -> Iterator[_Refused]:
    """Give rows that could not be saved the one row that keeps the rules with their given codes; in place."""
    is_broken = np.zeros(lost.size, dtype=bool)
    for rule in (*component.rules, *component.maps):
        if set(_columns(rule)) <= set(fixed):
            is_own = rule.broken({name: codes[name][lost] for name in _columns(rule)})
            is_broken |= is_own
            if is_own.any():
                yield (
                    lost[is_own],
                    f" breaks the rule {_text(rule)!r}{_hint(rule)}; change what it gives on "
                    f"{', '.join(_columns(rule))}",
                )
    lost = lost[~is_broken]
    if not lost.size:
        return
    distinct, which = np.unique(np.stack([codes[name][lost] for name in fixed], axis=1), axis=0, return_inverse=True)
    order = np.argsort(which.reshape(-1), kind="stable")
    parts = np.split(lost[order], np.flatnonzero(np.diff(which.reshape(-1)[order])) + 1)
    for of, values in zip(parts, distinct, strict=True):
        runs = {name: np.array([[code, code + 1]]) for name, code in zip(fixed, values, strict=True)}
        row = completed(schema, runs, component.columns)
        if row is None or component.broken({name: np.array([code]) for name, code in row.items()})[0]:
            yield (
                of,
                f": what it gives on {', '.join(fixed)} goes with no row that keeps the rules ({_listed(component)}); "
                "change it or give fewer columns",
            )
            continue
        for name, code in row.items():
            codes[name][of] = code


def _columns(rule: RowRule | FixedMap) -> tuple[str, ...]:
    return (*rule.of, rule.column) if isinstance(rule, FixedMap) else tuple(rule.columns)


def _text(rule: RowRule | FixedMap) -> str:
    return f"{', '.join(rule.of)} determines {rule.column}" if isinstance(rule, FixedMap) else rule.rule.text


def _hint(rule: RowRule | FixedMap) -> str:
    """Say why numbers that are in order as they were given may break an order."""
    if isinstance(rule, OrderPair):
        cells = [side.field.name for side in rule.sides if side.field.domain.continuous]
        if cells:
            return f" (numbers of {' and '.join(cells)}, without a resolution, are in no order within one cell)"
    return ""


def _listed(component: Component) -> str:
    """Return the rules of a component in words, each once."""
    return "; ".join(dict.fromkeys(_text(rule) for rule in (*component.rules, *component.maps)))
