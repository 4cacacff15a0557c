"""A private table as it is compared: all rows are counted and held against others, at most 262,144 are looked at."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np

from lapwing.extras.evaluate.metrics.tables.variation import Count, TableRows
from lapwing.maths.arrays import Codes
from lapwing.rows.units import mix_hash, row_hashes
from lapwing.schema.schemas import Schema

MOST_ROWS: Final = 2**18  # rows of a table that are looked at; of more, so many are drawn


def table_rows(rows: int, chunks: Iterable[Codes], count: Count, schema: Schema, seed: int) -> TableRows:
    """Return a table of so many rows as it is compared, by one pass over its codes.

    Of a large table those rows are drawn whose place has the smallest public hash with the seed: of tables with as many
    rows, those in the same places. Memory 8 bytes a row, 24 more while they are chosen, and the codes of those drawn.
    """
    names = [field.name for field in schema.columns]
    parts: dict[str, list[np.ndarray]] = {field.name: [np.empty(0, field.domain.dtype)] for field in schema.columns}
    keys = [np.empty(0, np.uint64)]
    for chunk, kept in _with_places(chunks, _drawn_places(rows, seed)):
        keys.append(row_hashes(chunk, names))
        for name, part in parts.items():
            part.append(chunk[name] if kept is None else chunk[name][kept])
    codes = {name: np.concatenate(part) for name, part in parts.items()}
    return TableRows(rows=rows, codes=codes, keys=np.concatenate(keys), count=count)


def _drawn_places(rows: int, seed: int) -> np.ndarray | None:
    """Return the places of the rows that are drawn, increasing; None where all are."""
    if rows <= MOST_ROWS:
        return None
    hashes = mix_hash(np.full(rows, seed % 2**64, dtype=np.uint64), np.arange(rows, dtype=np.uint64))
    return np.sort(np.argpartition(hashes, MOST_ROWS)[:MOST_ROWS])


def _with_places(
    chunks: Iterable[Mapping[str, np.ndarray]], places: np.ndarray | None
) -> Iterator[tuple[Mapping[str, np.ndarray], np.ndarray | None]]:
    """Yield each chunk with the places in it of the rows that are drawn."""
    start = 0
    for chunk in chunks:
        stop = start + len(next(iter(chunk.values())))
        if places is None:
            yield chunk, None
        else:
            first, last = np.searchsorted(places, (start, stop))
            yield chunk, places[first:last] - start
        start = stop
