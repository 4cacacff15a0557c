"""What is wrong with a file's layout is asked before it is read otherwise: no column and no row is lost in silence."""

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

from helpers.command import lapwing
from lapwing.extras.evaluate.internal.schemas import draft_schema
from lapwing.extras.evaluate.internal.suggestions import frequent_texts, look, suggest
from lapwing.schema.scalars import in_full

NAMES = ["id", "grp", "val"]
ROWS = [[str(place), "abc"[place % 3], f"{place * 1.5 + 10:.1f}"] for place in range(1, 61)]


def written(rows, sign=",", end="\n", titles=()):
    out = io.StringIO()
    csv.writer(out, delimiter=sign, lineterminator=end).writerows(rows)
    return "".join(f"{title}{end}" for title in titles) + out.getvalue()


def saved(folder, text, name="t.csv", encoding="utf-8"):
    content = text.encode(encoding)
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return folder / name


def asked(path):
    return " | ".join(draft_schema(path).value.questions)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("sign", [",", ";", "\t", "|", "^", "~", "\x1f"])
def test_a_plain_file_in_any_dialect_is_read_whole_and_nothing_is_asked(sign, encoding, name, tmp_path):
    drafted, seen = look(saved(tmp_path, written([NAMES, *ROWS], sign), name, encoding)).value

    assert drafted.questions == ()
    assert [(each.name, each.type, each.cells) for each in seen] == [
        *(("id", "integer", 60), ("grp", "string", 60), ("val", "number", 60))
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "titles", [["Report 2011"], ["Report 2011", "", "made by me"], ["Report 2011,,", ",,"], ["a", "b, c"]]
)
def test_titles_above_the_names_are_skipped_and_asked_about(titles, end, tmp_path):
    drafted, seen = look(saved(tmp_path, written([NAMES, *ROWS], end=end, titles=titles))).value

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
    "a row without its end": ([NAMES, *ROWS, ["Source"]], "end before"),
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

    assert says in asked(saved(tmp_path, written(rows, sign)))
    assert asked(saved(tmp_path, written([NAMES, *ROWS], sign))) == ""


@given(
    place=st.integers(0, 40_000), sign=st.sampled_from([",", ";", "|"]), is_longer=st.booleans(), quoted=st.booleans()
)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_row_of_another_length_is_noticed_wherever_it_stands(place, sign, is_longer, quoted, tmp_path):
    rows = [NAMES] + [[str(row), "a", "0.5"] for row in range(40_000)]
    rows.insert(1 + place, ["1", "a", "2.5", "b"] if is_longer else ["1"])
    text = written(rows, sign)
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
    text = 'id,grp,val\n1,"open,2\n' + written(ROWS)

    assert "quote sign never closed" in asked(saved(tmp_path, text))


def test_part_files_are_all_drafted_from_and_one_of_another_dialect_is_named(tmp_path):
    saved(tmp_path, written([NAMES, *ROWS]), "a.csv")
    saved(tmp_path, written([NAMES, *([a, b, f"x{c}"] for a, b, c in ROWS)]), "b.csv")
    saved(tmp_path, written([NAMES, *ROWS], ";"), "c.csv")

    drafted = draft_schema([tmp_path / "a.csv", tmp_path / "b.csv"]).value
    assert drafted.field("val").type == "string"

    saved(tmp_path, written([NAMES, *([a, b + "é", c] for a, b, c in ROWS)]), "d.csv", "latin-1")
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
        (
            [f"{k + 1},{k:03d}" for k in range(40)],
            "integer",
            'may "," stand before a fraction',
        ),
        ([f"{k:05d}" for k in range(40)], "string", "digits that begin with a zero, or as in"),
        (
            [*(f"{k:05d}" for k in range(40)), "NA"],
            "string",
            "digits that begin with a zero, or as in 12E3, are read as text",
        ),
        ([f"{k}E{k % 9}" for k in range(40)], "string", "or as in 12E3, are read as text"),
        ([f"{k}" for k in range(40)], "integer", ""),
        ([f"0.{k:03d}" for k in range(1, 40)], "number", ""),
        (["male", "male "] * 20, "string", "white space at their ends"),
        (["male", "Male"] * 20, "string", "differ in case or white space alone"),
        (["caf\u00e9", "cafe\u0301"] * 20, "string", "differ in case or white space alone"),
        (["male", "female"] * 20, "string", ""),
    ],
)
def test_how_cells_are_read_is_named_as_a_guess_where_they_could_be_read_otherwise(cells, kind, says, tmp_path):
    path = saved(tmp_path, written([["x", "more"], *([cell, "y"] for cell in cells)]))
    drafted, (seen, _) = look(path).value

    told = " | ".join(seen.advice)
    assert drafted.field("x").type == kind
    assert says in told
    guesses = ("too", "white space", "are read as text", "guess")
    assert says or not any(word in told for word in guesses)


@pytest.mark.parametrize(("day", "is_asked"), [("%d/%m/%Y", True), ("%d-%m-%y", True), ("%Y-%m-%d", False)])
def test_texts_of_typed_tables_that_are_dates_are_doubted_too(day, is_asked):
    days = [dt.date(2021, k % 12 + 1, k % 11 + 1).strftime(day) for k in range(40)]

    (seen,) = suggest(frame := pl.DataFrame({"x": days}), draft_schema(frame).value).value

    assert any("is a guess" in each for each in seen.doubts) == is_asked


def test_a_question_stands_in_the_draft_and_a_release_waits_for_its_answer(tmp_path):
    path = saved(tmp_path, written([NAMES, *ROWS, ["Source"]]))

    ran = lapwing("schema", "draft", path, "-o", tmp_path / "s.json")

    assert "Questions to you" in ran.out
    assert "end before the last column" in ran.out
    assert "end before the last column" in (tmp_path / "s.json").read_text()


@pytest.mark.parametrize(("row", "says"), [(["1", "a", "2.5", "x"], "more cells"), (["1"], "end before")])
def test_the_check_asks_about_rows_of_other_lengths_too(row, says, tmp_path):
    path = saved(tmp_path, written([NAMES, *ROWS, row, *ROWS]))
    fields = [{"name": "grp", "type": "string", "categories": ["a", "b", "c"], "provenance": "public"}]
    (tmp_path / "s.json").write_text(json.dumps({"fields": fields}))

    ran = lapwing("schema", "check", tmp_path / "s.json", path)

    assert says in ran.out


def test_texts_with_white_space_at_their_ends_are_shown_in_quotes(tmp_path):
    path = saved(tmp_path, written([["sex", "n"], *([("male", "male ")[k % 2], k] for k in range(40))]))

    found = frequent_texts(path, draft_schema(path).value, "sex", 20).value

    assert {in_full(text): count for text, count in found} == {"male": 20, '"male "': 20}
