"""Runs of a tree mechanism in a room of the test's own."""

import numpy as np
import polars as pl

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
