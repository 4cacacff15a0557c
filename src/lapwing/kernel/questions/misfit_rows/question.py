"""The question how many rows hold a cell that fits nothing, and its answer."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.codec import KNOWN, packed_array
from lapwing.kernel.noise_law import NoiseLaw, NoisyTable, Sensitivity, row_sensitivity
from lapwing.kernel.questions.questions import (
    RecordedAnswer,
    WithoutDelta,
    check_cost,
    checked_counts,
    noise_for_cost,
    one_table,
)
from lapwing.kernel.terms import Relation, Terms
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MisfitRows(WithoutDelta["NoisyRows"]):
    """Ask how many rows hold a cell that fits nothing in the schema, and how many hold none.

    columns: distinct modelled columns, at least one; of one that may not be missing, missing cells fit nothing; rows:
    the number of rows, where that is public: then the first number is all that is asked for; keys: of a table of rows
    of others, whether the number of rows that belong to no row above is asked for, too.

    Guarantee: with discrete Laplace noise of scale ``l1 / ε`` on each number the answer is ε-DP, with discrete Gaussian
    noise of ``sigma**2 = l2**2 / (2 ρ)`` ρ-zCDP, under the relation and ``max_rows`` that `sensitivity` is given
    (proof: ``proof.md``).

    >>> asked = MisfitRows(columns=("age", "sex"), cost=Budget.pure(1))
    >>> asked.shape, asked.sensitivity("replace-one", 3)
    ((2,), Sensitivity(l1=6, l2_squared=18))
    """

    kind: ClassVar[str] = "MisfitRows"
    called: ClassVar[str] = "invalid-row count"
    purpose: ClassVar[str] = "whether rows fit the schema"

    columns: tuple[str, ...]
    cost: Budget
    rows: int | None = None
    keys: bool = False

    def __post_init__(self) -> None:
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise ParameterError(f"MisfitRows needs distinct columns, got {self.columns}; name each once", code="LW641")
        if self.keys and self.rows is not None:
            raise ParameterError("MisfitRows about keys has no public number of rows; leave rows out", code="LW641")
        check_cost(self.cost)

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        """None: they follow from the schema."""
        return ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows with a misfit, rows without one, and rows that belong to no row above."""
        return (2 + self.keys,) if self.rows is None else (1,)

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity:
        """Bound the change: each row counts in one of the numbers; one alone moves by the rows of a unit at most."""
        return row_sensitivity(relation, max_rows) if self.rows is None else Sensitivity(max_rows, max_rows**2)

    noise = noise_for_cost
    parts = one_table

    def check(self, terms: Terms, schema: Schema) -> None:
        """Refuse columns that are not modelled, and a number of rows that is not public."""
        if self.rows is not None and self.rows != terms.rows:
            raise ParameterError("MisfitRows takes the public number of rows; take it from the terms", code="LW641")
        if not set(self.columns) <= {each.name for each in schema.columns}:
            raise ParameterError("MisfitRows asks about modelled columns; name those of the schema", code="LW641")


@dataclass(frozen=True, slots=True, eq=False)
class NoisyRows(RecordedAnswer):
    """Hold the noisy answer to `MisfitRows`.

    counts: int64, shape ``question.shape``, exact count plus noise; noise: its law, independent for each.
    """

    question: MisfitRows = field(metadata=KNOWN)
    counts: np.ndarray = field(metadata=packed_array(lambda seen: seen["question"].shape))
    noise: NoiseLaw

    def __post_init__(self) -> None:
        counts = checked_counts("an answer about rows that fit", self.counts, self.question.shape)
        object.__setattr__(self, "counts", counts)

    @property
    def tables(self) -> tuple[NoisyTable, ...]:
        """The one noisy table."""
        return (NoisyTable(self.counts, self.noise, self.question.cost),)
