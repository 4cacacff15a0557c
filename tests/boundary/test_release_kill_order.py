"""From the system calls of a release: what is on the disk before what.

The debit is on the disk before the first secret byte is read, a mark before each answer is drawn, each answer before
the next mark, each file before
it gets its name, and each name before the next; the certificate comes last, and an earlier one goes first. Wrong
orders that are planted on purpose are seen.
"""

import contextlib
import json
import os
import sqlite3
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from helpers.killed_releases import TARGETS, Scene, Server, new_scene
from helpers.syscalls import Call
from lapwing.kernel.budget.ledger import Ledger


@dataclass
class Disk:
    """What would be lost if the machine lost its power now, by the calls up to now."""

    scene: Scene
    unsynced: set[str] = field(default_factory=set)
    unnamed: list[str] = field(default_factory=list)
    debits: int = 0
    answers: int = 0
    draws: int = 0
    is_marked: bool = False
    found: list[str] = field(default_factory=list)

    def blame(self, what: str, is_wrong: bool) -> None:
        """Keep what is wrong, once."""
        if is_wrong and what not in self.found:
            self.found.append(what)

    def write(self, path: str, content: bytes) -> None:
        """Note that bytes of a file are not on the disk yet."""
        if path.endswith("-shm"):
            return  # SQLite makes it anew after a crash
        self.unsynced.add(path)
        is_target = os.path.dirname(path) == str(self.scene.folder) and os.path.basename(path) in TARGETS
        self.blame("a target is written in place", is_target)
        if path == str(self.scene.transcript):
            self.is_marked = content == b" "
            self.answers += not self.is_marked
            self.blame("answers without a debit", self.answers > 1 and not self.debits)
        if path == f"{self.scene.ledger}-wal":
            self.debits += 1

    def sync(self, path: str) -> None:
        """Note that the bytes of a file, or the names in a folder, are on the disk."""
        self.unsynced.discard(path)
        if path == str(self.scene.folder):
            self.unnamed.clear()

    def draw(self) -> None:
        """Note that secret bytes are read."""
        self.draws += 1
        self.blame("a draw before a debit", not self.debits)
        self.blame("a draw without a mark", not self.is_marked)
        self.blame("a draw while the debit is not on the disk", any("budget.db" in each for each in self.unsynced))
        self.blame("a draw while an answer is not on the disk", str(self.scene.transcript) in self.unsynced)

    def rename(self, old: str, new: str) -> None:
        """Note that a file has another name."""
        self.blame("a file is named before it is on the disk", old in self.unsynced)
        name = os.path.basename(new)
        if name in TARGETS:
            self.blame("a file is named while answers are not on the disk", str(self.scene.transcript) in self.unsynced)
            is_certificate = name == TARGETS[-1]
            self.blame("a certificate before the names of the others", is_certificate and bool(self.unnamed))
            is_early = TARGETS[-1] in map(os.path.basename, self.unnamed)
            self.blame("an earlier certificate is not away on the disk", not is_certificate and is_early)
        if os.path.dirname(new) == str(self.scene.folder) or os.path.basename(old) in TARGETS:
            self.unnamed += [new, old]


def order_faults(calls: Sequence[Call], scene: Scene) -> list[str]:
    """Return what came in the wrong order."""
    disk = Disk(scene)
    public = {entry.release_id for entry in Ledger.open(scene.ledger).history("d")}
    with contextlib.closing(sqlite3.connect(scene.ledger)) as connection:
        public |= {json.loads(details)["nonce"] for (details,) in connection.execute("SELECT details FROM entries")}
    named = []
    for call in calls:
        if call.result is None or call.result < 0:
            continue
        if call.name in ("write", "pwrite64"):
            disk.write(call.path, call.content)
        elif call.name in ("fsync", "fdatasync"):
            disk.sync(call.path)
        elif call.name == "rename":
            disk.rename(*call.paths)
            named += [name for name in TARGETS if name == os.path.basename(call.path)]
        elif is_secret(call, public):
            disk.draw()
    disk.blame("the files appear in another order", tuple(named) != TARGETS)
    disk.blame("names are not on the disk at the end", bool(disk.unnamed))
    disk.blame("fewer answers are kept than were drawn", disk.answers < 3)
    disk.blame("nothing was drawn", disk.draws < 2)
    return disk.found


def is_secret(call: Call, public: set[str | None]) -> bool:
    """Return whether a call reads bytes for noise: not a hash table's seed, the release's name or an entry's nonce."""
    if call.name != "getrandom" or call.arguments[2] != 0 or not call.is_main or not call.arguments[1]:
        return False
    if len(call.content) != 16:
        return True
    return not {call.content.hex(), uuid.UUID(bytes=call.content, version=4).hex} & public


def seeded(scene: Scene) -> list[str]:
    """Return the command line of a release that takes no public seed from the system."""
    return [*scene.synthesize(), "--seed", "1"]


@pytest.mark.parametrize("is_new", [True, False])
def test_everything_is_on_the_disk_before_what_follows_from_it(
    tracer: Server, earlier: dict[str, bytes], tmp_path: Path, is_new: bool
) -> None:
    scene = new_scene(tmp_path / "scene", {} if is_new else earlier)

    calls = tracer.calls(seeded(scene))

    assert order_faults(calls, scene) == []


SEEN = {
    "draw_before_debit": "a draw before a debit",
    "debit_at_the_end": "answers without a debit",
    "unsynced_debit": "a draw while the debit is not on the disk",
    "no_marks": "a draw without a mark",
    "unsynced_answers": "a draw while an answer is not on the disk",
    "answers_never_kept": "fewer answers are kept than were drawn",
    "unsynced_files": "a file is named before it is on the disk",
    "unsynced_names": "a certificate before the names of the others",
    "certificate_first": "the files appear in another order",
    "in_place": "a target is written in place",
}


@pytest.mark.parametrize("plant", SEEN)
def test_a_wrong_order_is_seen_in_the_calls(tracer: Server, tmp_path: Path, plant: str) -> None:
    scene = new_scene(tmp_path / "scene")

    calls = tracer.calls(seeded(scene), plant)

    assert SEEN[plant] in order_faults(calls, scene)


def test_an_earlier_certificate_that_stays_is_seen_in_the_calls(
    tracer: Server, earlier: dict[str, bytes], tmp_path: Path
) -> None:
    scene = new_scene(tmp_path / "scene", earlier)

    calls = tracer.calls(seeded(scene), "unsynced_names")

    assert "an earlier certificate is not away on the disk" in order_faults(calls, scene)
