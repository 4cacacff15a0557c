"""Check private cells before a release (`--check`): refuse a table that does not parse, and say what may cure it.

Internal: whether a table is refused depends on its cells, exactly. Nothing of it leaves the owner's machine.
"""

import os
from collections.abc import Sequence

from lapwing.errors import DataError
from lapwing.internal.schemas import FieldFit, check_table
from lapwing.internal.written import guess_dialect
from lapwing.rows.elsewhere import addresses
from lapwing.rows.files import find_files, open_file
from lapwing.rows.guard import private_boundary
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema


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


def remarks(fits: Sequence[FieldFit], schema: Schema, file_cure: str = "") -> list[str]:
    """Return one line for each column with misfits that can be cured, or most of whose cells fit nothing."""
    found = [file_cure] if file_cure and any(fit.misfit for fit in fits) else []
    for fit in fits:
        there = fit.cells - fit.missing
        if fit.cure or 2 * fit.misfit > there:
            hint = "spelling or case?" if schema.field(fit.name).is_categorical else "format?"
            found.append(f"{fit.name}: {fit.misfit} of {there} cells {misfit(schema, fit)}; {fit.cure or hint}")
        if 2 * fit.unlisted > there:
            unlisted = quote(schema.field(fit.name).unlisted)
            found.append(f"{fit.name}: {fit.unlisted} of {there} cells are not listed and go to {unlisted}")
    return found


def file_cure(data: object, schema: Schema) -> str:
    """Return what to write in the schema where a text file is not in the encoding that it is read in."""
    if schema.dialect.encoding is not None or not isinstance(data, str | os.PathLike) or addresses([data]):
        return ""
    path = find_files(data)[0]
    separator = getattr(open_file(path, schema.dialect), "separator", None)
    encoding = None if separator is None else guess_dialect(path, separator).encoding
    return "" if encoding is None else f'the file is not UTF-8: write "encoding": "{encoding}" in the schema\'s dialect'
