"""Make the system calls of SQLite fail inside this process, as a full disk or a network drive would."""

import _sqlite3
import ctypes
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_LOCK_COMMANDS = (5, 6, 7)  # F_GETLK, F_SETLK, F_SETLKW on Linux
_SLOTS_BEFORE = ("version", "file", "path")
_POINTERS = 15
"""Pointers of `sqlite3_vfs` between its three numbers and xCurrentTimeInt64: next, name, data and twelve methods."""


class _Vfs(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int) for name in _SLOTS_BEFORE),
        ("pointers", ctypes.c_void_p * _POINTERS),
        ("time", ctypes.c_void_p),
        ("set_call", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)),
        ("get_call", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)),
    )


_Write = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, use_errno=True
)
_Control = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, use_errno=True)


def _vfs() -> tuple[int, "_Vfs"]:
    """Return SQLite's file system as Python uses it, or skip the test."""
    if not hasattr(_sqlite3, "__file__") or os.uname().sysname != "Linux" or os.uname().machine != "x86_64":
        pytest.skip("SQLite cannot be reached from here: it is built into the interpreter, or this is not Linux")
    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = ctypes.c_void_p
    address = library.sqlite3_vfs_find(None)
    found = ctypes.cast(address, ctypes.POINTER(_Vfs)).contents
    assert found.version >= 3
    return address, found


@contextmanager
def _replaced(name: bytes, call: object) -> Iterator[None]:
    address, vfs = _vfs()
    if vfs.get_call(address, name) is None:
        pytest.skip(f"this SQLite has no call {name.decode()}")
    assert vfs.set_call(address, name, ctypes.cast(call, ctypes.c_void_p)) == 0
    try:
        yield
    finally:
        assert vfs.set_call(address, name, None) == 0


@contextmanager
def failing_writes(after: int, number: int) -> Iterator[list[int]]:
    """Let SQLite write ``after`` times, then fail each write; yields how often it wrote or tried to."""
    tried = [0]

    def write(file: int, data: int, size: int, offset: int) -> int:
        tried[0] += 1
        if tried[0] <= after:
            return os.pwrite(file, ctypes.string_at(data, size), offset)
        ctypes.set_errno(number)
        return -1

    with _replaced(b"pwrite64", _Write(write)):
        yield tried


@contextmanager
def failing_locks(number: int = errno.ENOLCK) -> Iterator[None]:
    """Fail each lock that SQLite asks for, as network drives without a lock service do."""
    libc = ctypes.CDLL(None, use_errno=True)

    def control(file: int, command: int, argument: int) -> int:
        if command in _LOCK_COMMANDS:
            ctypes.set_errno(number)
            return -1
        return libc.fcntl(file, command, ctypes.c_void_p(argument))

    with _replaced(b"fcntl", _Control(control)):
        yield
