"""Marks of results: whether they may leave the house."""

from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Internal(Generic[T]):
    """Hold a result that was made by looking at private rows without noise; it must not leave the house.

    value: the result. It is left out of ``repr``, so that it does not reach a log by accident.

    >>> Internal({"misfits": 3})
    Internal()
    """

    value: T = field(repr=False)


@dataclass(frozen=True, slots=True)
class Releasable(Generic[T]):
    """Hold a result that was made from released numbers, or with budget; it may be published.

    >>> Releasable({"rows": 3})
    Releasable(value={'rows': 3})
    """

    value: T


NOTICE: Final = "releasable - differentially private"
