"""Which columns of a table are coordinates of a map, by their names and kinds alone."""

import re
from typing import Final

from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

MOST_MAPS: Final = 4
"""Pairs of coordinates that are found at most."""

_PARTNERS: Final = (
    ("longitude", "latitude"),
    ("long", "lat"),
    ("lng", "lat"),
    ("lon", "lat"),
    ("easting", "northing"),
    ("x", "y"),
    ("ix", "iy"),
    ("xcoord", "ycoord"),
    ("xcoordinate", "ycoordinate"),
)
_WORDS: Final = re.compile(r"[^\W\d_]+|\d+")
_HUMPS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def coordinate_pairs(schema: Schema) -> tuple[tuple[str, str], ...]:
    """Return the pairs of columns that are drawn as maps.

    Returns at most 4 pairs: the column to the right, then the one upwards.

    Two ordered columns that are no list of categories, whose names are equal but for one word: longitude and latitude
    (long, lng or lon and lat), easting and northing, or x and y (ix and iy, xcoord and ycoord). ``pickup_longitude``
    goes with ``pickup_latitude``, not with ``dropoff_latitude``. A table in which exactly two columns are numbers
    without resolution is taken for points of a plane, whatever the names.

    >>> real = {"type": "number", "constraints": {"minimum": 0, "maximum": 1}}
    >>> fields = [{"name": name} | real for name in ("home lat", "home lng", "size")]
    >>> coordinate_pairs(Schema.from_dict({"fields": fields}))
    (('home lng', 'home lat'),)
    """
    columns = [column for column in schema.columns if _is_measured(column)]
    keys = {_words(column.name): column.name for column in reversed(columns)}
    found: list[tuple[str, str]] = []
    for column in columns:
        words = _words(column.name)
        partners = [keys[other] for other in _partners(words) if other in keys]
        if partners and partners[0] != column.name:
            found.append((column.name, partners[0]))
    if not found:
        plane = [column.name for column in columns if column.domain.continuous]
        found = [(plane[0], plane[1])] if len(plane) == 2 else []
    return tuple(found[:MOST_MAPS])


def _is_measured(column: Field) -> bool:
    """Return whether a column is a number that is measured, with more than one value."""
    return column.type in ("integer", "number") and not column.is_categorical and column.domain.values > 1


def _words(name: str) -> tuple[str, ...]:
    """Return the words of a name in small letters: of ``dropoffLat`` they are ``dropoff`` and ``lat``."""
    return tuple(word.lower() for word in _WORDS.findall(_HUMPS.sub(" ", name)))


def _partners(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the words that the name of the column upwards may have, for one to the right."""
    return [
        (*words[:place], up, *words[place + 1 :])
        for place, word in enumerate(words)
        for right, up in _PARTNERS
        if word == right
    ]
