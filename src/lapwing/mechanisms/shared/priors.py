"""Public rows, as a mechanism is given them: published before as a prior, or points of their owner's own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from lapwing.maths.arrays import read_only
from lapwing.model.certificate.notices import Notice
from lapwing.schema.schemas import Schema

MOST_PRIORS: Final = 8
Codes = Mapping[str, np.ndarray]
"""Codes of rows, by column."""

_MADE_UP: Final = 60
"""Rows of a prior that stands for another one."""

M = TypeVar("M")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PublicRows:
    """Rows that are public, in the codes of this schema.

    codes: mapping of str to integers (rows,), of the columns that they have; at least one column and row; name: a path,
    or what they are; origin: what a prior was published under, for the certificate; file: SHA-256 of the
    bytes of the file that they are of, empty where they are of none.
    """

    codes: Codes
    name: str
    origin: tuple[Notice, ...] = ()
    file: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", {name: read_only(codes) for name, codes in self.codes.items()})

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.codes.values())))

    def __repr__(self) -> str:
        return self.name


def priors_of(mechanism: object) -> tuple[PublicRows, ...]:
    """Return what a mechanism's ``prior`` is once it has been read: rows in code, none, one or several."""
    given = getattr(mechanism, "prior", None)
    return tuple(each for each in (given if isinstance(given, tuple) else (given,)) if isinstance(each, PublicRows))


def spread_codes(prior: PublicRows, schema: Schema, rng: np.random.Generator) -> Codes:
    """Return a prior's codes of all columns; of those that it lacks, regular ones at random."""
    lacking = [column for column in schema.columns if column.name not in prior.codes]
    return {**prior.codes, **{each.name: rng.integers(each.domain.values, size=prior.rows) for each in lacking}}


def invented_prior(schema: Schema) -> PublicRows:
    """Return a prior of no relation to any table, for audits, and for plans of releases whose prior is yet to come."""
    codes = {
        column.name: np.arange(_MADE_UP) * (place + 1) % column.domain.values
        for place, column in enumerate(schema.columns)
    }
    return PublicRows(codes, "made up", (Notice("prior_made_up"),))
