"""The room: hand_over."""

from typing import Final

from starlette.routing import BaseRoute

ROUTES: Final[tuple[BaseRoute, ...]] = ()
