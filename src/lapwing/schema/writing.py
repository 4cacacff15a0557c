"""Schemas as files."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from lapwing.errors import SchemaError
from lapwing.schema.scalars import quote

_ON_LINES: Final = ("publicTables", "rules", "fields")
"""Lists whose entries stand on lines of their own."""


def file_text(found: Mapping[str, Any]) -> str:
    r"""Return a schema in the file format as the text of its file, the same for equal schemas.

    Examples
    --------
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
