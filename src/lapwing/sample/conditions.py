"""Condition a released model on values of some columns: atoms are reweighted, their laws cut to the condition.

A mixture of products stays one: each atom's weight is multiplied by the chance that its law meets the condition.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from lapwing.errors import LapwingWarning, ParameterError, SchemaError
from lapwing.release.laws import Laws
from lapwing.release.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, Spans, narrow
from lapwing.schema.checks import code_number
from lapwing.schema.fields import Field
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema
from lapwing.schema.values import bounds, category_key, category_positions, special_codes, step

FEW_ATOMS = 50
"""Below this effective number of matching atoms the rows out repeat a few patterns, and a warning says so."""

Ranges = np.ndarray
"""Disjoint increasing runs of codes: ndarray of int64, shape (runs, 2), each [start, stop)."""


@dataclass(frozen=True, slots=True)
class Between:
    """Ask for a range of an ordered column, both ends included.

    Parameters
    ----------
    low, high : number, ISO date text, or category
        The ends, ``low`` at most ``high``.

    Examples
    --------
    >>> Between(30, 40).high
    40
    """

    low: object
    high: object


def condition(model: ReleasedModel, schema: Schema, where: Mapping[str, object]) -> ReleasedModel:
    """Return the model given that some columns have some values.

    Parameters
    ----------
    model : ReleasedModel
        Not changed.
    schema : Schema
        Of the model.
    where : mapping of column to value, list of values, Between or None
        None asks for missing. All conditions hold together.

    Returns
    -------
    ReleasedModel
        Atoms that can match, with their conditional laws; ``rows`` is the expected number of matching rows.

    Raises
    ------
    ParameterError
        If a value does not fit its column, or no atom can match.

    Warns
    -----
    LapwingWarning
        If fewer than 50 effective atoms of a model with several match.

    Examples
    --------
    >>> from lapwing.release.laws import laws_from_probabilities
    >>> flag = Schema.from_dict({"fields": [{"name": "flag", "type": "boolean", "constraints": {"required": True}}]})
    >>> law = laws_from_probabilities(np.array([0, 1]), np.array([1, 2]), np.array([0.25, 0.75]))
    >>> model = ReleasedModel(weights=np.ones(1), rows=100, laws={"flag": Indexed(np.zeros(1, np.uint8), law)})
    >>> condition(model, flag, {"flag": True}).rows
    75
    """
    weights = np.array(model.weights)
    laws = dict(model.laws)
    for name, wanted in where.items():
        field = schema.field(name)
        if name not in laws:
            raise ParameterError(f"where names {quote(name)}, an identifier, which is not modelled; name another")
        chance, laws[name] = _cut(laws[name], _ranges(field, wanted))
        weights *= chance
    matching = np.flatnonzero(weights > 0)
    if matching.size == 0:
        raise ParameterError(f"no atom of the model matches where on {', '.join(map(quote, where))}; ask for more")
    weights = weights[matching]
    effective = float(weights.sum() ** 2 / (weights**2).sum())
    if effective < FEW_ATOMS and model.log_linear is None and model.weights.size > 1:
        warnings.warn(
            f"only {effective:.1f} effective atoms match where, below {FEW_ATOMS}: rows repeat few patterns",
            LapwingWarning,
            stacklevel=2,
        )
    rows = round(model.rows * float(weights.sum() / model.weights.sum()))
    taken = {name: _take(law, matching) for name, law in laws.items()}
    return ReleasedModel(weights=weights, rows=rows, laws=taken)


def _ranges(field: Field, wanted: object) -> Ranges:
    """Return the codes that a condition asks for."""
    if isinstance(wanted, Between):
        if not field.domain.ordered:
            raise ParameterError(f"where asks {quote(field.name)} for a range, but it has no order; list values")
        first, last = _code(field, wanted.low), _code(field, wanted.high)
        if max(first, last) >= field.domain.values or last < first:
            raise ParameterError(f"where asks {quote(field.name)} for an empty range; write the lower end first")
        return np.array([[first, last + 1]], dtype=np.int64)
    values = list(wanted) if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
    codes = sorted({_code(field, value) for value in values})
    if not codes:
        raise ParameterError(f"where asks {quote(field.name)} for no value at all; list at least one")
    return np.array([[code, code + 1] for code in codes], dtype=np.int64)


def _code(field: Field, value: object) -> int:
    """Return the code of one public value."""
    domain = field.domain
    if value is None:
        if not domain.missing:
            raise ParameterError(f"where asks {quote(field.name)} for missing, but it is required; name a value")
        return domain.last
    code = _category_code(field, value) if field.is_categorical else _ranged_code(field, value)
    if code is None:
        raise ParameterError(f"where asks {quote(field.name)} for {value!r}, outside its domain; see the schema")
    return code


def _category_code(field: Field, value: object) -> int | None:
    """Return the position of a category, or the code of a truth value."""
    if field.categories is None:
        return int(value) if isinstance(value, bool | np.bool_) else None
    if not isinstance(value, str | int | float):
        return None
    return category_positions(field).get(category_key(value))


def _ranged_code(field: Field, value: object) -> int | None:
    """Return the code of a number, date or moment."""
    text = value.isoformat() if hasattr(value, "isoformat") else value
    try:
        number = code_number(field.type, text)  # type: ignore[arg-type]
    except (SchemaError, ValueError, TypeError):
        return None
    special = special_codes(field).get(number)
    if special is not None:
        return special
    low, high = bounds(field)
    size = step(field)
    last = high + size - 1 if field.type == "datetime" and size is not None else high
    if not low <= number <= last or (field.type == "integer" and number != int(number)):
        return None
    if size is not None:
        steps = Fraction(number - low) / size
        return min(round(steps) if field.type == "number" else int(steps), field.domain.values - 1)
    return min(int((number - low) / (high - low) * 2**32), field.domain.values - 1) if high > low else 0


def _cut(law: ColumnLaw, ranges: Ranges) -> tuple[np.ndarray, ColumnLaw]:
    """Return each atom's chance to meet the condition, and its law given that it does."""
    if isinstance(law, Bernoulli):
        no, yes = (bool(((ranges[:, 0] <= code) & (code < ranges[:, 1])).any()) for code in (0, 1))
        chance = law.p * yes + (1.0 - law.p) * no
        return chance, law if yes and no else Bernoulli(np.full_like(law.p, float(yes)))
    if isinstance(law, Spans):
        pairs, index = np.unique(np.stack([law.starts, law.stops], axis=1), axis=0, return_inverse=True)
        ones, starts = np.arange(len(pairs) + 1), pairs.astype(np.int64)
        law = Indexed(narrow(index.ravel()), Laws(ones, starts[:, 0], starts[:, 1], np.ones(len(pairs))))
    mass, table, new_number = _cut_laws(law.laws, ranges)
    return mass[law.index], replace(law, index=narrow(new_number[law.index]), laws=table)


def _cut_laws(laws: Laws, ranges: Ranges) -> tuple[np.ndarray, Laws, np.ndarray]:
    """Return each law's mass inside the ranges, the laws that have some, cut to it, and their numbers (0 if none)."""
    starts = np.maximum(laws.starts[:, None], ranges[None, :, 0])
    stops = np.minimum(laws.stops[:, None], ranges[None, :, 1])
    piece, part = np.nonzero(stops > starts)
    starts, stops = starts[piece, part], stops[piece, part]
    masses = laws.probabilities[piece] * (stops - starts) / (laws.stops - laws.starts)[piece]
    owner = laws.law_of_piece[piece]
    mass = np.bincount(owner, masses, minlength=laws.count)
    alive = np.bincount(owner, minlength=laws.count) > 0
    if not alive.any():
        return mass, laws, np.arange(laws.count)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=laws.count)[alive])))
    table = Laws(offsets, starts, stops, masses / mass[owner])
    return mass, table, np.where(alive, np.cumsum(alive) - 1, 0)


def _take(law: ColumnLaw, atoms: np.ndarray) -> ColumnLaw:
    """Return the laws of some atoms."""
    if isinstance(law, Indexed):
        return replace(law, index=law.index[atoms])
    if isinstance(law, Spans):
        return Spans(law.starts[atoms], law.stops[atoms])
    return Bernoulli(law.p[atoms])
