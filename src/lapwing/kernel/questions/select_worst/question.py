"""The question for the table that a model fits worst, and its answer: an index, and no noisy table."""

import hashlib
import json
import re
import weakref
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import Any, ClassVar, Final, Literal

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.codec import KNOWN
from lapwing.kernel.noise_law import NoisyTable, Sensitivity, row_sensitivity
from lapwing.kernel.plain import MAX_CELLS
from lapwing.kernel.questions.questions import RECORDS, Part, RecordedAnswer, WithoutDelta
from lapwing.kernel.terms import Relation, Terms
from lapwing.maths.arrays import freeze, read_only
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import merge_groups
from lapwing.schema.schemas import Schema

Levels = tuple[tuple[Grouping, ...], ...]
"""Per column, its resolutions, finest first."""

LARGEST_SCORE = 2**60
"""The most that the estimates of a question sum to, and the largest penalty: scores then stay well inside int64."""

_DIGEST = re.compile(r"([0-9a-f]{64})?", re.ASCII)
_LAYOUTS = 64


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SelectWorst(WithoutDelta["Selection"]):
    """Ask which of some tables a model fits worst.

    The score of a candidate is the sum over the cells looked at of |exact count - estimate|, minus its penalty; one
    candidate is drawn by the exponential mechanism. Only its index is answered.

    levels: per column its resolutions, finest first; each later one merges groups of the first. Empty for a question
    read back from a record; candidates: int64 (candidates, axes, 2), tables: position of the column and level of each
    axis, at least one, positions increasing; -1 beyond the axes of a table. All tables together have at most ``2**26``
    cells. None for a question read back from a record;
    estimates: int64 (k,), what the model says of each cell, at least 0, all tables one after another, each in C order;
    -1 for a cell that is not looked at. None for a question that is only planned, or was read back: such a question has
    a cost and can be compared, but is not answered; penalties: int64 (candidates,), subtracted from the error of each
    candidate; from ``-2**60`` to ``2**60``. None exactly where estimates are; digest: SHA-256 of everything above,
    computed where there are estimates.

    Guarantee: the choice is ε-DP, and (ε²/8)-zCDP, under the relation and ``max_rows`` that `sensitivity` is given
    (proof: ``proof.md``). Layouts of the last few levels and candidates, and hashes of estimates, are
    kept with these objects, which cannot change: asking again with the same ones looks at the penalties alone.
    """

    document: ClassVar = ("kind", "notion", "epsilon", "columns", "candidate_count", "digest")
    kind: ClassVar[str] = "SelectWorst"
    called: ClassVar[str] = "selection"
    purpose: ClassVar[str] = "choosing what to count next"

    columns: tuple[str, ...]
    levels: Levels = field(default=(), repr=False)
    candidates: np.ndarray | None = field(default=None, repr=False)
    estimates: np.ndarray | None = field(default=None, repr=False)
    penalties: np.ndarray | None = field(default=None, repr=False)
    epsilon: Fraction
    notion: Literal["pure", "zcdp"]
    digest: str = ""
    candidate_count: int = field(default=0, metadata={"key": "candidates"})

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction) or self.epsilon <= 0:
            raise ParameterError(
                f"the epsilon of a selection must be a Fraction above 0, got {self.epsilon!r}", code="LW641"
            )
        Budget(self.notion, self.epsilon)  # refuses another notion
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise ParameterError(
                f"SelectWorst needs distinct columns, got {self.columns}; name each column once", code="LW641"
            )
        if self.candidates is None:
            self._check_record()
            return
        if {*map(type, [self.levels, *self.levels])} != {tuple}:  # what is kept goes by their identity
            raise ParameterError("the levels of a selection must be tuples, in a tuple; make them such", code="LW641")
        if len(self.levels) != len(self.columns):
            raise ParameterError(
                f"SelectWorst has {len(self.columns)} columns and levels for {len(self.levels)}; give each its own",
                code="LW641",
            )
        given = self.candidates
        if type(given) is not np.ndarray or given.dtype != np.int64 or given.shape[2:] != (2,) or not given.size:
            raise ParameterError(
                "candidates must be int64 of shape (candidates, axes, 2), at least one; give positions and levels",
                code="LW641",
            )
        object.__setattr__(self, "candidates", freeze(given))
        layout = layout_of(_Same(self.levels, self.candidates))
        object.__setattr__(self, "candidate_count", layout.offsets.size - 1)
        object.__setattr__(self, "digest", self._fixed(layout))

    def _check_record(self) -> None:
        """Refuse a record of a question that is incomplete, or a question without candidates."""
        if self.levels or self.estimates is not None or self.penalties is not None:
            raise ParameterError(
                "SelectWorst needs at least one candidate; give the tables to choose from", code="LW641"
            )
        if isinstance(self.candidate_count, bool) or not 1 <= self.candidate_count <= MAX_CELLS:
            raise ParameterError(
                f"a selection must be among 1 to {MAX_CELLS} candidates, got {self.candidate_count}", code="LW641"
            )
        if _DIGEST.fullmatch(self.digest) is None:
            raise ParameterError(
                "the digest of a selection must be 64 hexadecimal digits; the record is damaged", code="LW643"
            )

    def _fixed(self, layout: "CandidateCells") -> str:
        """Check estimates and penalties, make them read-only, and return the digest; without them it is empty."""
        if self.estimates is None or self.penalties is None:
            if self.estimates is not None or self.penalties is not None:
                raise ParameterError(
                    "a selection needs both estimates and penalties, or neither; give the other too", code="LW641"
                )
            return ""
        expected = {"estimates": int(layout.offsets[-1]), "penalties": self.candidate_count}
        for name, size in expected.items():
            given = getattr(self, name)
            # Of no subclass, whose own arithmetic would meet exact counts.
            if type(given) is not np.ndarray or given.dtype != np.int64 or given.shape != (size,):
                raise ParameterError(
                    f"the {name} of a selection must be int64 of shape ({size},), got {given.dtype} of {given.shape}",
                    code="LW641",
                )
            object.__setattr__(self, name, freeze(given))
        if self.penalties.min() < -LARGEST_SCORE or self.penalties.max() > LARGEST_SCORE:
            raise ParameterError("penalties must lie between -2**60 and 2**60; give numbers of records", code="LW641")
        head = json.dumps([self.kind, self.notion, str(self.epsilon), list(self.columns)]).encode()
        return _digest(head + layout.fingerprint, self.estimates, self.penalties)

    @property
    def cost(self) -> Budget:
        """What the answer spends: pure ε, or zCDP ε²/8 by bounded range."""
        return Budget(self.notion, self.epsilon if self.notion == "pure" else self.epsilon**2 / 8)

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        """The finest grouping of each column; empty for a question read back from a record."""
        return tuple(each[0] for each in self.levels)

    @property
    def offsets(self) -> np.ndarray:
        """Where the cells of each candidate start: ndarray of int64, shape (candidates + 1,)."""
        assert self.candidates is not None  # a question read back from a record has no cells
        return layout_of(_Same(self.levels, self.candidates)).offsets

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity:
        """Bound the change of each candidate's table; no score changes by more than its ``l1``."""
        return row_sensitivity(relation, max_rows)

    def parts(self, relation: Relation, max_rows: int) -> tuple[Part, ...]:
        """Return the one choice."""
        del relation, max_rows
        return (Part(None, self.cost, candidates=self.candidate_count),)

    def check(self, terms: Terms, schema: Schema) -> None:
        """Refuse a question that was read back from a record, or is only planned."""
        del terms, schema
        if self.estimates is None:
            raise ParameterError(
                "a SelectWorst without estimates is only a record or a plan; ask one that has them", code="LW641"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Selection(RecordedAnswer):
    """Hold the answer to a `SelectWorst` question.

    sensitivity: the bound on the change of a score that the choice was drawn for; chosen: columns of the chosen
    candidate; found where the question has its candidates.
    """

    document: ClassVar = ("choice", "chosen", "sensitivity")

    question: SelectWorst = field(metadata=KNOWN)
    choice: int
    sensitivity: int
    chosen: tuple[str, ...] = field(default=(), metadata={"key": "columns"})

    def __post_init__(self) -> None:
        asked = self.question
        if not 0 <= self.choice < asked.candidate_count:
            raise ParameterError(
                f"a choice among {asked.candidate_count} candidates cannot be number {self.choice}", code="LW643"
            )
        if self.sensitivity < 1:
            raise ParameterError(f"the sensitivity of a score must be at least 1, got {self.sensitivity}", code="LW641")
        if asked.candidates is not None:
            places = asked.candidates[self.choice, :, 0].tolist()
            object.__setattr__(self, "chosen", tuple(asked.columns[at] for at in places if at >= 0))
        members = frozenset(self.chosen)
        if not members or self.chosen != tuple(name for name in asked.columns if name in members):
            raise ParameterError("the chosen columns must be columns of the selection, in its order", code="LW643")

    @property
    def tables(self) -> tuple[NoisyTable, ...]:
        """None: a choice has no noisy table."""
        return ()

    def privacy_loss(self, exact: np.ndarray, other: np.ndarray) -> Fraction:
        """Return the loss of this selection between two tables on which the candidates have these scores.

        exact, other: int64 (candidates,), exact scores on the two tables. Returns the range of the log-odds, ``eta =
        epsilon * (max(s - s') - min(s - s')) / (2 * sensitivity)``: an ε for a pure question; for zCDP ``eta**2 / 8``.
        At least the loss of any one choice.
        """
        change = np.asarray(exact, dtype=np.int64) - np.asarray(other, dtype=np.int64)
        eta = self.question.epsilon * (int(change.max()) - int(change.min())) / (2 * self.sensitivity)
        return eta if self.question.notion == "pure" else eta**2 / 8


# -------------------------------------------------------------------------------------------------------- layouts


@dataclass(frozen=True, slots=True, eq=False)
class CandidateCells:
    """Say where the cells of each candidate stand among those of all candidates.

    offsets: int64 (candidates + 1,), candidate i owns the cells ``offsets[i]`` to ``offsets[i + 1] - 1``.
    """

    offsets: np.ndarray
    fingerprint: bytes


@dataclass(frozen=True, slots=True, eq=False)
class _Same:
    """Levels and candidates, told from others by identity: to compare what long ones hold takes as long as to check."""

    levels: Levels
    candidates: np.ndarray

    def __hash__(self) -> int:
        return hash((id(self.levels), id(self.candidates)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.levels is other.levels and self.candidates is other.candidates


_HASHES: Final[dict[tuple[bytes, int], Any]] = {}
"""What was hashed of estimates that are there still, by what stands before them and their identity."""


def _digest(head: bytes, estimates: np.ndarray, penalties: np.ndarray) -> str:
    """Return the SHA-256 of all of it; estimates are checked and hashed once behind the same head."""
    name = (head, id(estimates))
    if name not in _HASHES:
        if estimates.min() < -1 or estimates.sum(dtype=np.float64) > LARGEST_SCORE:
            raise ParameterError("estimates must be at least 0, or -1, and sum to at most 2**60", code="LW641")
        _HASHES[name] = hashlib.sha256(head + np.ascontiguousarray(estimates, dtype="<i8").tobytes())
        weakref.finalize(estimates, _HASHES.pop, name, None)  # before anything else has its identity
    found = _HASHES[name].copy()
    found.update(np.ascontiguousarray(penalties, dtype="<i8").data)
    return str(found.hexdigest())


@lru_cache(maxsize=_LAYOUTS)
def layout_of(asked: _Same) -> CandidateCells:
    """Return the layout of candidates, after checking them; the last few are remembered."""
    levels, candidates = asked.levels, asked.candidates
    for place, resolutions in enumerate(levels):
        if not resolutions or any(merge_groups(resolutions[0], coarse) is None for coarse in resolutions[1:]):
            raise ParameterError(
                f"the levels of column number {place} of a selection must be at least one, each merging groups of the "
                "first; build the later ones from it",
                code="LW641",
            )
    is_axis = (candidates != -1).any(axis=2)
    lengths, pairs = is_axis.sum(axis=1), candidates[is_axis]
    if (is_axis[:, 1:] > is_axis[:, :-1]).any():
        raise ParameterError("-1 of a candidate must stand beyond all of its axes; move it", code="LW641")
    cells = _cells(levels, lengths, pairs)
    digest = hashlib.sha256(json.dumps([list(map(RECORDS.write, one)) for one in levels]).encode())
    for values in (lengths, pairs):
        digest.update(np.ascontiguousarray(values, dtype="<i8").data)
    return CandidateCells(read_only(np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(cells)))), digest.digest())


def _cells(levels: Levels, lengths: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the cells of each candidate: ndarray of int64, shape (candidates,)."""
    positions, depths = pairs.T
    owner = np.repeat(np.arange(lengths.size), lengths)
    is_unordered = (np.diff(positions) <= 0) & (np.diff(owner) == 0)
    if lengths.min() < 1 or is_unordered.any() or positions.min() < 0 or positions.max() >= len(levels):
        raise ParameterError(
            f"a candidate must name at least one of {len(levels)} columns by position, positions increasing",
            code="LW641",
        )
    counts = np.array([len(each) for each in levels], dtype=np.int64)
    if depths.min() < 0 or (depths >= counts[positions]).any():
        raise ParameterError(
            "a candidate names a level that its column does not have; levels count from 0", code="LW641"
        )
    groups = np.array([each.groups for each in chain.from_iterable(levels)], dtype=np.int64)
    sizes = groups[(np.cumsum(counts) - counts)[positions] + depths]
    starts = np.cumsum(lengths) - lengths
    with np.errstate(over="ignore"):  # in floating point first: products of many columns pass int64
        total = np.multiply.reduceat(sizes.astype(np.float64), starts).sum()
    if total > MAX_CELLS:
        raise CapacityError(
            f"the candidates have {total:.0f} cells, above {MAX_CELLS}; give fewer or coarser tables", code="LW502"
        )
    return np.multiply.reduceat(sizes, starts)
