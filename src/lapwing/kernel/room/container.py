"""A zip of JSON documents and NPY arrays, written the same way every time and read without trust.

Whoever sends a file chooses every byte of it: the reader goes by what it really reads, never by a declared size, and
everything has a closed form and a limit. Nothing is ever unpickled, and nothing is written to disk.
"""

import hashlib
import io
import json
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, cast

import numpy as np

from lapwing.errors import CapacityError, LapwingError, ParameterError
from lapwing.kernel.plain import read_key
from lapwing.schema.typed import parse_json

MALFORMED = (
    LapwingError,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
)
"""What reading a damaged or hostile file can raise."""

MAX_BYTES = 2**30
"""Largest file, and most bytes that its entries may hold together."""

MAX_DOCUMENT_BYTES = 2**26
"""Most bytes of all JSON documents together."""

_MAX_DIRECTORY = 2**22
_LEVEL = 4
_MAX_EXPANSION = 200
_FREE_EXPANSION = 2**20
_MAX_CONTAINERS = 2**20
_MAX_DEPTH = 32
_DTYPES = frozenset({"|u1", "<u2", "<u4", "<i8", "<f4", "<f8"})
_ARRAY_NAME = re.compile(r"a\d{5}\.npy", re.ASCII)
_HEADER = re.compile(
    rb"\{'descr': '[<|][uif][1248]', 'fortran_order': False, "
    rb"'shape': \((?:\d{1,15},|\d{1,15}(?:, \d{1,15})+)?\), \} *\n"
)
_END = struct.Struct("<4s4H2LH")
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)


def write_container(file: BinaryIO, documents: Mapping[str, object]) -> None:
    """Write documents to a zip; equal documents give equal bytes.

    documents: by name, such as ``model.json``. Arrays anywhere inside become entries of their own, equal ones once.
    """
    arrays: dict[bytes, tuple[int, bytes]] = {}
    entries = {
        name: json.dumps(_without_arrays(tree, arrays), allow_nan=False).encode() for name, tree in documents.items()
    }
    document_bytes = sum(map(len, entries.values()))
    entries |= {f"a{number:05d}.npy": content for number, content in arrays.values()}
    total = sum(map(len, entries.values()))
    if document_bytes > MAX_DOCUMENT_BYTES or total > MAX_BYTES or len(arrays) >= 2**15:
        raise CapacityError(
            f"the release takes {total} bytes in {len(arrays)} arrays, more than a model file may hold; "
            "use fewer atoms or coarser tables",
            code="LW510",
        )
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in entries.items():
            info = zipfile.ZipInfo(name, _FIXED_TIME)
            info.create_system = 3  # the same byte on every platform
            info.compress_type = zipfile.ZIP_STORED if _looks_like_a_bomb(content) else zipfile.ZIP_DEFLATED
            archive.writestr(info, content, compresslevel=_LEVEL)


def read_container(file: BinaryIO, documents: Iterable[str], with_arrays: Iterable[str]) -> dict[str, Any]:
    """Read the documents of a zip that anybody may have written.

    documents: the documents that must be there, and nothing else but arrays; with_arrays: those in which ``{"array":
    number}`` stands for an array. Returns by name; arrays are read-only views of the bytes read.
    """
    size, count = _check_end(file)
    with zipfile.ZipFile(file) as archive:
        entries = _check_entries(archive.infolist(), tuple(documents))
        # Every entry has bytes of its own: a few that many entries share cannot expand many times.
        if len(entries) != count or sum(info.compress_size for info in entries) >= size:
            raise ParameterError("its directory does not describe the file", code="LW643")
        contents = _contents(archive, entries)
    trees = {name: parse_document(contents[name], name) for name in documents}
    arrays = [_array(content) for name, content in sorted(contents.items()) if name not in trees]
    for name in with_arrays:
        trees[name] = _with_arrays(trees[name], arrays)
    return trees


def _looks_like_a_bomb(content: bytes) -> bool:
    """Tell whether an entry would expand further than the reader allows, so that it must be stored as it is."""
    if len(content) <= _FREE_EXPANSION:
        return False
    # Bytes of zlib's own frame are more than bytes of a zip entry, hence the one.
    return len(content) > (_MAX_EXPANSION - 1) * len(zlib.compress(content, _LEVEL))


def _without_arrays(tree: object, arrays: dict[bytes, tuple[int, bytes]]) -> object:
    """Return a tree with references in place of its arrays, which are collected as NPY bytes."""
    if isinstance(tree, Mapping):
        return {key: _without_arrays(value, arrays) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_without_arrays(value, arrays) for value in tree]
    if not isinstance(tree, np.ndarray):
        return tree
    stream = io.BytesIO()
    little = tree.astype(tree.dtype.newbyteorder("<"), copy=False)
    np.lib.format.write_array(stream, np.asarray(little, order="C"), version=(1, 0), allow_pickle=False)
    content = stream.getvalue()
    number, _ = arrays.setdefault(hashlib.sha256(content).digest(), (len(arrays), content))
    return {"array": number}


def _with_arrays(tree: object, arrays: list[np.ndarray]) -> object:
    """Return a tree with the arrays that its references name."""
    if isinstance(tree, list):
        return [_with_arrays(value, arrays) for value in tree]
    if not isinstance(tree, dict):
        return tree
    if tree.keys() != {"array"}:
        return {key: _with_arrays(value, arrays) for key, value in tree.items()}
    number = read_key(tree, "array", int)
    if not 0 <= number < len(arrays):
        raise ParameterError(f"there is no array {number}", code="LW643")
    return arrays[number]


def _check_end(file: BinaryIO) -> tuple[int, int]:
    """Refuse a zip that does not end in one plain end record behind a bounded directory; return bytes and entries."""
    size = file.seek(0, io.SEEK_END)
    if size > MAX_BYTES:
        raise ParameterError(f"it is larger than {MAX_BYTES} bytes", code="LW643")
    file.seek(max(0, size - _END.size - 20))
    tail = file.read()
    # A 20-byte locator before the end record would send zipfile to a directory that was not checked.
    signature, disk, first_disk, here, entries, directory, offset, comment = _END.unpack(tail[-_END.size :])
    if signature != b"PK\5\6" or comment or tail[-_END.size - 20 :].startswith(b"PK\6\7"):
        raise ParameterError("it does not end like a plain zip archive", code="LW643")
    if disk or first_disk or here != entries or directory > _MAX_DIRECTORY or offset + directory + _END.size != size:
        raise ParameterError("its directory is damaged or too large", code="LW643")
    file.seek(0)
    return size, entries


def _check_entries(entries: list[zipfile.ZipInfo], documents: tuple[str, ...]) -> list[zipfile.ZipInfo]:
    """Refuse names, flags and methods that the writer does not use."""
    names = [info.filename for info in entries]
    arrays = [name for name in names if _ARRAY_NAME.fullmatch(name)]
    if sorted(set(names)) != sorted(names):
        raise ParameterError("an entry occurs twice", code="LW643")
    if set(names) != {*documents, *arrays}:
        raise ParameterError("it has entries that no model file has, or lacks one", code="LW643")
    if sorted(arrays) != [f"a{number:05d}.npy" for number in range(len(arrays))]:
        raise ParameterError("its arrays are not numbered from 0", code="LW643")
    for info in entries:
        if info.flag_bits or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ParameterError("an entry is encrypted or packed in an unknown way", code="LW643")
    return entries


def _contents(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo]) -> dict[str, bytes]:
    """Read every entry under the limits."""
    contents: dict[str, bytes] = {}
    left, left_for_documents = MAX_BYTES, MAX_DOCUMENT_BYTES
    for info in entries:
        is_document = not _ARRAY_NAME.fullmatch(info.filename)
        allowed = min(left, max(_FREE_EXPANSION, _MAX_EXPANSION * info.compress_size))
        if is_document:
            allowed = min(allowed, left_for_documents)
        with archive.open(info) as stream:
            content = stream.read(allowed + 1)
        if len(content) > allowed or len(content) != info.file_size:
            raise ParameterError("an entry expands further than a model file may, or than it says", code="LW643")
        left -= len(content)
        left_for_documents -= len(content) if is_document else 0
        contents[info.filename] = content
    return contents


def parse_document(content: bytes, name: str) -> object:
    """Parse JSON bytes, with distinct keys, finite numbers and bounded containers and depth."""
    if content.count(b"[") + content.count(b"{") > _MAX_CONTAINERS:
        raise ParameterError(f"{name} has too many lists and objects", code="LW643")
    tree = parse_json(content, name)
    level = [tree]
    for _ in range(_MAX_DEPTH):
        level = [child for parent in level for child in _children(parent)]
    if level:
        raise ParameterError(f"{name} is nested deeper than {_MAX_DEPTH} levels", code="LW643")
    return tree


def _children(tree: object) -> list[object]:
    """Return the lists and objects directly inside a list or object."""
    if not isinstance(tree, list | dict):
        return []
    values = tree if isinstance(tree, list) else list(tree.values())
    if not {list, dict} & set(map(type, values)):
        return []  # long lists of numbers, without a loop in Python
    return [value for value in values if isinstance(value, list | dict)]


def _array(content: bytes) -> np.ndarray:
    """Return the array of NPY bytes, as a read-only view of them."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ParameterError("an array is of an unknown NPY version", code="LW643")
    (length,) = struct.unpack("<H", content[8:10])
    # NumPy evaluates the header as Python text; only one exact form of it gets that far.
    if length > 512 or not _HEADER.fullmatch(content[10 : 10 + length]):
        raise ParameterError("an array has an unusual header", code="LW643")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream, max_header_size=512)
    start = stream.tell()
    if dtype.str not in _DTYPES:
        raise ParameterError(f"an array is of type {dtype.str}", code="LW643")
    if math.prod(shape) * dtype.itemsize != len(content) - start or start == len(content):
        raise ParameterError("an array's shape does not fit its bytes", code="LW643")
    return cast("np.ndarray", np.frombuffer(content, dtype=dtype, offset=start).reshape(shape))
