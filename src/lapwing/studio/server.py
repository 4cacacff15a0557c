"""Serving a studio: on loopback, until Ctrl-C."""

import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import uvicorn

from lapwing.errors import ParameterError
from lapwing.studio.app import make_app
from lapwing.studio.pages import Studio

_LOOPBACK: Final = "127.0.0.1"
_PATIENCE: Final = 10.0
"""Seconds that work has to end in, once the studio is closed."""


def serve(place: Path, *, port: int, opens: bool, say: Callable[[str], None]) -> None:
    """Serve a studio until it is ended.

    place: its working folder, or a table in it, which is chosen; port: 0 for any that is free; opens: whether a browser
    is opened; say: is told the address.
    """
    studio = Studio(place if place.is_dir() else place.parent, "" if place.is_dir() else place.name)
    with _listening(port) as listener:
        found = listener.getsockname()[1]
        config = uvicorn.Config(
            make_app(studio, found),
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            lifespan="off",
            http="h11",
            ws="none",
            timeout_graceful_shutdown=1,
        )
        address = f"http://{_LOOPBACK}:{found}/?token={studio.keys.token}"
        say(address)
        if opens:
            webbrowser.open(address)
        try:
            with suppress(KeyboardInterrupt):  # how it is closed, and no failure of it
                uvicorn.Server(config).run(sockets=[listener])
        finally:
            studio.works.end_all(_PATIENCE)


def _listening(port: int) -> socket.socket:
    """Return a socket on loopback."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_LOOPBACK, port))
    except (OSError, OverflowError):
        listener.close()
    else:
        listener.listen()
        return listener
    raise ParameterError(f"port {port} cannot be used; leave --port out, and any free one is taken", code="LW316")
