"""New fields from what noisy answers say about them."""

from dataclasses import replace
from fractions import Fraction
from typing import Final

from lapwing.runs.learned.bounds import LearnedBounds
from lapwing.runs.learned.categories import LearnedCategories
from lapwing.schema.fields import Field, Scalar
from lapwing.schema.groupings.category_trees import CategoryTree, Parents, Prefixes
from lapwing.schema.scalars import category_key

UNLISTED: Final = "(other)"
"""The category of all texts that are not listed."""

_STEPS: Final = 2**49
"""So many steps of a resolution from zero, floats still tell neighbours apart."""

_ALIGNED: Final = 2**62
"""Integers up to here are rounded to their resolution without leaving 64 bits."""


def with_bounds(field: Field, found: LearnedBounds) -> Field:
    """Return a field with learned bounds, outwards on the grid of its resolution.

    field: as it was; bounds that it has are kept where the learned ones reach them.

    >>> prices = Field(name="price", type="number", resolution=0.25)
    >>> found = with_bounds(prices, LearnedBounds(minimum=1.1, maximum=91.0, is_found=True, unseen=3))
    >>> found.minimum, found.maximum, found.provenance
    (1, 91, 'dp')
    """
    low, high, step = found.minimum, found.maximum, field.resolution
    if isinstance(low, int | float) and isinstance(high, int | float) and isinstance(step, int | float):
        unit = Fraction(str(step))
        if field.type == "number" and max(abs(low), abs(high)) > _STEPS * unit:
            step = None  # numbers of this size have no such resolution
        elif max(abs(low), abs(high)) < _ALIGNED:
            low, high = _aligned(field, low, high, unit)
    return replace(field, minimum=low, maximum=high, resolution=step, provenance="dp")


def with_categories(
    field: Field, found: LearnedCategories, listed: tuple[Scalar, ...] | None, *, folds: bool = False
) -> Field:
    """Return a field with a learned list, and a category for all texts that are not in it.

    listed: the field's own list, if it has one: then nothing else can occur, and the rest has a category only where an
    entry was dropped; folds: whether texts were counted under entries that they begin with; prefixes that were found
    say so too.

    Lists of anything but texts have no such category: what was dropped is outside the field's domain.

    >>> towns = Field(name="town", type="string", categories=("Bern", "Uri", "Zug"))
    >>> found = LearnedCategories(categories=("Bern", "Uri"), prefixes=(), noticed=40)
    >>> with_categories(towns, found, towns.categories).categories
    ('Bern', 'Uri', '(other)')
    """
    categories = found.categories if listed is not None else tuple(sorted(map(str, found.categories)))
    # A text that is shorter than two lengths is the prefix of both; one that stands for missing is no category.
    taken = {*categories, *field.missing_values}
    added = [prefix for prefix in dict.fromkeys(found.prefixes) if prefix not in taken]
    unlisted = field.unlisted
    is_whole = listed is not None and set(listed) <= set(categories)
    if unlisted is None and has_texts(field) and not is_whole:
        unlisted = unlisted_name((*categories, *added, *field.missing_values))
    rest = [] if unlisted is None or unlisted in categories or unlisted in added else [unlisted]
    kept = (*categories, *added, *rest)
    tree = _kept_tree(field.hierarchy, kept, is_folding=folds or bool(found.prefixes))
    return replace(field, categories=kept, unlisted=unlisted, hierarchy=tree, provenance="dp")


def has_texts(field: Field) -> bool:
    """Tell whether the categories of a field are texts, so that rare ones may share a category.

    >>> has_texts(Field(name="grade", type="string", categories=(1, 2))), has_texts(Field(name="town", type="string"))
    (False, True)
    """
    return field.type == "string" and all(isinstance(value, str) for value in field.categories or ())


def unlisted_name(taken: tuple[Scalar, ...]) -> str:
    """Return a name for the category of unlisted texts that is not itself one of some texts.

    >>> unlisted_name(("a", "(other)")), unlisted_name(("a",))
    ('(other 2)', '(other)')
    """
    name, number = UNLISTED, 1
    while name in taken:
        number += 1
        name = f"(other {number})"
    return name


def _aligned(field: Field, low: float, high: float, unit: Fraction) -> tuple[float, float]:
    """Return bounds that are whole steps from the known minimum, or from zero, and inside what is known."""
    known = [None if bound is None else Fraction(str(bound)) for bound in (field.minimum, field.maximum)]
    base = known[0] or Fraction(0)
    least = base + (Fraction(str(low)) - base) // unit * unit
    most = base - (base - Fraction(str(high))) // unit * unit
    least = least if known[0] is None else max(least, known[0])
    most = most if known[1] is None else min(most, known[1])
    return (int(least), int(most)) if field.type == "integer" else (float(least), float(most))


def _kept_tree(tree: CategoryTree | None, kept: tuple[Scalar, ...], *, is_folding: bool) -> CategoryTree | None:
    """Return the hierarchy as far as it leads to what is kept."""
    if isinstance(tree, Prefixes):
        return replace(tree, fold=tree.fold or is_folding)
    if not isinstance(tree, Parents):
        return None
    parents = dict(tree.pairs)
    needed: set[str] = set()
    for value in kept:
        name: str | None = category_key(value)
        while name in parents and name not in needed:
            needed.add(name)
            name = parents[name]
    pairs = tuple(pair for pair in tree.pairs if pair[0] in needed)
    return Parents(pairs) if pairs else None
