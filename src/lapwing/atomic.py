"""Single files that appear whole or not at all; sets of them, and what is refused before: `rows/out/outputs.py`."""

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from lapwing.errors import UnwritableError

_CANNOT_FLUSH = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Write a file under a name of its own beside its place, to be renamed when the block ends well.

    The name must be free (``O_EXCL``), so that no link that another user put there is followed. It is made of the time
    to the nanosecond: random letters would be read from the system's secret bits, whose every use is accounted for.
    """
    with writing(path), _begun(path) as file:
        yield file


@contextmanager
def writing(target: Path, *, stands_in: bool = False) -> Iterator[None]:
    """Say in one sentence that a target cannot be written, where the system says so.

    stands_in: whether another file is written that stands for the target, and is not to be named.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except UnwritableError as error:
        if not stands_in:
            raise
        reason = error.reason
    else:
        return
    raise unwritable(target, reason)


def unwritable(target: Path, reason: str) -> UnwritableError:
    """Return the error that a target cannot be written."""
    said = f"{target} cannot be written ({reason}); give a place with free space that you may write to"
    return UnwritableError(said, reason, code="LW112")


@contextmanager
def _begun(path: Path) -> Iterator[BinaryIO]:
    """Open a file beside its place, and rename it when the block ends well."""
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


def write_whole(path: Path, text: str) -> None:
    """Write a text so that a reader finds the old one or the new one."""
    with whole_file(path) as file:
        file.write(text.encode())


def flush_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can open folders and may read this one."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        # Some network file systems cannot; the files themselves are on the disk already.
        if error.errno not in _CANNOT_FLUSH:
            raise
    finally:
        os.close(handle)
