"""Single files that appear whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Write a file under a name that nobody can guess beside its place, to be renamed when the block ends well.

    The name must be free (``O_EXCL``), so that no link that another user put there is followed.
    """
    begun = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    try:
        with begun.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(begun, path)  # Windows renames no open file
    finally:
        with suppress(OSError):
            begun.unlink(missing_ok=True)
