"""Which cells come out of a CSV file is what Python's own parser says, to the letter, however the file is cut."""

import csv
import random

import polars as pl
import pytest

from lapwing.rows import formats, threads
from lapwing.rows.formats import CsvFile

SIGNS = ["a", "b", "1", ",", ",", "\n", "\n", "\r\n", "\r", '"', '""', " ", "\t", "\0", "é", "\u2028", "\x0b", "x,y\n"]
PLAIN = [sign for sign in SIGNS if not set(sign) & set('"\r\0')]


def by_python(path, separator, columns):
    """Return the cells of some columns by Python's parser, row by row: the rule, in its simplest form."""
    encoding = "utf-16" if path.read_bytes()[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    with path.open(encoding=encoding, errors="backslashreplace", newline="") as stream:
        lines = list(csv.reader(stream, delimiter=separator))
    while lines and not lines[0]:
        lines.pop(0)
    names, rows = lines[0], lines[1:]
    rows = [row or [""] for row in rows] if len(names) == 1 else [row for row in rows if row]
    return {name: [row[at] if at < len(row) else None for row in rows] for name, at in columns.items()}


def by_lapwing(path, separator, columns, rows=5):
    file = CsvFile(path, separator)
    found = {name: [] for name in columns}
    for cells in file.chunks(list(columns), rows):
        assert 1 <= len(cells[next(iter(columns))]) <= rows
        for name in columns:
            found[name] += cells[name].values.to_list()
    return found


@pytest.mark.parametrize("block", [1, 2, 7, 2**18])
@pytest.mark.parametrize(
    "header", ["p", "p,q", "\n\r\np,q,r", '"p",q\r\n"x\ny",z'], ids=["one", "two", "gap", "quoted"]
)
def test_cells_are_those_of_pythons_parser(tmp_path, monkeypatch, header, block):
    monkeypatch.setattr(formats, "_BLOCK", block)
    path = tmp_path / "rows.csv"
    columns = {"p": 0} if header == "p" else {"q": 1, "p": 0}
    rng = random.Random(block)
    for trial in range(60):
        signs = PLAIN if trial % 2 else SIGNS
        text = header + "\n" + "".join(rng.choice(signs) for _ in range(rng.randrange(60)))
        path.write_text(text, encoding="utf-16" if trial % 5 == 4 else "utf-8", newline="")
        assert by_lapwing(path, ",", columns) == by_python(path, ",", columns), repr(text)


def test_long_and_short_lines_give_their_first_cells_and_missing_ones(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("p\tq\tr\n1\t2\t3\t4\n5\n\n \n6\t\t7\n8\t9", newline="")
    assert by_lapwing(path, "\t", {"q": 1}) == {"q": ["2", None, None, "", "9"]}
    assert by_lapwing(path, "\t", {"r": 2, "p": 0}) == by_python(path, "\t", {"r": 2, "p": 0})


def test_a_file_larger_than_its_blocks_is_read_whole_and_in_order_by_many_threads(tmp_path, monkeypatch):
    monkeypatch.setattr(threads, "workers", lambda: 4)
    monkeypatch.setattr(formats, "_BLOCK", 300)
    path = tmp_path / "rows.csv"
    lines = [f'{row},"t{row}, and\nmore"' if row % 97 == 0 else f"{row},t{row}" for row in range(4000)]
    path.write_text("\n".join(["p,q", *lines]), newline="")
    assert by_lapwing(path, ",", {"p": 0, "q": 1}, rows=50) == by_python(path, ",", {"p": 0, "q": 1})


def test_bytes_that_are_no_text_stay_apart(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"\xef\xbb\xbfp,q\n\xff,1\n\xfe,2\n\xed\xa0\x80,3\n")
    found = by_lapwing(path, ",", {"p": 0, "q": 1})
    assert found == by_python(path, ",", {"p": 0, "q": 1})
    assert len(set(found["p"])) == 3


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_lines_without_quotes_are_not_given_to_the_slow_parser(tmp_path, monkeypatch, end):
    path = tmp_path / "rows.csv"
    pl.DataFrame({"p": range(1000), "q": ["text"] * 1000}).write_csv(path, line_terminator=end)
    monkeypatch.setattr(CsvFile, "_parsed", lambda *_: pytest.fail("parsed line by line"))
    assert by_lapwing(path, ",", {"q": 1, "p": 0}, rows=999)["p"] == [str(row) for row in range(1000)]
