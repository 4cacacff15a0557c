"""What extras give to the core: a table of import paths, each loaded when it is used, as the core imports no extra.

>>> extra("audit command").__name__
'audit'
"""

from importlib import import_module  # noqa: TID251 - the one place where what is imported is a name in a table
from typing import Any, Final

PATHS: Final = {
    "audit command": "lapwing.extras.audit.commands.audit:audit",
    "studio command": "lapwing.extras.studio.commands.studio:studio",
}


def extra(name: str) -> Any:  # noqa: ANN401 - the core knows no type of an extra
    """Return what stands in the table by this name."""
    module, _, attribute = PATHS[name].partition(":")
    return getattr(import_module(module), attribute)
