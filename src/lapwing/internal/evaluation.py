"""How far a synthetic table is from the real one, and from what chance and independent columns would give."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np

from lapwing.errors import DataError
from lapwing.evaluate.downstream import Downstream, check_target, trained_auc
from lapwing.evaluate.variation import (
    Variation,
    bootstrap_rows,
    choose_tables,
    compare_tables,
    independent_columns,
)
from lapwing.internal.results import Internal
from lapwing.release.version import VERSION
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema
from lapwing.table.guard import guarded, private_boundary
from lapwing.table.source import code_table

Codes = dict[str, np.ndarray]

NOTICE: Final = "internal - do not publish"
"""The watermark of everything that compares with real rows."""

_HELD_BACK: Final = 5  # one real row in so many tests where no other rows do


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Evaluation:
    """Hold how far a synthetic table is from the real one. Internal: computed from private rows without noise.

    Parameters
    ----------
    synthetic : tuple of Variation
        Total variation between the real and the synthetic table: of 1-way, 2-way and 3-way tables.
    bootstrap : tuple of Variation
        The same tables of the real rows and as many of them drawn with replacement: the sampling floor.
    independent : tuple of Variation
        The same of the real rows and those rows with every column shuffled by itself: the lazy baseline.
    downstream : Downstream or None
        How well the target is predicted; None where none was given.
    rows, synthetic_rows : int
        Rows of the two tables.
    seed : int
        Chose the tables and drew the reference rows.
    """

    synthetic: tuple[Variation, ...]
    bootstrap: tuple[Variation, ...]
    independent: tuple[Variation, ...]
    downstream: Downstream | None
    rows: int
    synthetic_rows: int
    seed: int

    def __repr__(self) -> str:
        return f"Evaluation({NOTICE})"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values, under the notice that it is internal."""
        compared = {"synthetic": self.synthetic, "bootstrap": self.bootstrap, "independent": self.independent}
        area = self.downstream
        return {
            "notice": NOTICE,
            "lapwing": VERSION,
            "seed": self.seed,
            "rows": {"real": self.rows, "synthetic": self.synthetic_rows},
            "total_variation": {name: [_as_dict(each) for each in found] for name, found in compared.items()},
            "downstream": None if area is None else asdict(area),
        }


@private_boundary
def evaluate_tables(
    real: object,
    synthetic: object,
    schema: Schema,
    *,
    target: str | None,
    test: object,
    seed: int,
    rng: np.random.Generator,
) -> Internal[Evaluation]:
    """Compare a synthetic table with the real one.

    Parameters
    ----------
    real, synthetic : path, list of paths, pandas, Polars or PyArrow table
        Both with every modelled column, and at least one row.
    schema : Schema
        Its privacy unit is not used: all rows are compared.
    target : str or None
        The column that is predicted from the others.
    test : path, list of paths, table or None
        Real rows that the synthetic table was not made from, to test on. Without them a fifth of the real rows tests,
        and the ceiling is trained on the others.
    seed : int
        That the generator was made from.
    rng : Generator
        Chooses 3-way tables and the fifth, draws the reference rows, seeds the classifiers.

    Returns
    -------
    Internal of Evaluation

    Raises
    ------
    ParameterError
        If the target cannot be predicted.
    DataError
        If a table cannot be read, lacks a column or has no row.
    LapwingError
        If a target is given and scikit-learn is not installed.

    Notes
    -----
    Memory: the codes of both tables, 1 to 8 bytes a cell, and as much again while they are counted.
    """
    schema = replace(schema, privacy_unit=None)
    if target is not None:
        check_target(schema, target)
    rows, others = _codes("the real table", real, schema), _codes("the synthetic table", synthetic, schema)
    found = None
    if target is not None:
        train, tests = _held_back(rows, rng) if test is None else (rows, _codes("the table of test rows", test, schema))
        found = _predicted((others, train), tests, schema, target, rng)
    tables = choose_tables(schema, rng=rng)
    compared = [
        compare_tables(rows, against, schema, tables)
        for against in (others, bootstrap_rows(rows, rng), independent_columns(rows, rng))
    ]
    return Internal(
        Evaluation(
            synthetic=compared[0],
            bootstrap=compared[1],
            independent=compared[2],
            downstream=found,
            rows=_height(rows),
            synthetic_rows=_height(others),
            seed=seed,
        )
    )


def _codes(what: str, data: object, schema: Schema) -> Codes:
    """Return the codes of a table, at least one row."""
    source = code_table(data, schema)
    parts = list(source.chunks())
    if not any(len(part[name]) for part in parts for name in source.columns[:1]):
        raise DataError(f"{what} has no row; there is nothing to compare")
    return {name: np.concatenate([part[name] for part in parts]) for name in source.columns}


def _height(codes: Mapping[str, np.ndarray]) -> int:
    return len(next(iter(codes.values())))


def _held_back(rows: Codes, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Return the rows to train on and those to test on; a table of one row only tests."""
    order = rng.permutation(_height(rows))
    held = -(-len(order) // _HELD_BACK)
    train, tests = ({name: column[part] for name, column in rows.items()} for part in (order[held:], order[:held]))
    return train, tests


def _predicted(
    trains: tuple[Codes, Codes], tests: Codes, schema: Schema, target: str, rng: np.random.Generator
) -> Downstream:
    """Return how well classifiers trained on synthetic and on real rows predict the same test rows."""
    auc, ceiling = guarded(
        f"the target {quote(target)} cannot be predicted",
        lambda: [trained_auc(train, tests, schema, target, rng) for train in trains],
    )
    return Downstream(target=target, auc=auc, ceiling=ceiling)


def _as_dict(variation: Variation) -> dict[str, Any]:
    """Return the figures of the tables with so many columns as plain JSON values."""
    return {
        "ways": variation.ways,
        "tables": len(variation.tables),
        "possible": variation.possible,
        "mean": variation.mean,
        "max": variation.maximum,
        "worst": [{"columns": list(columns), "distance": distance} for columns, distance in variation.worst()],
    }
