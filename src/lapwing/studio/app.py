"""The studio as an application: its rooms behind its guard."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from lapwing.errors import LapwingError
from lapwing.studio.guard import Guard
from lapwing.studio.pages import Studio, refused
from lapwing.studio.rooms import (
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
    table,
    written,
)

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Scope

_ASSETS: Final = Path(__file__).resolve().parent / "assets"
ROUTES: Final = tuple(
    route
    for room in (table, schema, column, written, buy, check, plan, budget, release, look, hand_over, received)
    for route in room.ROUTES
)


def make_app(studio: Studio, port: int, *, is_own: "Callable[[Scope], bool]" = lambda _: True) -> "ASGIApp":
    """Return the application that serves a studio on a port of this machine.

    is_own: tells whether a request comes from the user of this process.
    """
    app = Starlette(
        routes=[*ROUTES, Mount("/assets", StaticFiles(directory=_ASSETS))],
        exception_handlers={HTTPException: refused, LapwingError: refused},
    )
    app.state.studio = studio
    # Outside of Starlette's own middleware, which hands on what it does not know to the server's log.
    return Guard(app, studio.keys, port, is_own)
