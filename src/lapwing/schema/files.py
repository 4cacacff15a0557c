"""JSON text that somebody else wrote → plain Python values, with every way it can be broken named."""

import json
import math
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

from lapwing.errors import SchemaError
from lapwing.schema.checks import repeated
from lapwing.schema.scalars import quote

MAX_BYTES: Final = 64 * 2**20
"""Largest schema file that is read."""


def read_json(path: str | os.PathLike[str]) -> object:
    """Return the value in a JSON file."""
    return parse_json(read_content(path, "schema file"), f"schema file {quote(os.fspath(path))}")


def read_content(path: str | os.PathLike[str], kind: str) -> bytes:
    """Return the bytes of a file of at most 64 MiB; `kind` and its path begin each error sentence."""
    name = f"{kind} {quote(os.fspath(path))}"
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise SchemaError(f"{name} does not exist; check the path", code="LW201") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a usable path"
        raise SchemaError(f"{name} cannot be read: {reason}; check the path", code="LW201") from None
    if len(content) > MAX_BYTES:
        raise SchemaError(f"{name} is larger than 64 MiB; shorten its category lists", code="LW201")
    return content


def parse_json(content: bytes, what: str) -> object:
    """Return the value that JSON bytes hold; `what` begins each error sentence."""
    try:
        return json.loads(
            content.decode("utf-8-sig"),
            object_pairs_hook=partial(_distinct, what),
            parse_constant=partial(_refuse, what),
            parse_float=partial(_finite, what),
        )
    except UnicodeDecodeError:
        raise SchemaError(f"{what} is not UTF-8 text; save it in that encoding", code="LW202") from None
    except json.JSONDecodeError as error:
        raise SchemaError(
            f"{what} is not JSON: {error.msg.lower()} at line {error.lineno} column {error.colno}; correct it there",
            code="LW202",
        ) from None
    except RecursionError:
        raise SchemaError(f"{what} is nested too deeply; a schema needs five levels", code="LW202") from None
    except ValueError:
        # The one that is left: an integer beyond Python's digit limit.
        raise SchemaError(f"{what} holds a number of thousands of digits; shorten it", code="LW202") from None


def _distinct(what: str, pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object's pairs as a dict, refusing a key that stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        key = repeated([key for key, _ in pairs])[0]
        raise SchemaError(f"{what} has the key {quote(key)} twice in one object; remove one", code="LW202")
    return found


def _refuse(what: str, constant: str) -> NoReturn:
    """Refuse NaN, Infinity and -Infinity."""
    raise SchemaError(
        f"{what} holds {constant}, which is not a JSON number; write a finite number or null", code="LW202"
    )


def _finite(what: str, text: str) -> float:
    """Return a JSON number, refusing one such as 1e999 that no float can hold."""
    number = float(text)
    if math.isinf(number):
        raise SchemaError(
            f"{what} holds the number {text:.40}, which is too large for a float; write a finite one", code="LW202"
        )
    return number


# -- Schemas as files.


_ON_LINES: Final = ("publicTables", "rules", "fields")
"""Lists whose entries stand on lines of their own."""


def file_text(found: Mapping[str, Any]) -> str:
    r"""Return a schema in the file format as the text of its file, the same for equal schemas.

    >>> file_text({"name": "t", "fields": [{"name": "a"}]})
    '{"name": "t",\n "fields": [\n  {"name": "a"}\n ]}\n'
    """
    parts = []
    for key, value in found.items():
        text = json.dumps(value, ensure_ascii=False)
        if key in _ON_LINES:
            entries = ",\n  ".join(json.dumps(entry, ensure_ascii=False) for entry in value)
            text = f"[\n  {entries}\n ]"
        parts.append(f"{json.dumps(key)}: {text}")
    return "{" + ",\n ".join(parts) + "}\n"


def write_whole(path: Path, text: str) -> None:
    """Write a file under a temporary name beside its place, then rename it; a SchemaError where that fails."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        reason = error.strerror or "the disk refused it"
        raise SchemaError(
            f"schema file {quote(str(path))} cannot be written: {reason}; choose another place", code="LW112"
        ) from None
