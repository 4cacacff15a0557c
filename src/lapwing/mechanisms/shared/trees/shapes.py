"""How a schema's columns can be cut into trees, and what each level costs in accuracy; from public numbers only.

Runs of codes are kept as how many there are of each size, so that a tree of any depth is planned without its cells.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self

import numpy as np

from lapwing.kernel.plain import MAX_CELLS
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.hierarchies import MAX_LEVELS, cut_places

Kind = Literal["whole", "regular", "reserved"]
Run = tuple[Kind, int]
Runs = Counter[Run]
Order = Literal["longest", "cycle"]

MAX_TREE_LEVELS: Final = 100
"""More levels than any table within the limits has, and fewer than `lapwing.mechanisms.shared.trees.budget` takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeShape:
    """One way to cut a table, level by level, without its cells.

    schedule: the column that each level from 1 on splits; deltas: per level, the diameters of the cells that it
    divides, summed; the first is the diameter of the whole; is_complete: whether no column can be split any more
    (otherwise a limit ended the tree).
    """

    schedule: tuple[int, ...]
    deltas: tuple[float, ...]
    resolutions: tuple[float, ...]
    is_complete: bool


def tree_shape(domains: Sequence[Domain], order: Order, max_nodes: int) -> TreeShape:
    """Cut a table as deep as its columns and the limit allow.

    order: split the column with the longest run (the paper's partition of a box), or the one split least often; the
    first of equals; max_nodes: most cells of all levels together; the counted table stays below ``2**26`` cells as
    well.

    >>> unit = Domain(2**32, 0, False, True, True)
    >>> square = tree_shape([unit, unit], "longest", 100)
    >>> square.schedule, square.deltas, square.resolutions
    ((0, 1, 0, 1, 0), (1.0, 1.0, 2.0, 2.0, 4.0, 4.0), (1.0, 1.0, 0.5, 0.5, 0.25, 0.25))
    """
    levels = [_levels(domain) for domain in domains]
    depths = [0] * len(domains)
    schedule: list[int] = []
    deltas = [_diameters(domains, [each[0] for each in levels])[0]]
    resolutions, nodes = [deltas[0]], 1
    while len(schedule) < MAX_TREE_LEVELS:
        runs = [each[depth] for each, depth in zip(levels, depths, strict=True)]
        open_ = [place for place, each in enumerate(levels) if depths[place] + 1 < len(each)]
        if not open_:
            return TreeShape(
                schedule=tuple(schedule), deltas=tuple(deltas), resolutions=tuple(resolutions), is_complete=True
            )
        place = min(open_, key=lambda c: (-_longest(domains[c], runs[c]) if order == "longest" else 0, depths[c], c))
        below = [*runs[:place], levels[place][depths[place] + 1], *runs[place + 1 :]]
        nodes += math.prod(each.total() for each in below)
        if nodes > max_nodes or _counted(domains, below) > MAX_CELLS:
            break
        dividing = Counter({run: count for run, count in runs[place].items() if run[1] > 1})
        deltas.append(_diameters(domains, [*runs[:place], dividing, *runs[place + 1 :]])[1])
        resolutions.append(_diameters(domains, below)[0])
        schedule.append(place)
        depths[place] += 1
    return TreeShape(schedule=tuple(schedule), deltas=tuple(deltas), resolutions=tuple(resolutions), is_complete=False)


def longest_edges(domain: Domain) -> tuple[float, ...]:
    """Return the length of the longest run on each level of a column's hierarchy, each column having length 1.

    >>> longest_edges(Domain(values=4, specials=0, missing=False, ordered=False, continuous=False))
    (1.0, 1.0, 0.0)
    """
    lengths = [{_length(domain, kind, size) for kind, size in runs} for runs in _levels(domain)]
    return tuple(max(each) for each in lengths)


def _levels(domain: Domain) -> list[Runs]:
    """Return the runs of each level that `lapwing.schema.groupings.hierarchies.hierarchy` has, as sizes."""
    extra = domain.specials + (1 if domain.missing else 0)
    root: Run = ("whole", domain.values + extra) if extra else ("regular", domain.values)
    levels: list[Runs] = [Counter({root: 1})]
    plain, declared = levels[0], _Declared.of(domain)
    if declared.starts.size:
        reserved: Run = ("reserved", extra)
        plain = Counter({reserved: 1} if extra else {})
        levels += [plain + declared.runs] if extra else []
    while len(levels) <= MAX_LEVELS and any(size > 1 for _, size in levels[-1]):
        below = _halved(plain, domain, extra)
        declared, leaving = declared.cut()
        plain = below + leaving
        levels.append(plain + declared.runs)
    return levels


def _halved(runs: Runs, domain: Domain, extra: int) -> Runs:
    """Return the runs one level below, halved."""
    below: Runs = Counter()
    for (kind, size), count in runs.items():
        if kind == "whole":
            below.update({("regular", domain.values): 1, ("reserved", extra): 1})
        elif size == 1:
            below[kind, size] += count
        else:
            below[kind, size // 2] += count
            below[kind, size - size // 2] += count
    return below


@dataclass(frozen=True, slots=True, eq=False)
class _Declared:
    """Runs of regular codes that still hold cuts of the domain: only these need their places, not just their sizes."""

    tiers: tuple[np.ndarray, ...]
    starts: np.ndarray
    stops: np.ndarray

    @classmethod
    def of(cls, domain: Domain) -> Self:
        """Return the one run of all regular codes; none where the domain has no cuts."""
        tiers = tuple(np.array(tier, dtype=np.int64) for tier in domain.cuts)
        ends = np.array([[0, domain.values]] if tiers else np.empty((0, 2)), dtype=np.int64)
        return cls(tiers, ends[:, 0], ends[:, 1])

    @property
    def runs(self) -> Runs:
        """The runs as sizes."""
        return _sized(self.stops - self.starts)

    def cut(self) -> "tuple[_Declared, Runs]":
        """Return the runs one level below that still hold cuts, and the sizes of the others."""
        places = cut_places(self.tiers, self.starts, self.stops)
        starts, stops = np.concatenate((self.starts, places)), np.concatenate((places, self.stops))
        holds = np.zeros(starts.size, dtype=bool)
        for tier in self.tiers:
            holds |= np.searchsorted(tier, stops, "left") > np.searchsorted(tier, starts, "right")
        return _Declared(self.tiers, starts[holds], stops[holds]), _sized((stops - starts)[~holds])


def _sized(lengths: np.ndarray) -> Runs:
    """Return runs of regular codes as how many there are of each size."""
    sizes, counts = np.unique(lengths, return_counts=True)
    runs: Runs = Counter()
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        runs["regular", size] = count
    return runs


def _length(domain: Domain, kind: Kind, size: int) -> float:
    """Return the length of a run in its column's metric, as `lapwing.schema.groupings.hierarchies.diameters` does."""
    if size == 1 and not (domain.continuous and domain.values > 1 and kind == "regular"):
        return 0.0
    if kind != "regular" or not domain.ordered:
        return 1.0
    return size / domain.values if domain.continuous else (size - 1) / max(1, domain.values - 1)


def _longest(domain: Domain, runs: Runs) -> float:
    """Return the length of a column's longest run that can be split."""
    return max((_length(domain, kind, size) for kind, size in runs if size > 1), default=0.0)


def _counted(domains: Sequence[Domain], runs: Sequence[Runs]) -> int:
    """Return the cells of the counted table, in which each reserved code of a split column is alone."""
    return math.prod(
        sum(count for (kind, _), count in each.items() if kind != "reserved") + domain.reserved
        for domain, each in zip(domains, runs, strict=True)
        if sum(each.values()) > 1
    )


def _diameters(domains: Sequence[Domain], runs: Sequence[Runs]) -> tuple[float, float]:
    """Return the largest diameter of a table's cells, and the sum of them all; a cell's is that of its longest side."""
    sides: list[Counter[float]] = []
    for domain, each in zip(domains, runs, strict=True):
        side: Counter[float] = Counter()
        for (kind, size), count in each.items():
            side[_length(domain, kind, size)] += count
        sides.append(side)
    total, cells = 0.0, 0
    for length in sorted({length for side in sides for length in side}):
        within = math.prod(sum(count for own, count in side.items() if own <= length) for side in sides)
        total += length * (within - cells)
        cells = within
    return max(length for side in sides for length in side), total
