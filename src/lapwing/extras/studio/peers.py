"""Who is at the other end of a connection from this machine: the user who started the studio, or another one.

A browser sends a cookie to every port of a host. So the server of another user, at another port, could learn the token
from the owner's own browser; and the token may show in the arguments of the browser that is opened. Linux tells whose a
connection is, so neither is of use there. Other systems do not tell: there the token alone must do.
"""

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

_TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOOPBACK: Final = "127.0.0.1"


def own_user_only(port: int) -> Callable[[object], bool]:
    """Return what tells whether a connection is of the user of this process; of all, where the system does not tell.

    It is asked for the address of the other end. port: of this machine, which this process listens on.
    """
    if not _owners(f"{_hex(_LOOPBACK)}:{port:04X}", ":0000"):
        return lambda _: True

    def is_own(client: object) -> bool:
        if not isinstance(client, tuple):
            return False  # it ended before it was looked at
        host, number = client
        found = _owners(f"{_hex(host)}:{number:04X}", f"{_hex(_LOOPBACK)}:{port:04X}")
        return bool(found) and all(each in (os.getuid(), 0) for each in found)

    return is_own


def _hex(host: str) -> str:
    """Return an address of version 4 as the system's tables write it, in the machine's own order of bytes."""
    return f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}"


def _owners(here: str, there: str) -> list[int]:
    """Return the users who hold a connection between two ends; one that was let go has no owner any more.

    A connection stands in one of the tables, and reading one takes milliseconds.
    """
    for table in _TABLES:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        rows = [line.split() for line in lines]
        found = [int(row[7]) for row in rows if row[1].endswith(here) and row[2].endswith(there) and row[9] != "0"]
        if found:
            return found
    return []
