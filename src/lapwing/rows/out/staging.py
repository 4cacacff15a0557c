"""Hidden folders beside the targets of a command, in which files are written until they are whole.

A folder is locked as long as its process lives. What killed processes leave is cleared away by the next one on the same
machine, or a day later. Windows has no such locks: nothing is cleared away there.
"""

import contextlib
import errno
import hashlib
import itertools
import os
import platform
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    _HAS_LOCKS = False
else:
    _HAS_LOCKS = True

PREFIX = ".lapwing-"
SUFFIX = ".unfinished"
"""Hidden folders have names of this end too: one like ``.lapwing-notes`` is somebody's own, and is never removed."""
LEFT_SECONDS = 86_400.0
"""Hidden folders of other machines are cleared away at this age if no process holds them: on file systems whose locks
other machines do not see, younger ones might be in use there."""
PATIENCE_SECONDS = 30.0
"""How long a process waits for another that puts its files in place, which takes milliseconds."""
_LOCK = ".lapwing.lock"
_NUMBERS = itertools.count()  # of the hidden folders of this process


@contextlib.contextmanager
def staging_folder(folder: Path) -> Iterator[Path]:
    """Make a hidden folder, held by this process for its owner alone, and remove it with what is left at the end."""
    here = f"{PREFIX}{_machine()}-"
    _clear(folder, here)
    with contextlib.ExitStack() as stack:
        hidden = None
        while hidden is None:  # another process may clear a folder away before it is locked
            own = f"{os.getpid()}-{next(_NUMBERS)}-{time.time_ns():x}"  # no random bit before a debit
            hidden = _held(folder / f"{here}{own}{SUFFIX}", stack)
        yield hidden


def _machine() -> str:
    """Return what tells this machine, since it was started, from others that see the same folders."""
    with contextlib.suppress(OSError):
        return _digest(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
    return _digest(platform.node())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _held(hidden: Path, stack: contextlib.ExitStack) -> Path | None:
    """Make and lock a hidden folder, to be removed and let go at the end; None where it was cleared away before.

    An interrupt may come at any step, so that what removes the folder is there before the folder is.
    """
    stack.callback(shutil.rmtree, hidden, ignore_errors=True)
    hidden.mkdir(0o700)
    if _HAS_LOCKS:
        try:
            handle = os.open(hidden, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return None
        if _is_taken(handle) is False or not _is_still(hidden, handle):
            os.close(handle)
            return None
        stack.callback(os.close, handle)
    return hidden


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Put files in place in a folder while no other process does; where no lock can be had, go on without."""
    with contextlib.ExitStack() as stack:
        if _HAS_LOCKS:
            _wait(folder / _LOCK, stack)
        yield


def _wait(lock: Path, stack: contextlib.ExitStack) -> None:
    """Take a lock file, to be removed and let go at the end."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            # A link or pipe of this name, in a folder that is shared, leads to no other file and blocks nothing.
            handle = os.open(lock, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        except PermissionError:
            return  # another user's, in a folder that is shared
        is_mine = _is_taken(handle) is not False
        # Whoever had the lock before has removed its file, and then it locks nothing.
        if is_mine and _is_still(lock, handle):
            stack.callback(os.close, handle)
            stack.callback(_remove, lock)
            return
        os.close(handle)
        time.sleep(0.005)
    raise OSError(errno.EBUSY, "another process is putting its files in place")


def _is_still(lock: Path, handle: int) -> bool:
    """Return whether a name still stands for the file that was opened."""
    try:
        return os.path.samestat(os.stat(lock), os.fstat(handle))
    except FileNotFoundError:
        return False


def _remove(lock: Path) -> None:
    """Remove a lock file; in a shared folder it may be another user's."""
    with contextlib.suppress(OSError):
        lock.unlink()


def _is_taken(handle: int) -> bool | None:
    """Lock an open file for this process; False where another one has the lock, None where no lock can be had."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _clear(folder: Path, here: str) -> None:
    """Remove the hidden folders of processes that were killed: here, or a day ago or earlier."""
    if not _HAS_LOCKS:
        return
    with contextlib.suppress(OSError):
        for left in folder.glob(f"{PREFIX}*{SUFFIX}"):
            _clear_one(left, 0.0 if left.name.startswith(here) else LEFT_SECONDS)


def _clear_one(left: Path, seconds: float) -> None:
    """Remove one hidden folder if it is ours, old, and of no process that lives."""
    with contextlib.suppress(OSError):
        found = left.lstat()
        is_old = time.time() - found.st_mtime >= seconds
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or not is_old:
            return
        handle = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if _is_taken(handle):
                shutil.rmtree(left, ignore_errors=True)
        finally:
            os.close(handle)
