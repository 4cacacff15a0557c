"""Draft the schema of files and answers whose columns have no types: how they are written is guessed from all cells."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from lapwing.errors import DataError
from lapwing.extras.connect.tables.workbooks import ExcelFile
from lapwing.extras.evaluate.internal.layout import ends_in_no_row, guess_layout, questions_of_rows
from lapwing.extras.evaluate.internal.tallies import CHUNK_ROWS, Tally, tally_cells
from lapwing.extras.evaluate.internal.written import ColumnGuess, rival
from lapwing.extras.evaluate.words import say
from lapwing.rows.cells import Texts
from lapwing.rows.entry import Source
from lapwing.rows.files import open_file
from lapwing.rows.formats import BEYOND, CsvFile
from lapwing.schema.fields import Field
from lapwing.schema.reading import PLAIN, PLAIN_FILE, Dialect
from lapwing.schema.schemas import Schema

SPELLED: Final = ("trim", "ignore_case")
"""What a draft says of all cells of a file, and asks, as `layout.KEY`."""

_MOST_FOOTERS: Final = 5
_MOST_LISTED: Final = 2**17  # texts of a list
_SELDOM: Final = 0.01  # of the rows: for so few texts the case of all others is not given up
_REPEATED: Final = 0.5  # of the rows: so many different texts are a list at most


def drafted_files(source: Source) -> tuple[Schema, dict[str, Tally]]:
    """Return the draft of files whose columns have no types, with how they and their cells seem to be written."""
    layout = guess_layout(source.files)
    found, footer = _tallied(source, layout.dialect), 0
    while found.ends_in_no_row and footer < _MOST_FOOTERS:
        footer += 1
        found = _tallied(source, replace(layout.dialect, skip_footer=footer))
    fields, tallies = found.drafted.fields, found.tallies
    spelled = replace(
        found.drafted.dialect,
        trim=any(_is_spaced(tally.texts) for tally in tallies.values()),
        ignore_case=any(_has_cases(tallies[field.name]) for field in fields if field.type == "string"),
    )
    if spelled != found.drafted.dialect:
        found = _tallied(source, spelled, fields)
    asked = [say("layout.footer", rows=footer)] if footer else []
    asked += [say(f"layout.{key}") for key in SPELLED if getattr(spelled, key)]
    questions = dict.fromkeys((*layout.questions, *asked, *found.questions, *found.drafted.questions))
    return replace(found.drafted, questions=tuple(questions)), found.tallies


@dataclass(frozen=True, slots=True, repr=False)
class _Tallied:
    """What files look like in a dialect: their draft, how often each cell occurs, and what their rows leave to ask."""

    drafted: Schema
    tallies: dict[str, Tally]
    questions: tuple[str, ...]
    ends_in_no_row: bool


def _tallied(source: Source, dialect: Dialect, fields: tuple[Field, ...] = ()) -> _Tallied:
    """Look at files as they are written in a dialect.

    fields: what is known of the columns, so that cells are read as these say; texts where nothing is.
    """
    files = [open_file(path, dialect) for path in source.files]
    names = [name for name in files[0].names if name]
    plain = draft_of(fields or tuple(Field(name=name, type="string") for name in dict.fromkeys(names)), dialect)
    reader = source.open(plain, names)  # refuses a file without some of the columns, or with two of a name
    beyond = [BEYOND] if all(isinstance(file, CsvFile | ExcelFile) for file in files) else []
    tallies = tally_cells(lambda columns: reader.chunks(columns, CHUNK_ROWS), [*names, *beyond])
    drafted = guessed({name: tallies[name] for name in names}, dialect)
    ends = len(files) == 1 and bool(beyond) and ends_in_no_row(files[0], tallies, drafted.fields)
    return _Tallied(drafted, tallies, questions_of_rows(files, tallies, drafted.fields), ends)


def _is_spaced(texts: pl.Series) -> bool:
    return bool((texts != texts.str.strip_chars()).any())


def _has_cases(tally: Tally) -> bool:
    """Tell whether more than a few texts of a list differ from others in case alone; names of rows may, and mean it."""
    found = [
        pl.DataFrame({"text": cells.values.str.strip_chars(), "count": counts})
        for cells, counts in tally.parts
        if isinstance(cells, Texts)
    ]
    if not found:
        return False
    texts = pl.concat(found).drop_nulls().group_by("text").agg(pl.col("count").sum())
    if len(texts) > min(_MOST_LISTED, _REPEATED * tally.rows):
        return False
    alike = texts.group_by(pl.col("text").str.to_lowercase()).agg(rest=pl.col("count").sum() - pl.col("count").max())
    return int(alike["rest"].sum()) > _SELDOM * tally.rows


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
