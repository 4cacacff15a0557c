"""One question on two neighbours on which it loses about all that it claims, and how much of that shows."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
import polars as pl
from scipy.special import betaincinv, logsumexp

from lapwing.extras.audit.held import PlaybackBits, Rows
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.private_draw.question import DrawnRows
from lapwing.kernel.questions.questions import Question
from lapwing.kernel.questions.select_worst.question import Selection
from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.kernel.questions.shared.coordinates import Coding, Coordinates
from lapwing.kernel.room.room import ANSWERS
from lapwing.kernel.terms import Relation, Terms
from lapwing.rows.counting import CodedSource
from lapwing.rows.source import code_table
from lapwing.schema.groupings.grouping import Grouping, identity
from lapwing.schema.groupings.hierarchies import hierarchy
from lapwing.schema.schemas import Schema

# -- Where record and replay looks: as releases usually run, where words are unlikely, and where tables are cramped.


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """How one pair is run.

    has_unlikely_words: whether a quarter of the secret words is near 0 or near the largest
    (`lapwing.extras.audit.held.UnlikelyBits`); chunk_rows: tables are read in chunks of so many rows and not kept in
    memory, as only very large ones are otherwise.
    """

    has_unlikely_words: bool = False
    chunk_rows: int | None = None


USUAL: Final = Mode()
UNLIKELY_WORDS: Final = Mode(has_unlikely_words=True)
CRAMPED_TABLES: Final = Mode(chunk_rows=4)

MODES: Final = (USUAL, UNLIKELY_WORDS, CRAMPED_TABLES)


def mode_of(number: int) -> Mode:
    """Return the mode of one of many pairs, a third of them each.

    >>> [MODES.index(mode_of(number)) for number in range(12)]
    [0, 1, 2, 0, 1, 2, 1, 2, 0, 1, 2, 0]
    """
    return MODES[(number + number // 6) % len(MODES)]


_BATCH: Final = 2000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class QuestionCase:
    """A question, two neighbours, and what is seen of an answer.

    seen: returns the features of one answer, always as many.

    Guarantee: none, the sources are generated and nobody's.
    """

    asked: Question
    label: str
    sources: tuple[CodedSource, CodedSource]
    terms: Terms
    schema: Schema
    seen: Callable[[Any], Sequence[float]]

    @property
    def question(self) -> str:
        """Class name of the question."""
        return type(self.asked).__name__

    @property
    def relation(self) -> Relation:
        """How the two tables differ."""
        return self.terms.relation

    @property
    def max_rows(self) -> int:
        """Rows that one unit may own, and the one that differs does."""
        return self.terms.max_rows

    @property
    def cost(self) -> Budget:
        """What the question says that it costs."""
        return self.asked.cost

    @property
    def delta(self) -> Fraction:
        """The delta of the question."""
        return self.asked.delta

    @property
    def claim(self) -> float:
        """The claim in the notion of `cost`: an epsilon, or a rho; at `at_delta`."""
        return float(self.cost.amount)

    @property
    def at_delta(self) -> float:
        """The delta as a float."""
        return float(self.delta)

    def run(self, runs: int) -> tuple[np.ndarray, np.ndarray]:
        """Ask so many times on each of the two tables."""
        first, second = (self._runs(source, runs) for source in self.sources)
        return first, second

    def _runs(self, source: CodedSource, runs: int) -> np.ndarray:
        bits, seen, answer = SystemBits(), [], ANSWERS[self.asked.kind]
        for start in range(0, runs, _BATCH):
            questions = [self.asked] * min(_BATCH, runs - start)
            seen += [
                self.seen(answer) for answer in answer(questions, PrivateRows.of(source, self.schema), self.terms, bits)
            ]
        return np.array(seen, dtype=np.float64).reshape(runs, -1)

    def certified(self, first: np.ndarray, second: np.ndarray) -> float:
        """Return a lower bound on what the question loses, in the notion of `cost`, to be held against `claim`.

        first, second: (runs, features), from `run`. Returns above `claim` at most one time in a million where the
        question keeps its promise.
        """
        return self._bound(first, second, self.at_delta)

    def is_within_delta(self, first: np.ndarray, second: np.ndarray) -> bool:
        """Tell whether a loss would be certain if the question had no delta."""
        return self.delta > 0 and self._bound(first, second, 0.0) > 0

    def _bound(self, first: np.ndarray, second: np.ndarray, delta: float) -> float:
        bound = certified_loss if self.cost.notion == "pure" else certified_rho
        return bound(first, second, delta=delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recheck:
    """How one kind of question is audited, by code that shares nothing with the room's.

    cases: yields what is asked many times of two neighbours (`lapwing.extras.audit.worst_case`); recount: returns what
    an answer is about; flags: draws an answer again from recorded words, and loss: what it loses between two tables;
    both None for noisy tables, whose noise is drawn and whose losses are added up in one way; loss_flags: what else may
    be wrong between two tables.
    """

    cases: Callable[[], Iterable[QuestionCase]]
    recount: Callable[[Any, Rows, Schema], list[Any]]
    flags: Callable[[Any, Any, Terms, PlaybackBits], list[str]] | None = None
    loss: Callable[[Any, Any, Any], Fraction] | None = None
    loss_flags: Callable[[Any, Any, Any], list[str]] | None = None


def loss_told(answer: Selection | DrawnRows, first: np.ndarray, second: np.ndarray) -> Fraction:
    """Return the loss that an answer itself tells."""
    return answer.privacy_loss(first, second)


MISTAKE: Final = 1e-6
"""How often the bound is above the true loss, at most."""

_CUTS: Final = 60
_ORDERS: Final = 1 + np.geomspace(1e-3, 1e3, 40)
_Bound = Callable[[np.ndarray, np.ndarray], np.ndarray]


def certified_loss(first: np.ndarray, second: np.ndarray, *, delta: float = 0.0, mistake: float = MISTAKE) -> float:
    """Return a lower bound on the epsilon of (epsilon, delta)-privacy.

    first, second: float or int (runs, features), what was seen of independent runs on two neighbours, at least two runs
    of each. An event is a threshold on one feature, or on one of two sums of them that are learned too; delta: from 0
    to below 1: so much of the probability of an event needs no explanation; mistake: how probable it is, at most, that
    the bound is above the true epsilon.

    References
    ----------
    Clopper and Pearson (1934) for the bounds of the two probabilities; Ding, Wang, Wang, Zhang and Kifer (2018),
    "Detecting violations of differential privacy", for learning an event on runs of its own. What we changed: the
    answer is a bound on epsilon and no p-value.

    >>> often = np.tile([1, 1, 1, 1, 0], 1000)[:, None]
    >>> certified_loss(often, 1 - often)  # of ln 4 = 1.386
    1.145...
    """

    def epsilon(likely: np.ndarray, rare: np.ndarray) -> np.ndarray:
        return np.asarray(np.log(np.maximum(likely - delta, 0)) - np.log(rare))

    return _certified(first, second, epsilon, mistake)


def certified_rho(first: np.ndarray, second: np.ndarray, *, delta: float = 0.0, mistake: float = MISTAKE) -> float:
    """Return a lower bound on the rho of delta-approximate zero-concentrated privacy.

    Returns at least 0. Whether an event happened is a function of what was seen, so rho is at least its Rényi
    divergence of any order, divided by the order (Bun and Steinke 2016, Lemma 2.2).

    >>> often = np.tile([1, 1, 1, 1, 0], 1000)[:, None]
    >>> certified_rho(often, 1 - often)  # of 0.832
    0.593...
    """

    def rho(likely: np.ndarray, rare: np.ndarray) -> np.ndarray:
        likely, rare = np.maximum(likely - delta, 0) / (1 - delta), np.minimum(rare / (1 - delta), 1)
        return _rho_of_event(likely, rare)

    return _certified(first, second, rho, mistake)


def _rho_of_event(likely: np.ndarray, rare: np.ndarray) -> np.ndarray:
    """Return the largest Rényi divergence per order of an event, as far as it is likelier on the first table."""
    orders = _ORDERS[:, None, None]
    outcomes = ((likely, rare), (1 - likely, 1 - rare))
    logs = np.stack([orders * np.log(one) + (1 - orders) * np.log(other) for one, other in outcomes])
    divergences = logsumexp(logs, axis=0) / (orders - 1) / orders
    return np.asarray(np.where(likely > rare, divergences.max(axis=0), 0.0))


def _certified(first: np.ndarray, second: np.ndarray, bound: _Bound, mistake: float) -> float:
    """Return what the event that says most on the first halves says at least on the second ones."""
    half = min(len(first), len(second)) // 2
    first, second = _with_sums(first, second, half)
    learned: tuple[float, int, np.ndarray, int] = (-np.inf, 0, np.zeros(1), 0)
    for feature in range(first.shape[1]):
        runs = first[:half, feature], second[:half, feature]
        cuts = np.quantile(np.concatenate(runs), np.linspace(0.005, 0.995, _CUTS), method="lower")
        found = _bounds(*runs, cuts, bound, mistake)
        kind, place = divmod(int(found.argmax()), len(cuts))
        learned = max(learned, (float(found.max()), feature, cuts[place : place + 1], kind), key=lambda each: each[0])
    _, feature, cuts, kind = learned
    certified = float(_bounds(first[half:, feature], second[half:, feature], cuts, bound, mistake)[kind, 0])
    return max(certified, 0.0)


def _bounds(one: np.ndarray, other: np.ndarray, cuts: np.ndarray, bound: _Bound, mistake: float) -> np.ndarray:
    """Return what each event says at least: one column per cut, four rows."""
    sizes = np.array([[len(one)], [len(other)]])
    below = np.array([np.searchsorted(np.sort(runs), cuts, side="right") for runs in (one, other)])
    seen = np.array([below, sizes - below])  # [below or above, table, cut]
    least = np.where(seen > 0, betaincinv(np.maximum(seen, 1), sizes - seen + 1, mistake / 2), 0.0)
    most = np.where(seen < sizes, betaincinv(seen + 1, np.maximum(sizes - seen, 1), 1 - mistake / 2), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = [bound(least[:, table], most[:, 1 - table]) for table in (0, 1)]
    return np.concatenate(found)


def _with_sums(first: np.ndarray, second: np.ndarray, half: int) -> tuple[np.ndarray, np.ndarray]:
    """Add two sums of the features: how much better each run fits the first table, for Laplace and Gaussian noise.

    Both are learned on the first halves, which leaves the bound on the others right whatever is learned.
    """
    if first.shape[1] == 1:
        return first, second
    known = first[:half], second[:half]
    spread = np.sqrt((known[0].var(axis=0) + known[1].var(axis=0)) / 2)
    spread[spread == 0] = 1
    (one, other), (mean, other_mean) = ([f(runs, axis=0) for runs in known] for f in (np.median, np.mean))
    slopes = (mean - other_mean) / spread**2

    def with_sums(runs: np.ndarray) -> np.ndarray:
        laplace = ((np.abs(runs - other) - np.abs(runs - one)) / spread).sum(axis=1)
        # Rounded: runs that say the same stay on one side of every cut.
        return np.column_stack([runs, np.round(laplace, 9), np.round(runs @ slopes, 9)])

    return with_sums(first), with_sums(second)


Row = tuple[int | None, bool, bool]
"""A whole number from 0 to 31, or none, which fits nothing; and two truths."""

PURE: Final = Budget.pure(2)
ZCDP: Final = Budget.zcdp("0.5")

BOTH: Final[Row] = (0, True, True)
NEITHER: Final[Row] = (0, False, False)
FAR: Final[Row] = (31, False, False)

_RELATIONS: Final[tuple[Relation, ...]] = ("add-remove", "replace-one")
PURE_TERMS: Final = tuple(Terms(relation=each, max_rows=rows) for each in _RELATIONS for rows in (1, 3))
"""Terms of the cases at pure epsilon; the number of rows is private."""

ZCDP_TERMS: Final = (PURE_TERMS[0], PURE_TERMS[-1])
"""Those at zCDP."""

PRICED: Final = tuple((PURE, each) for each in PURE_TERMS) + tuple((ZCDP, each) for each in ZCDP_TERMS)
"""Cost and terms of all cases of a question that takes both notions."""


def people_schema(max_rows: int) -> Schema:
    """Return the schema of a person, a whole number x and two truths a and b."""
    required = {"required": True}
    fields = [
        {"name": "person", "type": "string", "role": "identifier"},
        {"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 31} | required},
        {"name": "a", "type": "boolean", "constraints": required},
        {"name": "b", "type": "boolean", "constraints": required},
    ]
    return Schema.from_dict({"fields": fields, "privacyUnit": {"field": "person", "maxRows": max_rows}})


def grouping_of(column: str) -> Grouping:
    """Return the grouping of a column in which every code is a group."""
    return identity(people_schema(1).field(column).domain)


def all_values(answer: Any) -> list[int]:  # noqa: ANN401
    """Return all numbers of an answer."""
    found: list[int] = answer.values.reshape(-1).tolist()
    return found


def people_case(
    asked: Question,
    label: str,
    terms: Terms,
    *,
    own: Row = BOTH,
    other: Row = NEITHER,
    others: Sequence[Row] = (NEITHER,),
    seen: Callable[[Any], Sequence[float]] = all_values,
) -> QuestionCase:
    """Return a question on two tables: one person's rows say ``own``, and are gone or say ``other`` in the second."""
    second = [] if terms.relation == "add-remove" else [other] * terms.max_rows
    sources = _coded(others, [own] * terms.max_rows, terms), _coded(others, second, terms)
    schema = people_schema(terms.max_rows)
    return QuestionCase(asked=asked, label=label, sources=sources, terms=terms, schema=schema, seen=seen)


def _coded(others: Sequence[Row], own: Sequence[Row], terms: Terms) -> CodedSource:
    people = [*(f"other {place}" for place in range(len(others))), *["the person"] * len(own)]
    columns = list(zip(*others, *own, strict=True)) or [()] * 3
    frame = pl.DataFrame(
        {
            "person": pl.Series(people, dtype=pl.String),
            "x": pl.Series(columns[0], dtype=pl.Int64),
            "a": pl.Series(columns[1], dtype=pl.Boolean),
            "b": pl.Series(columns[2], dtype=pl.Boolean),
        }
    )
    return code_table(frame, people_schema(terms.max_rows))


def halving_cells(depth: int, first: int) -> CellTree:
    """Return the tree that halves x."""
    nested = hierarchy(people_schema(1).field("x").domain, depth)
    return CellTree(columns=("x",), hierarchies=(nested,), schedule=(0,) * depth, first=first)


def line_coordinates(coding: Coding = "centred") -> Coordinates:
    """Return a and b as a coordinate each: from -1 to 1, or from 0 to 1."""
    return Coordinates(
        columns=("a", "b"),
        groupings=(grouping_of("a"), grouping_of("b")),
        kinds=("line", "line"),
        listed=(0, 0),
        coding=coding,
    )
