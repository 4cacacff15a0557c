"""The type of everything that was made by looking at private rows without noise."""

from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Internal(Generic[T]):
    """Hold a result that must not leave the house.

    Parameters
    ----------
    value : object
        The result. It is left out of ``repr``, so that it does not reach a log by accident.

    Examples
    --------
    >>> Internal({"misfits": 3})
    Internal()
    """

    value: T = field(repr=False)
