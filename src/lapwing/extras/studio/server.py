"""Serving a studio: on loopback, until Ctrl-C."""

import asyncio
import contextlib
import errno
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from lapwing.errors import ParameterError
from lapwing.extras.studio.app import make_app, rooms
from lapwing.extras.studio.pages import Studio
from lapwing.extras.studio.peers import own_user_only
from lapwing.extras.studio.rooms.table import clear

_LOOPBACK: Final = "127.0.0.1"
_PATIENCE: Final = 10.0
"""Seconds that work has to end in, once the studio is closed."""
_FIRST_PAGE: Final = 1.0
"""Seconds after which the other rooms are made ready."""
_HEAD: Final = 5.0
"""Seconds for the head of a request, and between two of a connection."""
_MOST: Final = 32
"""Connections at a time; a browser opens six. One more ends one that has asked for nothing yet."""
_MOST_BUSY: Final = 512
_OWNER_ONLY: Final = 0o077
"""Others may do nothing with what a studio writes: uploads are private, the rest is the owner's to hand over."""


class _Connection(H11Protocol):
    """One connection: of the user of this process, and not for long without a request.

    Whoever only opens connections takes descriptors, of which a process has few.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - uvicorn's
        super().__init__(*args, **kwargs)
        app: Any = self.config.loaded_app
        self._is_own: Callable[[tuple[str, int] | None], bool] = app.is_own
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, or end at once what another user of this machine opened."""
        super().connection_made(transport)
        if not self._is_own(self.client):
            transport.abort()
        elif len(self.connections) > _MOST:
            others = (each for each in self.connections if isinstance(each, _Connection) and each is not self)
            any(each.end_if_idle() for each in others)
        self._wait()

    def on_response_complete(self) -> None:
        """Wait for the head of another request, not longer than for the first."""
        super().on_response_complete()
        self._wait()

    def _wait(self) -> None:
        if self._late is not None:
            self._late.cancel()
        self._late = self.loop.call_later(_HEAD, self.end_if_idle)

    def end_if_idle(self) -> bool:
        """End a connection on which no request is answered or sent in parts; return whether it was one."""
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and not self.transport.get_write_buffer_size():
            self.transport.abort()
        return is_idle


class _Server(uvicorn.Server):
    """A server that says each fault of the loop once: of descriptors that ran out there are thousands a second."""

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until the end."""
        said: set[str] = set()

        def tell(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            error = context.get("exception")
            what = f"unexpected {type(error).__name__} of a connection"  # no text, which could hold what was sent
            if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
                what = "too many open files; others wait until one is closed"
            if what not in said:
                said.add(what)
                sys.stderr.write(f"lapwing: {what}\n")

        asyncio.get_running_loop().set_exception_handler(tell)
        await super().serve(sockets)


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
            http=_Connection,
            backlog=_MOST,
            limit_concurrency=_MOST_BUSY,
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
                _Server(config).run(sockets=[listener])
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
