"""The settings of a bought evaluation, and its public side, before any private row is read."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, cast

import numpy as np

from lapwing.errors import DataError, ParameterError
from lapwing.judge.tables.public_tables import PublicTables, public_tables
from lapwing.kernel.budget.budget import BudgetRequest
from lapwing.kernel.terms import Relation, Terms
from lapwing.model.certificate.certificate import EVALUATION
from lapwing.rows.source import coded_table
from lapwing.runs.generators import checked_seed, fresh_seed, generator
from lapwing.schema.scalars import told
from lapwing.schema.schemas import Schema

MOST_ROWS: Final = 2**40
"""A table is compared as one of at most so many rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoughtSettings:
    """Everything public that fixes a bought evaluation, apart from where it is recorded.

    schema: not a draft, with at least one modelled column; request: what was asked for, and the budget it grants.
    """

    schema: Schema
    request: BudgetRequest
    relation: Relation
    expected_rows: int | None
    seed: int
    compared: tuple[PublicTables, ...]

    @property
    def name(self) -> str:
        """What the budget is spent on."""
        return EVALUATION

    @property
    def selection_delta(self) -> Fraction:
        """Zero: the tables compared are public."""
        return Fraction(0)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON values, for the transcript."""
        asked = {"epsilon": self.request.epsilon, "delta": self.request.delta, "rho": self.request.rho}
        return {
            EVALUATION: [each.digest for each in self.compared],
            "schema": self.schema.to_dict(),
            "request": {key: None if value is None else str(value) for key, value in asked.items()},
            "relation": self.relation,
            "expected_rows": self.expected_rows,
            "seed": self.seed,
        }


def read_bought_settings(
    synthetic: object,
    schema: Schema,
    request: BudgetRequest,
    *,
    neighbours: str,
    expected_rows: int | None,
    seed: int | None,
) -> BoughtSettings:
    """Check what is public, and count the synthetic table."""
    if expected_rows is not None and (isinstance(expected_rows, bool) or not isinstance(expected_rows, int)):
        raise ParameterError(
            f"expected_rows must be a whole number, got {told(expected_rows)}; give a public guess", code="LW315"
        )
    if expected_rows is not None and expected_rows > MOST_ROWS:
        raise ParameterError(
            f"expected_rows must be at most 2**40, got {expected_rows}; give a public guess", code="LW315"
        )
    named = cast("Relation", neighbours)
    relation = Terms(relation=named, max_rows=schema.max_rows, expected_rows=expected_rows).relation
    own = checked_seed(seed)
    used = fresh_seed() if own is None else own
    with coded_table(synthetic, replace(schema, privacy_unit=None)) as source:
        parts = list(source.chunks())
    if not parts:
        raise DataError("the synthetic table has no row; there is nothing to compare", code="LW110")
    codes = {name: np.concatenate([part[name] for part in parts]) for name in source.columns}
    compared = public_tables(codes, schema, rng=generator(used, "evaluate"))
    return BoughtSettings(
        schema=schema, request=request, relation=relation, expected_rows=expected_rows, seed=used, compared=compared
    )
