"""Files of strangers with random damage are read, or refused in a sentence of ours, and lead to no other file.

Schemas, linked schemas, public tables, conditions and the metadata of other tools.
"""

import json
import random
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.foreign_files import FOREIGN
from helpers.good_files import BARE, FULL, TREES, read_metadata, read_public, read_schema
from helpers.hostile import changed, damaged, outcome, watched
from lapwing.cli.commands.saved import read_condition_rows
from lapwing.model.statistics.expressions import read_conditions
from lapwing.rows.out.decode import decode_column
from lapwing.schema.schemas import Schema

CELLS = (
    b"age,sex,count\n0..17,f,100\n18..,f,410\n..17,m,90\n18..,m,400\n",
    b"born,count\n..2000-01-01,5\n2000-01-02..,6\n",
    b"income,count\n..5000,5\n5000.5..,6\n,7\n",
)
CONDITIONS = (
    b"age,sex\n30,f\n31,m\n",
    b"income,job\n5.5,a1\n,other\n",
    b"born,seen,ok\n2000-01-01,2001-01-01T00:00,true\n",
)
WHERE = (
    "age=30..40",
    "sex=f,m",
    "job=",
    "born=2000-01-01..2001-01-01",
    "income=1e3",
    "town=1",
    "seen=2001-01-01T00:00",
)
METADATA = sorted(path for path in FOREIGN.rglob("*") if path.suffix in (".json", ".yaml"))


def _conditions(path: Path) -> object:
    return read_condition_rows(path, BARE)


def _where(path: Path) -> object:
    return read_conditions([path.read_bytes().decode("utf-8", "replace")], BARE)


def _of_tree(tree: Any, rng: random.Random) -> bytes:
    return json.dumps(changed(tree, rng)).encode()


def _of_metadata(rng: random.Random) -> bytes:
    content = rng.choice(METADATA).read_bytes()
    is_tree = content[:1] in (b"{", b"[") and rng.random() < 0.7
    return _of_tree(json.loads(content), rng) if is_tree else damaged(content, rng)


KINDS: dict[str, tuple[str, Any, Any]] = {
    **{kind: (".json", partial(_of_tree, each.tree), each.read) for kind, each in TREES.items()},
    "bytes of a schema": (".json", partial(damaged, json.dumps(FULL).encode()), read_schema),
    "cells of a public table": (".csv", lambda rng: damaged(rng.choice(CELLS), rng), read_public),
    "rows of conditions": (".csv", lambda rng: damaged(rng.choice(CONDITIONS), rng), _conditions),
    "text of a condition": (".txt", lambda rng: damaged(rng.choice(WHERE).encode(), rng), _where),
    "metadata of other tools": (".json", _of_metadata, read_metadata),
}


@pytest.mark.parametrize("count", [80, pytest.param(20_000, marks=pytest.mark.full)])
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_read_or_refused_at_once(kind, count, tmp_path):
    suffix, make, read = KINDS[kind]
    path = tmp_path / f"file{suffix}"
    rng, found, slowest = random.Random(kind), [], 0.0

    for _ in range(count):
        path.write_bytes(make(rng))
        started = time.process_time()
        with watched(path):
            found.append(outcome(partial(read, path)))
        slowest = max(slowest, time.process_time() - started)

    assert set(found) <= {"read", "SchemaError", "ParameterError", "DataError", "CapacityError"}
    assert any(name != "read" for name in found)
    assert slowest < 5


@pytest.mark.parametrize("end", [{"x": None}, [1], [[]], {}])
def test_the_ends_of_a_range_in_a_public_table_are_values(end, tmp_path):
    table = {"columns": ["age"], "cells": [[{"minimum": end}, 5]], "source": "c", "provenance": "public"}
    path = tmp_path / "table.json"
    path.write_text(json.dumps(table), encoding="utf-8")

    assert outcome(partial(read_public, path)) == "SchemaError"


@pytest.mark.parametrize(
    "content",
    [
        b"a\re,sex,count\n0..17,f,100\n",
        b"sex,count\nf," + b"9" * 5000 + b"\n",
        b"sex,count\nf,\xc2\xb2\n",
        b"sex,count\n" + b"x" * 200_000 + b",1\n",
        b"",
        b"\0,count\n1,2\n",
        b'"',
    ],
    ids=["old line end", "digits", "superscript", "long cell", "empty", "null", "quote"],
)
def test_odd_cells_of_a_public_table_are_refused_in_a_sentence(content, tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(content)

    assert outcome(partial(read_public, path)) in ("SchemaError", "ParameterError")


def test_a_resolution_far_larger_than_the_range_is_no_overflow():
    field = {"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1}, "resolution": 10**30}
    found = Schema.load({"fields": [field]}).field("x")

    assert decode_column(found, np.zeros(2, dtype=found.domain.dtype)).to_list() == [0, 0]
