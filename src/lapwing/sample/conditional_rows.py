"""One row for each condition row: its given codes stay, the others follow the model's law given all of them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lapwing.errors import ParameterError
from lapwing.release.model import ReleasedModel
from lapwing.sample.atom_matches import chosen_atoms
from lapwing.sample.draws import AtomRows, draw_column
from lapwing.schema.schemas import Schema


@dataclass(frozen=True, slots=True, eq=False)
class RowsGiven:
    """Rows that stand for condition rows.

    Parameters
    ----------
    codes : dict of str to ndarray of integers, shape (n,)
        All columns of the model in the dtypes of the schema, in the order of the condition rows; given ones unchanged.
    support : ndarray of float64, shape (n,)
        Effective number of the model's atoms that match each condition row; 0 where none does.
    """

    codes: dict[str, np.ndarray]
    support: np.ndarray


def rows_given(
    model: ReleasedModel, schema: Schema, given: Mapping[str, np.ndarray], rng: np.random.Generator
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

    Returns
    -------
    RowsGiven

    Raises
    ------
    ParameterError
        If no column is given, or one is not of the model.

    Notes
    -----
    Post-processing of released numbers: costs no budget.

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
        raise ParameterError(f"conditions must name modelled columns, at least one, got {', '.join(given) or 'none'}")
    dtypes = {field.name: field.domain.dtype for field in schema.columns}
    n = next(iter(given.values())).size
    if n == 0:
        return RowsGiven({name: np.empty(0, dtype=dtype) for name, dtype in dtypes.items()}, np.empty(0))
    choice = chosen_atoms(model, given, rng)
    codes = _drawn(model, choice.atoms, given, rng)
    return RowsGiven({name: codes[name].astype(dtype, copy=False) for name, dtype in dtypes.items()}, choice.effective)


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
