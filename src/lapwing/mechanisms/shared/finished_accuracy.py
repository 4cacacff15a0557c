"""What is stated of a mechanism's model, made true of the model that rules and public tables made of it.

Finishing takes from each atom of the mechanism's model one code of each column that a rule or a public table names, and
then moves some of the weight. The first keeps each atom in its cell, so that a bound that holds wherever in their cells
the rows lie holds as before. The second changes no probability by more than the weight that moves, nor a 1-Wasserstein
distance in a space of diameter 1 by more.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from lapwing.model.certificate.certificate import Statement

DISTANCE: Final = "distance"
ERROR_OF_DRAW: Final = "error of the draw"


def after_finishing(stated: Sequence[Statement], changed: float) -> tuple[Statement, ...]:
    """Return statements about a mechanism's model as they hold for the released one.

    changed: share of the weight that rules and public tables moved at most, from 0 to 1. Returns bounds of the released
    model are larger by what was moved, and say so; statements about how the mechanism's model is made say that they are
    of that.

    >>> before = Statement(kind="distance", text="the distance is at most this", value=0.25)
    >>> after_finishing([before], 0.125)[0].value
    0.375
    >>> after_finishing([before], 0.875)[0].text
    'the distance is at most this; rules and public tables moved so much (up to 0.875) that this says nothing'
    """
    return tuple(_RESTATED.get(each.kind, _of_before)(each, changed) for each in stated)


def _widened(stated: Statement, changed: float) -> Statement:
    """Add what was moved to a bound that is never above 1."""
    assert stated.value is not None
    value = min(1.0, stated.value + changed)
    said = f"; of that, {changed:.3g} is what rules and public tables moved at most"
    nothing = f"; rules and public tables moved so much (up to {changed:.3g}) that this says nothing"
    return replace(stated, value=value, text=stated.text + (said if value < 1.0 else nothing))


def _further(stated: Statement, changed: float) -> Statement:
    """Say how much further the released model may be than the mechanism's, where the bound has another unit."""
    return replace(
        stated,
        text=f"{stated.text}; that is of the mechanism's model, and rules and public tables moved the released one by "
        f"up to {changed:.3g} more",
    )


def _of_before(stated: Statement, changed: float) -> Statement:
    """Say that something is told of the mechanism's model."""
    del changed
    if stated.value is None:
        return stated
    return replace(stated, text=f"{stated.text}; of the mechanism's model, before rules and public tables were kept")


_RESTATED: Final[Mapping[str, Callable[[Statement, float], Statement]]] = MappingProxyType(
    {DISTANCE: _widened, ERROR_OF_DRAW: _widened, "expected distance": _further}
)
