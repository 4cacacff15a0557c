"""Runs of a mechanism in a room of the test's own, and releases that are refused before a debit."""

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers import make
from helpers.kept import Kept
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.room.opening import public_terms
from lapwing.kernel.room.room import Room
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema


def unit_columns(count, **more):
    """Return a schema of numbers from 0 to 1."""
    constraints = {"minimum": 0, "maximum": 1, "required": True}
    return Schema.from_dict(
        {"fields": [{"name": f"x{i}", "type": "number", "constraints": constraints, **more} for i in range(count)]}
    )


def frame_of(points):
    """Return points of shape (n, d) as a table with columns x0, x1, ..."""
    return pl.DataFrame({f"x{i}": points[:, i] for i in range(points.shape[1])})


def run(mechanism, data, schema, *, budget=None, bits=None, relation="add-remove", expected_rows=None, seed=1):
    """Return the model and the answers of one run."""
    source = code_table(data, schema)
    terms = public_terms(source, schema, relation, expected_rows)
    total, kept = budget or Budget.pure(1), Kept()
    room = Room(source, schema, terms, total, bits=bits or SystemBits(), sink=kept)
    return mechanism.run(room, schema, total, np.random.default_rng(seed)), kept.answers


def refused(folder, mechanism, schema, error, message, *, data=None, neighbours="add-remove", **budget):
    """Check that a release is refused with a message before it is debited, and that a plan is refused likewise."""
    settings = {"mechanism": mechanism, "neighbours": neighbours, **(budget or {"epsilon": 1})}
    unit, path = "zcdp" if "rho" in budget else "pure", folder / "t.jsonl"
    ledger = make.ledger(folder / "budget.db", unit=unit, relation=neighbours)
    data = make.table(schema.to_dict(), 50) if data is None else data

    with pytest.raises(error, match=message):
        lw.synthesize(data, schema, ledger=ledger.path, dataset="people", transcript=path, **settings)

    assert ledger.balance("people").spent == 0
    assert not path.exists() or len(path.read_text().splitlines()) == 1  # the header alone
    with pytest.raises(error, match=message):
        lw.plan(schema, expected_rows=100, **settings)
