"""Fields whose domains are learned from noisy answers: the budget shared out, and the answers made into fields."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Final

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.room.curator import Curator
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.statements import Statement
from lapwing.release.runs.learned.bounds import LearnedBounds, learn_bounds
from lapwing.release.runs.learned.categories import LearnedCategories, learn_categories, prune_dictionaries
from lapwing.schema.fields import Field, Scalar
from lapwing.schema.groupings.category_trees import CategoryTree, Parents, Prefixes
from lapwing.schema.scalars import category_key
from lapwing.schema.schemas import Schema

BOUNDS: Final = "learned bounds"
CATEGORIES: Final = "learned categories"  # kinds of statements


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedFields:
    """Hold learned fields and what is known about them.

    fields: in the order asked for; where noise hides everything, the original field as it was, blank or not;
    statements: for the certificate, one per field: what may have been missed; notes: what was not found.
    """

    fields: tuple[Field, ...]
    statements: tuple[Statement, ...]
    notes: tuple[Notice, ...]


def needs_selection(field: Field, dictionaries: Mapping[str, tuple[str, ...]]) -> bool:
    """Tell whether a field's list can be learned only by a selection, which needs a delta."""
    return field.type == "string" and field.categories is None and field.name not in dictionaries


def learned_fields(  # noqa: PLR0917
    curator: Curator,
    opened: Schema,
    original: Schema,
    names: Sequence[str],
    budget: Budget,
    delta: Fraction,
    *,
    quantile: Fraction,
    dictionaries: Mapping[str, tuple[str, ...]],
) -> LearnedFields:
    """Learn the domains of some fields.

    original: the draft, or the schema whose bounds and lists are to be narrowed; budget: in equal shares per field;
    spent exactly where every field shows anything, else in part; delta: what the deltas of all selections sum to, in
    equal shares too; 0 where no field needs one; quantile: at least 0, below 1/2: the part of the rows that may lie
    beyond each bound.

    A function of the answers alone. Numbers and dates without a list: `learn_bounds`. Lists, of the field itself or
    from a dictionary: `prune_dictionaries`. Other texts: `learn_categories`.
    """
    fields = [original.field(name) for name in names]
    costs = dict(zip(names, budget.split([Fraction(1)] * len(names)), strict=True))
    selected = [field.name for field in fields if needs_selection(field, dictionaries)]
    listed = [name for name in names if name in dictionaries or original.field(name).categories is not None]
    ranged = [name for name in names if name not in selected and name not in listed]
    prefixes = {
        field.name: field.hierarchy.lengths
        for field in fields
        if isinstance(field.hierarchy, Prefixes) and has_texts(field)
    }
    limits = {field.name: (field.minimum, field.maximum) for field in fields}

    deltas = [delta / max(1, len(selected))] * len(selected)
    works: tuple[tuple[Sequence[str], Callable[..., Sequence[LearnedBounds | LearnedCategories]]], ...] = (
        (ranged, partial(learn_bounds, quantile=quantile, limits=limits)),
        (listed, partial(prune_dictionaries, prefixes=prefixes)),
        (selected, partial(learn_categories, deltas=deltas, prefixes=prefixes)),
    )
    found: dict[str, LearnedBounds | LearnedCategories] = {}
    for some, work in works:
        if some:
            found |= dict(zip(some, work(curator, opened, some, [costs[name] for name in some]), strict=True))

    made = [_made(field, found[field.name], field.name in dictionaries) for field in fields]
    return LearnedFields(
        fields=tuple(field for field, _ in made),
        statements=tuple(_statement(name, found[name]) for name in names),
        notes=tuple(note for _, notes in made for note in notes),
    )


def _made(
    field: Field, found: LearnedBounds | LearnedCategories, has_dictionary: bool
) -> tuple[Field, tuple[Notice, ...]]:
    """Return the new field, and what has to be said of it."""
    named = {"field": field.name}
    if isinstance(found, LearnedBounds):
        if found.is_found:
            return with_bounds(field, found), (*_reached(field, found), *_unread(field, found))
        return field, _unread(field, found, "unread_as_it_was") or (Notice("bounds_hidden", named),)

    is_own = field.categories is not None and not has_dictionary
    if found.categories or found.prefixes:
        listed = field.categories if is_own else None
        return with_categories(field, found, listed, folds=has_dictionary), _dropped(field, found, is_own)
    if is_own:
        return field, (Notice("list_hidden", named),)
    return with_categories(field, found, None), (Notice("no_text", named),)


def _unread(field: Field, found: LearnedBounds, code: str = "unread") -> tuple[Notice, ...]:
    """Return what has to be said where most cells cannot be read; more budget changes nothing then."""
    return (Notice(code, {"field": field.name, "type": field.type}),) if found.is_mostly_unread else ()


def _reached(field: Field, found: LearnedBounds) -> tuple[Notice, ...]:
    """Return what has to be said where the search came to the end of its grid."""
    farthest = {"integer": 2**52, "number": 1e19}.get(field.type)
    bounds = [bound for bound in (found.minimum, found.maximum) if isinstance(bound, int | float)]
    if farthest is None or all(abs(bound) < farthest for bound in bounds):
        return ()
    return (Notice("end_reached", {"field": field.name}),)


def _dropped(field: Field, found: LearnedCategories, is_own: bool) -> tuple[Notice, ...]:
    """Return what has to be said where entries of a list are dropped and no category takes their rows."""
    if not is_own or has_texts(field) or set(field.categories or ()) <= set(found.categories):
        return ()
    return (Notice("dropped", {"field": field.name}),)


def _statement(name: str, found: LearnedBounds | LearnedCategories) -> Statement:
    """State what may have been missed."""
    if isinstance(found, LearnedCategories):
        return Statement("list_learned", found.noticed, {"field": name})
    return Statement("bounds_learned" if found.is_found else "bounds_not_found", found.unseen, {"field": name})


UNLISTED: Final = "(other)"  # the category of all texts that are not listed

_STEPS: Final = 2**49  # so many steps of a resolution from zero, floats still tell neighbours apart

_ALIGNED: Final = 2**62  # integers up to here are rounded to their resolution without leaving 64 bits


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


_LEARNED: Final = ("minimum", "maximum", "resolution", "categories", "unlisted", "hierarchy", "labels", "provenance")


def is_learned_from(learned: Schema, draft: Schema) -> bool:
    """Tell whether a schema is a draft with its blank fields filled in, of which some may be left out."""
    kept = {field.name: field for field in learned.fields}
    fields = [field for field in draft.fields if field.name in kept or not field.blank]
    if [field.name for field in fields] != list(kept):
        return False
    filled = tuple(
        replace(field, **{key: getattr(kept[field.name], key) for key in _LEARNED}) if field.blank else field
        for field in fields
    )
    rest = {name: getattr(learned, name) for name in ("is_draft", "purchases", "questions")}
    return replace(draft, fields=filled, **rest) == learned


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
    """Tell whether the categories of a field are texts, so that rare ones may share a category."""
    return field.type == "string" and all(isinstance(value, str) for value in field.categories or ())


def unlisted_name(taken: tuple[Scalar, ...]) -> str:
    """Return a name for the category of unlisted texts that is not itself one of some texts."""
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
