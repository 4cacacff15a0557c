"""What is proposed of a column names no value of its cells but those of public lists, and is taken as an answer."""

import datetime as dt
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.extras.evaluate.answers import described_field, proposed_schema
from lapwing.extras.evaluate.internal.shapes import USUAL_CODES
from lapwing.extras.evaluate.internal.suggestions import look
from lapwing.extras.evaluate.internal.written import USUAL_MARKERS
from lapwing.schema.catalogue import catalogue

GRAMMAR = (
    r"learn|drop|id|0\.\.|\.\.TODAY|type \w+|decimalChar [.,]|groupChar (?:[.,']|space)|unit|step (?:1|0\.0*1|1e-0[56])"
)
FORMAT = r"format [%A-Za-z./: ,-]+"
LISTS = r"0, 1|1, 2|ja, nein|Yes, No"

CELLS = {
    "secret": st.sampled_from(["Ann Lee", "Zoe", "Bo", "x-9", "7b"]),
    "number": st.integers(-50, 5000).map(str),
    "real": st.floats(0.01, 90, allow_nan=False).map(lambda x: f"{x:.2f}"),
    "comma": st.floats(0.01, 90, allow_nan=False).map(lambda x: f"{x:.1f}".replace(".", ",")),
    "flag": st.sampled_from(["0", "1"]),
    "answer": st.sampled_from(["ja", "nein", "Ja ", "NEIN"]),
    "day": st.dates(dt.date(1990, 1, 1), dt.date(2020, 1, 1)).map(lambda day: day.strftime("%d.%m.%Y")),
    "weight": st.integers(40, 120).map("{} kg".format),
    "space": st.integers(1000, 9000).map(lambda x: f"{x:,}".replace(",", " ")),
}
CODES = st.sampled_from(["", "k.A.", "NA", "-9", "999", "77", "pending", "4711", "Ann Lee"])


@st.composite
def columns(draw):
    """Return cells of one kind, some of them replaced by a code, as a column of 40 to 80 rows."""
    kind, code = draw(st.sampled_from(sorted(CELLS))), draw(CODES)
    cells = draw(st.lists(CELLS[kind], min_size=40, max_size=80))
    every = draw(st.sampled_from([3, 15, 1000]))
    return kind, [code if row % every == 2 else cell for row, cell in enumerate(cells)]


@settings(max_examples=60, deadline=None)
@given(columns())
def test_a_proposal_is_made_of_public_words_and_is_taken(column):
    name, cells = column
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        pl.DataFrame({name: cells, "n": ["1"] * len(cells)}).write_csv(path, separator=";")
        drafted, (seen, *_) = look(path).value

    today = dt.datetime.now(dt.UTC).date().isoformat()
    markers = "|".join(map(re.escape, [*USUAL_MARKERS, *map(str, USUAL_CODES)]))
    listed = rf"(?:missing|special) (?:{markers})(?:, (?:{markers}))*"
    known = "|".join([GRAMMAR.replace("TODAY", today), FORMAT, LISTS, listed, *map(re.escape, catalogue())])
    assert [part for part in seen.answer.split("; ") if not re.fullmatch(known, part)] == []
    found = described_field(seen.answer, drafted.field(name))
    assert found is None or found.name == name
    assert proposed_schema(drafted, {name: seen.answer}).is_draft
