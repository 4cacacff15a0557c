"""Rules in rows of which some columns are given: the other columns are changed, and what cannot be kept is refused."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from lapwing.engine.particles import sweep_particles
from lapwing.errors import ParameterError
from lapwing.model.model import ReleasedModel
from lapwing.model.sampling.atom_matches import AtomChoice, chosen_atoms
from lapwing.model.sampling.conditions import FEW_ATOMS
from lapwing.model.sampling.draws import AtomRows, Histogram, draw_column, draw_indexed
from lapwing.model.sampling.fixed import FixedMap, points
from lapwing.model.sampling.grouped import GroupedPart, group_part
from lapwing.model.sampling.keeping import Component, RowRule, kept_components, restore_rows
from lapwing.model.sampling.repair import Pool, repair_rows
from lapwing.schema.rules.codes import OrderPair
from lapwing.schema.rules.search import complete_row
from lapwing.schema.schemas import Schema

# -- Gibbs sweeps of rows some of whose columns are given: the others follow the log-linear part given them.


def swept_given(
    part: GroupedPart,
    codes: Mapping[str, np.ndarray],
    given: frozenset[str],
    sweeps: np.ndarray,
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """Return rows whose columns that are not given have been moved.

    codes: mapping of str to integers (n,), where rows start, all columns; given: columns that stay. A given code that
    the base law never has says nothing of the other columns: there the column is drawn with them, and the code stays
    all the same; sweeps: integers (n,), how many times each row is moved; 0 leaves it as it is. Returns dict of str to
    integers (n,).
    """
    names = tuple(part.columns)
    moved = np.flatnonzero(sweeps)
    groups = np.stack([part.columns[name].groups_of(codes[name][moved].astype(np.int64)) for name in names])
    is_held = (groups >= 0) & np.array([[name in given] for name in names])
    _, kind = np.unique(np.vstack((is_held, sweeps[moved])), axis=1, return_inverse=True)
    groups = np.stack([part.columns[name].started(row, rng) for name, row in zip(names, groups, strict=True)])
    groups = groups.astype(part.dtype)
    for each in range(int(kind.max(initial=-1)) + 1):
        rows = np.flatnonzero(kind.reshape(-1) == each)
        fixed = sorted({*np.flatnonzero(is_held[:, rows[0]]).tolist(), *part.fixed})
        count = int(sweeps[moved[rows[0]]])
        groups[:, rows] = sweep_particles(part.axes, groups[:, rows], part.factors, rng, sweeps=count, fixed=fixed)
    found = dict(codes)
    for row, name in zip(groups, names, strict=True):
        if name not in given:
            found[name] = codes[name].copy()
            found[name][moved] = draw_indexed(Histogram.of(part.columns[name].within), row, rng)
    return found


Codes = Mapping[str, np.ndarray]
_Refused = tuple[np.ndarray, str]
"""Numbers of rows, and what is wrong with them."""


def _refused(
    model: ReleasedModel,
    schema: Schema,
    kept: tuple[Component, ...],
    codes: dict[str, np.ndarray],
    rng: np.random.Generator,
    *,
    given: Codes,
) -> Iterator[_Refused]:
    """Make rows keep the rules, in place; yield those that are refused, and why."""
    has_weight = model.weights > 0
    for component in kept:
        own = {name: np.asarray(codes[name], dtype=np.int64) for name in component.columns}
        if not component.broken(own).any():
            continue
        fixed = [name for name in component.columns if name in given]
        atoms = {name: each[has_weight] for name, each in points(model, component.columns).items()}
        changed, is_lost = repair_rows(component, own, Pool(atoms, model.weights[has_weight]), rng, fixed=fixed)
        lost = np.flatnonzero(is_lost)
        if lost.size:
            yield from _completed(schema, component, changed, lost, fixed)
        codes |= changed


def held_rows(kept: tuple[Component, ...], moved: Codes, start: Codes, given: Codes) -> dict[str, np.ndarray]:
    """Return moved rows, with the codes that they started with in columns of rules that they break."""
    found = dict(moved)
    restore_rows(kept, found, start)
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
        row = complete_row(schema, runs, component.columns)
        rules = "; ".join(dict.fromkeys(map(_text, (*component.rules, *component.maps))))
        if row is None or component.broken({name: np.array([code]) for name, code in row.items()})[0]:
            yield (
                of,
                f": what it gives on {', '.join(fixed)} goes with no row that keeps the rules ({rules}); "
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


# -- One row for each condition row: its given codes stay, the others follow the model's law given all of them.


_SWEEPS = 16
"""Sweeps of rows that few atoms match. Where some do, four are enough (measured on 5 and 10 columns of Adult)."""


@dataclass(frozen=True, slots=True, eq=False)
class RowsGiven:
    """Rows that stand for condition rows.

    codes: dict of str to integers (n,), all columns of the model in the dtypes of the schema, in the order of the
    condition rows; given ones unchanged; support: float64 (n,), effective number of the model's atoms that match each
    condition row; 0 where none does.
    """

    codes: dict[str, np.ndarray]
    support: np.ndarray


def rows_given(
    model: ReleasedModel,
    schema: Schema,
    given: Mapping[str, np.ndarray],
    rng: np.random.Generator,
    *,
    called: np.ndarray | None = None,
) -> RowsGiven:
    """Draw one row for each row of given codes.

    given: mapping of str to integers (n,), codes of some modelled columns, at least one; inside their domains, never
    the misfit code; called: integers (n,), what rows are called in an error; 1, 2, ... by default. Returns of a ruled
    model, they keep the rules of the schema.

    Post-processing of released numbers: costs no budget.

    Each row starts at an atom, drawn in proportion to its weight times the chance of the row's given codes. Without a
    log-linear part its other columns follow the laws of that atom: the model's exact conditional law. With one, rows
    that fewer than 50 effective atoms match are moved by 16 Gibbs sweeps of the columns that are not given, and where
    an atom is drawn again by one. A code that no atom left can give is passed over: it stays in the row, and the other
    columns follow the law given the rest; sweeps know of it again.
    """
    found, refused = _drawn_given(model, schema, given, rng)
    for rows, reason in refused:
        name = rows[0] + 1 if called is None else called[rows[0]]
        raise ParameterError(f"condition row {name}{reason}", code="LW322")
    return found


def possible_rows(
    model: ReleasedModel, schema: Schema, given: Mapping[str, np.ndarray], rng: np.random.Generator
) -> tuple[RowsGiven, np.ndarray]:
    """Draw as `rows_given`, but several rows may be of one atom; those that rules leave no place are told: bool (n,).

    Where rows are drawn given rows that were drawn, each sweep would take them further from the atoms' law.
    """
    found, refused = _drawn_given(model, schema, given, rng, apart=0)
    is_lost = np.zeros(found.support.size, dtype=bool)
    for rows, _ in refused:
        is_lost[rows] = True
    return found, is_lost


def refused_rows(
    model: ReleasedModel, schema: Schema, given: Mapping[str, np.ndarray], choice: AtomChoice, rng: np.random.Generator
) -> np.ndarray:
    """Return which condition rows `rows_given` refuses."""
    is_refused = np.zeros(choice.atoms.size, dtype=bool)
    kept = kept_components(model, schema)
    # The atoms of a model keep its rules, and so does a row of one that has all given codes.
    doubtful = np.flatnonzero(choice.effective == 0)
    if kept and doubtful.size:
        own = {name: codes[doubtful] for name, codes in given.items()}
        drawn = _drawn(model, choice.atoms[doubtful], own, rng)
        for rows, _ in _refused(model, schema, kept, drawn, rng, given=own):
            is_refused[doubtful[rows]] = True
    return is_refused


def _drawn_given(
    model: ReleasedModel, schema: Schema, given: Mapping[str, np.ndarray], rng: np.random.Generator, *, apart: int = 1
) -> tuple[RowsGiven, list[_Refused]]:
    """Draw one row for each row of given codes, and say which rules refuse; apart: sweeps of an atom drawn again."""
    if not given or any(name not in model.laws for name in given):
        raise ParameterError(
            f"conditions must name modelled columns, at least one, got {', '.join(given) or 'none'}", code="LW330"
        )
    dtypes = {field.name: field.domain.dtype for field in schema.columns}
    if next(iter(given.values())).size == 0:
        return RowsGiven({name: np.empty(0, dtype=dtype) for name, dtype in dtypes.items()}, np.empty(0)), []
    choice = chosen_atoms(model, given, rng)
    kept = kept_components(model, schema)
    codes = _drawn(model, choice.atoms, given, rng)
    refused = list(_refused(model, schema, kept, codes, rng, given=given))
    if model.log_linear is not None:
        part = group_part(model.log_linear, tuple(model.laws))
        moved = swept_given(part, codes, frozenset(given), _sweeps(choice, apart), rng)
        codes = held_rows(kept, moved, codes, given)
    narrowed = {name: codes[name].astype(dtype, copy=False) for name, dtype in dtypes.items()}
    return RowsGiven(narrowed, choice.effective), refused


def _drawn(
    model: ReleasedModel, atoms: np.ndarray, given: Mapping[str, np.ndarray], rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Draw the columns that are not given from the laws of the rows' atoms."""
    order = np.argsort(atoms, kind="stable")
    rows = AtomRows.of(atoms[order])
    codes = dict(given)
    for name, law in model.laws.items():
        if name not in given:
            codes[name] = np.empty(atoms.size, dtype=np.int64)
            codes[name][order] = draw_column(law, None, rows, rng)
    return codes


def _sweeps(choice: AtomChoice, apart: int) -> np.ndarray:
    """Return how many sweeps each row is to be moved by."""
    is_first = np.zeros(choice.atoms.size, dtype=bool)
    is_first[np.unique(choice.atoms, return_index=True)[1]] = True
    return np.where(choice.effective < FEW_ATOMS, _SWEEPS, np.where(is_first, 0, apart))
