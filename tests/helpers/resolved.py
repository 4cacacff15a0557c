"""Columns of every kind, their noisy one-way tables, and the resolved columns made of them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.mechanisms.adaptive.candidates import resolved_column
from lapwing.mechanisms.adaptive.one_way import first_cells, one_way_table
from lapwing.mechanisms.shared.one_way import one_way_grouping
from lapwing.schema.fields import Field

SIZES = (16, 8, 4)


def _listed(count):
    return tuple(f"c{place}" for place in range(count))


FIELDS = {
    "integer, narrow": Field(name="x", type="integer", minimum=-3, maximum=4, required=True),
    "integer, one value": Field(name="x", type="integer", minimum=5, maximum=5, required=True),
    "integer, wide": Field(name="x", type="integer", minimum=-10, maximum=10**9),
    "integer, widest": Field(name="x", type="integer", minimum=0, maximum=2**53 - 1, required=True),
    "integer, special": Field(name="x", type="integer", minimum=1, maximum=500, special=(-1, 0, 999), required=True),
    "integer, special and missing": Field(name="x", type="integer", minimum=0, maximum=99, special=(-1, -2)),
    "number, continuous": Field(name="x", type="number", minimum=-1.5, maximum=1e6),
    "number, continuous, special": Field(name="x", type="number", minimum=0, maximum=1, special=(-9.5,), required=True),
    "number, resolution": Field(name="x", type="number", minimum=0, maximum=100, resolution=0.01, required=True),
    "boolean": Field(name="x", type="boolean"),
    "boolean, required": Field(name="x", type="boolean", required=True),
    "one category": Field(name="x", type="string", categories=("only",)),
    "few categories": Field(name="x", type="string", categories=_listed(5), required=True),
    "many categories": Field(name="x", type="string", categories=_listed(10_000)),
    "many ordered categories": Field(name="x", type="string", categories=_listed(10_000), ordered=True, required=True),
    "few ordered categories": Field(name="x", type="string", categories=_listed(20), ordered=True),
    "integer categories": Field(name="x", type="integer", categories=tuple(range(40)), required=True),
    "date": Field(name="x", type="date", minimum="1900-01-01", maximum="2030-12-31"),
    "datetime": Field(name="x", type="datetime", minimum="2020-01-01", maximum="2024-12-31", required=True),
    "datetime by hours": Field(
        name="x",
        type="datetime",
        minimum="2024-01-01",
        maximum="2024-01-03",
        resolution="hour",
        special=("1900-01-01",),
    ),
}


def answer_of(field, *, rows=5000, sd=5.0, seed=1, shape=0.3):
    """Return a noisy one-way table of about so many rows, unevenly spread, misfits among them."""
    rng = np.random.default_rng(seed)
    grouping = first_cells(field) if field.domain.ordered else one_way_grouping(field, 128)
    variance = max(Fraction(sd) ** 2, Fraction(1, 10**6))
    question = MarginalCounts(columns=(field.name,), groupings=(grouping,), cost=Budget("zcdp", 1 / (2 * variance)))
    counts = rng.multinomial(rows, rng.dirichlet(np.full(grouping.groups, shape)))
    noise = np.rint(rng.normal(0.0, sd, counts.size)).astype(np.int64)
    return NoisyCounts(question, counts.astype(np.int64) + noise, NoiseLaw("gaussian", variance))


def column_of(field, *, total=5000.0, sizes=SIZES, **how):
    return resolved_column(one_way_table([answer_of(field, **how)]), field, total, sizes)


def named(field, name):
    """Return a field like another, under a name of its own."""
    return replace(field, name=name)


def dense_laws(laws, edges):
    """Return the mass that each law gives to each run between edges: shape (laws, runs)."""
    found = np.zeros((laws.count, len(edges) - 1))
    pieces = zip(laws.law_of_piece, laws.starts, laws.stops, laws.probabilities, strict=True)
    for law, start, stop, probability in pieces:
        first, last = np.searchsorted(edges, [start, stop])
        assert edges[first] == start
        assert edges[last] == stop
        lengths = np.diff(edges[first : last + 1]).astype(np.float64)
        found[law, first:last] += probability * lengths / lengths.sum()
    return found
