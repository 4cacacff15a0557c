"""The room: schema."""

from typing import Final

from starlette.routing import BaseRoute

ROUTES: Final[tuple[BaseRoute, ...]] = ()
