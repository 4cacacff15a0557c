"""The codes of all rows between passes: in memory up to a limit, beyond it in a file without a name. Private."""

import errno
import io
import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar, cast

import numpy as np

from lapwing.errors import DataError
from lapwing.rows.counting import Codes, height

T = TypeVar("T")

CACHE_BYTES: Final = 256 * 2**20
"""Codes up to this size are kept in memory; larger tables are read anew by every pass, unless a folder is given."""

PACKED: Final = np.dtype(np.uint32)
"""The type of wide codes that are kept, where all of a chunk fit."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Where codes are kept: so many bytes in memory, `CACHE_BYTES` by default; beyond them in a folder, if any."""

    memory: int | None = None
    scratch: str | None = None

    @property
    def limit(self) -> int:
        """Most bytes in memory."""
        return CACHE_BYTES if self.memory is None else self.memory


class CodeCache:
    """Chunks of codes within a storage, in order; wide ones in 32 bits where all of a chunk fit."""

    __slots__ = ("_bytes", "_file", "_parts", "_storage", "rows")

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.rows = 0
        self._parts: list[Codes] = []
        self._bytes = 0
        # At once, whatever there will be to keep: an error may not depend on how many rows there are.
        self._file = None if storage.scratch is None else _Scratch(storage.scratch)

    def add(self, chunk: Codes) -> bool:
        """Keep a chunk; return False, and drop everything, where there is no storage left."""
        most = np.iinfo(PACKED).max
        packed = {
            name: codes.astype(PACKED) if codes.dtype == np.int64 and codes.max(initial=0) <= most else codes
            for name, codes in chunk.items()
        }
        self.rows += height(packed)
        self._bytes += sum(codes.nbytes for codes in packed.values())
        if self._bytes <= self._storage.limit:
            self._parts.append(packed)
            return True
        if self._file is not None:
            self._file.add(packed)
            return True
        self._parts = []
        return False

    def __iter__(self) -> Iterator[Codes]:
        """Yield the chunks."""
        yield from self._parts
        if self._file is not None:
            yield from self._file


_Place = tuple[str, int, np.dtype, int]
"""Where the codes of a column are: its name, the byte where they begin, their type and how many there are."""


class _Scratch:
    """Chunks of codes in a file that has no name, and that only its owner could read: it ends with the process."""

    __slots__ = ("__weakref__", "_file", "_folder", "_lock", "_places")

    def __init__(self, folder: str) -> None:
        self._folder, self._lock = folder, threading.Lock()  # passes of several threads share one place in the file
        self._places: list[list[_Place]] = []
        made = self._done(lambda: tempfile.TemporaryFile(dir=folder, buffering=0))  # noqa: SIM115 - closed below
        self._file = cast("io.RawIOBase", made)
        weakref.finalize(self, self._file.close)

    def add(self, chunk: Codes) -> None:
        """Write a chunk behind the others."""
        self._places.append(self._done(lambda: [self._written(name, codes) for name, codes in chunk.items()]))

    def __iter__(self) -> Iterator[Codes]:
        """Yield the chunks."""
        for places in self._places:
            yield self._done(partial(self._read, places))

    def _written(self, name: str, codes: np.ndarray) -> _Place:
        place = self._file.seek(0, os.SEEK_END)
        rest = np.ascontiguousarray(codes).view(np.uint8).data
        while rest:
            rest = rest[self._file.write(rest) :]
        return name, place, codes.dtype, codes.size

    def _read(self, places: list[_Place]) -> Codes:
        found = {}
        for name, place, kind, size in places:
            found[name] = np.empty(size, dtype=kind)
            self._file.seek(place)
            rest = found[name].view(np.uint8).data
            while rest:
                count = self._file.readinto(rest)
                if not count:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                rest = rest[count:]
        return found

    def _done(self, work: Callable[[], T]) -> T:
        """Do something with the file; say which folder failed, and no more."""
        try:
            with self._lock:
                return work()
        except OSError as error:
            reason = error.strerror
        raise DataError(
            f"LAPWING_SCRATCH: codes cannot be kept in the folder {self._folder} ({reason}); give one that is there "
            "and writable, on a disk with space for all codes, or none",
            code="LW115",
        )
