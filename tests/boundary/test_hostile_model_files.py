"""Model files from strangers: whatever the bytes, a release or one clear sentence, in bounded time and memory."""

import io
import json
import struct
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.hostile import Entries, good_entries, zipped
from lapwing.errors import DataError
from lapwing.model.files import SavedRelease, load_release


def _refusal(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "hostile.lapwing"
    path.write_bytes(content)
    before = sorted(each.name for each in tmp_path.iterdir())
    with pytest.raises(DataError) as caught:
        load_release(path)
    assert sorted(each.name for each in tmp_path.iterdir()) == before
    message = str(caught.value)
    assert "hostile.lapwing is not a Lapwing model file: " in message or "written by another version" in message
    assert message.isprintable()
    return message


def _npy(values: np.ndarray, **options: Any) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, values, **options)
    return stream.getvalue()


def _npy_header(text: str, body: bytes = bytes(56), version: bytes = b"\1\0") -> bytes:
    header = text.encode() + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(header)) + header + body


def _edited(entries: Entries, name: str, edit: Callable[[Any], Any]) -> Entries:
    """Return entries with one JSON document edited in place, or replaced where the edit returns something."""
    tree = json.loads(entries[name])
    returned = edit(tree)
    return {**entries, name: json.dumps(tree if returned is None else returned).encode()}


def _put(path: tuple[str | int, ...], value: object) -> Callable[[Any], None]:
    def edit(tree: Any) -> None:
        for key in path[:-1]:
            tree = tree[key]
        tree[path[-1]] = value

    return edit


ARRAYS = [
    b"",
    b"\x93NUMPY",
    b"\x93NUMPX\1\0" + bytes(120),
    _npy(np.array([{"x": 1}], dtype=object), allow_pickle=True),
    _npy(np.ones(7, dtype=np.float16)),
    _npy(np.ones(7, dtype=np.complex128)),
    _npy(np.ones(7, dtype=">f8")),
    _npy(np.ones(7, dtype=bool)),
    _npy(np.array(["a"] * 7)),
    _npy(np.zeros(7, dtype=[("a", "<f8")])),
    _npy(np.ones((7, 2), order="F")),
    _npy(np.ones(7), version=(2, 0)),
    _npy(np.ones(7))[:-1],
    _npy(np.ones(7)) + b"x",
    _npy(np.ones(0)),
    _npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999999,), }"),
    _npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (999999999, 999999999, 999999999), }"),
    _npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (-7,), }"),
    _npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (7L,), }"),
    _npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (07,), }"),
    _npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (True,), }"),
    _npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (7, "),
    _npy_header("{'descr': '|O', 'fortran_order': False, 'shape': (7,), }"),
    _npy_header("{'descr': __import__('os'), 'fortran_order': False, 'shape': (7,), }"),
    _npy_header("(" * 400),
    _npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (7,), }" + " " * 9000),
    _npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (7,), }", version=b"\3\0"),
    _npy_header("{'descr': '<u8', 'fortran_order': False, 'shape': (7,), }"),
]

DOCUMENTS = [
    b"",
    b"null",
    b"5",
    b'"text"',
    b"[]]",
    b"{}",
    b'{"format": 1, "format": 1}',
    b'{"rows": NaN}',
    b'{"rows": 1e999}',
    b'{"rows": ' + b"9" * 10_000 + b"}",
    b"\xff\xfe",
    b'"\\ud800"',
    b"[" * 100_000,
    b"[" * 200 + b"]" * 200,
    b"[" + b"[]," * 2**20 + b"[]]",
    b'{"array": 0}',
    b'[{"array": 0}]',
    b"[" + b"0," * 10**6 + b"0]",
]


def test_the_good_file_loads(tmp_path: Path):
    path = tmp_path / "same.lapwing"
    path.write_bytes(zipped(good_entries(tmp_path)))

    assert isinstance(load_release(path), SavedRelease)


@pytest.mark.parametrize(
    "damage",
    [
        lambda good: b"",
        lambda good: b"PK",
        lambda good: b"not a zip, just text that goes on for a while",
        lambda good: good[: len(good) // 2],
        lambda good: good[:-1],
        lambda good: good + b"x",
        lambda good: b"x" + good,
        lambda good: good + good,
        lambda good: good[:-2] + b"\5\0hello",
        lambda good: good[-22:],
        lambda good: b"PK\5\6" + bytes(18),
        lambda good: good[:-22] + b"PK\6\7" + bytes(16) + good[-22:],
        lambda good: good[:-10] + struct.pack("<L", 2**30) + good[-6:],
        lambda good: good[:-14] + struct.pack("<2H", 60000, 60000) + good[-10:],
    ],
)
def test_files_that_are_no_plain_zip_are_refused(tmp_path: Path, damage: Callable[[bytes], bytes]):
    _refusal(tmp_path, damage(zipped(good_entries(tmp_path))))


@pytest.mark.parametrize(
    "name",
    ["../evil.npy", "/tmp/a00099.npy", "sub/model.json", "a99.npy", "a00099.npy.exe", "a00099.npy", "x.pickle", ""],
)
def test_entries_outside_the_closed_list_are_refused(tmp_path: Path, name: str):
    _refusal(tmp_path, zipped({**good_entries(tmp_path), name: b"x"}))


@pytest.mark.parametrize(
    "name",
    ["manifest.json", "schema.json", "certificate.json", "model.json", "answers.json", "a00000.npy", "a00003.npy"],
)
def test_a_missing_entry_is_refused(tmp_path: Path, name: str):
    entries = good_entries(tmp_path)
    del entries[name]

    _refusal(tmp_path, zipped(entries))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ["model.json", "a00000.npy"])
def test_an_entry_that_occurs_twice_is_refused(tmp_path: Path, name: str):
    entries = good_entries(tmp_path)
    stream = io.BytesIO(zipped(entries))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr(name, entries[name])

    assert "occurs twice" in _refusal(tmp_path, stream.getvalue())


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_methods_are_refused(tmp_path: Path, method: int):
    assert "packed in an unknown way" in _refusal(tmp_path, zipped(good_entries(tmp_path), method))


def _patched_directory(content: bytes, offset: int, value: bytes, entry: str = "model.json") -> bytes:
    """Return a zip with bytes of one entry's central directory record replaced."""
    at = content.rindex(entry.encode()) - 46
    assert content[at : at + 4] == b"PK\1\2"
    return content[: at + offset] + value + content[at + offset + len(value) :]


@pytest.mark.parametrize(
    ("offset", "value"),
    [
        (8, struct.pack("<H", 1)),  # encrypted
        (8, struct.pack("<H", 0x20)),  # patched data
        (8, struct.pack("<H", 0x40)),  # strong encryption
        (10, struct.pack("<H", 99)),  # unknown method
        (10, struct.pack("<H", 0)),  # stored, though deflated
        (16, struct.pack("<L", 12345)),  # checksum
        (20, struct.pack("<L", 5)),  # compressed size too small
        (20, struct.pack("<L", 2**31)),  # compressed size too large
        (24, struct.pack("<L", 5)),  # declared size too small
        (24, struct.pack("<L", 2**31)),  # declared size too large
        (42, struct.pack("<L", 2**31)),  # offset beyond the file
        (42, struct.pack("<L", 7)),  # offset into another entry
        (28, struct.pack("<H", 60000)),  # name longer than the directory
    ],
)
def test_a_directory_that_lies_is_refused(tmp_path: Path, offset: int, value: bytes):
    _refusal(tmp_path, _patched_directory(zipped(good_entries(tmp_path)), offset, value))


@pytest.fixture(scope="module", params=["model.json", "a00000.npy"])
def bomb(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes]:
    """Return an entry that expands to 400 MB, and the whole file."""
    good = good_entries(tmp_path_factory.mktemp("bomb"))
    return request.param, zipped({**good, request.param: bytes(400 * 2**20)})


@pytest.mark.parametrize("declared", [None, 10])
def test_a_bomb_is_refused_before_it_expands(tmp_path: Path, bomb: tuple[str, bytes], declared: int | None):
    name, content = bomb
    if declared is not None:
        content = _patched_directory(content, 24, struct.pack("<L", declared), name)

    tracemalloc.start()
    started = time.process_time()
    _refusal(tmp_path, content)
    seconds = time.process_time() - started
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    # It may expand 200 times from 0.4 MB; buffers double that.
    assert peak < 250 * 2**20
    assert seconds < 5


@pytest.mark.parametrize("content", ARRAYS, ids=range(len(ARRAYS)))
def test_arrays_of_another_form_are_refused(tmp_path: Path, content: bytes):
    _refusal(tmp_path, zipped({**good_entries(tmp_path), "a00000.npy": content}))


@pytest.mark.parametrize(
    "weights",
    [
        np.full(7, np.nan),
        np.full(7, -1.0),
        np.zeros(7),
        np.full(7, np.inf),
        np.full(7, 1e308),
        np.ones(6),
        np.ones(8),
        np.ones((7, 1)),
    ],
)
def test_weights_that_are_no_mass_are_refused(tmp_path: Path, weights: np.ndarray):
    _refusal(tmp_path, zipped({**good_entries(tmp_path), "a00000.npy": _npy(weights)}))


@pytest.mark.parametrize("name", ["manifest.json", "schema.json", "certificate.json", "model.json", "answers.json"])
@pytest.mark.parametrize("content", DOCUMENTS, ids=range(len(DOCUMENTS)))
def test_documents_that_are_not_what_they_should_be_are_refused(tmp_path: Path, name: str, content: bytes):
    _refusal(tmp_path, zipped({**good_entries(tmp_path), name: content}, zipfile.ZIP_STORED))


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("manifest.json", ("format",), 2),
        ("manifest.json", ("kind",), "other"),
        ("schema.json", ("fields", 0, "type"), "blob"),
        ("schema.json", ("fields", 2, "constraints"), {"minimum": 0, "maximum": 2**60}),
        ("schema.json", ("fields",), []),
        ("certificate.json", ("total", "exact"), "1e999999999"),
        ("certificate.json", ("total", "exact"), "1/11"),
        ("certificate.json", ("costs",), []),
        ("model.json", ("rows",), -1),
        ("model.json", ("rows",), 10**400),
        ("model.json", ("rows",), True),
        ("model.json", ("weights",), [1.0] * 7),
        ("model.json", ("weights",), {"array": 999}),
        ("model.json", ("weights",), {"array": -1}),
        ("model.json", ("weights",), {"array": True}),
        ("model.json", ("weights",), {"array": "0"}),
        ("model.json", ("columns", 0, "name"), "other"),
        ("model.json", ("columns", 0, "name"), "colour"),
        ("model.json", ("columns", 0, "law"), "gaussian"),
        ("model.json", ("columns", 0, "p"), None),
        ("model.json", ("columns", 1, "index"), {"array": 0}),
        ("model.json", ("columns", 1, "laws", "offsets"), {"array": 0}),
        ("model.json", ("columns",), []),
        ("model.json", ("log_linear",), {}),
        ("model.json", ("log_linear", "base"), []),
        ("model.json", ("log_linear", "tables", 0, "columns"), ["age"]),
        ("model.json", ("log_linear", "tables", 0, "columns"), ["age", "age"]),
        ("model.json", ("log_linear", "tables", 0, "groupings", 0, "values"), 9),
        ("answers.json", (0, "question", "kind"), "Everything"),
        ("answers.json", (0, "question", "columns"), ["age", "colour"]),
        ("answers.json", (0, "question", "columns"), "ab"),
        ("answers.json", (0, "question", "columns"), [["age"], ["grade"]]),
        ("answers.json", (0, "question", "groupings", 0, "kind"), "magic"),
        ("answers.json", (0, "question", "cost", "amount"), "1e999999999"),
        ("answers.json", (0, "question", "cost", "amount"), 0.5),
        ("answers.json", (0, "question", "cost", "amount"), "0"),
        ("answers.json", (0, "tables", 0, "noise", "parameter"), "1e999999999"),
        ("answers.json", (0, "tables", 0, "noise", "parameter"), "-1"),
        ("answers.json", (0, "tables", 0, "counts"), {"array": 0}),
        ("answers.json", (0, "tables", 0, "counts"), None),
        ("answers.json", (0, "tables"), []),
        (
            "answers.json",
            (1, "question", "groupings", 0),
            {"kind": "shift", "values": 2**53, "reserved": 1, "shift": 0},
        ),
        (
            "answers.json",
            (1, "question", "groupings", 0),
            {"kind": "shift", "values": 3, "reserved": 2**24, "shift": 0},
        ),
    ],
)
def test_documents_that_contradict_each_other_are_refused(
    tmp_path: Path, name: str, path: tuple[str | int, ...], value: object
):
    started = time.process_time()

    _refusal(tmp_path, zipped(_edited(good_entries(tmp_path), name, _put(path, value))))

    assert time.process_time() - started < 2


def test_a_law_on_the_misfit_code_is_refused(tmp_path: Path):
    entries = good_entries(tmp_path)
    law = json.loads(entries["model.json"])["columns"][1]
    stops = np.load(io.BytesIO(entries[f"a{law['laws']['stops']['array']:05d}.npy"]))
    touching = np.where(stops == stops.max(), 4, stops)
    entries["a99999.npy"] = _npy(touching)
    number = sum(name.endswith(".npy") for name in entries) - 1
    entries[f"a{number:05d}.npy"] = entries.pop("a99999.npy")

    message = _refusal(
        tmp_path, zipped(_edited(entries, "model.json", _put(("columns", 1, "laws", "stops"), {"array": number})))
    )

    assert "'colour' has a law that reaches code 3" in message


def test_one_large_array_named_in_many_groupings_is_refused(tmp_path: Path):
    entries = good_entries(tmp_path)
    number = sum(name.endswith(".npy") for name in entries)
    entries[f"a{number:05d}.npy"] = _npy(np.arange(1, 10**6))
    cuts = {"kind": "cuts", "values": 2**40, "reserved": 1, "cuts": {"array": number}}

    def edit(tree: Any) -> Any:
        tree[0]["question"]["groupings"] = [cuts, cuts]
        return tree * 1000

    started = time.process_time()
    message = _refusal(tmp_path, zipped(_edited(entries, "answers.json", edit)))

    assert "groupings of a release list more than" in message
    assert time.process_time() - started < 5


def test_control_characters_of_a_file_do_not_reach_the_terminal(tmp_path: Path):
    entries = _edited(good_entries(tmp_path), "model.json", _put(("columns", 0, "law"), "\x1b[31mred\u202e"))

    message = _refusal(tmp_path, zipped(entries))

    assert "\x1b" not in message
