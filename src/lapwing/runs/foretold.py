"""At which larger budget a release would have a better grade: by the plan made there, on the rows of this release.

A step is foretold with caution, and that there is none with the opposite caution; in between nothing is known.
"""

import itertools
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from lapwing.errors import LapwingError, ParameterError
from lapwing.judge.verdict.expected import graded
from lapwing.judge.verdict.terms import Drawn, Released, Shown, shown_by_tree
from lapwing.kernel.budget.budget import read_request
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.tree_counts.question import TreeCounts
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.registry import is_known
from lapwing.model.certificate.cost_lines import ChosenTable, CostLine, PlannedQuestion
from lapwing.model.certificate.verdict import WAYS, WORDS, Grade
from lapwing.runs.misfits import of_mechanism
from lapwing.runs.plan.planning import planned
from lapwing.runs.settings import Settings
from lapwing.schema.groupings.grouping import evenly
from lapwing.schema.schemas import Schema

_STEPS: Final = (Fraction(3, 2), 2, 3, 5, 10, 20, 50, 100)
_IMPORTANT: Final = (2, 1, 3)
_LEVELS: Final = (32, 16, 8, 4)  # most groups of a column in a table whose columns are chosen
_FINE: Final = 0.04  # of the rows that noise moves in such a table: it is as fine as that allows
_KEPT: Final = 0.3  # of the variance of its noise
_SPREAD: Final = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True)
class _View:
    """How cautious to be: the number of rows that a plan is made for, and errors, times so much."""

    rows: float
    error: float
    may_depend: bool


_CAREFUL: Final = _View(rows=0.75, error=1.2, may_depend=False)
_HOPEFUL: Final = _View(rows=1.33, error=0.7, may_depend=True)


def better_budget(settings: Settings, terms: Terms, released: Released, grades: Sequence[Grade]) -> str:
    """Say at which budget the most important grade that is not good would be better; nothing of unknown mechanisms."""
    below = {grade.ways: grade for grade in grades if grade.word != WORDS[0]}
    ways = next((each for each in _IMPORTANT if each in below), None)
    if ways is None or not is_known(settings.mechanism):
        return ""
    asked = [each for times in _STEPS if (each := _more(settings, Fraction(times))) is not None]

    def word(step: Settings, view: _View) -> str:
        """Return the grade there; the present one where there would be no release."""
        return _word(step, terms, released, ways, view) or below[ways].word

    def is_better(step: Settings, view: _View) -> bool:
        return WORDS.index(word(step, view)) < WORDS.index(below[ways].word)

    place = bisect_left(asked, True, key=lambda step: is_better(step, _CAREFUL))
    if place == len(asked):
        if asked and is_better(asked[-1], _HOPEFUL):
            return f"Whether more budget would make {WAYS[ways]} better cannot be foretold"
        return f"No budget up to {float(_STEPS[-1]):.0f} times as large would make {WAYS[ways]} better"
    first = asked[place]
    request = first.request
    amount = f"epsilon {float(request.epsilon):.3g}" if request.epsilon else f"rho {float(request.rho or 0):.3g}"
    return f"{WAYS[ways].capitalize()} would be {word(first, _CAREFUL)} at about {amount}"


def _word(settings: Settings, terms: Terms, released: Released, ways: int, view: _View) -> str | None:
    """Return the grade of tables of so many columns; None where a plan is refused: the release is paid for here."""
    if terms.rows is None:
        terms = replace(terms, expected_rows=max(1, round(view.rows * released.drawn.total)))
    try:
        questions = of_mechanism(planned(settings, terms).questions)
    except LapwingError:
        return None
    tables = released.tables[ways - 1]
    there = foretold(settings.schema, terms, questions, released, tables)
    if not all(there.parts.values()):
        return None
    now, then = (each.terms(tables) for each in (released, there))
    apart = math.hypot(now.independent, now.unmeasured)  # what is known of dependence does not change
    if view.may_depend and now.unmeasured:
        apart = 1.0
    then = replace(then, independent=math.sqrt(max(0.0, apart**2 - then.unmeasured**2)))
    return graded(then, is_learnt=bool(there.pairs or there.led), times=view.error).word


def foretold(
    schema: Schema,
    terms: Terms,
    questions: Sequence[PlannedQuestion],
    released: Released,
    tables: Sequence[tuple[str, ...]],
) -> Released:
    """Return what answers to the questions of a plan would show of tables, if the real rows were a release's."""
    shown: list[Shown] = []
    chosen: list[float] = []
    for question in questions:
        noises = [(line.level, line.noise.sd) for line in CostLine.planned(question, terms) if line.noise is not None]
        if isinstance(question, ChosenTable):
            chosen += [sd for _, sd in noises]
        elif isinstance(question, MarginalCounts):
            shown += [Shown(columns=question.columns, groupings=question.groupings, sd=sd) for _, sd in noises]
        elif isinstance(question, TreeCounts):
            levels = ((level, sd) for level, sd in noises if level is not None)
            shown += shown_by_tree(question, levels, released.drawn.total)
    # Where fewer tables are chosen than there are pairs: those that were counted here, and others spread evenly.
    ranked = enumerate(itertools.combinations(released.cells, 2))
    order = sorted((frozenset(pair) not in released.pairs, place * _SPREAD % 1, pair) for place, pair in ranked)
    wanted = {pair for columns in tables for pair in itertools.combinations(columns, 2)}
    shown += [
        _table(schema, pair, sd, released.drawn)
        for (*_, pair), sd in zip(order, sorted(chosen), strict=False)
        if pair in wanted
    ]
    return Released(drawn=released.drawn, cells=released.cells, shown=shown, led=released.led, told=released.told)


def _table(schema: Schema, pair: tuple[str, str], sd: float, drawn: Drawn) -> Shown:
    """Return a table of two columns as fine as its noise allows."""
    domains = [schema.field(name).domain for name in pair]
    for most in _LEVELS:
        shown = Shown(columns=pair, groupings=tuple(evenly(each, most) for each in domains), sd=sd, kept=_KEPT)
        if most == _LEVELS[-1] or drawn.noise(drawn.counts(pair, shown.groupings), sd, 1) <= _FINE:
            break
    return shown


def _more(settings: Settings, times: Fraction) -> Settings | None:
    """Return the settings with so many times the ε or ρ; None where that is no request."""
    request = settings.request
    try:
        asked = (
            read_request(rho=request.rho * times)
            if request.rho is not None
            else read_request(epsilon=(request.epsilon or 0) * times, delta=request.delta)
        )
    except ParameterError:
        return None
    return replace(settings, request=asked)
