"""How far tables of one to three columns are from the real ones, in public cells and in cells of the real rows."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lapwing.extras.evaluate.metrics.tables.variation import Variation
from lapwing.extras.evaluate.metrics.tables.workload import k_marginal_score
from lapwing.maths.arrays import Codes
from lapwing.model.compared import CellParts, choose_tables, count_distances, side_by_side
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, evenly, identity, interval_grouping, lookup
from lapwing.schema.schemas import Schema

WIDE, NARROW = 8, 32
"""Most groups of the regular values of a column."""
SCORED = 20
"""Parts of a number in NIST's score."""
TRIPLES = 500
"""Tables of three columns that are compared where there are more; drawn with seed 0, the same for every rival."""

Cut = Callable[[Codes, Field], Grouping]


def variations(train: Codes, synthetic: Codes, schema: Schema) -> dict[str, float]:
    """Return mean total variation distances of tables of columns, and NIST's 3-marginal score.

    Parameters
    ----------
    train, synthetic : Codes
        Codes of the schema, at least one row each.
    schema : Schema
        Of both.

    Returns
    -------
    dict of str to float
        ``tvK_C`` for K = 1, 2, 3 columns (all, all pairs, all triples or 500 of them) and C = ``wide``, ``narrow`` (at
        most 8 and 32 nearly equal parts of the public domain of ordered columns), ``native`` (at most 32 parts with
        equal shares of the train rows): 0 to 1. Columns without order keep the commonest values of the train rows
        and have one cell for the others. Special values, and missing with misfits, are cells of their own.
        ``nist_k3``: 0 to 1000, see Notes; only where there are three columns.

    Notes
    -----
    NIST's k-marginal score is ``1000 * (1 - mean total variation)`` over tables of k columns: Task, Bhagat, Howarth,
    SDNist v2 (2023), https://doi.org/10.18434/mds2-2943. As there, numbers have 20 parts with equal shares of the
    real rows and every category is a cell; k = 3 as in NIST's challenge of 2018, over the triples of ``tv3``.
    """
    chosen = choose_tables(schema, pairs=len(schema.columns) ** 2, triples=TRIPLES, rng=np.random.default_rng(0))
    found = {}
    for name, cells in (("wide", _public(WIDE)), ("narrow", _public(NARROW)), ("native", _by_share(NARROW))):
        parts = _side_by_side(train, synthetic, schema, cells)
        for tables in chosen:
            found[f"tv{len(tables[0])}_{name}"] = float(_distances(parts, tables).mean())
    if len(chosen) == 3:
        distances = _distances(_side_by_side(train, synthetic, schema, _scored), chosen[2])
        triples = Variation(ways=3, possible=len(chosen[2]), tables=chosen[2], distances=distances)
        found["nist_k3"] = k_marginal_score(triples).value
    return found


def _side_by_side(train: Codes, synthetic: Codes, schema: Schema, cells: Cut) -> dict[str, CellParts]:
    """Return the cells of each column in both tables."""
    return {
        field.name: side_by_side(cells(train, field), [train[field.name], synthetic[field.name]])
        for field in schema.columns
    }


def _distances(parts: Mapping[str, CellParts], tables: Sequence[Sequence[str]]) -> np.ndarray:
    """Return the total variation distance of each table."""
    rows = [len(codes) for codes in next(iter(parts.values())).tables]
    return np.array([count_distances([parts[name] for name in table], rows)[0] for table in tables])


def _public(groups: int) -> Cut:
    """Return the rule of equal parts of the public domain."""

    def cells(train: Codes, field: Field) -> Grouping:
        return evenly(field.domain, groups) if field.domain.ordered else _common(train, field, groups)

    return cells


def _by_share(groups: int) -> Cut:
    """Return the rule of parts with equal shares of the train rows."""

    def cells(train: Codes, field: Field) -> Grouping:
        return _shared_out(train, field, groups) if field.domain.ordered else _common(train, field, groups)

    return cells


def _scored(train: Codes, field: Field) -> Grouping:
    """Return the cells of NIST's score."""
    return identity(field.domain) if field.is_categorical else _shared_out(train, field, SCORED)


def _shared_out(train: Codes, field: Field, groups: int) -> Grouping:
    """Return runs of codes with nearly equal shares of the train rows; fewer where one code has many."""
    regular = np.sort(train[field.name][train[field.name] < field.domain.values]).astype(np.int64)
    starts = np.unique(regular[np.arange(1, groups) * len(regular) // groups]) if len(regular) else regular
    return interval_grouping(field.domain, starts[starts > 0])


def _common(train: Codes, field: Field, groups: int) -> Grouping:
    """Return each of the commonest values of the train rows, and one group for all others where there are more."""
    values = field.domain.values
    if values <= groups:
        return identity(field.domain)
    counts = np.bincount(train[field.name].astype(np.int64), minlength=values)[:values]
    table = np.full(values, groups - 1)
    table[np.argsort(-counts, kind="stable")[: groups - 1]] = np.arange(groups - 1)
    return lookup(field.domain, table)
