"""Distances of the user's own: how far apart the rows of a tree's cells can be; from public numbers only.

All are shares of the largest distance. So far apart are rows, too, that differ in what is special or missing. The
theorems ask for nested cells and their diameters, not for boxes (He, Vershynin, Zhu, Section 4.1).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from lapwing.errors import ParameterError
from lapwing.kernel.plain import MAX_CELLS
from lapwing.mechanisms.shared.trees.shapes import MAX_TREE_LEVELS, TreeShape
from lapwing.mechanisms.shared.trees.trees import along
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.hierarchies import Hierarchy, diameters, hierarchy
from lapwing.schema.schemas import Schema

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Kind = Literal["euclidean", "great-circle", "hierarchy", "distances"]
Matrix = tuple[tuple[float, ...], ...]
Levels = Mapping[str, tuple[Hierarchy, int]]
"""Of each column that is cut, its hierarchy, and the level of it."""

EARTH_KM: Final = 6371.0088
"""Mean radius."""
MOST_PLACES: Final = 256
"""Of a matrix, as the certificate holds it."""
MOST_FAR: Final = 1e300  # what a certificate can state
MEASURES: Final[Mapping[Kind, str]] = {
    "euclidean": "in the columns' unit",
    "great-circle": "km",
    "hierarchy": "levels",
    "distances": "in the unit of its matrix",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnMetric:
    """A distance between rows, of some columns of a schema.

    places: of its columns in the schema, increasing; spans: length of each numeric column in the metric's unit;
    latitude: of great circles, which column it is; degrees: its least and largest value; matrix: the distances given.
    """

    kind: Kind
    columns: tuple[str, ...]
    places: tuple[int, ...]
    domains: tuple[Domain, ...]
    spans: tuple[float, ...] = ()
    latitude: int = 0
    degrees: tuple[float, float] = (0.0, 0.0)
    matrix: Matrix = ()

    def __post_init__(self) -> None:
        if not 0 < self.farthest <= MOST_FAR:
            raise _refusal(f"has a largest distance of {self.farthest:g}; give distances of at most {MOST_FAR:g}")

    @property
    def farthest(self) -> float:
        """The largest distance, or a bound of it."""
        if self.kind == "hierarchy":
            return len(self.domains[0].cuts) + 1.0
        if self.kind == "distances":
            return max(map(max, self.matrix))
        half_around = math.pi * EARTH_KM if self.kind == "great-circle" else math.inf
        return min(half_around, math.hypot(*self.spans))

    def shares(self, names: Sequence[str]) -> tuple[float, ...]:
        """Return the length of numeric columns as shares of the largest distance: of circles where they are longest."""
        return tuple(self.spans[self.columns.index(name)] / self.farthest for name in names)

    def sizes(self, levels: Levels, axes: Sequence[str]) -> Floats:
        """Return the diameters of the cells of a level of a table with these columns, which broadcast against it."""
        apart, inside = np.zeros((1,) * len(axes), dtype=np.bool_), np.zeros((1,) * len(axes))
        for place, (name, domain) in enumerate(zip(self.columns, self.domains, strict=True)):
            nested, level = levels.get(name, (hierarchy(domain, 0), 0))
            axis = axes.index(name) if name in axes else 0
            mixed = (nested.stops(level) > domain.values) & (nested.stops(level) - nested.starts(level) > 1)
            apart = apart | along(mixed, axis, len(axes))
            side = along(self._side(place, nested, level), axis, len(axes))
            if self.kind == "great-circle" and place != self.latitude:
                side = side * self._narrowing(levels, axes)
            inside = np.hypot(inside, side)
        return np.where(apart, 1.0, np.minimum(inside / self.farthest, 1.0))

    def longest(self, place: int, nested: Hierarchy, level: int) -> float:
        """Return the length of the longest run of a column that can be cut, as a share of the largest distance."""
        codes = nested.stops(level) - nested.starts(level)
        mixed = (nested.stops(level) > self.domains[place].values) & (codes > 1)
        side = np.where(mixed, 1.0, self._side(place, nested, level) / self.farthest)
        return float(np.where(codes > 1, side, 0.0).max())

    def _side(self, place: int, nested: Hierarchy, level: int) -> Floats:
        """Return the length of each run of a column; what is not of its values alone counts elsewhere."""
        domain = self.domains[place]
        if self.spans:
            return diameters(nested, domain, level) * self.spans[place]
        starts, stops = nested.starts(level), nested.stops(level)
        if self.kind == "distances":
            return _largest(np.array(self.matrix), starts, stops)
        far = (stops - starts > 1).astype(np.float64)
        for tier, cuts in enumerate(reversed(domain.cuts), start=2):
            held = np.searchsorted(cuts, stops, "left") > np.searchsorted(cuts, starts, "right")
            far[held] = tier
        return far

    def _narrowing(self, levels: Levels, axes: Sequence[str]) -> Floats:
        """Return how much shorter a circle of latitude is in each run of latitudes than at its longest."""
        name, domain = self.columns[self.latitude], self.domains[self.latitude]
        nested, level = levels.get(name, (hierarchy(domain, 0), 0))
        low, high = self.degrees
        ends = [
            low + (high - low) * np.minimum(each, domain.values) / domain.values
            for each in (nested.starts(level), nested.stops(level))
        ]
        widest = _widest(*ends) / _widest(np.array(low), np.array(high))
        return along(widest, axes.index(name) if name in axes else 0, len(axes))


def own_metric(setting: tuple[object, ...], schema: Schema) -> OwnMetric:
    """Return the metric that a setting names, or refuse what the schema has not."""
    kind, names = cast("Kind", setting[0]), _names(setting)
    known = {field.name: place for place, field in enumerate(schema.columns)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise _refusal(f"names the column {unknown[0]!r}, which the schema has not; name one of its columns")
    places = tuple(sorted(known[name] for name in names))
    fields = [schema.columns[place] for place in places]
    domains = tuple(each.domain for each in fields)
    columns = tuple(each.name for each in fields)
    if kind == "euclidean":
        spans = tuple(high - low for low, high in map(_range, fields))
        return OwnMetric(kind=kind, columns=columns, places=places, domains=domains, spans=spans)
    if kind == "great-circle":
        latitude = places.index(known[names[0]])
        degrees, around = _range(fields[latitude]), _range(fields[1 - latitude])
        if not (degrees[0] >= -90 and degrees[1] <= 90 and around[0] >= -180 and around[1] <= 360):
            raise _refusal("great-circle needs degrees: first a latitude from -90 to 90, then a longitude")
        widest = float(_widest(np.array(degrees[0]), np.array(degrees[1])))
        sides = (math.radians(degrees[1] - degrees[0]), math.radians(around[1] - around[0]) * widest)
        spans = tuple(EARTH_KM * side for side in (sides if latitude == 0 else sides[::-1]))
        return OwnMetric(
            kind=kind,
            columns=columns,
            places=places,
            domains=domains,
            spans=spans,
            latitude=latitude,
            degrees=degrees,
        )
    if not fields[0].is_categorical:
        raise _refusal(f"{kind} needs a column of categories, which {columns[0]!r} is not")
    matrix = _in_order(fields[0], *setting[2:]) if kind == "distances" else ()
    return OwnMetric(kind=kind, columns=columns, places=places, domains=domains, matrix=matrix)


def checked_setting(setting: object) -> tuple[object, ...]:
    """Return a setting as it is kept, or refuse what no schema could mend."""
    parts: tuple[object, ...] = tuple(setting) if isinstance(setting, list | tuple) else (setting,)
    kind, names = parts[0] if parts else None, _names(parts)
    if not isinstance(kind, str) or kind not in get_args(Kind):
        raise _refusal(f"starts with one of {', '.join(get_args(Kind))}, and then names its columns")
    counts = {"euclidean": range(1, 9), "great-circle": (2,), "hierarchy": (1,), "distances": (1,)}
    wanted = len(names) + 1 + 2 * (kind == "distances")
    if len(names) not in counts[str(kind)] or len(set(names)) != len(names) or len(parts) != wanted:
        needs = {"euclidean": "1 to 8 columns", "great-circle": "a latitude and a longitude", "hierarchy": "one column"}
        raise _refusal(f"{kind} needs {needs.get(str(kind), 'one column, the places and their matrix')}")
    return (*parts[:2], *_checked_distances(parts[2], parts[3])) if kind == "distances" else parts


def _names(setting: tuple[object, ...]) -> list[str]:
    return [each for each in setting[1:] if isinstance(each, str)]


def _refusal(said: str) -> ParameterError:
    return ParameterError(f"metric {said}", code="LW316")


def _checked_distances(places: object, given: object) -> tuple[tuple[object, ...], Matrix]:
    """Return places and the matrix of their distances as plain values."""
    try:
        distances = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        distances = np.zeros(0)
    if distances.ndim != 2 or len(set(distances.shape)) != 1 or not 2 <= len(distances) <= MOST_PLACES:
        raise _refusal(f"distances needs a square matrix of numbers, of 2 to {MOST_PLACES} places")
    if not isinstance(places, list | tuple) or len(places) != len(distances):
        raise _refusal(f"distances needs the list of the {len(distances)} places of its matrix, in its order")
    is_symmetric = np.isfinite(distances).all() and (distances >= 0).all() and np.array_equal(distances, distances.T)
    if not is_symmetric or distances.diagonal().any() or not distances.any():
        raise _refusal("distances needs a symmetric matrix of numbers from 0 up, 0 between a place and itself")
    shortest = np.array([(distances[place][:, None] + distances).min(axis=0) for place in range(len(distances))])
    if (shortest < distances * (1 - 1e-9)).any():
        raise _refusal("distances has a way round that is shorter than the direct one; give the shortest ways")
    return tuple(places), tuple(tuple(row) for row in cast("list[list[float]]", distances.tolist()))


def _in_order(field: Field, places: object, matrix: object) -> Matrix:
    """Return a matrix in the order of a field's codes."""
    assert isinstance(places, tuple)
    listed = [str(each) for each in field.categories or ()]
    if sorted(listed) != sorted(map(str, places)):
        raise _refusal(f"distances needs every category of {field.name!r} once, and no other place")
    order = [list(map(str, places)).index(each) for each in listed]
    return tuple(tuple(row) for row in np.array(matrix)[np.ix_(order, order)].tolist())


def _range(field: Field) -> tuple[float, float]:
    """Return the bounds of a numeric column."""
    if field.type not in ("integer", "number") or field.is_categorical or field.open:
        raise _refusal(f"needs columns of numbers, which {field.name!r} is not")
    low, high = float(cast("float", field.minimum)), float(cast("float", field.maximum))
    if not low < high:
        raise _refusal(f"needs columns of more than one value, which {field.name!r} is not")
    return low, high


def _widest(low: Floats, high: Floats) -> Floats:
    """Return the largest cosine of latitudes in degrees."""
    nearest = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
    return np.maximum(np.cos(np.radians(nearest)), 1e-9)


def _largest(distances: Floats, starts: Ints, stops: Ints) -> Floats:
    """Return the largest distance in each run of places; what follows them lies beyond the matrix."""
    found = np.zeros(len(starts))
    of_places = starts < len(distances)
    firsts = starts[of_places]
    blocks = np.maximum.reduceat(np.maximum.reduceat(distances, firsts, axis=0), firsts, axis=1)
    found[of_places] = np.where(stops[of_places] - firsts > 1, blocks.diagonal(), 0.0)
    return found


def own_shape(metric: OwnMetric, max_nodes: int) -> TreeShape:
    """Cut the columns of a metric as deep as they and the limit allow, always the one with the longest run.

    Time and memory linear in the cells, which are looked at one by one: their diameters differ.
    """
    count = len(metric.columns)
    depths, nodes = [0] * count, 1
    schedule: list[int] = []
    cut = [hierarchy(domain, 0) for domain in metric.domains]
    deltas, resolutions = [1.0], [1.0]
    while len(schedule) < MAX_TREE_LEVELS:
        lengths = [metric.longest(place, cut[place], depths[place]) for place in range(count)]
        codes = [nested.stops(depth) - nested.starts(depth) for nested, depth in zip(cut, depths, strict=True)]
        open_ = [place for place in range(count) if (codes[place] > 1).any()]
        if not open_:
            break
        place = min(open_, key=lambda each: (-lengths[each], depths[each], each))
        below = hierarchy(metric.domains[place], depths[place] + 1)
        groups = [nested.groups(depth) for nested, depth in zip(cut, depths, strict=True)]
        groups[place] = below.groups(depths[place] + 1)
        nodes += math.prod(groups)
        reserved = math.prod(domain.reserved + 1 for domain in metric.domains)
        if nodes > max_nodes or math.prod(groups) * reserved > MAX_CELLS:
            return TreeShape(
                schedule=tuple(schedule), deltas=tuple(deltas), resolutions=tuple(resolutions), is_complete=False
            )
        shape = [each.size for each in codes]
        sizes = np.broadcast_to(metric.sizes(_levels(metric, cut, depths), metric.columns), shape)
        divided = np.flatnonzero(codes[place] > 1)
        deltas.append(float(np.take(sizes, divided, axis=place).sum()))
        cut[place], depths[place] = below, depths[place] + 1
        schedule.append(metric.places[place])
        resolutions.append(float(metric.sizes(_levels(metric, cut, depths), metric.columns).max()))
    return TreeShape(
        schedule=tuple(schedule),
        deltas=tuple(deltas),
        resolutions=tuple(resolutions),
        is_complete=len(schedule) < MAX_TREE_LEVELS,
    )


def _levels(metric: OwnMetric, cut: Sequence[Hierarchy], depths: Sequence[int]) -> Levels:
    return dict(zip(metric.columns, zip(cut, depths, strict=True), strict=True))
