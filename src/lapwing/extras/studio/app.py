"""The studio as an application: its rooms behind its guard."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from lapwing.errors import LapwingError
from lapwing.extras.studio.guard import Guard
from lapwing.extras.studio.pages import Studio, refusal_page
from lapwing.extras.studio.rooms import table
from lapwing.present.html import style_of

_ASSETS: Final = Path(__file__).resolve().parent / "assets"


@cache
def rooms() -> Router:
    """Return the rooms after the first, whose modules take half a second to import: done once, and when needed."""
    from lapwing.extras.studio.rooms import (  # noqa: PLC0415
        budget,
        buy,
        check,
        column,
        hand_over,
        look,
        plan,
        received,
        release,
        schema,
        written,
    )

    modules = (schema, column, written, buy, check, plan, budget, release, look, hand_over, received)
    return Router([route for room in modules for route in room.ROUTES])


async def _elsewhere(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer for every room but the first."""
    await (await run_in_threadpool(rooms))(scope, receive, send)


def _core(_: Request) -> Response:
    """Return the style sheet of all pages."""
    return Response(style_of("core.css"), media_type="text/css")


def make_app(studio: Studio, port: int, *, is_own: Callable[[object], bool] = lambda _: True) -> ASGIApp:
    """Return the application that serves a studio on a port of this machine.

    is_own: tells by the address of its other end whether a connection is of the user of this process.
    """
    app = Starlette(
        routes=[
            *table.ROUTES,
            Route("/assets/core.css", _core),
            Mount("/assets", StaticFiles(directory=_ASSETS)),
            Mount("/", _elsewhere),
        ],
        exception_handlers={HTTPException: refusal_page, LapwingError: refusal_page, OSError: refusal_page},
    )
    app.state.studio = studio
    # Outside of Starlette's own middleware, which hands on what it does not know to the server's log.
    return Guard(app, studio.keys, port, is_own)
