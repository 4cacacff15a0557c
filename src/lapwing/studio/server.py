"""Serving a studio: on loopback, until Ctrl-C."""

import contextlib
import os
import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Final

import uvicorn

from lapwing.errors import ParameterError
from lapwing.studio.app import make_app, rooms
from lapwing.studio.pages import Studio
from lapwing.studio.peers import own_user_only
from lapwing.studio.rooms.table import clear

_LOOPBACK: Final = "127.0.0.1"
_PATIENCE: Final = 10.0
"""Seconds that work has to end in, once the studio is closed."""
_FIRST_PAGE: Final = 1.0
"""Seconds after which the other rooms are made ready."""
_OWNER_ONLY: Final = 0o077
"""Others may do nothing with what a studio writes: uploads are private, the rest is the owner's to hand over."""


def serve(place: Path, *, port: int, opens: bool, say: Callable[[str], None]) -> None:
    """Serve a studio until it is ended.

    place: its working folder, or a table in it, which is chosen; port: 0 for any that is free; opens: whether a browser
    is opened; say: is told the address.
    """
    os.umask(_OWNER_ONLY)
    studio = Studio(place if place.is_dir() else place.parent, "" if place.is_dir() else place.name)
    clear(studio.folder)
    with _listening(port) as listener:
        found = listener.getsockname()[1]
        config = uvicorn.Config(
            make_app(studio, found, is_own=own_user_only(found)),
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,  # nobody else says where a request comes from
            date_header=False,
            lifespan="off",
            http="h11",
            ws="none",
            timeout_graceful_shutdown=1,
        )
        address = f"http://{_LOOPBACK}:{found}/?token={studio.keys.token}"
        say(address)
        _soon(rooms)
        if opens:
            webbrowser.open(address)
        try:
            with contextlib.suppress(KeyboardInterrupt):  # how a studio ends
                uvicorn.Server(config).run(sockets=[listener])
        finally:
            studio.works.end_all(_PATIENCE)


def _soon(do: Callable[[], object]) -> None:
    """Do something in a thread, once the first page had its time."""
    timer = threading.Timer(_FIRST_PAGE, do)
    timer.daemon = True
    timer.start()


def _listening(port: int) -> socket.socket:
    """Return a socket on loopback."""
    listener = socket.socket()
    if os.name == "posix":  # elsewhere, it lets another program take the same port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_LOOPBACK, port))
    except (OSError, OverflowError):
        listener.close()
    else:
        listener.listen()
        return listener
    raise ParameterError(f"port {port} cannot be used; leave --port out, and any free one is taken", code="LW316")
