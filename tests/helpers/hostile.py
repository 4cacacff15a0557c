"""Files of strangers: good ones taken apart, damaged at random, and watched while they are read."""

import copy
import io
import os
import random
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from helpers.saved import save, small_saved
from lapwing.errors import LapwingError

Entries = dict[str, bytes]

PIECES = [
    *(b"\0", b"\xff", b"\x7f", b"\x80", b"9", b"{", b"[", b'"', b",", b"\n", b"\r", b"-", b"e", b"1e999"),
    *(b"&a ", b"*a", b"!!python/object/apply:os.system ", b"\\u0000", b"\\ud800", b"\xff" * 4, b"\0" * 4),
    *(b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"../../", b"\x1b[31m"),
]
"""Bytes that readers trip over."""

JUNK: list[Any] = [
    *(None, True, False, -1, 0, 1, 2**31, 2**53, 2**63, 2**64, 10**30, 10**310, 0.5, -0.0, 1e-320, 1e300),
    *("", "x", "0", "-1", "1/0", "1e9", "1e999", "nan", "../x", "/etc/hostname", "\0", "\x1b[31m\u202e", "a" * 5000),
    *("9" * 5000, "2020-02-31", "9999-12-31", "99999-01-01", "(a+)+$", "__class__"),
    *([], [[]], {}, [None], [0] * 50, ["x"] * 3, {"x": None}, {"array": 0}, {"array": 5}),
]
"""Values that no place of a file expects."""

_FILE_EVENTS = {"open", "sqlite3.connect", "os.remove", "os.rename", "os.mkdir", "os.truncate", "os.link", "os.symlink"}
_CODE_EVENTS = {"os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "pickle.find_class"}
_seen: list[tuple[str, str]] | None = None
_hooked: list[bool] = []


def good_entries(tmp_path: Path) -> Entries:
    """Return the entries of a small model file."""
    save(small_saved(), tmp_path / "good.lapwing")
    return entries_of(tmp_path / "good.lapwing")


def entries_of(path: Path) -> Entries:
    """Return the entries of a zip."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(entries: Entries, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip of entries, all packed by one method."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content, compress_type=method)
    return stream.getvalue()


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return bytes with a few random edits: flips, pieces that readers trip over, cuts, repeats, moves."""
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        at, other = rng.randrange(max(1, len(data))), rng.randrange(max(1, len(data)))
        match rng.randrange(6):
            case 0:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                data[at : at + 1] = rng.choice(PIECES)
            case 2:
                del data[at : at + rng.randrange(1, 20)]
            case 3:
                data[at:at] = data[at : at + rng.randrange(1, 40)]
            case 4:
                data[at : at + 8] = rng.randbytes(8)
            case _:
                data[at : at + 16] = data[other : other + 16]
    return bytes(data)


def changed(tree: Any, rng: random.Random) -> Any:
    """Return JSON values with a few nodes replaced by junk or by each other, removed, repeated, or made huge."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        places = list(places_of(tree))
        place = rng.choice(places)
        if not place:
            continue
        inside, key = value_at(tree, place[:-1]), place[-1]
        match rng.randrange(6):
            case 0 | 1:
                inside[key] = copy.deepcopy(rng.choice(JUNK))
            case 2:
                inside[key] = copy.deepcopy(value_at(tree, rng.choice(places)))
            case 3:
                del inside[key]
            case 4:
                inside[key] = _stretched(inside[key], rng)
            case _ if isinstance(inside, list):
                inside.insert(key, copy.deepcopy(inside[key]))
            case _:
                inside[rng.choice(["x", "array", "kind", *inside])] = copy.deepcopy(inside[key])
    return tree


def _stretched(value: Any, rng: random.Random) -> Any:
    """Return a value that is like another one, and larger or of a near type."""
    if isinstance(value, bool) or value is None:
        return rng.choice(JUNK)
    if isinstance(value, int):
        return rng.choice([value + 1, value - 1, -value, value * 10**6, value * 10**12, str(value)])
    if isinstance(value, float):
        return rng.choice([value * 1e9, -value, value / 1e9, str(value)])
    if isinstance(value, str):
        return rng.choice([value + "x", value[:-1], value * 300, [value], value + "\n", " " + value])
    if isinstance(value, list):
        return rng.choice([value + value, value[::-1], value * 50, value[:1], [value], {"x": value}])
    return rng.choice([[value], list(value)])


def places_of(tree: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where each node of JSON values stands."""
    yield place
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from places_of(value, (*place, key))


def value_at(tree: Any, place: tuple[Any, ...]) -> Any:
    """Return the node of JSON values that stands at a place."""
    for key in place:
        tree = tree[key]
    return tree


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Keep what Python tells of files that are touched and programs that are run; its hooks stay for good."""
    if _seen is not None and event in _FILE_EVENTS | _CODE_EVENTS and not _is_compiled():
        name = os.fsdecode(arguments[0]) if isinstance(arguments[0], bytes) else str(arguments[0])
        _seen.append((event, name.removeprefix("file://")))


def _is_compiled() -> bool:
    """Say whether numba compiles a function of ours, or reads it from its own cache, as when one is first needed."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and not frame.f_globals.get("__name__", "").startswith("numba."):
        frame = frame.f_back
    return frame is not None


def outcome(read: Callable[[], object]) -> str:
    """Read a file of a stranger: "read", or the name of our error; fail on any other exception, and on a bug report."""
    try:
        read()
    except LapwingError as error:
        name, said = type(error).__name__, str(error)
    else:
        return "read"
    assert "please report it" not in said, said
    return name


@contextmanager
def watched(*allowed: Path) -> Iterator[None]:
    """Fail where a file outside of these is touched, or a program is run; modules of Python itself may be read."""
    global _seen  # noqa: PLW0603 - an audit hook can never be removed
    if not _hooked:
        sys.addaudithook(_watch)
        _hooked.append(True)
    _seen = []
    try:
        yield
    finally:
        found, _seen = _seen, None
    home = str(Path(__file__).resolve().parents[2])
    own = (*map(str, allowed), sys.prefix, sys.base_prefix, home, "/proc", "/dev/null")
    # Numbers are files that are open already.
    strange = {each for each in found if each[0] in _CODE_EVENTS or not (each[1].isdigit() or each[1].startswith(own))}
    assert not strange, sorted(strange)
