"""Follow the system calls of a forked piece of work, and kill it, fail it or interrupt it at a chosen one.

`ptrace` through ctypes, on Linux for x86-64: each call of each thread stops at its entry, where it can be answered
with an error instead of being made, and at its end, where its result is read. Only files, randomness and locks are
looked at closely; the rest is counted.
"""

import ctypes
import errno
import os
import platform
import signal
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NoReturn

_TRACEME, _KILL_AT_EXIT = 0, 0x100000
_GETREGS, _SETREGS, _SYSCALL, _SETOPTIONS, _GETEVENTMSG = 12, 13, 24, 0x4200, 0x4201
_GET_SYSCALL_INFO = 0x420E
_SYSGOOD, _TRACECLONE, _TRACEFORK, _TRACEVFORK = 0x1, 0x8, 0x2, 0x4
_STOPPED_AT_CALL = signal.SIGTRAP | 0x80
_REGISTERS = 27
_RAX, _ORIG_RAX = 10, 15
_ALL = 0x40000000  # __WALL: threads too

NAMES = {
    0: "read",
    1: "write",
    2: "open",
    3: "close",
    9: "mmap",
    17: "pread64",
    18: "pwrite64",
    20: "writev",
    72: "fcntl",
    73: "flock",
    74: "fsync",
    75: "fdatasync",
    76: "truncate",
    77: "ftruncate",
    82: "rename",
    83: "mkdir",
    84: "rmdir",
    86: "link",
    87: "unlink",
    88: "symlink",
    90: "chmod",
    91: "fchmod",
    93: "fchown",
    257: "openat",
    258: "mkdirat",
    260: "fchownat",
    263: "unlinkat",
    264: "renameat",
    268: "fchmodat",
    285: "fallocate",
    296: "pwritev",
    316: "renameat2",
    318: "getrandom",
    326: "copy_file_range",
}
"""The calls that are looked at, by their number on x86-64."""

_CHANGING = frozenset(NAMES.values()) - {"read", "pread64", "close", "mmap", "fcntl", "open", "openat"}
_PATHS = {
    "open": (0,),
    "openat": (1,),
    "truncate": (0,),
    "rename": (0, 1),
    "renameat": (1, 3),
    "renameat2": (1, 3),
    "mkdir": (0,),
    "mkdirat": (1,),
    "rmdir": (0,),
    "link": (0, 1),
    "unlink": (0,),
    "unlinkat": (1,),
    "symlink": (0, 1),
    "chmod": (0,),
    "fchmodat": (1,),
}
"""Which arguments of a call are paths; the others that are looked at begin with a file descriptor."""
_FOLDERS = {"openat": 0, "mkdirat": 0, "unlinkat": 0, "fchmodat": 0, "renameat": 0, "renameat2": 0}
_SET_LOCK = (6, 7, 37, 38)  # F_SETLK, F_SETLKW and those of open file descriptions


@dataclass(slots=True)
class Call:
    """One system call.

    Parameters
    ----------
    name : str
        As in `NAMES`; for all others, the number.
    arguments : tuple of int
        Six of them.
    paths : tuple of str
        The paths that it names, or that its file descriptor stands for.
    result : int or None
        Minus an error number where it failed; None where it never came back.
    content : bytes
        What it wrote, and which random bytes it read: the first 64 bytes.
    is_main : bool
        Whether the first thread made it.
    """

    name: str
    arguments: tuple[int, ...]
    paths: tuple[str, ...] = ()
    result: int | None = None
    content: bytes = b""
    is_main: bool = True

    @property
    def changes(self) -> bool:
        """Whether it changes what is on the disk, makes it durable, locks it, or reads random bytes."""
        if self.name != "getrandom" and not self.is_of_file:
            return False
        if self.name in ("open", "openat"):
            flags = self.arguments[2 if self.name == "openat" else 1]
            return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))
        if self.name == "fcntl":
            return self.arguments[1] in _SET_LOCK
        return self.name in _CHANGING

    @property
    def is_of_file(self) -> bool:
        """Whether it is about a file on a disk, which alone can be full or broken."""
        return self.path.startswith("/") and not self.path.startswith(("/dev/", "/proc/", "/sys/"))

    @property
    def path(self) -> str:
        """The path that it changes: the last it names."""
        return self.paths[-1] if self.paths else ""


@dataclass(slots=True, kw_only=True)
class Trace:
    """What a piece of work did.

    Parameters
    ----------
    calls : list of Call
        Those that were looked at, in the order of their beginning, over all threads.
    made : int
        How many calls of the chosen kind it began.
    status : int
        Its exit status, or minus the signal that ended it.
    others : dict of int
        The statuses of other children of this process that ended meanwhile, by their number.
    """

    calls: list[Call] = field(default_factory=list)
    made: int = 0
    status: int = 0
    others: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """What happens at one call.

    Parameters
    ----------
    number : int
        Which call, from 1.
    since : str
        Name of a file: the first call about it is number 1. How many calls come before it may depend on the noise.
    among : {"all", "changes", "files"}
        Which calls are counted: all; those that change something or read random bytes; or those that change files.
    act : {"kill", "error", "interrupt", "pause"}
        Kill the work before the call, answer with an error instead of making it, interrupt it as Ctrl-C does, or do
        something else meanwhile.
    error : int
        The error number.
    """

    number: int
    since: str = ""
    among: Literal["all", "changes", "files"] = "changes"
    act: Literal["kill", "error", "interrupt", "pause"] = "kill"
    error: int = 0


class _Info(ctypes.Structure):
    _fields_ = (
        ("op", ctypes.c_uint8),
        ("pad", ctypes.c_uint8 * 3),
        ("arch", ctypes.c_uint32),
        ("instruction_pointer", ctypes.c_uint64),
        ("stack_pointer", ctypes.c_uint64),
        ("values", ctypes.c_uint64 * 8),
    )


def is_traceable() -> bool:
    """Return whether this machine lets a process follow its child."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    try:
        return traced(lambda: 7).status == 7
    except OSError:
        return False


def traced(work: Callable[[], int], stop: Stop | None = None, meanwhile: Callable[[], None] = lambda: None) -> Trace:
    """Fork, do the work in the child, and follow it until it ends.

    Parameters
    ----------
    work : callable
        Returns the exit status.
    stop : Stop, optional
        What happens at one of its calls.
    meanwhile : callable, optional
        What is done while it is paused there.

    Returns
    -------
    Trace
        What it did; with a stop at a later call than it makes, all of it.
    """
    child = os.fork()
    if child == 0:
        _begin(work)
    _, status = os.waitpid(child, 0)
    if not os.WIFSTOPPED(status):
        raise OSError(errno.EPERM, "the child cannot be followed")
    _ask(_SETOPTIONS, child, 0, _SYSGOOD | _TRACECLONE | _TRACEFORK | _TRACEVFORK | _KILL_AT_EXIT)
    return _Follower(child, stop, meanwhile).follow()


def _begin(work: Callable[[], int]) -> NoReturn:
    """Let the parent follow, then work."""
    status = 1
    try:
        _ask(_TRACEME, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        status = work()
    finally:
        os._exit(status)


class _Follower:
    """Follows one child with its threads."""

    def __init__(self, child: int, stop: Stop | None, meanwhile: Callable[[], None]) -> None:
        self.child = child
        self.stop = stop
        self.meanwhile = meanwhile
        self.trace = Trace()
        self.begun: dict[int, Call | None] = {child: None}
        self.failing: set[int] = set()
        self.memory = os.open(f"/proc/{child}/mem", os.O_RDONLY)  # of all its threads

    def follow(self) -> Trace:
        """Let it run from stop to stop."""
        _ask(_SYSCALL, self.child, 0, 0)
        try:
            while True:
                thread, status = os.waitpid(-1, _ALL)
                if thread == self.child and not os.WIFSTOPPED(status):
                    self.trace.status = os.waitstatus_to_exitcode(status)
                    return self.trace
                if os.WIFSTOPPED(status):
                    self._resume(thread, self._stopped(thread, status))
                elif thread not in self.begun:
                    self.trace.others[thread] = os.waitstatus_to_exitcode(status)
        finally:
            os.close(self.memory)

    def _stopped(self, thread: int, status: int) -> int:
        """Look at one stop and return the signal that is passed on."""
        reason = os.WSTOPSIG(status)
        if reason == _STOPPED_AT_CALL:
            return self._call(thread)
        is_event = status >> 16 != 0
        is_new = thread not in self.begun
        self.begun.setdefault(thread, None)
        return 0 if is_event or (is_new and reason == signal.SIGSTOP) else reason

    def _call(self, thread: int) -> int:
        """Look at the entry or the end of a call."""
        info = _Info()
        _ask(_GET_SYSCALL_INFO, thread, ctypes.sizeof(info), ctypes.addressof(info))
        if info.op == 1:
            return self._entry(thread, int(info.values[0]), tuple(int(each) for each in info.values[1:7]))
        call = self.begun.get(thread)
        self.begun[thread] = None
        if thread in self.failing:
            self.failing.discard(thread)
            assert self.stop is not None
            _set_register(thread, _RAX, -self.stop.error)
            if call is not None:
                call.result = -self.stop.error
        elif call is not None:
            call.result = struct.unpack("q", struct.pack("Q", info.values[0]))[0]
            if call.name == "getrandom":
                call.content = self._bytes(call.arguments[0], min(call.arguments[1], 64))
        return 0

    def _entry(self, thread: int, number: int, arguments: tuple[int, ...]) -> int:
        """Note a call, and stop at it if it is the one."""
        name = NAMES.get(number)
        call = None
        if name is not None:
            call = Call(name, arguments, self._paths(name, arguments), is_main=thread == self.child)
            if name in ("write", "pwrite64"):
                call.content = self._bytes(arguments[1], min(arguments[2], 64))
            self.trace.calls.append(call)
        self.begun[thread] = call
        stop = self.stop
        if stop is None or not _counts(stop, call, self.trace.made):
            return 0
        self.trace.made += 1
        if self.trace.made != stop.number:
            return 0
        if stop.act == "kill":
            os.kill(self.child, signal.SIGKILL)
        elif stop.act == "interrupt":
            os.kill(self.child, signal.SIGINT)
        elif stop.act == "pause":
            self.meanwhile()
        else:
            _set_register(thread, _ORIG_RAX, -1)
            self.failing.add(thread)
        return 0

    def _paths(self, name: str, arguments: tuple[int, ...]) -> tuple[str, ...]:
        """Return what files a call is about."""
        if name in ("getrandom", "mmap"):
            return ()
        if name not in _PATHS:
            return (self._link(f"fd/{arguments[0]}"),)
        folder = arguments[_FOLDERS[name]] & 0xFFFFFFFF if name in _FOLDERS else 0xFFFFFF9C
        base = "cwd" if folder == 0xFFFFFF9C else f"fd/{folder}"  # AT_FDCWD
        texts = [os.fsdecode(self._bytes(arguments[each], 4096).split(b"\0")[0]) for each in _PATHS[name]]
        return tuple(text if text.startswith("/") else os.path.join(self._link(base), text) for text in texts)

    def _link(self, name: str) -> str:
        """Return what a link of the child's in /proc points to."""
        try:
            return os.readlink(f"/proc/{self.child}/{name}")
        except OSError:
            return ""

    def _bytes(self, address: int, count: int) -> bytes:
        """Read the child's memory, up to the end of what is mapped."""
        try:
            return os.pread(self.memory, count, address)
        except (OSError, OverflowError):
            return b""

    @staticmethod
    def _resume(thread: int, passed_on: int) -> None:
        """Go on to the next stop; a thread that was killed meanwhile is gone."""
        try:
            _ask(_SYSCALL, thread, 0, passed_on)
        except ProcessLookupError:
            return


def _counts(stop: Stop, call: Call | None, made: int) -> bool:
    """Return whether a call is one of those that a stop counts, after so many others."""
    if made == 0 and stop.since and (call is None or os.path.basename(call.path) != stop.since):
        return False
    if stop.among == "all":
        return True
    if call is None or not call.changes:
        return False
    return stop.among == "changes" or call.is_of_file


def _set_register(thread: int, place: int, value: int) -> None:
    """Change one register of a stopped thread."""
    registers = (ctypes.c_uint64 * _REGISTERS)()
    _ask(_GETREGS, thread, 0, ctypes.addressof(registers))
    registers[place] = value & 0xFFFFFFFFFFFFFFFF
    _ask(_SETREGS, thread, 0, ctypes.addressof(registers))


def _ask(request: int, thread: int, address: int, data: int) -> int:
    """Make one request of ptrace."""
    result = int(_PTRACE(request, thread, address, data))
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


_PTRACE = ctypes.CDLL(None, use_errno=True).ptrace
_PTRACE.restype = ctypes.c_long
_PTRACE.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
