"""The verdict on a release: how good it is, what more budget would do, and what it should not be used for."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from lapwing.errors import CapacityError
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.terms import Terms
from lapwing.model.bounds import rows_within
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.verdict import WORDS, Grade, Verdict
from lapwing.model.evidence import plain_tables
from lapwing.model.model import ReleasedModel
from lapwing.release.runs.better import better_budget
from lapwing.release.runs.generators import generator
from lapwing.release.runs.settings import TableSettings
from lapwing.release.runs.verdict.expected import grade_tables
from lapwing.release.runs.verdict.terms import learnt_pairs, led_pairs, release_evidence

_PAIRS = 2
_ROWS_FAILURE = Fraction(1, 20)
_MANY = 4  # columns, of which Lapwing's default counts no table
_LEAST_SEEN = 3.0  # standard deviations of its noise that a count should have


def verdict_of(
    settings: TableSettings, terms: Terms, answers: Sequence[Answer], model: ReleasedModel
) -> Verdict | None:
    """Return the verdict on a release; None where its noisy counts do not tell what to expect.

    model: as it is released. A function of released numbers and public settings; the same each time. The release is
    paid for here: what is too large to be judged has no verdict, and ends nothing.
    """
    try:
        released = release_evidence(settings.schema, answers, model, generator(settings.seed, "verdict"))
        parts = [] if released is None else [released.terms(each) for each in released.tables]
    except CapacityError:
        return None
    if released is None:
        return None
    learnt, pairs = learnt_pairs(answers), math.comb(len(settings.schema.columns), 2)
    within = rows_within(answers, model.rows, _ROWS_FAILURE)
    if within is not None and within[0] >= model.rows:
        nothing = tuple(replace(grade_tables(each), word=WORDS[-1]) for each in parts)
        return Verdict(grades=nothing, learnt=learnt, pairs=pairs, not_for=(Notice("not_for_anything"),))
    rows = terms if terms.rows is not None else replace(terms, expected_rows=max(1, model.rows))
    is_learnt = learnt > 0 or bool(led_pairs(answers, model))
    grades = _in_order([grade_tables(each, is_learnt=is_learnt) for each in parts])
    return Verdict(
        grades=grades,
        learnt=learnt,
        pairs=pairs,
        better=better_budget(settings, rows, answers, released, grades),
        not_for=_not_for(settings, answers, grades, learnt),
    )


def _in_order(grades: Sequence[Grade]) -> tuple[Grade, ...]:
    """Return grades of which none of more columns is better than that of pairs, which its tables hold."""
    pairs = next((WORDS.index(each.word) for each in grades if each.ways == _PAIRS), 0)
    return tuple(
        replace(each, word=WORDS[max(pairs, WORDS.index(each.word))]) if each.ways > _PAIRS else each for each in grades
    )


def _not_for(
    settings: TableSettings, answers: Sequence[Answer], grades: Sequence[Grade], learnt: int
) -> tuple[Notice, ...]:
    """Return what these rows should not be used for."""
    word = {grade.ways: grade.word for grade in grades}
    found = []
    noise = [table.law.sd for table in plain_tables(answers, ways=1)]
    if noise and word[1] != "none":
        least = math.ceil(_LEAST_SEEN * max(noise))
        found.append(Notice("not_for_rare_values", {"rows": least}))
    if word[1] in ("weak", "none"):
        found.append(Notice("not_for_single_values"))
    pairs = math.comb(len(settings.schema.columns), 2)
    if word.get(2) == "none":
        found.append(Notice("not_for_relations"))
    elif word.get(2) == "weak":
        found.append(Notice("not_for_weak_relations"))
    if word.get(2) in ("good", "fair") and learnt < pairs:
        found.append(Notice("not_for_uncounted_pairs", {"pairs": pairs - learnt}))
    if word.get(3) in ("weak", "none") and word.get(2) != "none":
        found.append(Notice("not_for_triples"))
    widest = max((len(answer.question.columns) for answer in answers if answer.tables), default=0)
    if widest < _MANY <= len(settings.schema.columns):
        found.append(Notice("not_for_four"))
    elif widest == _MANY < len(settings.schema.columns):
        found.append(Notice("not_for_weak_four"))
    return tuple(found)
