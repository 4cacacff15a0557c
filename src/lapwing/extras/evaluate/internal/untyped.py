"""Draft the schema of files and answers whose columns have no types: how they are written is guessed from all cells."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from lapwing.errors import DataError
from lapwing.extras.connect.tables.workbooks import ExcelFile
from lapwing.extras.evaluate.internal.layout import guess_layout, questions_of_rows
from lapwing.extras.evaluate.internal.tallies import CHUNK_ROWS, Tally, tally_cells
from lapwing.extras.evaluate.internal.written import ColumnGuess, rival
from lapwing.rows.cells import RawColumn
from lapwing.rows.entry import Source
from lapwing.rows.files import open_file
from lapwing.rows.formats import BEYOND, CsvFile
from lapwing.schema.fields import Field
from lapwing.schema.reading import PLAIN, PLAIN_FILE, Dialect
from lapwing.schema.schemas import Schema


def drafted_files(source: Source) -> tuple[Schema, dict[str, Tally]]:
    """Return the draft of files whose columns have no types, with how they and their cells seem to be written."""
    layout = guess_layout(source.files)
    files = [open_file(path, layout.dialect) for path in source.files]
    names = [name for name in files[0].names if name]
    plain = draft_of(tuple(Field(name=name, type="string") for name in dict.fromkeys(names)), layout.dialect)
    source.open(plain, names)  # refuses a file without some of the columns, or with two of a name

    def read(columns: Sequence[str]) -> Iterator[Mapping[str, RawColumn]]:
        for file in files:
            yield from file.chunks(columns, CHUNK_ROWS)

    beyond = [BEYOND] if all(isinstance(file, CsvFile | ExcelFile) for file in files) else []
    tallies = tally_cells(read, [*names, *beyond])
    drafted = guessed({name: tallies[name] for name in names}, layout.dialect)
    asked = (*layout.questions, *questions_of_rows(files, tallies, drafted.fields), *drafted.questions)
    return replace(drafted, questions=tuple(dict.fromkeys(asked))), tallies


def guessed(tallies: Mapping[str, Tally], dialect: Dialect = PLAIN_FILE) -> Schema:
    """Return the draft of columns without types."""
    guesses = {name: ColumnGuess() for name in tallies}
    for name, tally in tallies.items():
        for cells, _ in tally.parts:
            guesses[name].add(cells)
    has_comma = any(guess.has_comma for guess in guesses.values())
    found = {name: guess.written(has_comma=has_comma) for name, guess in guesses.items()}
    fields = tuple(
        Field(
            name=name,
            type=each.type,
            reading=each.reading,
            missing_values=("", *each.markers),
            provenance="drafted",
        )
        for name, each in found.items()
    )
    rivals = {each.name: rival(tallies[each.name].texts, each) for each in fields if each.reading != PLAIN}
    asked = tuple(f"{name}: {said}" for name, said in rivals.items() if said)
    return replace(draft_of(fields, dialect), questions=asked)


def draft_of(fields: tuple[Field, ...], dialect: Dialect = PLAIN_FILE) -> Schema:
    """Return a draft of fields, of which there must be one."""
    if not fields:
        raise DataError("the table has no column; give a table with at least one", code="LW110")
    return Schema(fields=fields, is_draft=True, dialect=dialect)
