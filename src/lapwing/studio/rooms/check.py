"""The room: check."""

from typing import Final

from starlette.routing import BaseRoute

ROUTES: Final[tuple[BaseRoute, ...]] = ()
