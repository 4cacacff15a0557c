"""Rows as integer codes of public domains, which rivals are given, and codes back as native values.

Categories, booleans, special values and missing have codes of their own; the range of a number or date is cut into at
most 32 nearly equal parts, without which most rivals cannot run. Nothing here looks at the rows to choose a code.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from lapwing.rows.out.decode import decode
from lapwing.rows.source import all_codes, code_table
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, evenly, identity
from lapwing.schema.schemas import Schema

PARTS = 32
"""Most parts of the range of a number or date."""


BESIDE = ("target", "parity")
"""What the arena says of a table beside its schema, in the same file."""


def schema_of(told: Mapping[str, object]) -> Schema:
    """Return the schema in what the arena says of a table."""
    return Schema.from_dict({key: value for key, value in told.items() if key not in BESIDE})


@dataclass(frozen=True, slots=True, eq=False)
class Coding:
    """The public codes of one table.

    Parameters
    ----------
    schema : Schema
        Of the native values; without identifiers and privacy unit.
    groups : tuple of Grouping
        For every column, from the codes of the schema to those used here.
    sizes : tuple of int
        Codes of every column, at least 1: they are 0 to one less.
    """

    schema: Schema
    groups: tuple[Grouping, ...]
    sizes: tuple[int, ...]

    @property
    def domain(self) -> dict[str, int]:
        """The number of codes of each column."""
        return {field.name: size for field, size in zip(self.schema.columns, self.sizes, strict=True)}

    @property
    def schema_of_codes(self) -> dict[str, object]:
        """The Table Schema of the codes themselves; those of categories are listed, as they have no distances."""
        pairs = zip(self.schema.columns, self.sizes, strict=True)
        return {"fields": [_field_of_codes(field, size) for field, size in pairs]}

    def encode(self, rows: object) -> pl.DataFrame:
        """Return rows of native values (a path or data frame) as codes, Int32.

        Raises
        ------
        ValueError
            Where a cell lies outside the schema.
        """
        found = all_codes(code_table(rows, self.schema), self.schema)
        coded = {}
        for (name, size), group in zip(self.domain.items(), self.groups, strict=True):
            coded[name] = group.apply(found[name]).astype(np.int32)
            _check(name, coded[name], size)
        return pl.DataFrame(coded)

    def decode(self, codes: pl.DataFrame, *, seed: int = 0) -> pl.DataFrame:
        """Return native values of codes: within the part of a number or date, one drawn uniformly.

        Parameters
        ----------
        codes : polars.DataFrame
            Whole numbers, one column for each of the table.
        seed : int, default 0
            Of the public draws.

        Raises
        ------
        ValueError
            Where a code is not of the domain.
        """
        rng = np.random.default_rng(seed)
        drawn: Mapping[str, np.ndarray] = {
            name: _within(group, _check(name, codes[name].to_numpy(), size), rng)
            for (name, size), group in zip(self.domain.items(), self.groups, strict=True)
        }
        return decode(drawn, self.schema)


def coding_of(schema: Schema, *, parts: int | None = PARTS) -> Coding:
    """Return the public codes under a schema; None for parts: every value of a number or date is a code."""
    groups = tuple(
        identity(field.domain) if parts is None or field.is_categorical else evenly(field.domain, parts)
        for field in schema.columns
    )
    # The last code counts only where it means missing.
    sizes = tuple(
        group.groups - (not field.domain.missing) for field, group in zip(schema.columns, groups, strict=True)
    )
    return Coding(schema, groups, sizes)


def _field_of_codes(field: Field, size: int) -> dict[str, object]:
    """Return a field of codes."""
    constraints: dict[str, object] = {"required": True}
    listed = {"categories": list(range(size))} if field.is_categorical else {}
    ends = {} if field.is_categorical else {"minimum": 0, "maximum": size - 1}
    return {"name": field.name, "type": "integer", "constraints": constraints | ends} | listed


def _check(name: str, codes: np.ndarray, size: int) -> np.ndarray:
    """Return codes that are all of the domain."""
    if len(codes) and not 0 <= codes.min() <= codes.max() < size:
        raise ValueError(f"column {name} has codes outside 0 to {size - 1}; give codes of its domain")
    return codes


def _within(group: Grouping, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a code of the schema for each code, uniformly of those that share it."""
    starts, stops, _ = group.pieces()  # in the order of groups: none of them is a listed table
    return rng.integers(starts[codes], stops[codes])
