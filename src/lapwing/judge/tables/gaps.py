"""Whether cells are missing together, and missing where they should be, in two coded tables.

Total variation distances of small tables of which one side is: regular or not, missing or not. What is computed from
private rows is private: nothing here adds noise.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from lapwing.judge.columns import Codes
from lapwing.judge.tables.variation import Variation
from lapwing.schema.groupings.grouping import evenly
from lapwing.schema.schemas import Schema

Pairs = tuple[tuple[str, str], ...]

PAIRS: Final = 2000
"""Pairs of columns that are compared where there are more."""

GIVEN: Final = 16
"""Equal parts of the public domain in which the other column is taken."""


def pairs_together(schema: Schema, *, most: int = PAIRS, rng: np.random.Generator) -> Pairs:
    """Return the pairs of columns that may be missing or have special values: all, or a sample.

    >>> fields = [{"name": name, "type": "boolean"} for name in "abc"]
    >>> pairs_together(Schema.from_dict({"fields": fields}), rng=np.random.default_rng(0))
    (('a', 'b'), ('a', 'c'), ('b', 'c'))
    """
    return _sampled(tuple(itertools.combinations(_with_gaps(schema), 2)), most, rng)


def pairs_given(schema: Schema, *, most: int = PAIRS, rng: np.random.Generator) -> Pairs:
    """Return the pairs of a column that may be missing and any other column: all, or a sample.

    >>> fields = [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean", "constraints": {"required": True}}]
    >>> pairs_given(Schema.from_dict({"fields": fields}), rng=np.random.default_rng(0))
    (('a', 'b'),)
    """
    return _sampled(tuple(itertools.product(_may_miss(schema), [each.name for each in schema.columns])), most, rng)


def missing_together(real_codes: Codes, other_codes: Codes, schema: Schema, pairs: Pairs) -> Variation:
    """Return how far two tables are apart in which cells of a row are regular at the same time.

    real_codes, other_codes: mapping of str to integers (n,) and (m,), codes of every modelled column of the schema, at
    least one row each. Returns of the tables (regular or not) x (regular or not), 0 to 1.

    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]})
    >>> real, other = {"a": np.array([2, 1]), "b": np.array([2, 0])}, {"a": np.array([2, 1]), "b": np.array([0, 2])}
    >>> missing_together(real, other, schema, (("a", "b"),)).mean
    1.0
    """
    tables = [
        {name: codes[name] >= schema.field(name).domain.values for name in {each for pair in pairs for each in pair}}
        for codes in (real_codes, other_codes)
    ]
    found = [_distance([2 * cells[a].astype(np.uint8) + cells[b] for cells in tables], 4) for a, b in pairs]
    possible = math.comb(len(_with_gaps(schema)), 2)
    return Variation(ways=2, possible=possible, tables=pairs, distances=np.array(found))


def missing_given(real_codes: Codes, other_codes: Codes, schema: Schema, pairs: Pairs) -> Variation:
    """Return how far two tables are apart in where on a second column the cells of a first one are missing.

    Returns of the tables (missing or not) x (second column), 0 to 1. The second column is taken in at most 16 equal
    parts of its public domain (categories in the order of their list), each special value and missing apart.

    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]})
    >>> real, other = {"a": np.array([2, 1]), "b": np.array([0, 1])}, {"a": np.array([2, 1]), "b": np.array([1, 0])}
    >>> missing_given(real, other, schema, (("a", "b"),)).mean
    1.0
    """
    domains = {name: schema.field(name).domain for name in {each for pair in pairs for each in pair}}
    groupings = {name: evenly(domains[name], GIVEN) for _, name in pairs}
    tables = (real_codes, other_codes)
    parts = {
        name: [2 * each.apply(codes[name]).astype(np.min_scalar_type(2 * each.groups)) for codes in tables]
        for name, each in groupings.items()
    }
    gaps = {name: [codes[name] == domains[name].last for codes in tables] for name, _ in pairs}
    found = [
        _distance([part + gap for part, gap in zip(parts[b], gaps[a], strict=True)], 2 * groupings[b].groups)
        for a, b in pairs
    ]
    possible = len(_may_miss(schema)) * (len(schema.columns) - 1)
    return Variation(ways=2, possible=possible, tables=pairs, distances=np.array(found))


def _with_gaps(schema: Schema) -> list[str]:
    return [each.name for each in schema.columns if each.domain.missing or each.special]


def _may_miss(schema: Schema) -> list[str]:
    return [each.name for each in schema.columns if each.domain.missing]


def _sampled(pairs: Pairs, most: int, rng: np.random.Generator) -> Pairs:
    """Return pairs of two different columns, at most so many."""
    pairs = tuple(pair for pair in pairs if pair[0] != pair[1])
    if len(pairs) <= most:
        return pairs
    return tuple(pairs[position] for position in np.sort(rng.choice(len(pairs), most, replace=False)))


def _distance(keys: Sequence[npt.NDArray[np.integer]], cells: int) -> float:
    """Return the total variation distance between the shares of cells, compared in integers."""
    real, other = (np.bincount(each, minlength=cells) for each in keys)
    rows, others = len(keys[0]), len(keys[1])
    return int(np.abs(real * others - other * rows).sum()) / (2 * rows * others)
