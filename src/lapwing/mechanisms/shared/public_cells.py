"""The cells in which one-way tables are asked before anything is known: functions of the schema alone."""

from collections.abc import Sequence

import numpy as np

from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, cut, evenly, identity

VALUE_BY_VALUE = 512
"""Ordered columns of up to so many values are counted value by value: codes may have no meaning as numbers."""

COUNTED_ONCE = 16
"""Ordered columns of up to so many values are counted once; what is seen of others says how they are counted next."""

FIRST_CELLS = 64
"""About how many even cells a wider column is counted in at first."""

BRANCH_LEVELS = 3
"""Most levels of branches that are counted beside the categories of a hierarchy."""

_MOST_CUTS = 128
_OCTAVES = 16


def one_way_grouping(field: Field, groups: int) -> Grouping:
    """Return the public grouping under which a column's one-way table is asked.

    Returns categories each on their own, and values of ordered columns that have at most ``2 * groups`` of them.
    Otherwise `public_cells`.
    """
    domain = field.domain
    if field.is_categorical or domain.values <= 2 * groups:
        return identity(domain)
    return public_cells(field, groups)


def is_refined(field: Field) -> bool:
    """Tell whether an ordered column has too many values to count them one by one."""
    return field.domain.ordered and field.domain.values > VALUE_BY_VALUE


def is_staged(field: Field) -> bool:
    """Tell whether a column is counted in stages, each in cells that the one before suggests."""
    return field.domain.ordered and field.domain.values > COUNTED_ONCE


def branch_groupings(field: Field) -> tuple[Grouping, ...]:
    """Return the levels of a declared hierarchy that are counted beside its categories, the coarsest first.

    >>> codes = {"name": "code", "type": "string", "categories": ["a1", "a2", "b1", "b2"],
    ...          "hierarchy": {"prefixes": [1]}}
    >>> from lapwing.schema.schemas import Schema
    >>> (field,) = Schema.from_dict({"fields": [codes]}).columns
    >>> [grouping.cuts.tolist() for grouping in branch_groupings(field)]
    [[2]]
    """
    domain = field.domain
    if domain.ordered:
        return ()
    found, cuts = [], np.empty(0, dtype=np.int64)
    for tier in domain.cuts[:BRANCH_LEVELS]:
        cuts = np.sort(np.concatenate((cuts, np.array(tier, dtype=np.int64))))
        if 2 * (cuts.size + 1) <= domain.values:  # finer ones say hardly more than the categories
            found.append(cut(domain, cuts))
    return tuple(found)


def first_cells(field: Field) -> Grouping:
    """Return the cells in which an ordered column is counted first.

    Returns its values, where it has at most 512. Otherwise `public_cells`, and smaller and smaller ones towards zero,
    where real numbers crowd.

    >>> first_cells(Field(name="x", type="integer", minimum=0, maximum=1919)).cuts[:9].tolist()
    [1, 2, 4, 8, 16, 30, 60, 90, 120]
    """
    domain = field.domain
    if not is_refined(field):
        return identity(domain)
    cells = public_cells(field, FIRST_CELLS)
    if domain.cuts or field.is_categorical or field.type not in ("integer", "number"):
        return cells
    zero, width = field.range.zero, max(1, domain.values // FIRST_CELLS)
    powers = [1 << bits for bits in range(width.bit_length()) if width <= 1 << bits + _OCTAVES and 1 << bits < width]
    near = [code for power in powers for code in (zero + power, zero - power + 1)] if 0 <= zero < domain.values else []
    cuts = np.union1d(cells.cuts, np.array(near, dtype=np.int64))
    return cut(domain, cuts[(cuts > 0) & (cuts < domain.values)])


def public_cells(field: Field, cells: int) -> Grouping:
    """Return runs of codes: nearly equal ones, or those of a declared hierarchy or scale.

    Returns with the minimum, zero and the maximum of numbers on their own, where real tables keep most of their copies.

    >>> public_cells(Field(name="x", type="integer", minimum=0, maximum=999), 4).cuts.tolist()
    [1, 250, 500, 750, 999]
    """
    domain = field.domain
    even = evenly(domain, cells)
    inner = _declared(domain, max(cells, _MOST_CUTS)) if domain.cuts else even.pieces()[0][: even.regular]
    alone = [code + after for code in landmark_codes(field) for after in (0, 1)]
    cuts = np.unique(np.concatenate((inner, np.array(alone, dtype=np.int64))))
    return cut(domain, cuts[(cuts > 0) & (cuts < domain.values)])


def landmark_codes(field: Field) -> tuple[int, ...]:
    """Return the codes of the minimum, zero and the maximum of a column of numbers; none of other columns.

    >>> landmark_codes(Field(name="x", type="integer", minimum=-5, maximum=5))
    (0, 5, 10)
    """
    if field.is_categorical or field.type not in ("integer", "number"):
        return ()
    last, zero = field.domain.values - 1, field.range.zero
    return (0, zero, last) if 0 <= zero <= last else (0, last)


def finer_cells(domain: Domain, starts: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Cut cells further.

    starts: int64 (k,), first code of each cell, increasing from 0; parts: int64 (k,), into how many parts each is cut,
    about: at least 1, at most its codes. Returns int64, first codes of the finer cells: even parts, or, where the
    schema declares a hierarchy or a scale, parts at the coarsest cuts that lie inside.

    >>> finer_cells(Domain(100, 0, True, True, False), np.array([0, 50]), np.array([1, 2])).tolist()
    [0, 50, 75]
    """
    stops = np.append(starts[1:], np.int64(domain.values))
    tiers = [np.array(tier, dtype=np.int64) for tier in domain.cuts]
    found = [starts]
    for place in np.flatnonzero(parts > 1):
        start, stop, wanted = int(starts[place]), int(stops[place]), int(parts[place])
        found.append(_inside(tiers, start, stop, wanted))
    return np.unique(np.concatenate(found))


def _inside(tiers: Sequence[np.ndarray], start: int, stop: int, parts: int) -> np.ndarray:
    """Return the cuts of one cell into parts."""
    for tier in tiers:
        inner = tier[np.searchsorted(tier, start, "right") : np.searchsorted(tier, stop, "left")]
        if inner.size:
            return inner if inner.size <= 2 * parts else inner[np.arange(1, parts) * inner.size // parts]
    whole, rest = divmod(stop - start, parts)
    index = np.arange(1, parts, dtype=np.int64)
    return start + index * whole + index * rest // parts


def _declared(domain: Domain, most: int) -> np.ndarray:
    """Return the cuts of the coarsest tiers, as many as fit; some of the first where it alone has too many."""
    kept = np.array(domain.cuts[0], dtype=np.int64)
    if kept.size > most:
        return kept[np.arange(1, most) * kept.size // most]
    for tier in domain.cuts[1:]:
        if kept.size + len(tier) > most:
            break
        kept = np.concatenate((kept, np.array(tier, dtype=np.int64)))
    return kept
