"""The survey weight of a table: a bounded number that says how many people a row stands for."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lapwing.errors import SchemaError
from lapwing.schema.fields import Field
from lapwing.schema.scalars import quote

_TYPES = ("integer", "number")


def check_weight(weight: object, fields: Sequence[Field]) -> None:
    """Refuse a weight that is not the name of a modelled number from 0 up.

    fields: all fields of the schema. Bounds that a draft leaves blank are not asked for.

    >>> check_weight("w", [Field(name="w", type="number", minimum=-1, maximum=9)])
    Traceback (most recent call last):
    lapwing.errors.SchemaError: weight: field "w" has the minimum -1, and a weight is at least 0; raise it
    `lapwing explain LW218` says why, and what to do
    """
    if not isinstance(weight, str):
        raise SchemaError(
            f"weight must be the name of a field, got {quote(weight)}; name the column of weights", code="LW218"
        )
    field = next((each for each in fields if each.name == weight), None)
    if field is None:
        raise SchemaError(f"weight: no field is called {quote(weight)}; name the column of weights", code="LW219")
    name = quote(weight)
    if field.identifier:
        raise SchemaError(
            f"weight: field {name} is an identifier, which is not modelled; take its role away", code="LW218"
        )
    if field.type not in _TYPES or field.is_categorical:
        raise SchemaError(
            f"weight: field {name} must be an integer or a number with a minimum and a maximum, without categories",
            code="LW218",
        )
    if field.minimum is not None and float(field.minimum) < 0:
        raise SchemaError(
            f"weight: field {name} has the minimum {quote(field.minimum)}, and a weight is at least 0; raise it",
            code="LW218",
        )


def weights_at(field: Field, codes: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the weights that codes of the weight's column stand for.

    codes: codes of its domain; between two codes lie the weights between. Returns float64, of that shape, 0 for codes
    of special values and missing: what has no weight stands for nobody. The middle of a code's cell where the field is
    a number without a resolution.

    >>> weights_at(Field(name="w", type="integer", minimum=10, maximum=50, resolution=10), [0, 4, 5]).tolist()
    [10.0, 50.0, 0.0]
    """
    found, placed = field.range, np.asarray(codes, dtype=np.float64)
    if found.step is not None:
        values = found.lo + placed * float(found.step)
    else:
        values = found.lo + (placed + 0.5) / found.values * (found.hi - found.lo)
    return np.where(placed < found.values, values, 0.0)
