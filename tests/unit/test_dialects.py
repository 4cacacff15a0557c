"""Files and cells as the world writes them: the same codes as from typed tables; drafts that find out how, and ask."""

import contextlib
import csv
import datetime as dt
import gzip
import io
import json
import re

import openpyxl
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapwing as lw
from helpers import make
from helpers.command import lapwing
from lapwing.extras.evaluate.internal.schemas import draft_schema
from lapwing.extras.evaluate.internal.suggestions import frequent_texts, look, suggest
from lapwing.rows.cells import UNREADABLE, Texts, decimals
from lapwing.rows.codec import encode
from lapwing.rows.entry import source_of
from lapwing.rows.source import all_codes, code_table
from lapwing.rows.spelling import speller
from lapwing.schema.files import field_from
from lapwing.schema.reading import Dialect, Reading
from lapwing.schema.scalars import in_full
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
    return make.field("x", (low, high), type=kind, **more)


FIELDS = make.fields(
    {
        "Größe": make.field("Größe", (0.0, 10.0**4), resolution=0.5),
        "Tag": ("2000-01-01", "2029-12-31"),
        "Ort": ["Köln", "Ulm; Süd"],
        "da": bool,
    }
)
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


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
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
        (["0.5 m", "10 m"], "number", {"bare_number": False}),
        (["M000123", "M200124"], "string", {}),
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


# ------------------------ what is wrong with a layout is asked before it is read otherwise: nothing is lost in silence


NAMES = ["id", "grp", "val"]
ROWS = [[str(place), "abc"[place % 3], f"{place * 1.5 + 10:.1f}"] for place in range(1, 61)]


def written_rows(rows, sign=",", end="\n", titles=()):
    out = io.StringIO()
    csv.writer(out, delimiter=sign, lineterminator=end).writerows(rows)
    return "".join(f"{title}{end}" for title in titles) + out.getvalue()


def saved(folder, text, name="t.csv", encoding="utf-8"):
    content = text.encode(encoding)
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return folder / name


def asked(path):
    return " | ".join(draft_schema(path).value.questions)


@pytest.mark.parametrize(
    ("sign", "encoding", "name"),
    [
        *((sign, "utf-8", "t.csv") for sign in [",", ";", "\t", "|", "^", "~", "\x1f"]),
        *((";", encoding, name) for encoding in ["utf-8", "utf-8-sig"] for name in ["t.tsv", "t.csv.gz"]),
        (",", "utf-8-sig", "t.csv"),
    ],
)
def test_a_plain_file_in_any_dialect_is_read_whole_and_nothing_is_asked(sign, encoding, name, tmp_path):
    drafted, seen = look(saved(tmp_path, written_rows([NAMES, *ROWS], sign), name, encoding)).value

    assert drafted.questions == ()
    assert [(each.name, each.type, each.cells) for each in seen] == [
        *(("id", "integer", 60), ("grp", "string", 60), ("val", "number", 60))
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "titles", [["Report 2011"], ["Report 2011", "", "made by me"], ["Report 2011,,", ",,"], ["a", "b, c"]]
)
def test_titles_above_the_names_are_skipped_and_asked_about(titles, end, tmp_path):
    drafted, seen = look(saved(tmp_path, written_rows([NAMES, *ROWS], end=end, titles=titles))).value

    assert [each.name for each in seen] == NAMES
    assert {each.cells for each in seen} == {60}
    assert drafted.dialect.skip_rows == len(titles)
    assert any("skipRows" in each for each in drafted.questions)


def test_titles_and_totals_of_workbooks_are_seen_too(tmp_path):
    book = openpyxl.Workbook()
    for row in (["Report 2011"], [], NAMES, *([int(a), b, float(c)] for a, b, c in ROWS)):
        book.active.append(row)
    book.active.append([None, "Summe", sum(float(row[2]) for row in ROWS)])
    book.save(tmp_path / "t.xlsx")

    drafted, seen = look(tmp_path / "t.xlsx").value

    assert ([each.name for each in seen], drafted.dialect.skip_rows) == (NAMES, 2)
    assert any("total" in each for each in drafted.questions)


FAULTS = {
    "an unquoted separator": ([["id", "grp", "val"], *ROWS[:40], ["1", "a", "b", "2.5"], *ROWS[40:]], "more cells"),
    "a row without its end": ([NAMES, *ROWS[:40], ["4"], *ROWS[40:]], "end before"),
    "a note below": ([NAMES, *ROWS, ["Source"]], "the end of the file (1 of its rows)"),
    "a total and notes below": ([NAMES, *ROWS, ["Total", "", "9"], ["Source"], ["2021"]], "(3 of its rows)"),
    "names of fewer columns": ([NAMES[1:], *ROWS], "every row more"),
    "a title of as many cells as R writes names": ([["Report", "2011"], NAMES, *ROWS], "every row more"),
    "no names": (ROWS, "not of names"),
    "a column without a name": ([["", *NAMES[1:]], *ROWS], "without a name"),
    "white space at a name's end": ([["id ", *NAMES[1:]], *ROWS], "white space"),
    "a word for a total": ([NAMES, *ROWS, ["", "Total", "0"]], "total"),
    "a sum": ([NAMES, *ROWS, ["", "", str(sum(float(row[2]) for row in ROWS))]], "total"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_each_fault_of_a_layout_is_asked_about_in_each_dialect(fault, sign, tmp_path):
    rows, says = FAULTS[fault]

    assert says in asked(saved(tmp_path, written_rows(rows, sign)))


@given(
    place=st.integers(0, 40_000), sign=st.sampled_from([",", ";", "|"]), is_longer=st.booleans(), quoted=st.booleans()
)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_row_of_another_length_is_noticed_wherever_it_stands(place, sign, is_longer, quoted, tmp_path):
    rows = [NAMES] + [[str(row), "a", "0.5"] for row in range(40_000)]
    rows.insert(1 + place, ["1", "a", "2.5", "b"] if is_longer else ["1"])
    text = written_rows(rows, sign)
    path = saved(tmp_path, text.replace(f"{sign}a{sign}", f'{sign}"a"{sign}') if quoted else text)

    assert ("more cells" if is_longer else "end before") in asked(path)


@pytest.mark.parametrize("sign", ["#", " ", "   ", "@@"])
def test_one_giant_column_is_asked_for_its_separator(sign, tmp_path):
    text = "".join(f"{sign.join(row)}\n" for row in [NAMES, *ROWS])

    assert "one column only" in asked(saved(tmp_path, text))


@pytest.mark.parametrize(
    "cells", [["name", *(f"Ann Smith{k}" for k in range(40))], ["time", *(f"12:{k:02d}" for k in range(40))]]
)
def test_one_column_is_not_asked_for_a_separator_where_its_name_is_one_word(cells, tmp_path):
    assert asked(saved(tmp_path, "\n".join(cells))) == ""


def test_many_unquoted_separators_do_not_make_one_column_of_all(tmp_path):
    lines = ["id;note;val", *(f"{k};a{';b' * (k % 3)};{k}" for k in range(60))]

    drafted = draft_schema(saved(tmp_path, "\n".join(lines))).value

    assert [field.name for field in drafted.fields] == ["id", "note", "val"]
    assert "more cells" in " ".join(drafted.questions)


def test_a_quote_that_is_never_closed_is_asked_about(tmp_path):
    text = 'id,grp,val\n1,"open,2\n' + written_rows(ROWS)

    assert "quote sign never closed" in asked(saved(tmp_path, text))


def test_part_files_are_all_drafted_from_and_one_of_another_dialect_is_named(tmp_path):
    saved(tmp_path, written_rows([NAMES, *ROWS]), "a.csv")
    saved(tmp_path, written_rows([NAMES, *([a, b, f"x{c}"] for a, b, c in ROWS)]), "b.csv")
    saved(tmp_path, written_rows([NAMES, *ROWS], ";"), "c.csv")

    drafted = draft_schema([tmp_path / "a.csv", tmp_path / "b.csv"]).value
    assert drafted.field("val").type == "string"

    saved(tmp_path, written_rows([NAMES, *([a, b + "é", c] for a, b, c in ROWS)]), "d.csv", "latin-1")
    # A long path is shown in short.
    assert re.search(r'd\.csv(\.\.\.|") seems to be written otherwise', asked([tmp_path / "a.csv", tmp_path / "d.csv"]))


@pytest.mark.parametrize("text", ["a,b\n", "a,b", "\n\na,b\n\n", "a\n"])
def test_a_file_of_names_alone_is_no_error(text, tmp_path):
    drafted, seen = look(saved(tmp_path, text)).value

    assert drafted.questions == ()
    assert {each.advice for each in seen} == {("no row",)}


# -- Cells that could be read in another way.


@pytest.mark.parametrize(
    ("cells", "kind", "says"),
    [
        ([f"{k % 12 + 1:02d}/{k % 11 + 1:02d}/2021" for k in range(40)], "date", "%m/%d/%Y reads all cells, too"),
        ([f"{k % 12 + 1:02d}-{k % 11 + 1:02d}-2021" for k in range(40)], "date", "%m-%d-%Y reads all cells, too"),
        ([f"{k % 28 + 1:02d}/{k % 11 + 1:02d}/2021" for k in range(40)], "date", ""),
        ([f"{k % 12 + 1}/{k % 11 + 1}/2021 10:30" for k in range(40)], "datetime", "%m/%d/%Y %H:%M reads all"),
        ([f"{k + 1},{k:03d}" for k in range(40)], "integer", 'may "," stand before a fraction'),
        ([f"{k:05d}" for k in range(40)], "string", "digits that begin with a zero, or as in"),
        ([*(f"{k:05d}" for k in range(40)), "NA"], "string", "a zero, or as in 12E3, are read as text"),
        ([f"{k}E{k % 9}" for k in range(40)], "string", "or as in 12E3, are read as text"),
        ([f"{k}" for k in range(40)], "integer", ""),
        ([f"0.{k:03d}" for k in range(1, 40)], "number", ""),
        (["caf\u00e9", "cafe\u0301"] * 20, "string", "differ in case or white space alone"),
        (["male", "female"] * 20, "string", ""),
    ],
)
def test_how_cells_are_read_is_named_as_a_guess_where_they_could_be_read_otherwise(cells, kind, says, tmp_path):
    path = saved(tmp_path, written_rows([["x", "more"], *([cell, "y"] for cell in cells)]))
    drafted, (seen, _) = look(path).value

    told = " | ".join(seen.advice)
    assert drafted.field("x").type == kind
    assert says in told
    guesses = ("too", "white space", "are read as text", "guess")
    assert says or not any(word in told for word in guesses)


@pytest.mark.parametrize(
    ("cells", "dialect", "says"),
    [
        (["male", "male "], {"trim": True}, "white space at their ends"),
        (["male", "Male"], {"ignoreCase": True}, "differ in case or white space alone"),
        (["male ", "MALE"], {"trim": True, "ignoreCase": True}, "differ in case or white space alone"),
        (["male", "female"], {}, ""),
    ],
)
def test_texts_that_differ_in_white_space_or_case_are_one_in_files_and_doubted_elsewhere(
    cells, dialect, says, tmp_path
):
    drafted, (seen, *_) = look(saved(tmp_path, written_rows([["x", "n"], *([cell, 1] for cell in cells * 20)]))).value
    frame = pl.DataFrame({"x": cells * 20})
    (doubted,) = suggest(frame, draft_schema(frame).value).value

    assert (drafted.dialect.to_dict(), seen.distinct) == (dialect, 1 if dialect else 2)
    assert (says in " | ".join(doubted.doubts), seen.doubts) == (True, ())


@pytest.mark.parametrize(("day", "is_asked"), [("%d/%m/%Y", True), ("%d-%m-%y", True), ("%Y-%m-%d", False)])
def test_texts_of_typed_tables_that_are_dates_are_doubted_too(day, is_asked):
    days = [dt.date(2021, k % 12 + 1, k % 11 + 1).strftime(day) for k in range(40)]

    (seen,) = suggest(frame := pl.DataFrame({"x": days}), draft_schema(frame).value).value

    assert any("is a guess" in each for each in seen.doubts) == is_asked


def test_a_question_stands_in_the_draft_and_a_release_waits_for_its_answer(tmp_path):
    path = saved(tmp_path, written_rows([NAMES, *ROWS[:40], ["4"], *ROWS[40:]]))

    ran = lapwing("schema", "draft", path, "-o", tmp_path / "s.json")

    assert "Questions to you" in ran.out
    assert "end before the last column" in ran.out
    assert "end before the last column" in (tmp_path / "s.json").read_text()


@pytest.mark.parametrize(("row", "says"), [(["1", "a", "2.5", "x"], "more cells"), (["1"], "end before")])
def test_the_check_asks_about_rows_of_other_lengths_too(row, says, tmp_path):
    path = saved(tmp_path, written_rows([NAMES, *ROWS, row, *ROWS]))
    make.files(tmp_path, {"s.json": make.schema({"grp": ["a", "b", "c"]})})

    ran = lapwing("schema", "check", tmp_path / "s.json", path)

    assert says in ran.out


def test_texts_with_white_space_at_their_ends_are_shown_in_quotes(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"sex": ["male", "male "] * 20}).write_parquet(path)

    found = frequent_texts(path, draft_schema(path).value, "sex", 20).value

    assert {in_full(text): count for text, count in found} == {"male": 20, '"male "': 20}


MESSY = [["sex", "n", "when"], ["Male ", " 3", "2020-01-01T10:00"], ["MALE", "4", ""], ["f", "k.a. ", ""]]
FOOTER = [["Total", "7", ""], ["", "Source: register", ""]]


def in_csv(place, rows):
    (place / "rows.csv").write_text("\n".join(map(",".join, rows)))
    return place / "rows.csv"


def in_workbook(place, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(place / "rows.xlsx")
    return place / "rows.xlsx"


def in_json_lines(place, rows):
    names, *below = rows
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in below]
    (place / "rows.jsonl").write_text("\n".join(lines))
    return place / "rows.jsonl"


def in_polars(place, rows):
    names, *below = rows
    return pl.DataFrame(below, schema=names, orient="row")


def in_parquet(place, rows):
    in_polars(place, rows).write_parquet(place / "rows.parquet")
    return place / "rows.parquet"


def in_categories(place, rows):
    return in_polars(place, rows).to_pandas().astype("category")


def in_stata(place, rows):
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_dta(in_polars(place, rows).to_pandas(), place / "rows.dta")
    return place / "rows.dta"


WITHOUT_FOOTER = [in_json_lines, in_parquet, in_polars, in_categories, in_stata]


@pytest.mark.parametrize(
    ("write", "footer"), [(in_csv, FOOTER), (in_workbook, FOOTER), *((write, []) for write in WITHOUT_FOOTER)]
)
@pytest.mark.parametrize("chunk", [1, 2, 9])
def test_white_space_case_and_rows_of_totals_are_what_the_dialect_says(tmp_path, write, footer, chunk):
    fields = [
        {"name": "sex", "type": "string", "categories": ["Male", "F"]},
        bounded("integer", 0, 9, missingValues=["", "k.a."]) | {"name": "n"},
        bounded("datetime", "2020-01-01", "2020-12-31") | {"name": "when"},
    ]
    dialect = {"trim": True, "ignoreCase": True, "skipFooter": len(footer)}
    schema = Schema.from_dict({"dialect": dialect, "fields": fields})
    source = code_table(write(tmp_path, MESSY + footer), schema)
    codes = all_codes(source, schema)

    read = source_of(write(tmp_path, MESSY + footer)).open(schema)
    texts = [part[name].values.to_list() for part in read.chunks(["sex", "n"], chunk) for name in ("sex", "n")]
    assert [cell for part in texts[::2] for cell in part] == ["Male", "Male", "F"]
    assert [cell for part in texts[1::2] for cell in part] == ["3", "4", "k.a."]
    assert codes["sex"].tolist() == [0, 0, 1]
    assert codes["n"].tolist() == [3, 4, schema.field("n").domain.last]
    assert codes["when"][0] < schema.field("when").domain.last  # the T of a moment is no text whose case is ignored


@pytest.mark.parametrize(
    ("dialect", "keys", "said"),
    [
        ({"ignoreCase": True}, {"categories": ["YES", "yes"]}, '"yes" is listed twice'),
        ({"trim": True}, {"categories": ["yes", "yes "]}, '"yes " is listed twice'),
        ({"ignoreCase": True}, {"categories": ["yes", "no"], "missingValues": ["", "NO"]}, '"no" is both'),
        ({"trim": True}, {"categories": ["-"], "missingValues": ["- "]}, '"-" is both'),
        ({"trim": True}, {"categories": [" Yes", "no"]}, 'write "Yes"'),
        ({"trim": True}, {"categories": ["yes"], "missingValues": ["", "- "]}, 'write "-"'),
    ],
)
def test_lists_that_a_dialect_makes_contrary_are_refused(dialect, keys, said):
    fields = [{"name": "x", "type": "string", **keys}]
    Schema.from_dict({"fields": fields})
    Schema.from_dict({"fields": [{"name": "x", "type": "string", "categories": ["yes"]}], "dialect": dialect})

    with pytest.raises(lw.SchemaError, match=said):
        Schema.from_dict({"fields": fields, "dialect": dialect})


@pytest.mark.parametrize("sign", ["\x1c", "\x1f", *filter(str.isspace, map(chr, [*range(0x1C), *range(0x20, 0xD800)]))])
def test_a_schema_and_the_reader_of_rows_have_the_same_white_space(sign):
    described = {"fields": [{"name": "x", "type": "string", "categories": [f"a{sign}"]}], "dialect": {"trim": True}}
    is_space = pl.Series([sign]).str.strip_chars()[0] == ""

    with pytest.raises(lw.SchemaError, match="write") if is_space else contextlib.nullcontext():
        Schema.from_dict(described)


def test_a_draft_of_cells_with_white_space_and_marks_for_missing_is_a_schema(tmp_path):
    cells = [["NA ", " na", "Yes", "yes ", "n/a", "N/A "][row % 6] for row in range(120)]
    numbers = [["3", "NA ", " na", " 4", "-  "][row % 5] for row in range(120)]

    schema = draft_schema(in_csv(tmp_path, [["x", "n"], *map(list, zip(cells, numbers, strict=True))])).value

    assert schema.dialect == Dialect(trim=True, ignore_case=True)


@pytest.mark.parametrize("write", WITHOUT_FOOTER)
def test_a_footer_of_what_has_none_is_refused_before_anything_is_paid_for(tmp_path, write):
    fields = [bounded("integer", 0, 9) | {"name": "n"}]
    schema = Schema.from_dict({"dialect": {"skipFooter": 1}, "fields": fields})
    table = write(tmp_path, [["n"], ["1"], ["2"]])

    book = make.ledger(tmp_path / "l.db")

    with pytest.raises(lw.DataError, match="skipFooter"):
        lw.synthesize(table, schema, epsilon=1, ledger=tmp_path / "l.db", dataset="people")
    assert book.balance("people").spent == 0


def test_a_draft_of_json_lines_leaves_no_row_out(tmp_path):
    rows = in_json_lines(tmp_path, [NAMES, *ROWS, ["Total", "", "9"]])

    assert draft_schema(rows).value.dialect == Dialect()


@pytest.mark.parametrize("write", [in_csv, in_json_lines, in_parquet, in_polars])
@pytest.mark.parametrize("kind", ["string", "integer"])
@pytest.mark.parametrize(
    ("dialect", "kept"),
    [({}, 4), ({"trim": True}, 3), ({"ignoreCase": True}, 2), ({"trim": True, "ignoreCase": True}, 1)],
)
def test_a_person_whose_key_is_written_in_several_ways_is_one(tmp_path, dialect, kept, kind, write):
    table = [["who", "n"], *([who, "1"] for who in ["Id7", "ID7", "id7", "Id7 "] * 2)]
    fields = [{"name": "who", "type": kind, "role": "identifier"}, bounded("integer", 0, 9) | {"name": "n"}]
    unit = {"field": "who", "maxRows": 1}

    schema = Schema.from_dict({"dialect": dialect, "fields": fields, "privacyUnit": unit})

    assert code_table(write(tmp_path, table), schema).rows == kept


def test_texts_that_nobody_lists_are_learned_without_their_case(tmp_path):
    path = in_csv(tmp_path, [["town", "n"], *([town, "1"] for town in ["Bern", "BERN", "bern "] * 200)])
    dialect = {"trim": True, "ignoreCase": True}
    fields = [{"name": "town", "type": "string", "provenance": "dp"}]
    schema = Schema.load_draft({"dialect": dialect, "fields": fields, "draft": True})

    assert Schema.learn(path, schema, epsilon=20, delta=1e-9).field("town").categories == ("bern", "(other)")


@pytest.mark.parametrize(("kept", "said"), [(1, 2), (9, 0)])
def test_a_table_shorter_than_its_footer_has_no_row(tmp_path, kept, said):
    schema = Schema.from_dict({"dialect": {"skipFooter": kept}, "fields": [bounded("integer", 0, 9) | {"name": "n"}]})

    assert code_table(in_csv(tmp_path, [["n"], ["1"], ["2"], ["3"]]), schema).rows == said


@pytest.mark.parametrize("above", [[], [["Clinic 2024"]], [["Clinic 2024"], [], ["as of May"]]])
def test_titles_above_a_sheet_whose_last_column_is_empty_lose_no_column(tmp_path, above):
    rows = [[row + 1, "mw"[row % 2], None] for row in range(160)]
    book = in_workbook(tmp_path, [*above, ["nr", "sex", "remark"], *rows, ["Total", None, None]])

    drafted, seen = look(book).value

    assert (drafted.names, drafted.dialect.skip_footer) == (("nr", "sex", "remark"), 1)
    assert [each.answer for each in seen] == ["id", "m, w", "drop"]
