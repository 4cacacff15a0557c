"""How far a synthetic table is from the real one, and from what chance and independent columns would give."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np

from lapwing.errors import DataError
from lapwing.evaluate.columns import PERCENTS, ColumnErrors, NumberErrors, compare_columns
from lapwing.evaluate.downstream import Downstream, check_target, trained_auc
from lapwing.evaluate.gaps import missing_given, missing_together, pairs_given, pairs_together
from lapwing.evaluate.table_kernels import KernelDistances, compare_kernels
from lapwing.evaluate.variation import (
    Variation,
    bootstrap_rows,
    choose_tables,
    compare_tables,
    independent_columns,
)
from lapwing.evaluate.kinds import Internal
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
    columns, bootstrap_columns : tuple of ColumnErrors
        How far every column is from the real one: of the synthetic table, and of the bootstrap.
    together : dict of str to Variation, or None
        Which cells of a row are regular at the same time, of pairs of columns that may be missing or have special
        values: of the ``synthetic``, ``bootstrap`` and ``independent`` rows. None where there is no pair.
    given : dict of str to Variation, or None
        Where on another column the cells of a column are missing, likewise.
    kernel : KernelDistances or None
        MMD of all ordered columns at once: of the ``synthetic``, ``bootstrap`` and ``independent`` rows. None where no
        column is ordered.
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
    columns: tuple[ColumnErrors, ...]
    bootstrap_columns: tuple[ColumnErrors, ...]
    together: dict[str, Variation] | None
    given: dict[str, Variation] | None
    kernel: KernelDistances | None
    downstream: Downstream | None
    rows: int
    synthetic_rows: int
    seed: int

    def __repr__(self) -> str:
        return f"Evaluation({NOTICE})"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values, under the notice that it is internal."""
        compared = {"synthetic": self.synthetic, "bootstrap": self.bootstrap, "independent": self.independent}
        columns = {"synthetic": self.columns, "bootstrap": self.bootstrap_columns}
        missing = {"together": self.together, "given": self.given}
        area, kernel = self.downstream, self.kernel
        return {
            "notice": NOTICE,
            "lapwing": VERSION,
            "seed": self.seed,
            "rows": {"real": self.rows, "synthetic": self.synthetic_rows},
            "total_variation": {name: [_as_dict(each) for each in found] for name, found in compared.items()},
            "columns": {name: [_column_as_dict(each) for each in found] for name, found in columns.items()},
            "missing": {
                name: None if found is None else {rows: _as_dict(each) for rows, each in found.items()}
                for name, found in missing.items()
            },
            "kernel": None if kernel is None else _kernel_as_dict(kernel),
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
        Chooses 3-way tables, pairs and the fifth, draws the reference rows and random features, seeds the classifiers.

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
    against = {
        "synthetic": others,
        "bootstrap": bootstrap_rows(rows, rng),
        "independent": independent_columns(rows, rng),
    }
    compared = {name: compare_tables(rows, each, schema, tables) for name, each in against.items()}
    together, given = _gaps(rows, against, schema, rng)
    return Internal(
        Evaluation(
            synthetic=compared["synthetic"],
            bootstrap=compared["bootstrap"],
            independent=compared["independent"],
            columns=compare_columns(rows, others, schema),
            bootstrap_columns=compare_columns(rows, against["bootstrap"], schema),
            together=together,
            given=given,
            kernel=compare_kernels(rows, against, schema, rng=rng),
            downstream=found,
            rows=_height(rows),
            synthetic_rows=_height(others),
            seed=seed,
        )
    )


def _gaps(
    rows: Codes, against: Mapping[str, Codes], schema: Schema, rng: np.random.Generator
) -> tuple[dict[str, Variation] | None, dict[str, Variation] | None]:
    """Return how far tables are from the real one in what is missing together, and given other columns."""
    pairs, other_pairs = pairs_together(schema, rng=rng), pairs_given(schema, rng=rng)
    together, given = None, None
    if pairs:
        together = {name: missing_together(rows, each, schema, pairs) for name, each in against.items()}
    if other_pairs:
        given = {name: missing_given(rows, each, schema, other_pairs) for name, each in against.items()}
    return together, given


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


def _kernel_as_dict(found: KernelDistances) -> dict[str, Any]:
    """Return the figures of all ordered columns at once as plain JSON values."""
    distances = {
        name: {"mmd": each.value, "standard_error": each.standard_error} for name, each in found.distances.items()
    }
    return {"columns": found.columns, "gamma": found.gamma, **distances}


def _column_as_dict(errors: ColumnErrors) -> dict[str, Any]:
    """Return the errors of a column as plain JSON values."""
    return {
        "column": errors.column,
        "missing": errors.missing,
        "special": [{"value": value, "error": error} for value, error in errors.special],
        "numbers": None if errors.numbers is None else _numbers_as_dict(errors.numbers),
    }


def _numbers_as_dict(errors: NumberErrors) -> dict[str, Any]:
    ranks = {str(percent): error for percent, error in zip(PERCENTS, errors.ranks, strict=True)}
    return asdict(errors) | {"ranks": ranks, "rank": errors.rank}
