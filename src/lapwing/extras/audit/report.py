"""What an audit found, as a table for people and as JSON for programs."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeVar

from lapwing.extras.audit.worst_case import MISTAKE
from lapwing.kernel.budget.budget import Budget, as_text
from lapwing.kernel.terms import Relation
from lapwing.schema.scalars import align_lines
from lapwing.version import VERSION

T = TypeVar("T")
_SHOWN_FLAGS: Final = 3
"""Of one line of the table; all are in the JSON."""

_LEAST_SHOWN: Final = 0.001
"""A certified loss below would be shown as 0.000, which reads as if no loss at all had been measured."""

PLANTED: Final = 20
SEEN_FROM: Final = (300,) * 10
"""Kinds of slips that were planted, and the runs from which an audit of everything sees each that it sees: measured.

``bench/audit_power.py slips`` writes ``bench/results/audit_slips.csv``, with which a test compares both.
"""

_SIGNS: Final = {"pure": "ε", "zcdp": "ρ"}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedRelease:
    """What record and replay found about one kind of release, under one relation.

    max_rows: rows that a privacy unit may own, in each pair of tables; released: how many of these runs made a release;
    the others were refused from public numbers alone; loss_share: the largest exact loss of a run, as a share of its
    budget.
    """

    name: str
    relation: Relation
    max_rows: tuple[int, ...]
    budgets: tuple[Budget, ...]
    released: int
    loss_share: Fraction
    questions: frozenset[str]
    flags: tuple[str, ...]
    seconds: float

    @property
    def has_passed(self) -> bool:
        """Whether no promise was seen to break."""
        return not self.flags

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; the loss as a share of the claim."""
        return {
            "name": self.name,
            "neighbours": self.relation,
            "rows_per_unit": sorted(set(self.max_rows)),
            "claims": {"epsilon": _amounts(self.budgets, "pure"), "rho": _amounts(self.budgets, "zcdp")},
            "pairs": len(self.budgets),
            "released": self.released,
            "largest_loss_share": float(self.loss_share),
            "questions": sorted(self.questions),
            "cpu_seconds": round(self.seconds, 3),
            "passed": self.has_passed,
            "flags": list(self.flags),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedQuestion:
    """What the black box found about one question on two neighbours.

    certified: lower bound on what it loses, in the notion of the claim; minus infinity where nothing is certain;
    is_within_delta: whether a loss would be certain if the question had no `delta`; broken: what is wrong
    with answers that were drawn again.
    """

    question: str
    label: str
    relation: Relation
    max_rows: int
    claim: Budget
    delta: Fraction
    certified: float
    runs: int
    seconds: float
    is_within_delta: bool = False
    broken: tuple[str, ...] = ()

    @property
    def has_passed(self) -> bool:
        """Whether the certified loss is at most the claim, and the answers that were drawn again are right."""
        return not self.flags

    @property
    def why_nothing(self) -> str | None:
        """Why no loss above 0 is certified, in the digits shown: too few runs, or delta explains what is seen."""
        if self.certified >= _LEAST_SHOWN:
            return None
        return "within δ" if self.is_within_delta else "too few runs"

    @property
    def flags(self) -> tuple[str, ...]:
        """One sentence for each way in which the claim is broken."""
        text = f"{self.question} ({self.label}), {self.relation}, {rows_text([self.max_rows])} per unit: "
        found = [text + each for each in self.broken]
        if self.certified > float(self.claim.amount):
            lost = f"{_SIGNS[self.claim.notion]} {_rounded(self.certified)}"
            found.append(f"{text}it loses at least {lost}, the claim is {_claim(self)}")
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; where nothing is certified the number is null, and a word says why."""
        return {
            "question": self.question,
            "asked": self.label,
            "neighbours": self.relation,
            "rows_per_unit": self.max_rows,
            "claim": {"notion": self.claim.notion, "amount": float(self.claim.amount), "delta": float(self.delta)},
            "certified_at_least": self.certified if self.why_nothing is None else None,
            "why_nothing": self.why_nothing,
            "runs": self.runs,
            "cpu_seconds": round(self.seconds, 3),
            "passed": self.has_passed,
            "flags": list(self.flags),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What an audit found; is_whole: whether of everything."""

    runs: int
    releases: tuple[AuditedRelease, ...]
    questions: tuple[AuditedQuestion, ...]
    is_whole: bool = False

    @property
    def power(self) -> dict[str, int]:
        """How many kinds of slips were planted, and how many of them an audit of everything sees at these runs."""
        return {"planted": PLANTED, "seen": sum(runs <= self.runs for runs in SEEN_FROM)}

    @property
    def parts(self) -> tuple[AuditedRelease | AuditedQuestion, ...]:
        """All that was audited."""
        return (*self.releases, *self.questions)

    @property
    def flags(self) -> tuple[str, ...]:
        """One sentence per broken promise."""
        return tuple(flag for each in self.parts for flag in each.flags)

    @property
    def has_passed(self) -> bool:
        """Whether nothing is above its claim, and nothing is flagged."""
        return not self.flags

    @property
    def seconds(self) -> float:
        """Processor time of all audits."""
        return sum(each.seconds for each in self.parts)

    def text(self) -> str:
        """Return the tables, then a sentence per broken promise, then the verdict."""
        return "\n".join([*_release_lines(self.releases), *_question_lines(self.questions), *_verdict(self)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        power = {"power": self.power} if self.is_whole else {}
        return {
            "lapwing": VERSION,
            "passed": self.has_passed,
            "runs": self.runs,
            **power,
            "mistake": MISTAKE,
            "cpu_seconds": round(self.seconds, 3),
            "releases": [each.to_dict() for each in self.releases],
            "questions": [each.to_dict() for each in self.questions],
        }


def _release_lines(found: Sequence[AuditedRelease]) -> Iterator[str]:
    """Yield heading and table of what record and replay found."""
    yield "Releases, recorded on a generated table and replayed on a neighbour: exact losses, of the claim"
    columns: dict[str, Callable[[AuditedRelease], object]] = {
        "release": lambda each: each.name,
        "neighbours": lambda each: each.relation,
        "rows per unit": lambda each: _span(each.max_rows),
        "claims": lambda each: _claims(each.budgets),
        "pairs": lambda each: len(each.budgets),
        "released": lambda each: each.released,
        "largest loss": lambda each: _percent(each.loss_share),
        "CPU s": lambda each: f"{each.seconds:.1f}",
        "verdict": lambda each: "no release" if each.released == 0 and each.has_passed else _word(each),
    }
    yield _table(columns, found, right=[2, 4, 5, 6, 7])


def _question_lines(found: Sequence[AuditedQuestion]) -> Iterator[str]:
    """Yield heading and table of what the black box found."""
    yield ""
    yield "Questions, asked again and again on two neighbours, seen from outside: certified losses, in the claim's unit"
    columns: dict[str, Callable[[AuditedQuestion], object]] = {
        "question": lambda each: each.question,
        "asked": lambda each: each.label,
        "neighbours": lambda each: each.relation,
        "rows per unit": lambda each: each.max_rows,
        "claim": _claim,
        "lost at least": lambda each: each.why_nothing or _rounded(each.certified),
        "runs": lambda each: each.runs,
        "CPU s": lambda each: f"{each.seconds:.1f}",
        "verdict": _word,
    }
    yield _table(columns, found, right=[3, 5, 6, 7])


def _table(columns: Mapping[str, Callable[[T], object]], found: Sequence[T], right: list[int]) -> str:
    """Return a heading, and a line of what each column tells of each of them."""
    return align_lines(
        [tuple(columns), *(tuple(str(tell(each)) for tell in columns.values()) for each in found)], right=right
    )


def _verdict(report: AuditReport) -> Iterator[str]:
    """Yield the sentences below the tables."""
    yield ""
    for each in report.parts:
        yield from each.flags[:_SHOWN_FLAGS]
        if len(each.flags) > _SHOWN_FLAGS:
            yield f"... and {len(each.flags) - _SHOWN_FLAGS} more about {_subject(each)}"
    pairs = sum(len(each.budgets) for each in report.releases)
    tried = f"{pairs} pairs of tables and {sum(2 * each.runs for each in report.questions)} answers"
    if report.has_passed:
        yield f"PASSED: no promise broken in {tried}, {report.seconds:.0f} s of processor time."
        if report.is_whole:
            said = (
                "It sees {seen} of {planted} kinds of slips that were planted, each beyond a size, at a second time, "
            )
            yield (said + "from a cache, under one relation or in a last row (docs/audit.md).").format(**report.power)
        yield "An audit finds violations; only a proof rules them out."
    else:
        broken = f"{len(report.flags)} promise{'' if len(report.flags) == 1 else 's'} broken"
        yield f"FAILED: {broken} in {tried}, {report.seconds:.0f} s of processor time."


def _subject(each: AuditedRelease | AuditedQuestion) -> str:
    name = each.name if isinstance(each, AuditedRelease) else each.question
    rows = each.max_rows if isinstance(each, AuditedRelease) else [each.max_rows]
    return f"{name}, {each.relation}, {rows_text(rows)} per unit"


def rows_text(max_rows: Sequence[int]) -> str:
    """Return how many rows a unit may own, as words.

    >>> rows_text([1, 1]), rows_text(range(2, 8))
    ('1 row', '2 to 7 rows')
    """
    return f"{_span(max_rows)} row{'' if max(max_rows) == 1 else 's'}"


def _span(numbers: Sequence[int]) -> str:
    """Return the smallest and the largest of some numbers."""
    ends = dict.fromkeys((min(numbers), max(numbers)))
    return " to ".join(str(each) for each in ends)


def _word(each: AuditedRelease | AuditedQuestion) -> str:
    return "passed" if each.has_passed else "FAILED"


def _amounts(budgets: Sequence[Budget], notion: str) -> list[float]:
    """Return the distinct amounts of one notion, in order."""
    return sorted({float(each.amount) for each in budgets if each.notion == notion})


def _claims(budgets: Sequence[Budget]) -> str:
    """Return the smallest and the largest claim of each notion."""
    parts = []
    for notion, sign in _SIGNS.items():
        amounts = sorted({each.amount for each in budgets if each.notion == notion})
        if amounts:
            ends = dict.fromkeys(as_text(Fraction(f"{float(each):.3g}")) for each in (amounts[0], amounts[-1]))
            parts.append(f"{sign} {' to '.join(ends)}")
    return ", ".join(parts)


def _claim(found: AuditedQuestion) -> str:
    """Return the claim of a question as text."""
    delta = f" at δ {float(found.delta):g}" if found.delta else ""
    return f"{_SIGNS[found.claim.notion]} {float(found.claim.amount):g}{delta}"


def _percent(share: Fraction) -> str:
    """Return a share so rounded that only what is above all of a claim looks so, and only all of it like 100 %."""
    if share > 1:
        return f"{math.ceil(share * 1000) / 10:.1f} %"
    return f"{math.floor(share * 1000) / 10:.1f} %"


def _rounded(certified: float) -> str:
    """Return a lower bound, rounded down."""
    return f"{math.floor(certified * 1000) / 1000:.3f}"
