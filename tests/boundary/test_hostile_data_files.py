"""Data files with damage, false claims and bombs: rows or one sentence, and memory that follows the file."""

import gzip
import io
import os
import random
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from encodings.aliases import aliases
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers.hostile import damaged, outcome, watched
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
    "a long cell": ("t.xlsx", _xlsx(_HEAD + _row(("A2", "7" * 2**25), ("B2", "x")))),
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


def test_a_dimension_that_says_more_than_there_is_decides_nothing(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        for part, text in _xlsx(_HEAD + _row(("A2", "1"), ("B2", "x")), "A1:XFD1048576").items():
            archive.writestr(part, text)

    assert _child(tmp_path / "t.xlsx")[1] == "read 1"


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
    return damaged(rng.choice([text.encode(), text.encode("utf-16")]), rng)


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

WRITTEN = {
    ".csv": ("town,n\n", "York,1\n", "Yo|rk,1\n"),
    ".jsonl": ("", '{"town": "York", "n": 1}\n', '{"town": "Yo|rk", "n": 1}\n'),
}


def _encodings() -> list[str]:
    """Return the encodings of text that are here; some of Python's are for bytes, or for Windows alone."""
    found = []
    for name in sorted(set(aliases.values())):
        with suppress(LookupError, UnicodeError):
            found += [name] if "a".encode(name) else []
    return found


@pytest.mark.parametrize("suffix", WRITTEN)
def test_no_bytes_of_a_cell_end_the_reading_in_any_encoding(suffix, tmp_path):
    head, row, torn = WRITTEN[suffix]
    path, rng = tmp_path / f"table{suffix}", random.Random(suffix)
    read = 0

    for encoding in [*_encodings(), None] * 6:
        used = encoding or rng.choice(["utf-8", "utf-16"])
        before, after = torn.split("|")
        with suppress(UnicodeError):  # a few encodings lack letters of these rows
            inside = before.encode(used) + rng.randbytes(rng.randrange(1, 9)) + after.encode(used)
            path.write_bytes(head.encode(used) + row.encode(used) + inside + row.encode(used))
            dialect = Dialect(encoding=encoding)
            file = CsvFile(path, ",", dialect) if suffix == ".csv" else JsonLinesFile(path, dialect, ["town", "n"])
            read += sum(len(chunk["n"]) > 0 for chunk in file.chunks(["town", "n"], 10))

    assert read > 300
