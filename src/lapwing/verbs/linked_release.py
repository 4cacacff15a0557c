"""The release of two linked tables: parents, each with its children."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lapwing.errors import ParameterError
from lapwing.model.certificate.cost_lines import asked_text
from lapwing.model.files import SavedRelease
from lapwing.model.linked_files import LinkedCertificate, SavedLinked, save_linked
from lapwing.model.linked_files import load_linked as read_linked
from lapwing.model.model import may_be_missing
from lapwing.model.rows import sample_codes, stand_ins
from lapwing.model.sampling.atom_matches import chosen_atoms
from lapwing.model.sampling.fixed import points
from lapwing.model.sampling.given_rows import refused_rows, rows_given
from lapwing.model.sampling.keeping import kept_components
from lapwing.release.release import Release
from lapwing.rows.layouts import Layout, Like, layout_like
from lapwing.rows.out.typed import to_layout
from lapwing.rows.readers import Kind, check_kind
from lapwing.runs.generators import checked_seed, fresh_seed, generator
from lapwing.schema.fields import Field
from lapwing.schema.linked import LinkedSchema
from lapwing.schema.scalars import path_text, told

if TYPE_CHECKING:
    import polars as pl


_Codes = dict[str, np.ndarray]

_PARENTS: Final = 2**16  # of one chunk
_CHILDREN: Final = 2**17  # drawn at a time
_SPARE: Final = 2**10  # parents that may take the place of those who can have no child


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinkedRelease:
    """A differentially private release of two linked tables; every method is free post-processing.

    Parameters
    ----------
    schema : LinkedSchema
        The public schema.
    parent : Release
        Of the parents with their number of children.
    child : Release
        Of the children with the columns of their parents. Rows of it by itself belong to no parent; `sample` gives
        those that do.
    certificate : LinkedCertificate
        What was spent on both together, what is kept and what is not.
    seed : int or None
        The caller's seed, used by `sample` when it is given none.
    """

    schema: LinkedSchema
    parent: Release
    child: Release
    certificate: LinkedCertificate
    seed: int | None = None

    def __repr__(self) -> str:
        paid = self.certificate
        rows = f"{paid.parent.released_rows} parents, {paid.child.released_rows} children"
        asked = asked_text(paid.total, paid.requested_epsilon, paid.requested_delta)
        return f"LinkedRelease({paid.parent.mechanism} and {paid.child.mechanism}, {asked}, {rows})"

    def sample(
        self, n: int | None = None, seed: int | None = None, *, like: tuple[Like, Like] | None = None
    ) -> tuple[Any, Any]:
        """Draw parents from the released model, and for each its children.

        Parameters
        ----------
        n : int, at least 0, optional
            Number of parents; by default the released one.
        seed : int, optional
            Of the public generator; by default the release's own seed, else a fresh one.
        like : pair, optional
            For parents and for children, as for `Release.sample`.

        Returns
        -------
        parents, children : frame
            Each in the layout of its input, with the columns of its schema. The key is a fresh number for each parent,
            and each child has that of its parent; children of a parent stand together.

        Raises
        ------
        ParameterError
            If ``n`` or the seed is out of range, or ``like`` has other columns than the schema.

        Notes
        -----
        Each parent has as many children as its number of children says, 0 to ``maxChildren``. Each child is drawn from
        the child model given its parent's columns and that number, independently of its siblings.
        """
        import polars as pl  # noqa: PLC0415

        parts, schemas = (self.parent, self.child), (self.schema.parent, self.schema.child)
        layouts = [Layout(part.kind) if part.layout is None else part.layout for part in parts]
        if like is not None:
            layouts = [layout_like(each, schema) for each, schema in zip(like, schemas, strict=True)]
        drawn = zip(*self.frames(n, seed=seed), strict=True)
        parents, children = (
            to_layout(pl.concat(rows), layout, schema, may_be_missing(part.model, part.schema))
            for rows, layout, schema, part in zip(drawn, layouts, schemas, parts, strict=True)
        )
        return parents, children

    def frames(self, n: int | None = None, *, seed: int | None = None) -> "Iterator[tuple[pl.DataFrame, pl.DataFrame]]":
        """Draw the rows of `sample` in chunks: pairs of Polars frames of parents and of all their children."""
        count = self.parent.model.rows if n is None else n
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ParameterError(
                f"the number of parents must be a whole number of at least 0, got {told(n)}", code="LW325"
            )
        chosen = checked_seed(seed)
        if chosen is None:
            chosen = fresh_seed() if self.seed is None else self.seed
        return self._frames(count, generator(chosen, "rows"))

    def save(self, path: str | Path) -> None:
        """Write both parts to one ``.lapwing`` file, for `load_linked`; it holds released numbers only."""
        parent, child = (
            SavedRelease(part.schema, part.model, part.certificate, part.noisy) for part in (self.parent, self.child)
        )
        save_linked(
            SavedLinked(schema=self.schema, parent=parent, child=child, certificate=self.certificate),
            Path(path_text("path", path)),
        )

    def _frames(self, n: int, rng: np.random.Generator) -> "Iterator[tuple[pl.DataFrame, pl.DataFrame]]":
        """Draw chunk by chunk; keys count on from chunk to chunk."""
        from lapwing.rows.out.decode import decode  # noqa: PLC0415 - polars takes a quarter of a second to import

        linked = self.schema
        parents_before = children_before = 0
        for drawn_parents in sample_codes(self.parent.model, self.parent.schema, n, rng, chunk=_PARENTS):
            codes, owners, drawn = self._families(drawn_parents, rng)
            parents = decode(codes, linked.parent, parents_before)
            children = decode(drawn, linked.child, children_before)
            keys = parents[linked.key].gather(owners)
            yield parents, children.with_columns(keys)
            parents_before += parents.height
            children_before += children.height

    def _families(self, parents: _Codes, rng: np.random.Generator) -> tuple[_Codes, np.ndarray, _Codes]:
        """Return codes of parents, the owner of each child, and codes of children."""
        owners = _owners(parents, self.schema.count)
        with contextlib.suppress(ParameterError):
            return parents, owners, self._children(parents, owners, rng)
        # Rules may leave a parent no child. Each such search takes long, so it is made only then.
        again = self._with_children(parents, rng)
        owners = _owners(again, self.schema.count)
        return again, owners, self._children(again, owners, rng)

    def _with_children(self, parents: _Codes, rng: np.random.Generator) -> _Codes:
        """Return parents from their law given that there can be such a family: some are replaced by others."""
        (spare,) = sample_codes(self.parent.model, self.parent.schema, _SPARE, rng, chunk=_SPARE)
        pool = {name: np.concatenate((codes, spare[name])) for name, codes in parents.items()}
        lost = pool[self.schema.count] > 0
        asked = np.flatnonzero(lost)
        model, schema = self.child.model, self.child.schema
        for start in range(0, asked.size, _CHILDREN):
            rows = asked[start : start + _CHILDREN]
            given = {name: codes[rows] for name, codes in self._given(pool).items()}
            lost[rows] = refused_rows(model, schema, given, chosen_atoms(model, given, rng), rng)
        if lost.all():
            return self._whose_child_is_known(lost.size - _SPARE, rng)
        chosen = stand_ins(self.parent.schema, pool, lost, rng)[: lost.size - _SPARE]
        return {name: codes[chosen] for name, codes in pool.items()}

    def _whose_child_is_known(self, n: int, rng: np.random.Generator) -> _Codes:
        """Return parents who have what the rules tie to their children from an atom of the child model.

        For budgets so small that the two models have no family in common.
        """
        model, names = self.child.model, {called: name for name, called in self.schema.joined_names.items()}
        kept = kept_components(model, self.child.schema)
        tied = [name for component in kept for name in component.columns if name in names]
        atoms = rng.choice(model.atoms, n, p=model.weights / model.weights.sum())
        given = {names[name]: codes[atoms] for name, codes in points(model, tied).items()}
        return rows_given(self.parent.model, self.parent.schema, given, rng).codes

    def _given(self, parents: _Codes) -> _Codes:
        """Return codes of parents under the names of the child model."""
        names = self.schema.joined_names
        return {names[name]: codes for name, codes in parents.items()}

    def _children(self, parents: _Codes, owners: np.ndarray, rng: np.random.Generator) -> _Codes:
        """Draw one child for each owner, given its columns: codes of the child's own columns."""
        given = self._given(parents)
        own: list[Field] = [field for field in self.schema.child.fields if not field.identifier]
        parts: dict[str, list[np.ndarray]] = {field.name: [np.empty(0, field.domain.dtype)] for field in own}
        for start in range(0, owners.size, _CHILDREN):
            rows = owners[start : start + _CHILDREN]
            part = {name: codes[rows] for name, codes in given.items()}
            drawn = rows_given(self.child.model, self.child.schema, part, rng).codes
            for name, found in parts.items():
                found.append(drawn[name])
        return {name: np.concatenate(found) for name, found in parts.items()}


def _owners(parents: _Codes, count: str) -> np.ndarray:
    """Return the place of each child's parent."""
    return np.repeat(np.arange(parents[count].size), parents[count])


def load_linked(path: str | Path, kind: Kind = "path") -> LinkedRelease:
    """Read a ``.lapwing`` file of two linked tables; safe on files from strangers.

    Parameters
    ----------
    path : path
        The file, written by `LinkedRelease.save`.
    kind : {"pandas", "polars", "pyarrow", "path"}, default "path"
        The frames that rows come in; Polars for ``path``.

    Returns
    -------
    LinkedRelease

    Raises
    ------
    ParameterError
        If there is no such kind of frame.
    DataError
        If the file cannot be read or is not a model file of linked tables.
    """
    check_kind(kind)
    saved = read_linked(Path(path_text("path", path)))
    parent, child = (
        Release(schema=part.schema, model=part.model, certificate=part.certificate, noisy=part.answers, kind=kind)
        for part in (saved.parent, saved.child)
    )
    return LinkedRelease(schema=saved.schema, parent=parent, child=child, certificate=saved.certificate)
