"""Rows out of a released model, with as little sampling error as rows can have.

Which atoms: one systematic sample. Positions ``(i + u) / n`` with a single uniform u fall on the atoms in proportion to
their weights, so every atom is drawn floor or ceil of its expected number of times. Chunk c of C takes the positions
``i = c mod C``, which is a systematic sample itself; the union of the chunks is exactly the whole one.

Which codes: inside a chunk, the rows that share a law of a column take its pieces systematically and lie in strata
inside each piece, in an order that is random and independent from column to column. So every row has exactly the law of
its atom, columns are independent given the atom, and one-way laws come out far closer than by independent draws.

A model with a log-linear part has more to give. With enough atoms, rows are chosen among them so that two-way tables
come close to the model's (`row_choice`). With fewer atoms than rows, the first row of each atom stands for it and the
others are moved by a Gibbs sweep. Very few atoms are first replaced by many, which many sweeps have moved away from
them (`log_linear`).

A ruled model (`ruled`) keeps the rules of its schema atom by atom; rows that a sweep would make break one keep what
their atom has in the columns that the rule ties together.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lapwing.errors import ParameterError
from lapwing.release.model import Indexed, ReleasedModel
from lapwing.sample.conditions import FEW_ATOMS, effective_atoms
from lapwing.sample.draws import AtomRows, Histogram, draw_column, row_ends
from lapwing.sample.log_linear import SweptRows, grouped, warmed
from lapwing.sample.public_strata import public_ends, public_strata
from lapwing.sample.row_choice import chosen_rows
from lapwing.sample.rule_keeping import kept_components
from lapwing.schema.public_cells import public_columns
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    import polars as pl

_MAX_ROWS = 2**40


class _Source(Protocol):
    """Where the rows of chunks come from."""

    def codes(self, positions: np.ndarray, rng: np.random.Generator, /) -> dict[str, np.ndarray]:
        """Return the codes of the rows with these increasing numbers."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _AtomSource:
    """Rows of atoms, each with the law of its atom; the run of row numbers of each atom, and its tables of laws."""

    model: ReleasedModel
    ends: np.ndarray
    tables: Mapping[str, Histogram]

    def codes(self, positions: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
        rows = AtomRows.of(np.searchsorted(self.ends, positions, side="right"))
        return {name: draw_column(law, self.tables.get(name), rows, rng) for name, law in self.model.laws.items()}


def sample_codes(
    model: ReleasedModel,
    schema: Schema,
    n: int,
    rng: np.random.Generator,
    *,
    chunk: int = 2**18,
    is_matched: bool = True,
) -> Iterator[dict[str, np.ndarray]]:
    """Draw rows from a released model, chunk by chunk.

    Parameters
    ----------
    model : ReleasedModel
        k atoms.
    schema : Schema
        Of the model; gives the dtype of each column's codes.
    n : int, 0 to 2**40
        Number of rows.
    rng : numpy.random.Generator
        The public generator. Same model, n, state and chunk: same rows.
    chunk : int, default 2**18, at least 1
        Most rows of one chunk; bounds the memory. Chunks differ in size by one row at most.
    is_matched : bool, default True
        False where the atoms are only starts for the log-linear part, as `conditioned` says.

    Yields
    ------
    dict of str to ndarray, shape (rows of the chunk,)
        Codes of each column in the dtype of its domain. Rows are in random order, and each chunk represents the whole
        model. For n = 0 one chunk of empty arrays.

    Raises
    ------
    ParameterError
        If n or chunk is out of range.
    CapacityError
        If rows have to come from a log-linear part with more than 4096 groups in a column.

    Notes
    -----
    Post-processing of released numbers: costs no budget. The union of the chunks holds every atom floor or ceil of
    ``n * weight`` times, for weights scaled to sum 1. Time ``O(k + n d)``, memory ``O(k + chunk)``.

    With a log-linear part: where the n rows are no more than the atoms, which of floor and ceil is chosen so that all
    two-way tables come close to the model's (2 s for Adult, 200 MB at most). Otherwise only the first row of each atom
    is drawn from its law; the others start there and are moved by one Gibbs sweep. Fewer than 50 effective atoms are
    first replaced by ``min(2 n, 8192)`` that start there and are moved by 40 sweeps. A sweep takes time
    ``O(rows * groups * tables)``, about 5 s for 10**6 rows of 14 columns and 76 tables.

    Examples
    --------
    >>> from lapwing.release.model import Bernoulli
    >>> schema = Schema.from_dict({"fields": [{"name": "flag", "type": "boolean"}]})
    >>> model = ReleasedModel(weights=np.ones(1), rows=3, laws={"flag": Bernoulli(np.ones(1))})
    >>> [chunk["flag"].tolist() for chunk in sample_codes(model, schema, 3, np.random.default_rng(1), chunk=2)]
    [[1, 1], [1]]
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 0 <= n <= _MAX_ROWS:
        raise ParameterError(f"the number of rows must be a whole number from 0 to 2**40, got {n!r}")
    if chunk < 1:
        raise ParameterError(f"a chunk must hold at least 1 row, got {chunk}; 2**18 suits most machines")
    return _chunks(model, schema, int(n), rng, (chunk, is_matched))


def sample_frames(
    model: ReleasedModel,
    schema: Schema,
    n: int,
    rng: np.random.Generator,
    *,
    chunk: int = 2**18,
    is_matched: bool = True,
) -> "Iterator[pl.DataFrame]":
    """Draw rows from a released model as frames with the schema's types.

    Parameters
    ----------
    model, schema, n, rng, chunk, is_matched
        As for `sample_codes`.

    Yields
    ------
    polars.DataFrame
        All fields in the schema's order; identifiers count on from chunk to chunk.
    """
    from lapwing.table.decode import decode  # noqa: PLC0415 - polars takes a quarter of a second to import

    first = 0
    for codes in sample_codes(model, schema, n, rng, chunk=chunk, is_matched=is_matched):
        frame = decode(codes, schema, rng, first)
        first += frame.height
        yield frame


def _chunks(
    model: ReleasedModel, schema: Schema, n: int, rng: np.random.Generator, settings: tuple[int, bool]
) -> Iterator[dict[str, np.ndarray]]:
    """Draw chunk by chunk; the offset of each chunk is random, so that no chunk is special."""
    chunk, is_matched = settings
    dtypes = {field.name: field.domain.dtype for field in schema.columns}
    if n == 0:
        yield {name: np.empty(0, dtype=dtype) for name, dtype in dtypes.items()}
        return
    source = _source(model, schema, n, rng, is_matched=is_matched)
    count = -(-n // chunk)
    for offset in rng.permutation(count):
        positions = np.arange(int(offset), n, count)
        order = rng.permutation(positions.size)
        drawn = source.codes(positions, rng)
        yield {name: drawn[name].astype(dtype, copy=False)[order] for name, dtype in dtypes.items()}


def _source(model: ReleasedModel, schema: Schema, n: int, rng: np.random.Generator, *, is_matched: bool) -> _Source:
    """Return where the rows come from."""
    part = model.log_linear
    kept = () if part is None else kept_components(model, schema)
    strata = public_strata(model, schema) if is_matched else None
    is_few = strata is None and effective_atoms(model.weights) < FEW_ATOMS
    if part is not None and (not is_matched or is_few):
        model = warmed(model, grouped(part, tuple(model.laws)), n, rng, kept)
    ends = row_ends(model.weights, n, rng) if strata is None else public_ends(strata, model.weights, n, rng)
    tables = {name: Histogram.of(law.laws) for name, law in model.laws.items() if isinstance(law, Indexed)}
    atoms = _AtomSource(model, ends, tables)
    if part is None:
        return atoms
    if n > model.atoms:
        held = () if strata is None else public_columns(schema)
        return SweptRows.of(model, grouped(part, tuple(model.laws)), ends, tables, kept, held=held)
    return chosen_rows(model, ends, tables, rng, None if strata is None else strata.own) or atoms
