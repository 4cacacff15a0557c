"""Rows that are read once and counted again and again."""

from collections.abc import Iterator
from typing import Protocol

import polars as pl

from lapwing.rows.counting import Codes
from lapwing.rows.source import CodedSource


class Rows(Protocol):
    """What a recount sees of a `CodedSource`."""

    def chunks(self) -> Iterator[Codes]:
        """Yield the codes of all rows, chunk by chunk."""
        ...

    def texts(self, column: str) -> Iterator[pl.Series]:
        """Yield the texts of an opened string column, chunk by chunk."""
        ...


class HeldRows:
    """The rows of a source, whose codes are read once, when they are first wanted.

    Recounting each answer from another pass over a table would take most of the time of an audit. Rows that change
    from one pass to the next are still seen: whoever counts them then does not count these.
    """

    __slots__ = ("_chunks", "_source")

    def __init__(self, source: CodedSource) -> None:
        self._source = source
        self._chunks: list[Codes] | None = None

    def chunks(self) -> Iterator[Codes]:
        """Yield the codes of all rows, chunk by chunk."""
        if self._chunks is None:
            self._chunks = list(self._source.chunks())
        return iter(self._chunks)

    def texts(self, column: str) -> Iterator[pl.Series]:
        """Yield the texts of an opened string column, chunk by chunk."""
        return self._source.texts(column)
