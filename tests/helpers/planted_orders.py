"""Wrong orders of a release, to be patched into a process that is then killed or followed: each must be caught."""

import contextlib
import os
import re
import sqlite3
import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lapwing.api import running
from lapwing.cli import outputs as release_files
from lapwing.kernel.budget import ledger_file
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.room import transcript
from lapwing.release.runs import records
from lapwing.rows.out import outputs


def draw_before_debit() -> None:
    """Read secret bits, then pay."""
    debit = records.AccountedSink.debit

    def late(self: records.AccountedSink, settings: Any) -> None:
        SystemBits().words(4)
        debit(self, settings)

    records.AccountedSink.debit = late


def debit_at_the_end() -> None:
    """Pay when all answers are written."""
    honest = running.release_tables

    def late(parts: Any, settings: Any, run: records.Run) -> Any:
        records.AccountedSink._note = lambda self: None
        releases = honest(parts, settings, replace(run, debit=lambda: None))
        run.debit()
        return releases

    running.release_tables = late


def unsynced_debit() -> None:
    """Let the debit return before it is on the disk."""
    connect = sqlite3.connect

    class Hasty(sqlite3.Connection):
        def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
            return super().execute(re.sub("synchronous = (FULL|NORMAL)", "synchronous = OFF", statement), *arguments)

    sqlite3.connect = lambda *arguments, **settings: connect(*arguments, factory=Hasty, **settings)
    ledger_file._sync_log = lambda path: None


def two_debits() -> None:
    """Pay under a new name each time that the release is taken up."""
    debit = records.AccountedSink.debit

    def anew(self: records.AccountedSink, settings: Any) -> None:
        kept = self._records
        self._records = replace(kept, release_id=uuid.uuid4().hex)
        debit(self, settings)

    records.AccountedSink.debit = anew


def unsynced_answers() -> None:
    """Go on before the answers are on the disk."""

    def hasty(path: Path, text: str, mode: str) -> None:
        with open(path, mode) as file:
            file.write(text.encode())

    transcript._append = hasty


def answers_never_kept() -> None:
    """Let the mechanism go on with answers that no transcript has."""
    transcript.TranscriptFile.record = lambda self, answers, part: None
    records.AccountedSink._note = lambda self: None


def no_marks() -> None:
    """Draw without telling the transcript before."""
    transcript.TranscriptFile.begin = lambda self: None


def unsynced_files() -> None:
    """Name the files before they are on the disk."""
    outputs._make_durable = lambda place: None


def unsynced_names() -> None:
    """Let one name follow the other before it is on the disk."""
    outputs.flush_folder = lambda folder: None


def certificate_first() -> None:
    """Let the certificate appear before what it describes."""
    in_order = release_files.Targets.in_order.fget
    release_files.Targets.in_order = property(lambda self: in_order(self)[::-1])


def in_place() -> None:
    """Write into the targets themselves."""

    @contextlib.contextmanager
    def bare(
        targets: Sequence[Path], inputs: Sequence[Path] = (), folders: Collection[Path] = (), *_: object
    ) -> Iterator[tuple[Path, ...]]:
        assert inputs is not None
        assert not folders
        yield tuple(targets)

    release_files.whole_files = bare


def old_certificate_stays() -> None:
    """Let an earlier certificate stand beside new rows until the new one comes."""

    def hasty(places: Sequence[outputs.Place]) -> None:
        for place in places:
            os.replace(place.temporary, place.target)

    outputs._rename = hasty


def no_waiting() -> None:
    """Name the files while another process names its own."""
    outputs.alone_in = contextlib.nullcontext


PLANTS = {
    plant.__name__: plant
    for plant in (
        draw_before_debit,
        debit_at_the_end,
        unsynced_debit,
        two_debits,
        unsynced_answers,
        answers_never_kept,
        no_marks,
        unsynced_files,
        unsynced_names,
        certificate_first,
        in_place,
        old_certificate_stays,
        no_waiting,
    )
}
