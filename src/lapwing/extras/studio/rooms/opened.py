"""Releases that are looked at: read from their files, and kept for the next page."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final

from lapwing.errors import DataError
from lapwing.extras.evaluate.released.report import release_html
from lapwing.extras.studio.jobs import Job
from lapwing.model.accuracy import Accuracy
from lapwing.release.loading import load
from lapwing.release.release import Release

_KEPT: Final = 2
"""Releases that are kept in memory, those that were asked for last."""


class Opened:
    """A release, and what takes a while to make from it; made once. All of it is public."""

    def __init__(self, release: Release, name: str) -> None:
        self.release, self._name = release, name

    @cached_property
    def accuracy(self) -> Accuracy:
        """What may be said about its accuracy."""
        return self.release.accuracy()

    @cached_property
    def report(self) -> str:
        """The report that may be published."""
        return release_html(self.release, self.accuracy, name=self._name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a page looks at: a release, and where its pages are.

    at: the address that its pages begin with; title: what it is called; job: that it came from, or None; others: pairs
    of number and address, of all releases of the job; report: where the report that may be published is, or None.
    """

    at: str
    title: str
    opened: Opened
    job: Job | None = None
    number: int = 0
    others: Sequence[tuple[int, str]] = ()
    report: Path | None = None

    @property
    def release(self) -> Release:
        """The release itself."""
        return self.opened.release


def open_release(file: Path, name: str) -> Opened:
    """Return the release in a model file; the last ones are kept while their files stay as they are.

    name: of its table, for the report of a release that has none.
    """
    try:
        found = os.stat(file)
    except OSError:
        reason = "it is not there"
    else:
        return _opened(file, name, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns))
    raise DataError(f"the model file {file.name} cannot be read ({reason}); put it back, or open another", code="LW602")


def _read(file: Path, name: str, version: tuple[int, ...]) -> Opened:  # noqa: ARG001 - tells versions of a file apart
    return Opened(load(file), name)


_opened: Final[Callable[[Path, str, tuple[int, ...]], Opened]] = lru_cache(maxsize=_KEPT)(_read)
