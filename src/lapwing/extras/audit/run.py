"""The audit that a stranger can run: every release recorded and replayed, every question seen from outside.

All tables are generated. No user's table, ledger or model is read, and nothing is written.
"""

import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Final

import numpy as np

from lapwing.errors import ParameterError
from lapwing.extras.audit.mechanism_pairs import Target, targets
from lapwing.extras.audit.rechecks import RECHECKS, case_flags
from lapwing.extras.audit.report import AuditedQuestion, AuditedRelease, AuditReport, rows_text
from lapwing.extras.audit.worst_case import QuestionCase, mode_of
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.registered import REGISTERED
from lapwing.kernel.terms import Relation
from lapwing.release.runs.generators import generator
from lapwing.schema.scalars import nearest

DEFAULT_RUNS: Final = 3000
FEWEST_RUNS: Final = 300
MOST_RUNS: Final = 100_000

_RUNS_PER_PAIR: Final = 150
_FEWEST_PAIRS: Final = 4
"""Both notions, twice."""

Tell = Callable[[str, float], None]
"""Is told what is audited next, and which share of all is done."""


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of the first table that is to be."""

    target: Target
    relation: Relation
    max_rows: range


def audit(names: Sequence[str] = (), *, runs: int = DEFAULT_RUNS, tell: Tell | None = None) -> AuditReport:
    """Look for broken privacy promises of this installation.

    names: mechanisms, whatever their case, or ``learn``, ``evaluate``, ``link``, ``mend`` and ``large``; none: all of
    them; runs: how often each question is asked on each of two tables, 300 to 100,000. Each release is replayed on one
    pair of tables for every 150 of these, at least 4 (``evaluate`` on twice, ``link`` on six times as many),
    under each relation, with one row per unit and with 2 to 7; tell: is told before each part what it is and which
    share of all is done, 0 to 1.

    Guarantee: none about anybody's rows: all tables are generated here, from fixed public seeds; the noise is as secret
    as ever. A correct question is flagged by mistake at most one time in a million, a release only
    if two honest secret words are equal. What passes may still be wrong: see docs/audit.md.

    Time: proportional to `runs`; five minutes for all at the default. Memory: one question's answers.

    References
    ----------
    The exact losses of replay are those of the proof files beside the code of each question; for the bounds on
    questions see `lapwing.extras.audit.worst_case.certified_loss`.

    >>> report = audit(["independent"], runs=300)
    >>> report.has_passed
    True
    >>> sorted({each.question for each in report.questions})
    ['MarginalCounts', 'MisfitRows']
    """
    chosen = targets_of(names, runs=runs)
    said = tell or (lambda _, __: None)
    lines = [
        _Line(target, relation, max_rows)
        for target in chosen
        for relation in target.relations
        for max_rows in target.rows_per_unit
    ]
    cases = question_cases()
    total = len(lines) + len(cases)
    releases = []
    for number, line in enumerate(lines):
        said(f"{line.target.name}, {line.relation}", number / total)
        releases.append(_replayed(line, pairs=line.target.share * max(_FEWEST_PAIRS, runs // _RUNS_PER_PAIR)))
    if names:
        asked = frozenset[str]().union(*(each.questions for each in releases))
        cases = tuple(case for case in cases if case.question in asked)
    questions = []
    for number, case in enumerate(cases):
        said(f"{case.question}, {case.relation}", (len(lines) + number) / (len(lines) + len(cases)))
        questions.append(_seen_from_outside(case, runs))
    return AuditReport(runs=runs, releases=tuple(releases), questions=tuple(questions), is_whole=not names)


def targets_of(names: Sequence[str], *, runs: int) -> list[Target]:
    """Return the targets of these names, or all of them, once it is sure that they can be audited."""
    if not FEWEST_RUNS <= runs <= MOST_RUNS:
        raise ParameterError(
            f"runs must be from {FEWEST_RUNS} to {MOST_RUNS}, got {runs}; fewer runs could certify no broken promise, "
            "and for more of them audit again: each audit draws fresh noise",
            code="LW807",
        )
    known = targets()
    for name in names:
        if name.lower() not in known:
            listed = [target.name for target in known.values()]
            near = nearest(name, listed)
            way_out = f"did you mean {' or '.join(near)}?" if near else f"choose from {', '.join(listed)}"
            raise ParameterError(f"there is nothing to audit that is called {name!r}; {way_out}", code="LW807")
    return [known[name] for name in dict.fromkeys(name.lower() for name in names) or known]


def _replayed(line: _Line, *, pairs: int) -> AuditedRelease:
    """Record and replay a target on so many pairs; those of a line are always the same ones, and a few of many."""
    start = time.process_time()
    place = f"{line.target.name}, {line.relation}"
    rng = generator(zlib.crc32(f"{place}, {rows_text(line.max_rows)} per unit".encode()), "audit")
    budgets: list[Budget] = []
    questions: set[str] = set()
    flags: list[str] = []
    released, loss_share = 0, Fraction(0)
    rows: list[int] = []
    for number, max_rows in enumerate(islice(_rows_of_pairs(line.max_rows, rng), pairs)):
        rows.append(max_rows)
        budget, found = line.target.examine(rng, line.relation, max_rows, number, mode_of(number))
        budgets.append(budget)
        questions |= found.questions
        released += found.is_released
        loss_share = max(loss_share, found.loss_share)
        where = f"{place}, {rows_text([max_rows])} per unit, pair {number + 1} ({budget})"
        flags += [f"{where}: {flag}" for flag in found.flags]
    return AuditedRelease(
        name=line.target.name,
        relation=line.relation,
        max_rows=tuple(rows),
        budgets=tuple(budgets),
        released=released,
        loss_share=loss_share,
        questions=frozenset(questions),
        flags=tuple(flags),
        seconds=time.process_time() - start,
    )


def _rows_of_pairs(limits: range, rng: np.random.Generator) -> Iterator[int]:
    """Yield how many rows a unit may own in each pair: every number once in a random order, and again.

    Drawn one round after the other, so that a longer audit begins with the pairs of a shorter one.
    """
    while True:
        yield from map(int, rng.permutation(limits))


def _seen_from_outside(case: QuestionCase, runs: int) -> AuditedQuestion:
    """Ask a question so often on two neighbours, certify what it loses at least, and draw two answers again."""
    start = time.process_time()
    seen = case.run(runs)
    return AuditedQuestion(
        question=case.question,
        label=case.label,
        relation=case.relation,
        max_rows=case.max_rows,
        claim=case.cost,
        delta=case.delta,
        certified=case.certified(*seen),
        runs=runs,
        is_within_delta=case.is_within_delta(*seen),
        broken=tuple(case_flags(case)),
        seconds=time.process_time() - start,
    )


def question_cases() -> tuple[QuestionCase, ...]:
    """Return all cases: every question, under the relations and rows per unit that it may be asked for.

    Returns in a fixed order, questions of one kind together.

    >>> case = question_cases()[0]
    >>> case.question, case.relation, case.max_rows, case.cost
    ('MarginalCounts', 'add-remove', 1, Budget.pure('2'))
    >>> case.certified(*case.run(300)) <= case.claim
    True
    """
    return tuple(case for question in REGISTERED for case in RECHECKS[question.kind].cases())
