"""Public rows as points of a reduced space: they are coded here, because no mechanism reads tables."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar, get_args

import numpy as np

from lapwing.errors import DataError, ParameterError
from lapwing.mechanisms.registry import own_points
from lapwing.mechanisms.shared.registration import Mechanism
from lapwing.mechanisms.shared.vectors.reduced_space import Mu, PublicPoints
from lapwing.rows.guard import guarded
from lapwing.rows.source import coded_table
from lapwing.runs.generators import generator
from lapwing.runs.public_tables import is_private_table
from lapwing.schema.schemas import Schema

T = TypeVar("T")

CALLABLE: Final = "callable "
FRAME: Final = "a frame of "  # how the names begin of points that are kept in no file


def with_public_points(mechanism: Mechanism, schema: Schema, seed: int) -> Mechanism:
    """Return a mechanism whose public rows are in code; others unchanged.

    mechanism: perhaps with a path, a frame or a callable as ``mu``; seed: of the public generator, which a callable is
    given.
    """
    own = own_points(mechanism)
    if own is None or isinstance(own.rows, PublicPoints):
        return mechanism
    mu = os.fspath(own.rows) if isinstance(own.rows, os.PathLike) else own.rows
    if callable(mu):
        name = f"{CALLABLE}{getattr(mu, '__qualname__', type(mu).__qualname__)}"
        rows = guarded(
            "the callable mu failed; it is called once as mu(points, rng) and returns a table",
            lambda: mu(own.count, generator(seed, "mu")),
        )
    else:
        name, rows = (mu if isinstance(mu, str) else ""), mu
        if isinstance(mu, str) and mu.startswith((CALLABLE, FRAME)):
            raise ParameterError(
                f"mu was {mu!r}, which is kept in no file, so a release with it cannot be resumed; make a new one",
                code="LW343",
            )
    if isinstance(rows, str) and not Path(rows).exists():
        raise ParameterError(
            f"mu must be one of {', '.join(get_args(Mu))}, or the path of a public table, got {rows!r}", code="LW353"
        )
    codes = _named(lambda: _coded(rows, schema))
    count = len(next(iter(codes.values())))
    return own.place(PublicPoints(codes, name or f"{FRAME}{count} rows"))


def refuse_private_points(mechanism: object, data: object) -> None:
    """Refuse the private table itself as public points."""
    own = own_points(mechanism)
    if own is not None and is_private_table(own.rows, data):
        raise ParameterError(
            "mu is the private table itself, but must be public; name another table, or 'uniform'", code="LW351"
        )


def points_digest(mechanism: Mechanism) -> str | None:
    """Return the fingerprint of a mechanism's public rows, None where it has none of its own.

    Returns SHA-256 in hexadecimal digits, of the codes in the order of their rows.
    """
    own = own_points(mechanism)
    if own is None or not isinstance(own.rows, PublicPoints):
        return None
    digest = hashlib.sha256()
    for name, codes in own.rows.codes.items():
        digest.update(f"{name!r}: {codes.size}\n".encode())
        digest.update(np.ascontiguousarray(codes, dtype="<i8").tobytes())
    return digest.hexdigest()


def _named(work: Callable[[], T]) -> T:
    """Say of an error in reading public rows that it is about mu."""
    try:
        return work()
    except DataError as error:
        said, code = str(error), error.code
    raise DataError(f"mu: {said}", code=code)


def _coded(rows: object, schema: Schema) -> dict[str, np.ndarray]:
    """Return the codes of the public rows that fit the schema in every column."""
    with coded_table(rows, _without_unit(schema)) as source:
        chunks = list(source.chunks())
    codes = (
        {name: np.concatenate([chunk[name] for chunk in chunks]).astype(np.int64) for name in chunks[0]}
        if chunks
        else {}
    )
    if not codes:
        raise ParameterError("mu has no row; give public rows of the schema's columns", code="LW353")
    fits = np.ones(len(next(iter(codes.values()))), dtype=bool)
    for field in schema.columns:
        if not field.domain.missing:
            fits &= codes[field.name] != field.domain.last
    return {name: each[fits] for name, each in codes.items()}


def _without_unit(schema: Schema) -> Schema:
    """Return the schema for public rows: they need no identifiers."""
    return replace(schema, privacy_unit=None)
