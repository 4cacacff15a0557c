"""Files and cells as the world writes them: the same codes as from typed tables, and drafts that find out how."""

import datetime as dt
import gzip

import polars as pl
import pytest

import lapwing as lw
from lapwing.extras.evaluate.internal.schemas import draft_schema
from lapwing.rows.cells import UNREADABLE, Texts, decimals
from lapwing.rows.codec import encode
from lapwing.rows.source import all_codes, code_table
from lapwing.rows.spelling import speller
from lapwing.schema.files import field_from
from lapwing.schema.reading import Dialect, Reading
from lapwing.schema.schemas import Schema

NO = UNREADABLE


def plain(kind, cells, **reading):
    return speller(kind, Reading(**reading))(pl.Series(cells, dtype=pl.String)).to_list()


@pytest.mark.parametrize(
    ("reading", "cells"),
    [
        ({"decimal_char": ","}, {"62,8": "62.8", " -1,5 ": "-1.5", ",5": ".5", "7": "7", "1,2e3": "1.2e3"}),
        ({"decimal_char": ","}, {"62.8": NO, "1.234,5": NO, "1,2,3": NO, "x": NO, "": "", " ": " "}),
        ({"group_char": ","}, {"9,715": "9715", "1,234,567.25": "1234567.25", "12,34,567": "1234567", "88": "88"}),
        ({"group_char": ","}, {"9,71": NO, "9,7155": NO, ",715": NO, "1,234.5,6": NO}),
        ({"decimal_char": ",", "group_char": "."}, {"1.234,5": "1234.5", "9.715": "9715", "9.71": NO}),
        ({"group_char": " "}, {"9 715": "9715", "9\u00a0715": "9715", "9\u202f715": "9715", "9 71": NO}),
        ({"group_char": "'"}, {"1'234.5": "1234.5"}),
        ({"bare_number": False}, {"EUR 5.5": "5.5", "-3 %": "-3", "€ -7": "-7", "12kg": "12", "none": NO}),
        (
            {"decimal_char": ",", "group_char": ".", "bare_number": False},
            {"1.234,50 €": "1234.50", "€1.234,5": "1234.5", "1,234.5": NO},
        ),
    ],
)
def test_numbers_are_read_by_their_signs_and_by_no_others(reading, cells):
    assert plain("number", [*cells, None], **reading) == [*cells.values(), None]


@pytest.mark.parametrize(
    ("date_format", "cells"),
    [
        ("%d.%m.%Y", {"31.12.2010": "2010-12-31", "1.2.2010": "2010-02-01", "2010-12-31": "2010-12-31"}),
        ("%d.%m.%Y", {"12/31/2010": NO, "31.12.10": NO, "x31.12.2010": NO, "": ""}),
        ("%m/%d/%y", {"12/31/68": "2068-12-31", "12/31/69": "1969-12-31"}),
        ("%d %b %Y", {"05 Mar 2010": "2010-03-05", "5 MAR 2010": "2010-03-05", "5 Mär 2010": NO}),
        ("%B %d, %Y", {"May 5, 2010": "2010-05-05", "September 5, 2010": "2010-09-05"}),
        ("%Y%m%d", {"20101231": "2010-12-31"}),
        (
            "%m/%d/%Y %I:%M %p",
            {"1/2/2010 3:04 PM": "2010-01-02T15:04:00", "1/2/2010 12:00 am": "2010-01-02T00:00:00"},
        ),
    ],
)
def test_dates_are_read_by_their_format_or_as_iso(date_format, cells):
    assert plain("datetime", [*cells, None], date_format=date_format) == [*cells.values(), None]


def test_days_hours_and_months_that_do_not_exist_are_misfits():
    day = field_from(bounded("date", "2010-01-01", "2010-12-31", format="%d.%b.%Y"))
    moment = field_from(bounded("datetime", "2010-01-01", "2010-12-31", format="%d.%m.%Y %I:%M %p"))

    assert encode(Texts(pl.Series(["31.feb.2010", "01.xyz.2010", "02.jan.2010"])), day).tolist() == [365, 365, 1]
    assert (encode(Texts(pl.Series(["02.01.2010 0:10 PM", "02.01.2010 13:10 AM"])), moment) == moment.domain.last).all()


def test_a_cell_s_code_depends_on_no_other_cell_and_typed_columns_are_not_read_again():
    field = field_from(bounded("number", 0, 100, decimalChar=",", resolution=0.5))
    cells = ["62,5", "62.5", None, "7", "x,5"]

    together = encode(Texts(pl.Series(cells)), field)

    assert together.tolist() == [encode(Texts(pl.Series([each], dtype=pl.String)), field)[0] for each in cells]
    assert encode(decimals(pl.Series(["62.50"])), field).tolist() == together[:1].tolist()


def bounded(kind, low, high, **more):
    return {"name": "x", "type": kind, "constraints": {"minimum": low, "maximum": high}, **more}


FIELDS = [
    {"name": "Größe", "type": "number", "constraints": {"minimum": 0, "maximum": 10**4}, "resolution": 0.5},
    {"name": "Tag", "type": "date", "constraints": {"minimum": "2000-01-01", "maximum": "2029-12-31"}},
    {"name": "Ort", "type": "string", "categories": ["Köln", "Ulm; Süd"]},
    {"name": "da", "type": "boolean"},
]
TYPED = pl.DataFrame(
    {
        "Größe": [1234.5, 7.0, None],
        "Tag": [dt.date(2010, 12, 31), None, dt.date(2001, 2, 3)],
        "Ort": ["Köln", "Ulm; Süd", None],
        "da": [True, False, None],
    }
)
WRITTEN = {
    "Größe": {"decimalChar": ",", "groupChar": "."},
    "Tag": {"format": "%d.%m.%Y"},
    "da": {"trueValues": ["ja"], "falseValues": ["nein"]},
}
LINES = ["Größe;Tag;Ort;da", "1.234,5;31.12.2010;Köln;ja", "7,0;NA;'Ulm; Süd';nein", ";03.02.2001;;NA"]
DIALECT = {"delimiter": ";", "encoding": "latin-1", "quoteChar": "'"}


def written_schema(**dialect):
    fields = [field | WRITTEN.get(field["name"], {}) for field in FIELDS]
    return Schema.from_dict({"fields": fields, "missingValues": ["", "NA"], "dialect": DIALECT | dialect})


@pytest.mark.parametrize("form", ["plain", "zipped", "no header", "lines before"])
def test_a_file_in_another_dialect_has_the_codes_of_the_typed_table(tmp_path, form):
    schema, lines, name = written_schema(), LINES, "rows.csv"
    if form == "no header":
        schema, lines = written_schema(header=False), LINES[1:]
    if form == "lines before":
        schema, lines = written_schema(skipRows=2), ["Bericht; intern", "", *LINES]
    content = "\r\n".join(lines).encode("latin-1")
    if form == "zipped":
        name, content = "rows.csv.gz", gzip.compress(content)
    (tmp_path / name).write_bytes(content)

    found, wanted = (all_codes(code_table(data, schema), schema) for data in (tmp_path / name, TYPED))

    assert {key: codes.tolist() for key, codes in found.items()} == {key: each.tolist() for key, each in wanted.items()}


def test_a_schema_keeps_its_dialect_and_one_without_stays_as_it_was(tmp_path):
    schema = written_schema()
    schema.save(tmp_path / "s.json")
    plain_one = Schema.from_dict({"fields": FIELDS})

    assert Schema.load(tmp_path / "s.json") == schema
    assert schema.to_dict()["dialect"] == DIALECT
    assert schema.field("da").reading == Reading(true_values=("ja",), false_values=("nein",))
    assert "dialect" not in plain_one.to_dict()
    assert schema.as_written_out.to_dict()["fields"] == plain_one.to_dict()["fields"]


def test_a_release_of_such_a_file_is_written_plainly_and_can_be_evaluated_and_given_conditions(tmp_path):
    (tmp_path / "rows.csv").write_bytes("\n".join([LINES[0], *LINES[1:] * 200]).encode("latin-1"))
    schema = written_schema()

    release = lw.synthesize(tmp_path / "rows.csv", schema, epsilon=100, seed=1)
    release.sample(600, seed=1).write_csv(tmp_path / "out.csv")

    assert 150 < release.sample(600, seed=1)["Größe"].null_count() < 250
    found = lw.evaluate(tmp_path / "rows.csv", tmp_path / "out.csv", schema)
    assert max(each["mean"] for each in found.to_dict()["total_variation"]["synthetic"]) < 0.1
    assert set(release.sample(20, where={"Größe": 1234.5})["Größe"]) == {1234.5}


def test_bounds_are_learned_from_such_a_file_without_a_line_of_names(tmp_path):
    (tmp_path / "rows.csv").write_bytes("\n".join(LINES[1:] * 200).encode("latin-1"))
    draft = written_schema(header=False).to_dict() | {"draft": True}
    draft["fields"][0]["constraints"] = {"minimum": None, "maximum": None}

    learned = lw.Schema.learn(tmp_path / "rows.csv", draft, epsilon=100)

    assert learned.dialect == written_schema(header=False).dialect
    assert 0 <= learned.field("Größe").minimum <= 7
    assert 1234.5 <= learned.field("Größe").maximum < 2500


# -- Drafts.


def drafted(tmp_path, lines, encoding="utf-8", name="rows.csv"):
    (tmp_path / name).write_bytes("\n".join(lines).encode(encoding))
    return draft_schema(tmp_path / name).value


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
def test_a_draft_finds_out_how_a_file_is_written_and_reads_it_whole(tmp_path, encoding):
    lines = ["Größe;Tag;Ort;da;n", "1.234,5;31.12.2010;Köln;ja;9.715", "7,0;NA;Ulm;nein;12", ";03.02.2001;;NA;3"]

    schema = drafted(tmp_path, lines, encoding)

    assert schema.dialect == Dialect(delimiter=";", encoding="cp1252" if encoding == "cp1252" else None)
    assert [field.type for field in schema.fields] == ["number", "date", "string", "string", "integer"]
    assert schema.field("Größe").reading == Reading(decimal_char=",", group_char=".")
    assert schema.field("Tag").reading.date_format == "%d.%m.%Y"
    assert schema.field("Tag").missing_values == ("", "NA")
    assert schema.field("n").reading.group_char == "."


@pytest.mark.parametrize(
    ("cells", "kind", "reading"),
    [
        (["9,715", "88", "1,000"], "integer", {"group_char": ","}),
        (["62,8", "1,5"], "number", {"decimal_char": ","}),
        (["1 234", "5"], "integer", {"group_char": " "}),
        (["5 %", "7.5 %"], "number", {"bare_number": False}),
        (["5 %", "7 kg"], "string", {}),
        (["ward 5", "ward 7"], "string", {}),
        (["12/31/2010", "1/2/2011"], "date", {"date_format": "%m/%d/%Y"}),
        (["31/12/2010 10:30", "01/02/2011 9:05"], "datetime", {"date_format": "%d/%m/%Y %H:%M"}),
        (["5.5", "1,000.5"], "number", {"group_char": ","}),
    ],
)
def test_a_draft_finds_the_way_in_which_all_cells_of_a_column_are_written(tmp_path, cells, kind, reading):
    (field, _) = drafted(tmp_path, ["cell\tmore", *(f"{cell}\tx" for cell in cells)], name="rows.tsv").fields

    assert (field.type, field.reading) == (kind, Reading(**reading))
