"""Look at private cells before a release: refuse a table that does not parse, and know which tables were looked at.

Internal: whether a table is refused depends on its cells, exactly. Nothing of it leaves the owner's machine.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from lapwing.errors import DataError
from lapwing.internal.schemas import FieldFit, check_table
from lapwing.internal.written import guess_dialect
from lapwing.rows.elsewhere import addresses
from lapwing.rows.files import find_files, open_file
from lapwing.rows.guard import private_boundary
from lapwing.schema.linked import LinkedSchema
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

_MOST_KEPT: Final = 1000


@private_boundary
def refuse_misfits(data: object, schema: Schema, most: float) -> None:
    """Refuse a table of which a column has more than a share of cells that do not fit, before anything is spent.

    most: from 0 to 1, of the cells that are not missing.

    Raises
    ------
    DataError
        Names the column, the share that is allowed and what may cure it, and no cell.
    """
    bad = [fit for fit in check_table(data, schema).value if fit.share > most]
    if bad:
        worst = max(bad, key=lambda fit: fit.share)
        more = f" (and {len(bad) - 1} more columns)" if len(bad) > 1 else ""
        way_out = worst.cure or file_cure(data, schema) or "correct its field or the table"
        raise DataError(
            f"internal: more than {most:.0%} of the cells of column {quote(worst.name)}{more} {misfit(schema, worst)}; "
            f"{way_out}; nothing was spent",
            code="LW117",
        )


def misfit(schema: Schema, fit: FieldFit) -> str:
    """Say what the misfits of a column are not."""
    field = schema.field(fit.name)
    return "are no category of its list" if field.is_categorical else f"are no {field.type}"


def file_cure(data: object, schema: Schema) -> str:
    """Return what to write in the schema where a text file is not in the encoding that it is read in."""
    if schema.dialect.encoding is not None or not isinstance(data, str | os.PathLike) or addresses([data]):
        return ""
    path = find_files(data)[0]
    separator = getattr(open_file(path, schema.dialect), "separator", None)
    encoding = None if separator is None else guess_dialect(path, separator).encoding
    return "" if encoding is None else f'the file is not UTF-8: write "encoding": "{encoding}" in the schema\'s dialect'


# -- Which tables were looked at. Digests of public things: the schema, paths and the times of their last change.


def remember(data: Sequence[object], schema: Schema | LinkedSchema) -> None:
    """Note that tables were looked at under a schema; where no note can be kept, none is."""
    place, found = _place(), _digest(data, schema)
    if found is None:
        return
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        kept = _kept(place)
        place.write_text("\n".join([*kept[-_MOST_KEPT:], found]) + "\n")


def is_remembered(data: Sequence[object], schema: Schema | LinkedSchema) -> bool:
    """Tell whether tables, as they are now, were looked at under a schema."""
    found = _digest(data, schema)
    return found is not None and found in _kept(_place())


def _kept(place: Path) -> list[str]:
    try:
        return place.read_text().split()
    except OSError:
        return []


def _place() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "lapwing" / "looked-at"


def _digest(data: Sequence[object], schema: Schema | LinkedSchema) -> str | None:
    """Return what names tables as they are now under a schema; None for tables that are no files."""
    if not all(isinstance(each, str | os.PathLike) and not addresses([each]) for each in data):
        return None
    try:
        stamps = [
            (str(path.resolve()), path.stat().st_mtime_ns)
            for each in data
            for path in find_files(each)  # type: ignore[arg-type]
        ]
    except OSError:
        return None
    described = json.dumps(schema.to_dict(), sort_keys=True)
    return hashlib.sha256(repr((described, stamps)).encode()).hexdigest()
