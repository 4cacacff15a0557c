"""A declared hierarchy of categories: the branches they form, their order, and where their codes are cut."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import SchemaError
from lapwing.schema.checks import field_error
from lapwing.schema.scalars import is_encodable, quote, whole_number
from lapwing.schema.typed import TypedObject

MAX_TIERS: Final = 8
"""Most branches that lie one in another."""

_NONE: Final = -1
_IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Put categories that share the beginning of their text into one branch; fold: unlisted texts go there too."""

    lengths: tuple[int, ...]  # increasing, at most 8: those of the coarsest branches first
    fold: bool = False


@dataclass(frozen=True, slots=True)
class Parents:
    """Put categories (by their text) and branches under the parent that is listed for each; the pairs are sorted."""

    pairs: tuple[tuple[str, str], ...]


CategoryTree = Prefixes | Parents


def check_tree(name: str, value: object) -> CategoryTree | None:
    """Return a hierarchy in normal form: given in the file format, or as it is."""
    if value is None:
        return None
    source = tree_to_dict(value) if isinstance(value, Prefixes | Parents) else value
    if not isinstance(source, Mapping) or ("prefixes" in source) == ("parents" in source):
        way_out = '{"prefixes": [1, 3]}, to which "fold": true may be added, or {"parents": {"250.01": "250"}}'
        said = f"must be an object with one key, prefixes or parents, got {quote(value)}; write it as {way_out}"
        raise field_error(name, f"hierarchy {said}", "LW215")
    own = TypedObject(source, f"field {quote(name)}: hierarchy")
    own.only(("prefixes", "fold") if "prefixes" in source else ("parents",), code="LW215")
    if "prefixes" in source:
        return Prefixes(_checked_prefixes(name, own.listed("prefixes")), fold=own.flag("fold"))
    return _checked_parents(name, source["parents"])


def tree_to_dict(tree: CategoryTree) -> dict[str, Any]:
    """Return a hierarchy in the file format."""
    if isinstance(tree, Parents):
        return {"parents": dict(tree.pairs)}
    return {"prefixes": list(tree.lengths), **({"fold": True} if tree.fold else {})}


def branches(name: str, tree: CategoryTree, keys: Sequence[str]) -> _IntArray:
    """Return the branches of each category: int64 (categories, tiers), coarse to fine, -1 below the last.

    A category of a parent list is the last branch on its own way down.
    """
    if isinstance(tree, Parents):
        return _parent_branches(name, tree, keys)
    found = np.empty((len(keys), len(tree.lengths)), dtype=np.int64)
    texts, place = keys, np.arange(len(keys))
    for tier in reversed(range(len(tree.lengths))):
        # Prefixes of different prefixes: the finest branches are named once per category, all others less often.
        numbers: dict[str, int] = {}
        own = [numbers.setdefault(text[: tree.lengths[tier]], len(numbers)) for text in texts]
        found[:, tier] = np.array(own, dtype=np.int64)[place]
        texts, place = list(numbers), found[:, tier]
    return found


def depth_first(found: _IntArray) -> _IntArray:
    """Return the order of categories in which every branch is a run; branches stand as they occur first."""
    ranks = [_first_places(found[:, tier]) for tier in range(found.shape[1])]
    return np.lexsort(ranks[::-1]).astype(np.int64)


def tree_cuts(found: _IntArray) -> tuple[tuple[int, ...], ...]:
    """Return the codes at which branches begin or end, each once, by tiers, coarse to fine.

    Neighbours that hold one category each are not cut from each other: a tree halves what is left.
    """
    is_together = np.ones(max(len(found) - 1, 0), dtype=bool)
    tiers = []
    for tier in range(found.shape[1]):
        own = found[:, tier]
        is_branch = (np.bincount(own + 1)[own + 1] > 1) & (own != _NONE)
        is_boundary = is_together & (own[1:] != own[:-1])
        is_together &= ~is_boundary
        tiers.append((np.flatnonzero(is_boundary & (is_branch[1:] | is_branch[:-1])) + 1).tolist())
    return tuple(tuple(tier) for tier in tiers if tier)


def _first_places(own: _IntArray) -> _IntArray:
    """Return, for each category, the first place at which its branch occurs; none comes before all."""
    firsts = np.empty(int(own.max(initial=_NONE)) + 2, dtype=np.int64)
    firsts[own[::-1] + 1] = np.arange(len(own) - 1, -1, -1)  # of equal targets the last write, the first place, stays
    firsts[0] = _NONE
    return firsts[own + 1]


def _checked_prefixes(name: str, listed: tuple[Any, ...]) -> tuple[int, ...]:
    """Return increasing lengths of prefixes."""
    bad = partial(_refusal, name, "prefixes")
    if not 1 <= len(listed) <= MAX_TIERS:
        raise bad(f"must be 1 to {MAX_TIERS} lengths, got {len(listed)}; list fewer, or remove it")
    lengths = [whole_number(length) or 0 for length in listed]
    for length, given in zip(lengths, listed, strict=True):
        if length < 1:
            raise bad(f"must be whole numbers of at least 1, got {quote(given)}; correct it")
    for one, two in pairwise(lengths):
        if one >= two:
            raise bad(f"must increase, got {quote(one)} before {quote(two)}; sort them")
    return tuple(lengths)


def _checked_parents(name: str, value: object) -> Parents:
    """Return pairs of a category or branch and its parent, sorted."""
    bad = partial(_refusal, name, "parents")
    if not isinstance(value, Mapping) or not value:
        raise bad(f'must be an object such as {{"250.01": "250"}}, got {quote(value)}')
    for text in itertools.chain.from_iterable(value.items()):
        if not isinstance(text, str):
            raise bad(f"must be texts, got {quote(text)}; put it in quotes")
    if not is_encodable("".join(value)) or not is_encodable("".join(value.values())):
        raise bad("hold a text that is not valid Unicode; remove the half surrogate pair")
    return Parents(tuple(sorted(value.items())))


def _refusal(name: str, which: str, said: str) -> SchemaError:
    """Return the error that a part of a hierarchy is not written as the format has it."""
    return field_error(name, f"hierarchy {which} {said}", "LW215")


def _parent_branches(name: str, tree: Parents, keys: Sequence[str]) -> _IntArray:
    """Return the way from the top down to each category, aligned at the top."""
    numbers = {key: number for number, key in enumerate(keys)}
    children = [numbers.setdefault(child, len(numbers)) for child, _ in tree.pairs]
    parents = [numbers.setdefault(parent, len(numbers)) for _, parent in tree.pairs]
    above = np.full(len(numbers) + 1, _NONE)  # the last entry: nothing is above nothing
    above[children] = parents

    way = [np.arange(len(keys), dtype=np.int64)]
    while len(way) <= MAX_TIERS + 1 and (way[-1] != _NONE).any():
        way.append(above[way[-1]])
    texts = list(numbers)
    if (way[-1] != _NONE).any():
        raise SchemaError(_too_deep(name, tree, texts[int(np.argmax(way[-1] != _NONE))]), code="LW215")
    _check_reached(name, texts, above, way)

    tiers = len(way) - 1
    upwards = np.stack(way[:tiers], axis=1)
    depth = np.count_nonzero(upwards != _NONE, axis=1)
    found = np.empty((len(keys), tiers), dtype=np.int64)
    every = np.arange(len(keys))
    for tier in range(tiers):
        found[:, tier] = np.where(tier < depth, upwards[every, np.maximum(depth - 1 - tier, 0)], _NONE)
    return found


def _too_deep(name: str, tree: Parents, category: str) -> str:
    """Return what is wrong above a category: a circle, or too many branches one in another."""
    above = dict(tree.pairs)
    seen = {category}
    node = category
    while node in above:
        node = above[node]
        if node in seen:
            return f"field {quote(name)}: hierarchy leads from {quote(node)} back to itself; remove one of its parents"
        seen.add(node)
    return (
        f"field {quote(name)}: hierarchy has {len(seen) - 1} branches above category {quote(category)}, "
        f"more than {MAX_TIERS}; leave some out"
    )


def _check_reached(name: str, texts: list[str], above: _IntArray, ways: list[_IntArray]) -> None:
    """Refuse a parent of what is neither a category nor above one."""
    is_lost = above[:-1] != _NONE
    for way in ways:
        is_lost[way[way != _NONE]] = False
    if is_lost.any():
        lost = texts[int(np.argmax(is_lost))]
        said = f"gives {quote(lost)} a parent, but it is no category and leads to none"
        raise field_error(name, f"hierarchy {said}; add it to the categories or remove it", "LW215")
