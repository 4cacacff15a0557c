"""Public tables that contradict each other or a rule: what is seen beforehand is refused, all else warned of."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.release.laws import point_laws
from lapwing.release.model import Indexed, ReleasedModel
from lapwing.sample.public_margins import raked_to_public
from lapwing.sample.rows import sample_codes
from lapwing.schema.schemas import Schema

REQUIRED = {"required": True}
FLAGS = [{"name": name, "type": "boolean", "constraints": REQUIRED} for name in "abc"]
NEVER_EQUAL = [
    {
        "columns": list(pair),
        "cells": [[True, True, 0], [True, False, 5], [False, True, 5], [False, False, 0]],
        "source": "Register",
        "provenance": "public",
    }
    for pair in ("ab", "bc", "ac")
]
TOWNS = [
    {"name": "town", "type": "string", "categories": ["t", "u"], "constraints": REQUIRED},
    {"name": "county", "type": "string", "categories": list("ABCDEFGH"), "constraints": REQUIRED},
]
RULE = {"determines": ["town"], "column": "county"}


def table_of(columns: list[str], *cells: list[Any]) -> dict[str, Any]:
    """Return a public table in which nobody is outside the listed cells."""
    return {"columns": columns, "cells": list(cells), "complete": True, "source": "Register", "provenance": "public"}


def atoms_of(**codes: list[int]) -> ReleasedModel:
    """Return equally heavy atoms that are points."""
    laws = {}
    for name, own in codes.items():
        known, index = np.unique(own, return_inverse=True)
        laws[name] = Indexed(index.astype(np.uint8), point_laws(known))
    count = len(next(iter(codes.values())))
    return ReleasedModel(weights=np.ones(count), rows=10 * count, laws=laws)


@pytest.mark.parametrize("name", ["independent", "pmm", "adaptive"])
def test_a_paid_release_is_not_lost_where_public_tables_contradict_each_other(name: str) -> None:
    rows = pl.DataFrame({flag: [True, False] * 5 for flag in "abc"})

    release = lw.synthesize(
        rows,
        {"fields": FLAGS, "publicTables": NEVER_EQUAL},
        epsilon=5,
        mechanism=MECHANISMS[name].small(),
        seed=1,
    )

    assert release.sample().height == 10
    (said,) = [line for line in release.certificate.warnings if "is not held" in line]
    assert said.startswith("the public table of a, c is not held: 1 of the rows")


@pytest.mark.parametrize("tables", [("complete", "bare"), ("complete",)], ids=["two", "one"])
def test_a_model_that_is_nowhere_where_tables_count_rows_keeps_its_weights(tables: tuple[str, ...]) -> None:
    # The atoms say that t and u lie in C, so that the rule leaves no atom where the table counts.
    known = {
        "complete": table_of(["town", "county", "sex"], ["t", "A", "f", 60], ["u", "B", "f", 40]),
        "bare": table_of(["town"], ["t", 60], ["u", 40]),
    }
    schema = Schema.from_dict(
        {
            "fields": [*TOWNS, {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": REQUIRED}],
            "rules": [RULE],
            "publicTables": [known[each] for each in tables],
        }
    )
    model = atoms_of(town=[0, 1], county=[2, 2], sex=[0, 1])

    found = raked_to_public(model, schema, np.random.default_rng(1))
    (codes,) = sample_codes(found.model, schema, 100, np.random.default_rng(2))

    assert found.model.atoms == 2
    assert found.off == 100
    assert found.tables[0].after == 1
    assert set(codes["county"].tolist()) == {2}
