"""Model files with random damage: a release or our error, nothing else."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.hostile import good_entries, outcome, watched, zipped
from lapwing.errors import DataError
from lapwing.model.files import load_release


def _mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes with a few random edits: flips, extreme bytes, cuts, repeats."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(0, max(1, len(data))))
        match int(rng.integers(0, 5)):
            case 0:
                data[at : at + 1] = bytes([int(rng.integers(0, 256))])
            case 1:
                data[at : at + 1] = [b"\0", b"\xff", b"\x7f", b"\x80", b"9", b"{", b"["][int(rng.integers(0, 7))]
            case 2:
                del data[at : at + int(rng.integers(1, 20))]
            case 3:
                data[at:at] = data[at : at + int(rng.integers(1, 20))]
            case _:
                data[at : at + 8] = rng.bytes(8)
    return bytes(data)


JUNK: list[Any] = [
    None,
    True,
    -1,
    0,
    2**31,
    2**63,
    2**64,
    10**30,
    0.5,
    1e300,
    "",
    "x",
    "1/0",
    "1e9",
    [],
    [[]],
    {},
    {"array": 0},
    {"array": 5},
]


def _replaced(tree: Any, rng: np.random.Generator) -> Any:
    """Return a JSON tree with one random node replaced by junk, removed, or repeated."""
    if isinstance(tree, dict) and tree and rng.random() < 0.85:
        key = list(tree)[int(rng.integers(0, len(tree)))]
        if rng.random() < 0.1:
            return {name: value for name, value in tree.items() if name != key}
        return {**tree, key: _replaced(tree[key], rng)}
    if isinstance(tree, list) and tree and rng.random() < 0.85:
        at = int(rng.integers(0, len(tree)))
        if rng.random() < 0.1:
            return tree[:at] + tree[at + 1 :] + (tree if rng.random() < 0.3 else [])
        return [*tree[:at], _replaced(tree[at], rng), *tree[at + 1 :]]
    return JUNK[int(rng.integers(0, len(JUNK)))]


def _survives(path: Path, content: bytes) -> bool:
    """Load bytes and draw rows: True for a release, False for our error; anything else fails the test."""
    path.write_bytes(content)
    with watched(path):
        try:
            load_release(path)
        except DataError:
            return False
        found = outcome(partial(_rows, path))
    assert found in ("read", "ParameterError", "CapacityError", "DataError")
    return True


def _rows(path: Path) -> pl.DataFrame:
    rows = lw.load(path).sample(3, seed=1)
    assert isinstance(rows, pl.DataFrame)
    assert rows.height == 3
    return rows


SEEDS = (0, 1, pytest.param(2, marks=pytest.mark.full))


@pytest.mark.parametrize("seed", SEEDS)
def test_mutated_bytes_give_a_release_or_our_error(tmp_path: Path, seed: int):
    rng = np.random.default_rng(seed)
    good = zipped(good_entries(tmp_path))

    survived = [_survives(tmp_path / "m.lapwing", _mutated(good, rng)) for _ in range(150)]

    assert sum(survived) < 75


@pytest.mark.parametrize("seed", SEEDS)
def test_mutated_entries_with_right_checksums_give_a_release_or_our_error(tmp_path: Path, seed: int):
    rng = np.random.default_rng(100 + seed)
    good = good_entries(tmp_path)
    names = sorted(good)

    survived = []
    for _ in range(150):
        name = names[int(rng.integers(0, len(names)))]
        survived.append(_survives(tmp_path / "m.lapwing", zipped({**good, name: _mutated(good[name], rng)})))

    assert 0 < sum(survived) < 150


@pytest.mark.parametrize("seed", SEEDS)
def test_documents_with_a_replaced_node_give_a_release_or_our_error(tmp_path: Path, seed: int):
    rng = np.random.default_rng(200 + seed)
    good = good_entries(tmp_path)
    documents = sorted(name for name in good if name.endswith(".json"))

    for _ in range(150):
        name = documents[int(rng.integers(0, len(documents)))]
        mutated = json.dumps(_replaced(json.loads(good[name]), rng)).encode()
        _survives(tmp_path / "m.lapwing", zipped({**good, name: mutated}))
