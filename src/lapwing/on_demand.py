"""What extras give to the core: a table of import paths, each loaded when it is used, as the core imports no extra.

>>> extra("audit command").__name__
'audit'
"""

from importlib import import_module  # noqa: TID251 - the one place where what is imported is a name in a table
from typing import Any, Final

PATHS: Final = {
    "Spark": "lapwing.extras.spark.frames",
    "Spark source": "lapwing.extras.spark.source",
    "Spark rows": "lapwing.extras.spark.rows",
    "audit command": "lapwing.extras.audit.commands.audit:audit",
    "certificate command": "lapwing.extras.office.commands.certificate:certificate_app",
    "check command": "lapwing.extras.evaluate.commands.schema:check",
    "convert command": "lapwing.extras.connect.commands.convert:convert",
    "croissant of tables": "lapwing.extras.connect.croissant.linked",
    "croissant": "lapwing.extras.connect.croissant.written",
    "databases": "lapwing.extras.connect.tables.databases",
    "draft command": "lapwing.extras.evaluate.commands.schema:draft",
    "evaluate command": "lapwing.extras.evaluate.commands.evaluate:evaluate",
    "evaluate": "lapwing.extras.evaluate.verb:evaluate",
    "ledgers in Postgres": "lapwing.extras.office.stores.postgres",
    "looks": "lapwing.extras.evaluate.internal.looks",
    "metadata": "lapwing.extras.connect.metadata.reading",
    "policy": "lapwing.extras.office.policy",
    "schemas": "lapwing.extras.evaluate.internal.schemas",
    "start command": "lapwing.extras.evaluate.commands.start:start",
    "statistics files": "lapwing.extras.connect.tables.statistics",
    "studio command": "lapwing.extras.studio.commands.studio:studio",
    "workbooks": "lapwing.extras.connect.tables.workbooks",
}
"""What the core calls it: the module of an extra, or what stands in it."""


def extra(name: str) -> Any:  # noqa: ANN401 - the core knows no type of an extra
    """Return what stands in the table by this name."""
    module, _, attribute = PATHS[name].partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
