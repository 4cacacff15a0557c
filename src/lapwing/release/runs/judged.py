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
from lapwing.model.certificate.verdict import Verdict
from lapwing.model.evidence import plain_tables
from lapwing.model.model import ReleasedModel
from lapwing.release.runs.better import better_budget
from lapwing.release.runs.generators import generator
from lapwing.release.runs.settings import TableSettings
from lapwing.release.runs.verdict.counted import learnt_pairs, release_evidence, varying
from lapwing.release.runs.verdict.expected import expected_quality
from lapwing.schema.public_tables.cells import public_columns, public_total
from lapwing.schema.schemas import Schema

_ROWS_FAILURE = Fraction(1, 20)
_TRIPLE = 3  # columns
_MANY = 4  # columns, of which Lapwing's default counts no table
_LEAST_SEEN = 3.0  # standard deviations of its noise that a count should have


def verdict_of(
    settings: TableSettings, terms: Terms, answers: Sequence[Answer], model: ReleasedModel
) -> Verdict | None:
    """Return the verdict on a release; None where its noisy counts do not tell what to expect.

    model: as it is released. A function of released numbers and public settings; the same each time. The release is
    paid for here: what is too large to be judged has no verdict, and ends nothing.
    """
    schema, rng = settings.schema, generator(settings.seed, "verdict")
    learnt, pairs = len(learnt_pairs(answers, schema)), math.comb(len(varying(schema)), 2)
    are_public = terms.rows is not None or public_total(schema) is not None
    within = None if are_public else rows_within(answers, model.rows, _ROWS_FAILURE)
    if within is not None and within[0] >= model.rows:
        return Verdict(least=0.0, most=1.0, learnt=learnt, pairs=pairs, not_for=(Notice("not_for_anything"),))
    try:
        released = release_evidence(schema, answers, model, rng)
        expected = None if released is None else expected_quality(schema, released, rng)
    except CapacityError:
        return None
    if expected is None:
        return None
    verdict = Verdict(
        least=expected.least,
        most=expected.most,
        shape=expected.shape,
        trend=expected.trend,
        share_error=expected.share,
        learnt=learnt,
        pairs=pairs,
        strong=expected.strong,
        within=expected.within,
        relation_error=expected.error,
        weakest=expected.weakest,
        quotable=(Notice("quote_columns"), *([Notice("quote_pairs", {"pairs": learnt})] if learnt else [])),
    )
    rows = terms if terms.rows is not None else replace(terms, expected_rows=max(1, model.rows))
    better = better_budget(settings, rows, verdict, model.rows)
    return replace(verdict, better=better, not_for=_not_for(answers, verdict, schema))


def _not_for(answers: Sequence[Answer], verdict: Verdict, schema: Schema) -> tuple[Notice, ...]:
    """Return what these rows should not be used for."""
    found, columns, public = [], len(varying(schema)), public_columns(schema)
    noise = [each.law.sd for each in plain_tables(answers, ways=1) if not set(each.columns).issubset(public)]
    rare = math.ceil(_LEAST_SEEN * max(noise, default=0.0))
    if rare > 1:
        found.append(Notice("not_for_rare_values", {"rows": rare}))
    if verdict.shares == "weak":
        found.append(Notice("not_for_single_values"))
    if verdict.relations == "unknown":
        found.append(Notice("not_for_relations"))
    elif verdict.learnt < verdict.pairs:
        found.append(Notice("not_for_uncounted_pairs", {"pairs": verdict.pairs - verdict.learnt}))
    if verdict.weakest is not None and verdict.weakest < 1:
        found.append(Notice("not_for_weak_relations", {"least": verdict.weakest}))
    widest = max((len(answer.question.columns) for answer in answers if answer.tables), default=0)
    if widest < _TRIPLE <= columns and verdict.relations != "unknown":
        found.append(Notice("not_for_triples"))
    if widest < _MANY <= columns:
        found.append(Notice("not_for_four"))
    elif widest == _MANY < columns:
        found.append(Notice("not_for_weak_four"))
    return tuple(found)
