"""The look at private tables before anything is spent: asked for by `--check`, else recommended by name."""

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.cli.console import Say
from lapwing.cli.tables import words_of
from lapwing.errors import ParameterError
from lapwing.on_demand import extra
from lapwing.schema.scalars import quote

if TYPE_CHECKING:
    from lapwing.rows.entry import Source
    from lapwing.schema.schemas import Schema


_MOST_KEPT = 1000


def look_first(data: "Sequence[Source]", schema: "Schema", named: Path, *, check: bool, misfits: str, say: Say) -> None:
    """Look at private tables where it is asked for, or recommend it where nobody has looked at these.

    named: the schema's file, for the command that is recommended.
    """
    said = recommendation(data, schema, named, check=check, misfits=misfits)
    if said:
        say(said)


def recommendation(data: "Sequence[Source]", schema: "Schema", named: Path, *, check: bool, misfits: str) -> str:
    """Look at private tables where it is asked for; return what recommends it where nobody has looked at these."""
    most = _share(misfits)
    if check:
        for path, part in zip(data, schema.tables.values(), strict=True):
            extra("looks").refuse_misfits(path, part, most)
        remember(data, schema)
        return ""
    if is_remembered(data, schema):
        return ""
    command = " ".join(["lapwing schema check", str(named), *words_of(*data)])
    return f"Not looked at yet: `{command}` shows which values are invalid (free, internal); so does --check."


@contextmanager
def announce(said: str, say: Say) -> Iterator[None]:
    """Say something on a terminal before anything is spent; to programs at the end: a failure is one line."""
    from lapwing.release.runs.watching import Progress, watch_releases  # noqa: PLC0415

    left = [said] if said else []

    def tell(_: Progress) -> None:
        while left and sys.stderr.isatty():
            say(left.pop())

    with watch_releases(tell):
        yield
    for each in left:
        say(each)


def _share(text: str) -> float:
    """Return a share from 0 to 1."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise ParameterError(
            f"misfits must be a share from 0 to 1, got {quote(text)}; write for example 0.05", code="LW304"
        )
    return found


# -- Which tables were looked at. Digests of public things: the schema, and paths with the times of their last change,
# or, where no time is known, queries and addresses: without user and password, as a digest may be guessed.


def remember(data: "Sequence[Source]", schema: "Schema") -> None:
    """Note that tables were looked at under a schema; where no note can be kept, none is."""
    place, found = _place(), _digest(data, schema)
    if found is None:
        return
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        kept = _kept(place)
        place.write_text("\n".join([*kept[-_MOST_KEPT:], found]) + "\n")


def is_remembered(data: "Sequence[Source]", schema: "Schema") -> bool:
    """Tell whether tables, as they are now, were looked at under a schema."""
    found = _digest(data, schema)
    return found is not None and found in _kept(_place())


def _kept(place: Path) -> list[str]:
    try:
        return place.read_text().split()
    except OSError:
        return []


def _place() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "lapwing" / "looked-at"


def _digest(data: "Sequence[Source]", schema: "Schema") -> str | None:
    """Return what names tables as they are now under a schema; None for tables that have no name."""
    stamps = [_stamp(each) for each in data]
    if None in stamps:
        return None
    described = json.dumps(schema.to_dict(), sort_keys=True)
    return hashlib.sha256(repr((described, stamps)).encode()).hexdigest()


def _stamp(table: "Source") -> tuple[object, ...] | None:
    """Return what names one table: files with the times of their last change, or a query or address."""
    from lapwing.rows.elsewhere import place_of, told_address  # noqa: PLC0415

    query = (table.given.sql,) if table.form == "query" else ()
    if table.form == "store":
        return ("address", told_address(str(table.paths[0])))
    if query and table.file is None:
        return (*query, place_of(table.given))
    if table.file is None or table.given == "-":
        return None
    paths = table.files or [table.file]
    try:
        return (*query, *((str(path.resolve()), path.stat().st_mtime_ns) for path in paths))
    except OSError:
        return None
