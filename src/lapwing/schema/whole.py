"""Single files that appear whole or not at all."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Write a file under a name of its own beside its place, to be renamed when the block ends well.

    The name must be free (``O_EXCL``), so that no link that another user put there is followed. It is made of the time
    to the nanosecond: random letters would be read from the system's secret bits, whose every use is accounted for.
    """
    begun = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns():x}.tmp")
    opened = begun.open("xb")
    try:
        with opened as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(begun, path)  # Windows renames no open file
    finally:
        with suppress(OSError):
            begun.unlink(missing_ok=True)
