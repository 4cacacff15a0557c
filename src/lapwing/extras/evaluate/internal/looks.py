"""Check private cells before a release (`--check`): refuse a table that does not parse, and say what may cure it.

Internal: whether a table is refused depends on its cells, exactly. Nothing of it leaves the owner's machine.
"""

from collections.abc import Sequence
from functools import partial

from lapwing.errors import DataError
from lapwing.extras.connect.tables.workbooks import ExcelFile
from lapwing.extras.evaluate.internal.layout import guess_encoding, questions_of_rows
from lapwing.extras.evaluate.internal.schemas import FieldFit, check_table
from lapwing.extras.evaluate.internal.tallies import CHUNK_ROWS, tally_cells
from lapwing.extras.evaluate.words import say
from lapwing.rows.entry import private_boundary, source_of
from lapwing.rows.files import open_file
from lapwing.rows.formats import BEYOND, CsvFile
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
        way_out = worst.cure or file_cure(data, schema) or say("looks.correct")
        raise DataError(
            f"internal: more than {most:.0%} of the cells of column {quote(worst.name)}{more} {misfit(schema, worst)}; "
            f"{way_out}; nothing was spent",
            code="LW117",
        )


@private_boundary
def faults(data: object, schema: Schema, most: float) -> dict[str, str]:
    """Return what is wrong with the columns of which more than a share of cells do not fit, by their names."""
    fits = [fit for fit in check_table(data, schema).value if fit.share > most]
    return {fit.name: _fault(schema, fit) for fit in fits}


def _fault(schema: Schema, fit: FieldFit) -> str:
    """Say how many cells of a column do not fit, and what may cure it."""
    hint = say("looks.spelling") if schema.field(fit.name).is_categorical else say("looks.format")
    return say(
        "looks.misfit",
        column=fit.name,
        bad=fit.misfit,
        cells=fit.cells - fit.missing,
        what=misfit(schema, fit),
        hint=fit.cure or hint,
    )


def misfit(schema: Schema, fit: FieldFit) -> str:
    """Say what the misfits of a column are not."""
    field = schema.field(fit.name)
    return say("looks.no_category") if field.is_categorical else say("looks.no_type", type=field.type)


def remarks(fits: Sequence[FieldFit], schema: Schema, data: object) -> list[str]:
    """Return what a file leaves to ask, and a line for each column with misfits that can be cured, or too many."""
    cure = file_cure(data, schema) if any(fit.misfit for fit in fits) else ""
    found = [*filter(None, [cure]), *_questions(data, schema)]
    for fit in fits:
        there = fit.cells - fit.missing
        if fit.cure or 2 * fit.misfit > there:
            found.append(_fault(schema, fit))
        if 2 * fit.unlisted > there:
            unlisted = quote(schema.field(fit.name).unlisted)
            found.append(say("looks.unlisted", column=fit.name, cells=fit.unlisted, all=there, unlisted=unlisted))
    return found


def file_cure(data: object, schema: Schema) -> str:
    """Return what to write in the schema where a text file is not in the encoding that it is read in."""
    files = [] if schema.dialect.encoding is not None else _laid_out(data, schema)[:1]
    encoding = next((guess_encoding(file.path) for file in files if isinstance(file, CsvFile)), None)
    return "" if encoding is None else say("looks.encoding", encoding=encoding)


def _questions(data: object, schema: Schema) -> tuple[str, ...]:
    """Return what is asked of rows that are longer or shorter than the line of names."""
    asked: list[str] = []
    for file in _laid_out(data, schema):
        tallies = tally_cells(partial(file.chunks, rows=CHUNK_ROWS), [*file.names[-1:], BEYOND])
        asked += questions_of_rows([file], tallies, ())
    return tuple(dict.fromkeys(asked))


def _laid_out(data: object, schema: Schema) -> "list[CsvFile | ExcelFile]":
    """Return the files of a table, if they are text or workbooks."""
    names = schema.dialect.names or schema.names
    files = [open_file(path, schema.dialect, names) for path in source_of(data).files]
    known = [file for file in files if isinstance(file, CsvFile | ExcelFile)]
    return known if known == files else []
