"""One row for each condition row: its given codes stay, the others follow the model's law given all of them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lapwing.errors import ParameterError
from lapwing.release.model import ReleasedModel
from lapwing.sample.atom_matches import AtomChoice, chosen_atoms
from lapwing.sample.conditional_rules import held_rows, lawful_rows, lawless_rows
from lapwing.sample.conditional_sweeps import swept_given
from lapwing.sample.conditions import FEW_ATOMS
from lapwing.sample.draws import AtomRows, draw_column
from lapwing.sample.log_linear import grouped
from lapwing.sample.rule_keeping import kept_components
from lapwing.schema.schemas import Schema

_SWEEPS = 16
"""Sweeps of rows that few atoms match. Where some do, four are enough (measured on 5 and 10 columns of Adult)."""


@dataclass(frozen=True, slots=True, eq=False)
class RowsGiven:
    """Rows that stand for condition rows.

    Parameters
    ----------
    codes : dict of str to ndarray of integers, shape (n,)
        All columns of the model in the dtypes of the schema, in the order of the condition rows; given ones unchanged.
    support : ndarray of float64, shape (n,)
        Effective number of the model's atoms that match each condition row; 0 where none does.
    shares : ndarray of float64, shape (n,)
        The chance of the given codes under the atoms; 0 where none matches.
    """

    codes: dict[str, np.ndarray]
    support: np.ndarray
    shares: np.ndarray


def rows_given(
    model: ReleasedModel,
    schema: Schema,
    given: Mapping[str, np.ndarray],
    rng: np.random.Generator,
    *,
    called: np.ndarray | None = None,
) -> RowsGiven:
    """Draw one row for each row of given codes.

    Parameters
    ----------
    model : ReleasedModel
        Of the schema.
    schema : Schema
        Names the columns.
    given : mapping of str to ndarray of integers, shape (n,)
        Codes of some modelled columns, at least one; inside their domains, never the misfit code.
    rng : numpy.random.Generator
        Public randomness.
    called : ndarray of integers, shape (n,), optional
        What rows are called in an error; 1, 2, ... by default.

    Returns
    -------
    RowsGiven
        Of a ruled model, they keep the rules of the schema.

    Raises
    ------
    ParameterError
        If no column is given, one is not of the model, or a row breaks a rule or goes with no row that keeps them.

    Notes
    -----
    Post-processing of released numbers: costs no budget.

    Each row starts at an atom, drawn in proportion to its weight times the chance of the row's given codes. Without a
    log-linear part its other columns follow the laws of that atom: the model's exact conditional law. With one, rows
    that fewer than 50 effective atoms match are moved by 16 Gibbs sweeps of the columns that are not given, and where
    an atom is drawn again by one. A code that no atom left can give is passed over: it stays in the row, and the other
    columns follow the law given the rest; sweeps know of it again.

    Examples
    --------
    >>> from lapwing.release.model import Bernoulli
    >>> schema = Schema.from_dict({"fields": [{"name": n, "type": "boolean"} for n in ("a", "b")]})
    >>> p = Bernoulli(np.array([0.0, 1.0]))
    >>> model = ReleasedModel(weights=np.ones(2), rows=9, laws={"a": p, "b": p})
    >>> rows_given(model, schema, {"a": np.array([1, 0, 1])}, np.random.default_rng(1)).codes["b"].tolist()
    [1, 0, 1]
    """
    if not given or any(name not in model.laws for name in given):
        raise ParameterError(
            f"conditions must name modelled columns, at least one, got {', '.join(given) or 'none'}", code="LW330"
        )
    dtypes = {field.name: field.domain.dtype for field in schema.columns}
    n = next(iter(given.values())).size
    if n == 0:
        return RowsGiven({name: np.empty(0, dtype=dtype) for name, dtype in dtypes.items()}, np.empty(0), np.empty(0))
    choice = chosen_atoms(model, given, rng)
    kept = kept_components(model, schema)
    numbers = np.arange(1, n + 1) if called is None else called
    drawn = _drawn(model, choice.atoms, given, rng)
    codes = lawful_rows(model, schema, kept, drawn, rng, given=given, called=numbers)
    if model.log_linear is not None:
        part = grouped(model.log_linear, tuple(model.laws))
        moved = swept_given(part, codes, frozenset(given), _sweeps(choice), rng)
        codes = held_rows(kept, moved, codes, given)
    narrowed = {name: codes[name].astype(dtype, copy=False) for name, dtype in dtypes.items()}
    return RowsGiven(narrowed, choice.effective, choice.shares)


def refused_rows(
    model: ReleasedModel, schema: Schema, given: Mapping[str, np.ndarray], choice: AtomChoice, rng: np.random.Generator
) -> np.ndarray:
    """Return which condition rows `rows_given` refuses.

    Parameters
    ----------
    model, schema, given, rng
        As for `rows_given`.
    choice : AtomChoice
        The atoms of the rows, as `chosen_atoms` gives them.

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    is_refused = np.zeros(choice.atoms.size, dtype=bool)
    kept = kept_components(model, schema)
    # The atoms of a model keep its rules, and so does a row of one that has all given codes.
    doubtful = np.flatnonzero(choice.effective == 0)
    if kept and doubtful.size:
        own = {name: codes[doubtful] for name, codes in given.items()}
        drawn = _drawn(model, choice.atoms[doubtful], own, rng)
        is_refused[doubtful] = lawless_rows(model, schema, kept, drawn, rng, given=own)
    return is_refused


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


def _sweeps(choice: AtomChoice) -> np.ndarray:
    """Return how many sweeps each row is to be moved by."""
    is_first = np.zeros(choice.atoms.size, dtype=bool)
    is_first[np.unique(choice.atoms, return_index=True)[1]] = True
    return np.where(choice.effective < FEW_ATOMS, _SWEEPS, np.where(is_first, 0, 1))
