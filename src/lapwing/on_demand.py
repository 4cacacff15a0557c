"""What is loaded when it is used: a table of import paths.

The core imports no extra, and a class of a lower folder imports no higher one that has a method of it.

>>> extra("audit command").__name__
'audit'
"""

from collections.abc import Callable
from importlib import import_module  # noqa: TID251 - the one place where what is imported is a name in a table
from types import MethodType
from typing import Any, Final

PATHS: Final = {
    "Spark rows": "lapwing.extras.spark.rows",
    "Spark source": "lapwing.extras.spark.source",
    "Spark": "lapwing.extras.spark.frames",
    "audit command": "lapwing.extras.audit.commands.audit:audit",
    "card": "lapwing.present.cards:card",
    "certificate command": "lapwing.extras.office.commands.certificate:certificate_app",
    "check command": "lapwing.extras.evaluate.commands.schema:check",
    "check": "lapwing.api.schemas:check",
    "convert command": "lapwing.extras.connect.commands.convert:convert",
    "croissant of tables": "lapwing.extras.connect.croissant.linked",
    "croissant": "lapwing.extras.connect.croissant.written",
    "databases": "lapwing.extras.connect.tables.databases",
    "draft command": "lapwing.extras.evaluate.commands.schema:draft",
    "draft": "lapwing.api.schemas:draft",
    "evaluate command": "lapwing.extras.evaluate.commands.evaluate:evaluate",
    "from_foreign": "lapwing.api.schemas:from_foreign",
    "from_frame": "lapwing.release.runs.public_tables:public_table_of",
    "from_frame_types": "lapwing.api.schemas:from_frame_types",
    "verdict_short": "lapwing.present.certificates:verdict_short",
    "learn": "lapwing.api.learn:learn",
    "ledgers in Postgres": "lapwing.extras.office.stores.postgres",
    "linked tables": "lapwing.schema.linked.database:linked_from",
    "looks": "lapwing.extras.evaluate.internal.looks",
    "made-up values": "lapwing.extras.names.made_up",
    "metadata": "lapwing.extras.connect.metadata.reading",
    "page": "lapwing.extras.evaluate.report.page",
    "plots": "lapwing.extras.evaluate.report.plots",
    "policy": "lapwing.extras.office.policy",
    "protected rows": "lapwing.present.promises:protected_rows",
    "protected": "lapwing.present.certificates:protected_text",
    "report": "lapwing.extras.evaluate.released.report",
    "report command": "lapwing.extras.evaluate.commands.report:report",
    "report of tables": "lapwing.extras.evaluate.released.linked",
    "schemas": "lapwing.extras.evaluate.internal.schemas",
    "start command": "lapwing.extras.evaluate.commands.start:start",
    "statistics files": "lapwing.extras.connect.tables.statistics",
    "statistics rows": "lapwing.extras.connect.tables.statistics_out",
    "studio command": "lapwing.extras.studio.commands.studio:studio",
    "text": "lapwing.present.shown:text",
    "workbooks": "lapwing.extras.connect.tables.workbooks",
}
"""What the core calls it: the module of an extra, or what stands in it."""


def extra(name: str) -> Any:  # noqa: ANN401 - the core knows no type of an extra
    """Return what stands in the table by this name."""
    return load_object(PATHS[name])


def load_object(path: str) -> Any:  # noqa: ANN401 - likewise
    """Return a module, or what stands in one behind a colon."""
    module, _, attribute = path.partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found


class LazyFunction:
    """A function of a class that stands in the table; is_method: whether it takes the object that it is called on."""

    def __init__(self, name: str, *, is_method: bool = False) -> None:
        self._name, self._is_method = name, is_method

    def __get__(self, found: object, owner: type) -> Callable[..., Any]:
        function: Callable[..., Any] = extra(self._name)
        return function if found is None or not self._is_method else MethodType(function, found)


class Describable:
    """An object that documents have words for."""

    __slots__ = ()

    def _in_words(self, what: str) -> Any:  # noqa: ANN401 - a text, or several
        """Return what documents say of it."""
        return extra(what)(self)


class Displayable(Describable):
    """An object that is shown as a document: by notebooks as a card, in a terminal as text."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return the card."""
        card: str = extra("card")(self)
        return card

    def _repr_mimebundle_(self, **_asked: object) -> dict[str, str]:
        """Return both forms, for notebooks that ask for all at once."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
