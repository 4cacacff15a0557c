"""Data files with damage, false claims and bombs: rows or one sentence, and memory that follows the file."""

import encodings
import gzip
import io
import os
import pkgutil
import random
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from encodings.aliases import aliases
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers.hostile import damaged, outcome, watched
from lapwing.errors import SchemaError
from lapwing.rows.formats import CsvFile, JsonLinesFile
from lapwing.rows.source import code_table
from lapwing.schema.reading import Dialect
from lapwing.schema.schemas import Schema

SCHEMA = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 7, "required": True}},
        {"name": "town", "type": "string", "categories": ["x", "y", "z"]},
    ]
}
ROWS = 300
TABLE = pl.DataFrame({"age": np.arange(ROWS) % 8, "town": ["x", "y", None] * (ROWS // 3)})
CHILD = """
import resource, sys
from lapwing.errors import LapwingError
from lapwing.schema.schemas import Schema
from lapwing.rows.formats import CsvFile, JsonLinesFile
from lapwing.rows.source import code_table
from lapwing.schema.reading import Dialect

schema = Schema.load(eval(sys.argv[1]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    source = code_table(sys.argv[2], schema)
    said = f"read {sum(len(chunk['age']) for chunk in source.chunks())}"
except LapwingError as error:
    said = f"{type(error).__name__} {error}"
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, said)
"""


def _child(path: Path) -> tuple[int, str]:
    """Read a file in a process of its own; return the megabytes that it took, and what it said."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, repr(SCHEMA), path],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, "POLARS_MAX_THREADS": "1"},
    )
    assert done.stderr == ""
    megabytes, _, said = done.stdout.strip().partition(" ")
    return int(megabytes), said


def _varint(number: int) -> bytes:
    """Return a whole number as Thrift's compact protocol writes it, in zigzag."""
    left, found = 2 * number, b""
    while left > 127:
        found += bytes([left & 127 | 128])
        left >>= 7
    return found + bytes([left])


def _claiming(rows: int, only: int | None) -> bytes:
    """Return a Parquet file whose footer claims so many rows, everywhere or at one of its places only."""
    stream = io.BytesIO()
    TABLE.write_parquet(stream, compression="uncompressed", statistics=False)
    content = stream.getvalue()
    (length,) = struct.unpack("<I", content[-8:-4])
    body, footer = content[: -8 - length], content[-8 - length : -8]
    first, *parts = footer.split(_varint(ROWS))
    assert len(parts) >= 3
    claims = [_varint(rows if only in (None, at) else ROWS) for at in range(len(parts))]
    footer = first + b"".join(claim + part for claim, part in zip(claims, parts, strict=True))
    return body + footer + struct.pack("<I", len(footer)) + b"PAR1"


@pytest.mark.parametrize("only", [None, 0, 1, 2])
def test_a_claim_of_a_billion_rows_takes_no_memory(only, tmp_path):
    path = tmp_path / "claim.parquet"
    path.write_bytes(_claiming(10**9, only))

    megabytes, said = _child(path)

    assert megabytes < 300
    assert said.startswith(("DataError", "read"))
    if only is None:
        assert "cannot be read as Parquet" in said


@pytest.mark.parametrize(
    ("name", "head", "piece", "times"),
    [
        ("a cell", b"age,town\n1,", b"x" * 2**20, 20),
        ("a quoted cell", b'age,town\n1,"', b"x\n" * 2**19, 10),
        ("separators", b"age,town", b"," * 2**20, 4),
        ("empty lines", b"\n", b"\n" * 2**20, 4),
    ],
    ids=["cell", "quoted cell", "separators", "empty lines"],
)
def test_what_unpacks_a_thousand_times_is_read_or_refused(name, head, piece, times, tmp_path):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(head + piece * times + b"\n", 9))

    megabytes, said = _child(path)

    assert path.stat().st_size < 2**17
    # Python's parser keeps four bytes of each character of a cell, and the text stands beside it.
    assert megabytes < 30 * times + 200
    assert said.startswith(("read", "DataError")), name


def test_many_rows_that_unpack_are_read_in_bounded_memory(tmp_path):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"age,town\n" + b"1,x\n" * 10**6, 9))

    megabytes, said = _child(path)

    assert (said, path.stat().st_size < 2**15) == ("read 1000000", True)
    assert megabytes < 150


# -- Workbooks: what is immense, or says so, ends in one sentence, and nothing is printed beside it.

_SHEET = '<worksheet xmlns="{0}/spreadsheetml/2006/main">{1}<sheetData>{2}</sheetData></worksheet>'
_BOOK = '<workbook xmlns="{0}/spreadsheetml/2006/main" xmlns:r="{0}/officeDocument/2006/relationships">'
_BOOK += '<sheets><sheet name="s" sheetId="1" r:id="rId1"/></sheets></workbook>'
_RELATIONS = '<Relationships xmlns="{0}/package/2006/relationships"><Relationship Id="rId1" '
_RELATIONS += 'Type="{0}/officeDocument/2006/relationships/{3}" Target="{4}"/></Relationships>'
_MANIFEST = '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
_OPEN = "http://schemas.openxmlformats.org"
_TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
_OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"


def _xlsx(rows: str, dimension: str = "") -> dict[str, str]:
    said = f'<dimension ref="{dimension}"/>' if dimension else ""
    texts = {
        "_rels/.rels": (_RELATIONS, "officeDocument", "xl/workbook.xml"),
        "xl/_rels/workbook.xml.rels": (_RELATIONS, "worksheet", "worksheets/sheet1.xml"),
        "xl/workbook.xml": (_BOOK,),
        "xl/worksheets/sheet1.xml": (_SHEET,),
    }
    return {name: text.format(_OPEN, said, rows, *more) for name, (text, *more) in texts.items()}


def _row(*cells: tuple[str, str]) -> str:
    held = "".join(f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>' for place, text in cells)
    return f"<row>{held}</row>"


def _ods(rows: str) -> dict[str, str]:
    names = f'xmlns:table="{_TABLE}" xmlns:office="{_OFFICE}"'
    sheet = f'<table:table table:name="s">{rows}</table:table>'
    body = f"<office:body><office:spreadsheet>{sheet}</office:spreadsheet></office:body>"
    return {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": _MANIFEST,
        "content.xml": f"<office:document-content {names}>{body}</office:document-content>",
    }


def _repeated(what: str, times: int) -> str:
    cell = f'<table:table-cell {what} office:value-type="float" office:value="1"/>'
    return f'<table:table-row table:number-rows-repeated="{times}">{cell}</table:table-row>'


_HEAD = _row(("A1", "age"), ("B1", "town"))
IMMENSE = {
    "a cell far away": ("t.xlsx", _xlsx(_HEAD + _row(("XFD1048576", "1")))),
    "a cell beyond the sheet": ("t.xlsx", _xlsx(_HEAD + _row(("ZZZZ4294967295", "1")))),
    "a dimension that says less": ("t.xlsx", _xlsx(_HEAD + _row(("XFD1048576", "1")), "A1:B2")),
    "columns that repeat": ("t.ods", _ods(_repeated('table:number-columns-repeated="100000"', 2**20))),
}


@pytest.mark.parametrize(("name", "parts"), IMMENSE.values(), ids=IMMENSE)
def test_a_small_workbook_that_is_immense_ends_in_a_sentence(name, parts, tmp_path):
    with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, text in parts.items():
            archive.writestr(part, text)

    megabytes, said = _child(tmp_path / name)

    assert (tmp_path / name).stat().st_size < 2**16
    assert "cannot be read as an Excel or OpenDocument workbook" in said, said
    assert "67,108,864 cells" in said
    assert megabytes < 300


@pytest.mark.parametrize(
    ("cell", "dimension"), [("1", "A1:XFD1048576"), ("7" * 2**25, "")], ids=["dimension", "length"]
)
def test_a_dimension_that_says_more_than_there_is_and_a_long_cell_decide_nothing(cell, dimension, tmp_path):
    rows = _HEAD + _row(("A2", cell), ("B2", "x")) + _row(("A3", "1"), ("B3", "x"))
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        for part, text in _xlsx(rows, dimension).items():
            archive.writestr(part, text)

    assert _child(tmp_path / "t.xlsx")[1] == "read 2"


def test_what_compiled_libraries_print_is_shown_by_no_command(tmp_path):
    program = "import os, sys; from lapwing.cli import main; main.execute = lambda _: os.write(2, b'40 rows') * 0; "
    done = subprocess.run([sys.executable, "-c", f"{program}main.run()"], capture_output=True, check=True)
    assert done.stderr == b""


def _parquet(rng: random.Random) -> bytes:
    """Return a damaged Parquet file; most often the damage is in its footer."""
    stream = io.BytesIO()
    changes = [{}, {"compression": "uncompressed"}, {"compression": "gzip"}, {"row_group_size": 40}]
    as_categories = TABLE.with_columns(pl.col("town").cast(pl.Categorical))
    rng.choice([TABLE, as_categories]).write_parquet(stream, **rng.choice(changes))
    content = bytearray(stream.getvalue())
    if rng.random() < 0.3:
        return damaged(bytes(content), rng)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = len(content) - 8 - rng.randrange(700) if rng.random() < 0.6 else rng.randrange(len(content))
        content[max(0, at)] = rng.choice([rng.randrange(256), 0xFF, 0x7F, 0])
    return bytes(content)


def _text(rng: random.Random) -> bytes:
    text = TABLE.write_csv()
    return damaged(text.encode(), rng)


def _zipped_text(rng: random.Random) -> bytes:
    return damaged(gzip.compress(TABLE.write_csv().encode()), rng)


KINDS: dict[str, Callable[[random.Random], bytes]] = {".parquet": _parquet, ".csv": _text, ".csv.gz": _zipped_text}


def _codes(path: Path) -> int:
    return sum(len(chunk["age"]) for chunk in code_table(path, Schema.load(SCHEMA)).chunks())


@pytest.mark.parametrize("count", [60, pytest.param(10_000, marks=pytest.mark.full)])
@pytest.mark.parametrize("suffix", KINDS)
def test_damaged_tables_are_read_or_refused(suffix, count, tmp_path):
    path = tmp_path / f"table{suffix}"
    rng, found = random.Random(suffix), set()

    for _ in range(count):
        path.write_bytes(KINDS[suffix](rng))
        with watched(path):
            found.add(outcome(partial(_codes, path)))

    assert found == {"read", "DataError"} if count > 60 else found <= {"read", "DataError"}


# ------------------------------------------------------------------------------------------------------------ encodings

HOT = bytes.fromhex("81 84 8e 8f a1 a4 b0 c2 c9 d4 d8 e2 f0 fe 1b 0e 24 28 30 39 40 5c 7e 2b 2d 00")
"""Bytes that begin letters, shifts and escapes in one encoding or another."""


def _encodings(is_read: bool) -> list[str]:
    """Return the encodings of Python that a dialect takes, or those that it refuses."""
    found = []
    for name in sorted({*aliases.values(), *(module.name for module in pkgutil.iter_modules(encodings.__path__))}):
        try:
            Dialect(encoding=name)
        except SchemaError:
            found += [] if is_read else [name]
        else:
            found += [name] if is_read else []
    return found


def test_encodings_with_a_state_or_escapes_or_wide_units_are_refused():
    assert {"euc_kr", "hz", "idna", "punycode", "unicode_escape", "raw_unicode_escape"} <= {*_encodings(False)}
    assert not [name for name in _encodings(True) if name.startswith(("iso2022", "utf_16", "utf_32", "utf_7"))]
    with pytest.raises(SchemaError, match="save the file as UTF-8"):
        Dialect(encoding="utf-16-le")


@pytest.mark.parametrize("quote_char", ["|", "a"])
def test_letters_of_several_bytes_hold_no_sign_that_may_stand_around_cells(quote_char):
    assert Dialect(encoding="gbk", quote_char="'", delimiter="|").quote_char == "'"
    with pytest.raises(SchemaError, match="quoteChar must be a sign below 0"):
        Dialect(encoding="gbk", quote_char=quote_char)


def _read_rows(path: Path, encoding: str) -> list[tuple[str, str]]:
    dialect = Dialect(encoding=encoding)
    file = CsvFile(path, ",", dialect) if path.suffix == ".csv" else JsonLinesFile(path, dialect, ["town", "n"])
    return [
        row
        for chunk in file.chunks(["town", "n"], 100)
        for row in zip(*(chunk[name].values for name in chunk), strict=True)
    ]


@pytest.mark.parametrize("count", [100, pytest.param(20_000, marks=pytest.mark.full)])
@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_no_bytes_of_a_cell_change_another_row_in_any_encoding(suffix, quoted, count, tmp_path):
    path, rng = tmp_path / f"table{suffix}", random.Random(f"{suffix} {quoted}")
    sign = '"' if quoted or suffix == ".jsonl" else ""
    wide = [bytes([first, second]) for first in HOT for second in HOT]

    for name in _encodings(True):
        encoding = name.removesuffix("_sig")  # what it writes has a mark before each piece
        signs = {letter.encode(encoding) for letter in '\n\r,"'}
        torn = [rng.choice(wide) * rng.randrange(2) + _any_bytes(rng) for _ in range(count)]
        before, after = (f'{{"town": {sign}', f'{sign}, "n": 1}}') if suffix == ".jsonl" else (sign, f"{sign},1")
        found = [b"".join(bytes([byte]) for byte in cell if bytes([byte]) not in signs) for cell in torn]
        odd = [before.encode(encoding) + cell + after.encode(encoding) for cell in found]
        plain = f"{before}York{after}".encode(encoding)
        end = "\n".encode(encoding)
        head = "town,n\n".encode(encoding) if suffix == ".csv" else b""

        path.write_bytes(head + end.join(line for each in odd for line in (each, plain)))
        rows = _read_rows(path, name)
        assert len(rows) == 2 * count, name
        assert {*rows[1::2]} == {("York", "1")}, name

        for line in odd[:5]:  # a reader that waits for more bytes shows at the end of a file alone
            path.write_bytes(head + line + end + "7".encode(encoding))
            assert len(_read_rows(path, name)) == 2, (name, line)


def _any_bytes(rng: random.Random) -> bytes:
    return bytes(rng.choice(HOT) if rng.random() < 0.6 else rng.randrange(256) for _ in range(rng.randrange(9)))
