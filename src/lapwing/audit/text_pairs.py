"""Generated neighbouring tables with an open column of odd texts, as learned lists of categories need them."""

import itertools
from collections.abc import Sequence

import numpy as np
import polars as pl

from lapwing.audit.pairs import NeighbourPair
from lapwing.release.terms import Relation
from lapwing.schema.fields import Field
from lapwing.schema.schemas import PrivacyUnit, Schema

Row = tuple[str | None, str | None]

_POPULAR = ("A10", "A1", "B", "é", "Zürich")
_ODD = ("A1", "A11", "a1", "N/A", "N/Ax", "", " ", "B ", "e\u0301", "two\nlines", "\u2028", "x" * 200, "x" * 201, None)

FREQUENT = (0, 1, 2, 3, 5, 30, 90)
"""Rows that some popular texts have."""


def open_schema(max_rows: int = 1, *, has_unit: bool = True) -> Schema:
    """Return the schema of an open column of texts, with rows of a person."""
    town = Field(name="town", type="string", open=True, missing_values=("", "N/A", "Z"))
    if not has_unit:
        return Schema(fields=(town,))
    person = Field(name="person", type="string", identifier=True)
    return Schema(fields=(person, town), privacy_unit=PrivacyUnit("person", max_rows))


def text_pair(
    rng: np.random.Generator, relation: Relation, max_rows: int, frequent: Sequence[int] = FREQUENT
) -> NeighbourPair:
    """Return two tables of texts that differ in one unit, which has texts of its own at times.

    Parameters
    ----------
    rng : numpy.random.Generator
        Public randomness.
    relation : {"add-remove", "replace-one"}
        How the tables differ.
    max_rows : int, at least 1
        1 with a coin flip's chance of no privacy unit at all.
    frequent : sequence of int, at least 0
        From which the number of rows of each popular text is drawn.
    """
    has_unit = max_rows > 1 or bool(rng.integers(2))
    most = 2 * max_rows if has_unit else 1
    units = [_rows(rng, f"p{place}", most) for place in range(int(rng.integers(0, 12)))]
    for place, text in enumerate(_POPULAR):
        rows = int(rng.choice(frequent))
        units += [[(f"q{place}-{number}", text)] for number in range(rows)]
    person = "changed" if rng.integers(4) else None
    changed, other = _rows(rng, person, most, own="only here"), _rows(rng, person, most, own="only there")
    pair = [[*units, changed], [*units, *([] if relation == "add-remove" else [other])]]
    one, two = (_frame(rng, list(itertools.chain.from_iterable(each))) for each in pair)
    schema = open_schema(max_rows, has_unit=has_unit)
    return NeighbourPair(schema, one, two) if rng.integers(2) else NeighbourPair(schema, two, one)


def _rows(rng: np.random.Generator, person: str | None, most: int, own: str = "only mine") -> list[Row]:
    """Return rows of one unit: some are all alike, some hold what no other unit has."""
    count = int(rng.integers(1, most + 1))
    texts = [(*_POPULAR, *_ODD, own, f"{own} too")[rng.integers(len(_POPULAR) + len(_ODD) + 2)] for _ in range(count)]
    return [(person, text) for text in (texts[:1] * count if rng.integers(2) else texts)]


def _frame(rng: np.random.Generator, rows: Sequence[Row]) -> pl.DataFrame:
    """Put the rows in one frame, in any order."""
    rows = [rows[place] for place in rng.permutation(len(rows))]
    return pl.DataFrame(
        {
            "person": pl.Series([person for person, _ in rows], dtype=pl.String),
            "town": pl.Series([text for _, text in rows], dtype=pl.String),
        }
    )
