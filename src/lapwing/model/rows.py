"""Synthetic rows of a released model, with as little sampling error as rows can have.

Which atoms: one systematic sample. Positions ``(i + u) / n`` with a single uniform u fall on the atoms in proportion to
their weights, so every atom is drawn floor or ceil of its expected number of times. Chunk c of C takes the positions
``i = o mod C`` for an offset o of its own, which is a systematic sample itself; the union of the chunks is exactly the
whole one. Each chunk has its own generator, so that it is a function of the model, n, the seed and c: the same rows
come out whether chunks are drawn in order, at once, on other machines, or again after a failure.

Which codes: inside a chunk, the rows that share a law of a column take its pieces systematically and lie in strata
inside each piece, in an order that is random and independent from column to column. So every row has exactly the law of
its atom, columns are independent given the atom, and one-way laws come out far closer than by independent draws.

A model with a log-linear part has more to give. With enough atoms, rows are chosen among them so that one-way and
two-way tables come close to the model's (`row_choice`). With fewer atoms than rows, the first row of each atom stands
for it and the others are moved by a Gibbs sweep, which leaves the tables of many atoms nearly as they were. Very few
atoms are first replaced by many, which many sweeps have moved away from them (`log_linear`).

A ruled model (`ruled`) keeps the rules of its schema atom by atom; rows that a sweep would make break one keep what
their atom has in the columns that the rule ties together.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from lapwing.errors import ParameterError
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, Spans
from lapwing.model.sampling.conditions import FEW_ATOMS, effective_atoms
from lapwing.model.sampling.draws import AtomRows, Histogram, draw_column, row_ends, uniform_codes
from lapwing.model.sampling.grouped import group_part
from lapwing.model.sampling.keeping import kept_components
from lapwing.model.sampling.log_linear import SweptRows, warm_up
from lapwing.model.sampling.public_strata import public_ends, public_totals
from lapwing.model.sampling.row_choice import chosen_rows
from lapwing.schema.public_tables.cells import coded_tables, public_columns
from lapwing.schema.scalars import check_row_count
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    import polars as pl


# -- A generator for each chunk of rows, so that any chunk can be drawn by itself, anywhere and again.


def parted(rng: np.random.Generator) -> np.random.Generator:
    """Return the common parent of the generators of chunks; each call on the same generator gives another one."""
    return rng.spawn(1)[0]


def chunk_generator(parent: np.random.Generator, number: int) -> np.random.Generator:
    """Return the generator of one chunk: the child that ``Generator.spawn`` makes after ``number`` others.

    >>> parent = np.random.default_rng(1)
    >>> child = chunk_generator(parent, 2)
    >>> bool(child.integers(10**9) == parent.spawn(3)[2].integers(10**9))
    True
    """
    bits = parent.bit_generator
    root: Any = bits.seed_seq  # NumPy's stub gives the least that a seed sequence may be; `parted` needs a whole one
    seeds = type(root)(root.entropy, spawn_key=(*root.spawn_key, number), pool_size=root.pool_size)
    return type(parent)(type(bits)(seeds))


def seed_text(rng: np.random.Generator) -> str:
    """Return what a generator was seeded by as a text, from which names are made up; however far it has drawn."""
    seeds: Any = rng.bit_generator.seed_seq
    return "".join(f"{word:08x}" for word in seeds.generate_state(4))


CHUNK: Final = 2**18
"""Rows of a chunk where nothing else is asked for: part of what the rows of a seed are."""


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


@dataclass(frozen=True, slots=True, eq=False)
class RowChunks:
    """Rows that can be drawn chunk by chunk, in any order, by anyone who has this.

    offsets: int64 (chunks,), where the positions of each chunk begin; the others follow in steps of the number of
    chunks; parent: of the generators of the chunks; never drawn from; source: gives the codes of positions; None where
    there is no row.

    Holds released numbers only, and can be sent to other machines as it is.
    """

    schema: Schema
    n: int
    offsets: np.ndarray
    parent: np.random.Generator
    source: _Source | None

    @property
    def count(self) -> int:
        """Number of chunks, at least 1."""
        return self.offsets.size

    def codes(self, number: int) -> dict[str, np.ndarray]:
        """Return the codes of one chunk, from 0 to ``count - 1``, in the dtypes of the schema."""
        dtypes = {field.name: field.domain.dtype for field in self.schema.columns}
        if self.source is None:
            return {name: np.empty(0, dtype=dtype) for name, dtype in dtypes.items()}
        rng = chunk_generator(self.parent, number)
        positions = np.arange(int(self.offsets[number]), self.n, self.count)
        order = rng.permutation(positions.size)
        drawn = self.source.codes(positions, rng)
        return {name: drawn[name].astype(dtype, copy=False)[order] for name, dtype in dtypes.items()}

    def frame(self, number: int) -> "pl.DataFrame":
        """Return one chunk as a frame with the schema's types; identifiers count on from the chunks before it."""
        from lapwing.rows.out.decode import decode  # noqa: PLC0415 - polars takes a quarter of a second to import

        return decode(self.codes(number), self.schema, self.rows_before(number), seed_text(self.parent))

    def frames(self) -> "Iterator[pl.DataFrame]":
        """Return all chunks as frames, in order."""
        return map(self.frame, range(self.count))

    def rows_before(self, number: int) -> int:
        """Return how many rows the chunks before one have."""
        least, longer = divmod(self.n, self.count)
        return number * least + int(np.count_nonzero(self.offsets[:number] < longer))


def row_chunks(
    model: ReleasedModel,
    schema: Schema,
    n: int,
    rng: np.random.Generator,
    *,
    chunk: int = CHUNK,
    is_matched: bool = True,
) -> RowChunks:
    """Prepare rows of a released model to be drawn chunk by chunk, in any order."""
    _check(n, chunk)
    # Its own generator for the chunks first, so that what the source needs to begin with changes nothing about them.
    parent = parted(rng)
    offsets = rng.permutation(max(1, -(-n // chunk)))
    source = _source(model, schema, int(n), rng, is_matched=is_matched) if n else None
    return RowChunks(schema, int(n), offsets, parent, source)


def sample_codes(
    model: ReleasedModel,
    schema: Schema,
    n: int,
    rng: np.random.Generator,
    *,
    chunk: int = CHUNK,
    is_matched: bool = True,
) -> Iterator[dict[str, np.ndarray]]:
    """Draw rows from a released model, chunk by chunk.

    schema: of the model; gives the dtype of each column's codes; rng: the public generator. Same model, n, generator in
    the same state and chunk: same rows; chunk: most rows of one chunk; bounds the memory. Chunks differ in size by one
    row at most; is_matched: false where the atoms are only starts for the log-linear part, as `conditioned` says.
    Returns dict of str to (rows of the chunk,), codes of each column in the dtype of its domain. Rows are in random
    order, and each chunk represents the whole model. For n = 0 one chunk of empty arrays.

    Post-processing of released numbers: costs no budget. The union of the chunks holds every atom floor or ceil of
    ``n * weight`` times, for weights scaled to sum 1. Time ``O(k + n d)``, memory ``O(k + chunk)``.

    With a log-linear part: where the n rows are no more than the atoms, which of floor and ceil is chosen so that all
    one-way and two-way tables come close to the model's (2 s for Adult, 300 MB at most). Otherwise only the first row
    of each atom is drawn from its law; the others start there and are moved by one Gibbs sweep. Fewer than 50 effective
    atoms are first replaced by ``min(2 n, 8192)`` that start there and are moved by 40 sweeps. A sweep takes time
    ``O(rows * groups * tables)``, about 5 s for 10**6 rows of 14 columns and 76 tables.
    """
    _check(n, chunk)

    def drawn() -> Iterator[dict[str, np.ndarray]]:  # only when the first chunk is asked for
        chunks = row_chunks(model, schema, n, rng, chunk=chunk, is_matched=is_matched)
        yield from map(chunks.codes, range(chunks.count))

    return drawn()


def _check(n: int, chunk: int) -> None:
    """Refuse a number of rows or a size of chunks that is none."""
    check_row_count("the number of rows", n)
    if chunk < 1:
        raise ParameterError(f"a chunk must hold at least 1 row, got {chunk}; 2**18 suits most machines", code="LW302")


def _source(model: ReleasedModel, schema: Schema, n: int, rng: np.random.Generator, *, is_matched: bool) -> _Source:
    """Return where the rows come from."""
    part = model.log_linear
    kept = () if part is None else kept_components(model, schema)
    totals = public_totals(model, schema) if is_matched else None
    is_few = totals is None and effective_atoms(model.weights) < FEW_ATOMS
    if part is not None and (not is_matched or is_few):
        model = warm_up(model, group_part(part, tuple(model.laws)), n, rng, kept)
    ends = row_ends(model.weights, n, rng) if totals is None else public_ends(totals, model.weights, n, rng)
    tables = {name: Histogram.of(law.laws) for name, law in model.laws.items() if isinstance(law, Indexed)}
    atoms = _AtomSource(model, ends, tables)
    if part is None:
        return atoms
    if n > model.atoms:
        held = () if totals is None else public_columns(schema)
        return SweptRows.of(model, group_part(part, tuple(model.laws)), ends, tables, kept, held=held)
    return chosen_rows(model, ends, tables, rng, None if totals is None else totals.own) or atoms


# -- A sample of a population that has the law of a model: rows drawn one by one, with all their sampling error.


def population_codes(model: ReleasedModel, schema: Schema, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw independent rows from a released model.

    schema: of the model; gives the dtype of each column's codes. Returns dict of str to (n,), codes of each column.
    Each row draws its atom, and from the atom's laws its codes, independently of all others.

    Where a log-linear part has fewer than 50 effective atoms, these are first replaced as `sample_codes` does. Rows of
    a ruled model keep the rules. Time
    ``O(k + n d log k)``.
    """
    if n < 1:
        raise ParameterError(f"a simulated sample has at least 1 row, got {n}", code="LW325")
    part = model.log_linear
    if part is not None and effective_atoms(model.weights) < FEW_ATOMS:
        model = warm_up(model, group_part(part, tuple(model.laws)), n, rng, kept_components(model, schema))
    reached = np.cumsum(model.weights)
    atoms = np.searchsorted(reached, rng.random(n) * reached[-1], side="right")
    atoms = np.minimum(atoms, np.flatnonzero(model.weights)[-1])
    return {
        field.name: _drawn(model.laws[field.name], atoms, rng).astype(field.domain.dtype) for field in schema.columns
    }


def _drawn(law: ColumnLaw, atoms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw one code per row from the law of its atom, independently."""
    match law:
        case Bernoulli():
            return np.asarray(rng.random(atoms.size) < law.p[atoms])
        case Spans():
            return uniform_codes(law.starts[atoms].astype(np.int64), law.stops[atoms].astype(np.int64), rng)
        case Indexed():
            table, own = Histogram.of(law.laws), law.index[atoms].astype(np.int64)
            # Law i ends its pieces between i and i + 1; rounding must not lead beyond its last one.
            pieces = np.searchsorted(table.law_of_piece + table.reached, own + rng.random(atoms.size), side="right")
            pieces = np.minimum(pieces, law.laws.offsets[own + 1] - 1)
            return uniform_codes(law.laws.starts[pieces], law.laws.stops[pieces], rng)


# -- Parents in place of those to whom rules leave no child.


def stand_ins(
    schema: Schema, parents: Mapping[str, np.ndarray], lost: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return for each parent one to take its place: itself, or, if it is lost, any of those that are not.

    parents: mapping of str to integers (n,), their codes; lost: bool (n,), at least one is not. Returns intp (n,), for
    a lost parent one of the same cells of all exact public tables, so that their counts hold; any where there is none.

    >>> schema = Schema.from_dict({"fields": [{"name": "rented", "type": "boolean"}]})
    >>> lost = np.array([False, True, True])
    >>> stand_ins(schema, {"rented": np.array([0, 1, 1])}, lost, np.random.default_rng(1)).tolist()
    [0, 0, 0]
    """
    cells = [
        table.cell[
            tuple(grouping.apply(parents[name]) for name, grouping in zip(table.columns, table.groupings, strict=True))
        ]
        for table in coded_tables(schema)
    ]
    kept = np.flatnonzero(~lost)
    chosen = np.where(lost, rng.choice(kept, lost.size), np.arange(lost.size))
    if cells:
        alike = np.unique(np.stack(cells), axis=1, return_inverse=True)[1].reshape(-1)
        order = np.argsort(alike, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(alike[order])) + 1):
            same, own = rows[~lost[rows]], rows[lost[rows]]
            if same.size and own.size:
                chosen[own] = rng.choice(same, own.size)
    return chosen
