"""Fields whose domains are learned from noisy answers: the budget shared out, and the answers made into fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from lapwing.budget.budget import Budget
from lapwing.release.certificate import Statement
from lapwing.release.curator import Curator
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """Hold learned fields and what is known about them.

    Parameters
    ----------
    fields : tuple of Field
        In the order asked for; where noise drowned everything, the original field, blank as it was.
    statements : tuple of Statement
        For the certificate: what may have been missed, one or more per field.
    notes : tuple of str
        One sentence each, on what was not found and the way out.
    """

    fields: tuple[Field, ...]
    statements: tuple[Statement, ...]
    notes: tuple[str, ...]


def needs_selection(field: Field, dictionaries: Mapping[str, tuple[str, ...]]) -> bool:
    """Tell whether a field's list can be learned only by a selection, which needs a delta."""
    return field.type == "string" and field.categories is None and field.name not in dictionaries


def learned_fields(
    curator: Curator,
    opened: Schema,
    original: Schema,
    names: Sequence[str],
    budget: Budget,
    delta: Fraction,
    *,
    quantile: Fraction,
    dictionaries: Mapping[str, tuple[str, ...]],
) -> Learned:
    """Learn the domains of some fields.

    Parameters
    ----------
    curator : Curator
        Answers, about rows read under `opened`.
    opened : Schema
        The opened schema of these fields.
    original : Schema
        The draft, or the schema whose bounds and lists are to be narrowed.
    names : sequence of str
        Fields to learn.
    budget : Budget
        Spent exactly.
    delta : Fraction
        What the deltas of all selections may sum to; 0 where no field needs one.
    quantile : Fraction
        At least 0, below 1/2: the part of the rows that may lie beyond each bound.
    dictionaries : mapping of str to tuple of str
        Public lists of texts, by field.
    """
    raise NotImplementedError
