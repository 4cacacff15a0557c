"""Lists of categories, from noisy counts of the texts that occur or over a public dictionary."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from lapwing.budget.budget import Budget
from lapwing.release.curator import Curator
from lapwing.schema.schemas import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedCategories:
    """Hold what noisy counts say about the categories of one field.

    Parameters
    ----------
    categories : tuple of str, int or float
        Those that noise alone does not explain; texts sorted, entries of a dictionary in its order.
    prefixes : tuple of str
        Beginnings into which texts fold that are not listed themselves.
    noticed : int
        A value that so many rows have is listed with 95 % confidence.
    """

    categories: tuple[str | int | float | bool, ...]
    prefixes: tuple[str, ...]
    noticed: int


def learn_categories(
    curator: Curator,
    schema: Schema,
    names: Sequence[str],
    costs: Sequence[Budget],
    deltas: Sequence[Fraction],
    *,
    prefixes: Mapping[str, tuple[int, ...]],
) -> tuple[LearnedCategories, ...]:
    """List the texts that occur often enough."""
    raise NotImplementedError


def prune_dictionaries(
    curator: Curator, schema: Schema, names: Sequence[str], costs: Sequence[Budget]
) -> tuple[LearnedCategories, ...]:
    """Keep the entries of public lists that occur often enough."""
    raise NotImplementedError
