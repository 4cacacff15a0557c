"""Releases in a warm process that are killed, failed and raced, and what must hold of the files that they leave."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.syscalls import Call
from lapwing.errors import LapwingError
from lapwing.kernel.budget.ledger import Ledger

SERVER = Path(__file__).with_name("release_server.py")
SCHEMA = {
    "fields": [
        {"name": "flag", "type": "boolean", "constraints": {"required": True}},
        {"name": "kind", "type": "string", "categories": ["a", "b"]},
    ]
}
ROWS = "flag,kind\n" + "true,a\nfalse,b\n" * 50
LIMIT = 10
OVER = "after noise was drawn and before it was recorded"
TARGETS = ("out.lapwing", "out.csv", "out.csv.certificate.json")
"""Model, rows and certificate, in the order in which they appear."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A folder with a table, its schema and a ledger, and perhaps an earlier release's files.

    Parameters
    ----------
    folder : Path
        The folder.
    earlier : Mapping
        The bytes of earlier files, by name.
    """

    folder: Path
    earlier: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def ledger(self) -> Path:
        """The ledger."""
        return self.folder / "budget.db"

    @property
    def transcript(self) -> Path:
        """The transcript."""
        return self.folder / "t.jsonl"

    @property
    def outputs(self) -> list[str]:
        """The options that name the targets."""
        return ["-o", str(self.folder / "out.csv"), "--model", str(self.folder / "out.lapwing")]

    def synthesize(self, transcript: str = "t.jsonl") -> list[str]:
        """Return the command line of a whole release with budget 1."""
        places = ["--ledger", str(self.ledger), "--transcript", str(self.folder / transcript)]
        data, schema = str(self.folder / "data.csv"), str(self.folder / "schema.json")
        return ["synthesize", data, "--schema", schema, "--mechanism", "pmm", "--epsilon", "1", *self.outputs, *places]

    def resume(self) -> list[str]:
        """Return the command line that finishes it."""
        return ["resume", str(self.transcript), str(self.folder / "data.csv"), *self.outputs]

    def files(self) -> dict[str, bytes]:
        """Return the targets that are there, without the time at which the certificate was written."""
        found = {name: (self.folder / name).read_bytes() for name in TARGETS if (self.folder / name).exists()}
        return {name: re.sub(rb'"at": "[0-9TZ:-]*"', b'"at": ""', content) for name, content in found.items()}

    def answers(self) -> list[bytes]:
        """Return the whole lines of the transcript after its header."""
        text = self.transcript.read_bytes() if self.transcript.exists() else b""
        return text[: text.rfind(b"\n") + 1].splitlines()[1:]

    def is_over(self) -> bool:
        """Whether noise was drawn that no answer has, by the transcript's last line."""
        text = self.transcript.read_bytes() if self.transcript.exists() else b""
        return text.rpartition(b"\n")[2].startswith(b" ") or text.endswith(b" \n")

    def has_header(self) -> bool:
        """Whether the transcript has got its first line."""
        return self.transcript.exists() and b"\n" in self.transcript.read_bytes()

    def debits(self) -> int:
        """Check the ledger, and return how many releases were paid."""
        ledger = Ledger.open(self.ledger)
        ledger.verify()
        paid = [entry for entry in ledger.history("d") if entry.kind == "debit"]
        assert ledger.balance("d").spent == len(paid)
        return len(paid)


class Server:
    """The client's end of `release_server.py`."""

    def __init__(self, process: "subprocess.Popen[str]", scene: Scene) -> None:
        self._process = process
        self._write(scene.synthesize())
        self.is_traceable = bool(self._read()["traceable"])

    def run(self, *commands: Sequence[str], **job: object) -> dict[str, Any]:
        """Run one command line, or several at once; see `release_server.answer`."""
        self._write({"commands": commands, **job})
        return self._read()

    def calls(self, command: Sequence[str], plant: str | None = None) -> list[Call]:
        """Return the calls of a command line that is left in peace."""
        found = self.run(command, traced=True, listed=True, plant=plant)
        assert found["status"] == 0, found["said"]
        return [
            Call(name, tuple(arguments), tuple(paths), result, bytes.fromhex(content), is_main)
            for name, arguments, paths, result, content, is_main in found["calls"]
        ]

    def _write(self, job: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


@contextmanager
def served(folder: Path) -> Iterator[Server]:
    """Start a server, and end it."""
    folder.mkdir()
    scene = new_scene(folder / "first")
    command = [sys.executable, str(SERVER)]
    settings = {**os.environ, "POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=settings, cwd=folder
    ) as process:
        yield Server(process, scene)
        assert process.stdin is not None
        process.stdin.close()


def new_scene(folder: Path, earlier: Mapping[str, bytes] | None = None) -> Scene:
    """Make a folder in which nothing was released with its ledger yet."""
    folder.mkdir()
    (folder / "data.csv").write_text(ROWS)
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    for name, content in (earlier or {}).items():
        (folder / name).write_bytes(content)
    scene = Scene(folder, earlier or {})
    template = folder.parent / "empty.db"
    if template.exists():
        shutil.copyfile(template, scene.ledger)
    else:
        ledger = Ledger.create_or_open(scene.ledger)
        ledger.init("d", unit="pure", limit=LIMIT, relation="add-remove", privacy_unit="row")
        shutil.copyfile(scene.ledger, template)
    return scene


def faults(scene: Scene, server: Server) -> list[str]:
    """Return what is wrong with what a release left that ended at some moment, and with how it is finished."""
    try:
        found = _faults_as_left(scene)
        return found or _faults_when_finished(scene, server)
    except LapwingError as error:
        return [f"the ledger is broken: {error}"]


def _faults_as_left(scene: Scene) -> list[str]:
    """Return what is wrong before anything is finished."""
    debits, files = scene.debits(), scene.files()
    changed = {name for name in TARGETS if files.get(name) != scene.earlier.get(name)}
    is_new = bool(changed & set(files))
    rules = {
        "paid twice": debits > 1,
        "an answer that nobody paid": debits == 0 and bool(scene.answers()),
        "a file that nobody paid": debits == 0 and is_new,
        "a budget that nobody can use": debits > 0 and not scene.has_header(),
        "files of answers that nobody kept": is_new and scene.is_over(),
        "an earlier certificate beside new files": _has_stale_certificate(scene, files),
    }
    return [what for what, is_so in rules.items() if is_so]


def _has_stale_certificate(scene: Scene, files: Mapping[str, bytes]) -> bool:
    """Return whether the earlier certificate stands beside a model or rows of another release."""
    certificate = files.get(TARGETS[-1])
    if certificate is None or certificate != scene.earlier.get(TARGETS[-1]):
        return False
    return any(files.get(name) != scene.earlier[name] for name in TARGETS[:-1])


def _faults_when_finished(scene: Scene, server: Server) -> list[str]:
    """Resume, and compare with what was there before."""
    if not scene.has_header():
        return []
    files, answers, is_over = scene.files(), scene.answers(), scene.is_over()
    done = server.run(scene.resume())
    if is_over:
        again = server.run(scene.resume())
        is_refused = done["status"] == again["status"] == 1 and OVER in done["said"] and done["said"] == again["said"]
        is_as_left = scene.is_over() and scene.answers() == answers and scene.files() == files and scene.debits() == 1
        return [] if is_refused and is_as_left else [f"noise was drawn again: {done['said']}"]
    if done["status"] != 0:
        return [f"resume failed: {done['said']}"]
    final = scene.files()
    torn = [name for name, content in files.items() if content not in (scene.earlier.get(name), final.get(name))]
    is_certified = TARGETS[-1] in files and files[TARGETS[-1]] != scene.earlier.get(TARGETS[-1])
    rules = {
        f"no whole {torn}": bool(torn),
        "a certificate without what it describes": is_certified and files != final,
        "other answers after resuming": scene.answers()[: len(answers)] != answers,
        "paid twice": scene.debits() != 1,
        "a file is missing": set(final) != set(TARGETS),
    }
    return [what for what, is_so in rules.items() if is_so]


def durable_numbers(calls: Sequence[Call]) -> list[int]:
    """Return which of the changing calls differ: without SQLite's locks and shared memory, and the middle of rows."""
    changing = [call for call in calls if call.changes]
    keys = [
        (call.name, call.path) if call.name != "fcntl" and not call.path.endswith("-shm") else None for call in changing
    ]
    return [
        number
        for number, key in enumerate(keys, 1)
        if key is not None and not (keys[number - 2] == key and number < len(keys) and keys[number] == key)
    ]
