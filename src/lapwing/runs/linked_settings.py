"""The settings of a release of two linked tables, checked before any row is read."""

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget, BudgetRequest, Number, exact_number, read_request
from lapwing.kernel.terms import Relation, Terms
from lapwing.runs.generators import checked_seed, fresh_seed
from lapwing.runs.public_points import with_public_points
from lapwing.runs.public_tables import check_priors
from lapwing.runs.settings import Settings, checked_relation, usable_mechanism, usable_schema
from lapwing.schema.linked import LinkedSchema
from lapwing.schema.public_tables.cells import public_total
from lapwing.schema.scalars import told
from lapwing.schema.schemas import Schema

_RELATION: Relation = "add-remove"
"""The one relation: under replace-one the number of parents would be public, and a unit may have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedSettings:
    """Everything public that fixes a release of two linked tables, apart from where it is recorded.

    parent, child: of the two parts, whose budgets sum to the request's.
    """

    linked: LinkedSchema
    parent: Settings
    child: Settings
    request: BudgetRequest

    @property
    def name(self) -> str:
        """What the budget is spent on: both mechanisms."""
        return f"linked {self.parent.name} and {self.child.name}"

    @property
    def schema(self) -> Schema:
        """Gives the privacy unit: one parent and at most K children."""
        return self.child.schema

    @property
    def selection_delta(self) -> Fraction:
        """Zero: nothing is selected from the rows."""
        return Fraction(0)

    @property
    def relation(self) -> Relation:
        """The neighbour relation."""
        return _RELATION

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON values, for the transcript."""
        asked = {"epsilon": self.request.epsilon, "delta": self.request.delta, "rho": self.request.rho}
        return {
            "linked": self.linked.to_dict(),
            "request": {key: None if value is None else str(value) for key, value in asked.items()},
            "parent": self.parent.to_dict(),
            "child": self.child.to_dict(),
        }


def read_linked_settings(
    schema: object,
    *,
    epsilon: Number | None,
    delta: Number | None,
    rho: Number | None,
    parent_share: Number,
    mechanisms: tuple[object, object],
    expected: tuple[int | None, int | None],
    seed: int | None,
    transcript: Path | None,
) -> LinkedSettings:
    """Check the settings of `lapwing.synthesize_linked`; see there for their meaning.

    transcript: where the transcript is or is to be; one that is there gives the seed that was drawn for it.
    """
    linked = LinkedSchema.load(cast("Any", schema))
    request = read_request(epsilon=epsilon, delta=delta, rho=rho)
    share = exact_number("parent_share", parent_share)
    if not 0 < share < 1:
        raise ParameterError(
            f"parent_share must be above 0 and below 1, got {parent_share}; it is the parents' part of the budget",
            code="LW301",
        )
    own = checked_seed(seed)
    kept = _recorded_seed(transcript) if own is None else own
    used = fresh_seed() if kept is None else kept
    budgets = request.budget.split((share, 1 - share))
    schemas = (linked.counted, linked.joined)
    parent, child = (
        _part(usable_schema(part), mechanism, budget, rows, (used, own is not None))
        for part, mechanism, budget, rows in zip(schemas, mechanisms, budgets, expected, strict=True)
    )
    return LinkedSettings(linked=linked, parent=parent, child=child, request=request)


def _part(schema: Schema, mechanism: object, budget: Budget, expected: int | None, seed: tuple[int, bool]) -> Settings:
    """Return the settings of one part."""
    chosen = usable_mechanism(mechanism, schema)
    check_priors(schema, chosen)
    if expected is None:
        expected = public_total(schema)
    if expected is not None and (isinstance(expected, bool) or not isinstance(expected, int)):
        raise ParameterError(
            f"expected numbers of rows must be whole, got {told(expected)}; give a public guess", code="LW315"
        )
    Terms(relation=_RELATION, max_rows=schema.max_rows, expected_rows=expected)
    # As if it had been asked for by itself: an amount too small to be accounted for is refused.
    own = read_request(epsilon=budget.amount) if budget.notion == "pure" else read_request(rho=budget.amount)
    return Settings(
        schema=schema,
        mechanism=with_public_points(chosen, schema, seed[0]),
        request=own,
        relation=checked_relation(_RELATION, chosen),
        expected_rows=expected,
        seed=seed[0],
        is_seeded=seed[1],
    )


def _recorded_seed(transcript: Path | None) -> int | None:
    """Return the seed that a transcript was begun with; None where there is none that can be read."""
    if transcript is None or not transcript.is_file():
        return None
    try:
        with transcript.open("rb") as file:
            return int(json.loads(file.readline())["settings"]["parent"]["seed"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # what is wrong with it is said where it is taken up
