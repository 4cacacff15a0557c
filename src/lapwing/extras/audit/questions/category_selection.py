"""Record and replay of lists of texts: rows read one by one, noise drawn again, thresholds by trying every unit.

Nothing here uses the counts, the sort or the tail formulas of the room: a row's text is cut character by character,
what a unit could bring is enumerated, and tails are added up term by term in whole numbers.
"""

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Final

import polars as pl

from lapwing.extras.audit.held import Rows
from lapwing.extras.audit.worst_case import PRICED, PURE, PURE_TERMS, QuestionCase, Recheck
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.noise.enclosures import exp_minus
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.laplace import discrete_laplace
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts
from lapwing.kernel.terms import Terms
from lapwing.rows.counting import CodedSource
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field, PrivacyUnit
from lapwing.schema.schemas import Schema

_ENUMERATED: Final = 12  # rows of a unit up to which all ways to spread them over texts are tried
_SUMMED: Final = 64**2
_MARGIN: Final = 1e-9  # of tails in floats
_TINY: Final = Fraction(1, 10**9)
_PLAIN: Final = Fraction(1, 20)
"""A delta so large that a text which is shown more often is soon found out."""

_OFTEN: Final = 150
_OWN: Final = "its own"


def recounted_texts(question: CategorySelection, source: Rows, schema: Schema) -> dict[str, int]:
    """Count texts, or their beginnings, row by row."""
    markers = schema.field(question.column).missing_values
    counts: Counter[str] = Counter()
    for texts in source.texts(question.column):
        for text in texts.to_list():
            begins = "".join(islice(text or "", question.prefix))
            if 0 < len(begins) < 201 and begins not in markers and all(letter.isprintable() for letter in begins):
                counts[begins] += 1
    return dict(counts)


def category_flags(answer: SelectedTexts, exact: dict[str, int], terms: Terms, bits: BitSource) -> list[str]:
    """Return what is wrong with a list of texts, given an independent count and the recorded secret words."""
    question, flags = answer.question, []
    where, law = f"the list of texts over {question.columns}", _law(question, terms)
    if answer.noise != law:
        flags.append(f"{where} declares {answer.noise}, its cost needs {law}")
    if not is_least_threshold(answer.threshold, law, terms.max_rows, question.delta):
        flags.append(f"{where} shows counts from {answer.threshold} on, which is not what its delta needs")
    sampler = discrete_laplace if law.kind == "laplace" else discrete_gaussian
    noise = sampler(law.parameter, len(exact), bits).tolist()
    noisy = [(-exact[text] - drawn, text) for text, drawn in zip(sorted(exact), noise, strict=True)]
    kept = sorted(each for each in noisy if -each[0] >= answer.threshold)[: question.most]
    shown = [(text, -count) for count, text in sorted(kept, key=lambda each: each[1])]
    if shown != list(zip(answer.texts, answer.counts.tolist(), strict=True)):
        flags.append(f"{where} does not hold the exact counts plus their noise, from its threshold on")
    return flags


def category_loss(answer: SelectedTexts, exact: dict[str, int], other: dict[str, int]) -> Fraction:
    """Return what the noisy counts of the texts that two tables share lose between them: an ε or a ρ."""
    gaps = [exact[text] - other[text] for text in exact if text in other]
    if answer.noise.kind == "laplace":
        return Fraction(sum(map(abs, gaps))) / answer.noise.parameter
    return Fraction(sum(gap * gap for gap in gaps)) / (2 * answer.noise.parameter)


def category_loss_flags(answer: SelectedTexts, exact: dict[str, int], other: dict[str, int]) -> list[str]:
    """Return what is wrong between two tables: a text that only one of them has is shown, or the loss told is too much.

    The first happens to an honest answer with the probability ``delta``: audits ask for lists at a delta so small that
    it never does.
    """
    where, flags = f"the list of texts over {answer.question.columns}", []
    if any(text not in other or text not in exact for text in answer.texts):
        flags.append(f"{where} shows a text that the neighbour lacks")
    if answer.privacy_loss(exact, other) > category_loss(answer, exact, other) + Fraction(1, 10**30):
        flags.append(f"{where} tells a larger loss than its noisy counts have")
    return flags


def _law(question: CategorySelection, terms: Terms) -> NoiseLaw:
    """Return the noise that a cost needs: a unit moves so many records, or one of each of two texts by so many."""
    moved, moves = terms.max_rows, 1 if terms.relation == "add-remove" else 2
    if question.cost.notion == "pure":
        return NoiseLaw("laplace", moved * moves / question.cost.epsilon)
    return NoiseLaw("gaussian", moves * moved**2 / (2 * question.cost.rho))


@lru_cache(maxsize=64)
def is_least_threshold(threshold: int, law: NoiseLaw, max_rows: int, delta: Fraction) -> bool:
    """Tell whether a threshold hides what one unit alone brings but for delta, and the one below it does not.

    law: beyond a standard deviation of 64 in Gaussian noise one more than the least is let pass; max_rows: that a unit
    owns. Up to 12 every way to spread them over texts is tried.
    """
    slack = 1 if law.kind == "gaussian" and law.parameter > _SUMMED else 0
    if threshold <= max_rows or not _hides(threshold, law, max_rows, delta):
        return False
    return threshold - slack <= max_rows + 1 or not _hides(threshold - 1 - slack, law, max_rows, delta)


def _hides(threshold: int, law: NoiseLaw, max_rows: int, delta: Fraction) -> bool:
    """Tell whether no unit's texts show up with a probability above delta."""
    stay = {rows: 1 - _tail(threshold - rows, law, delta) for rows in range(1, max_rows + 1)}
    ways = _ways(max_rows, max_rows) if max_rows <= _ENUMERATED else [(max_rows,), (1,) * max_rows]
    return all(math.prod((stay[rows] for rows in way), start=Fraction(1)) >= 1 - delta for way in ways)


def _ways(rows: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Yield the ways to spread rows over texts, the fullest first."""
    if rows == 0:
        yield ()
    for first in range(min(rows, largest), 0, -1):
        for rest in _ways(rows - first, first):
            yield (first, *rest)


@lru_cache(maxsize=4096)
def _tail(least: int, law: NoiseLaw, delta: Fraction) -> Fraction:
    """Return P[Z >= least] for least >= 1, rounded up by far less than matters."""
    if law.kind == "gaussian" and law.parameter > _SUMMED:
        return Fraction(math.erfc((least - 0.5) / math.sqrt(2 * law.parameter)) / 2 * (1 + _MARGIN))
    precision = 200 + 2 * (delta.denominator // delta.numerator).bit_length()
    if law.kind == "laplace":
        rate = 1 / law.parameter
        return Fraction(exp_minus(rate * least, precision)[1], (1 << precision) + exp_minus(rate, precision)[0])
    masses = _masses(law.parameter, precision)
    return Fraction(sum(masses[least:]) + 1, masses[0] + 2 * sum(masses[1:]))


@lru_cache(maxsize=8)
def _masses(sigma_squared: Fraction, precision: int) -> tuple[int, ...]:
    """Return ``2**precision exp(-z**2 / (2 sigma**2))`` for z = 0, 1, ... as far as it is not 0."""
    masses = [1 << precision]
    while masses[-1] > 1:
        masses.append(exp_minus(Fraction(len(masses) ** 2) / (2 * sigma_squared), precision)[1])
    return tuple(masses)


def _cases() -> Iterator[QuestionCase]:
    """Ask for texts that many others have, and for one that the person alone has: only delta lets that be shown."""
    for cost, terms in PRICED:
        yield _texts(cost, _TINY, "texts that many have", terms, own="x")
    for terms in (PURE_TERMS[0], PURE_TERMS[-1]):
        yield _texts(PURE, _PLAIN, "a text that one person alone has", terms, own=_OWN)


def _texts(cost: Budget, delta: Fraction, label: str, terms: Terms, *, own: str) -> QuestionCase:
    schema = _open_schema(terms.max_rows)
    second = ["y"] * terms.max_rows if terms.relation == "replace-one" else []
    return QuestionCase(
        asked=CategorySelection(column="town", prefix=None, cost=cost, delta=delta),
        label=label,
        sources=(_towns([own] * terms.max_rows, schema), _towns(second, schema)),
        terms=terms,
        schema=schema,
        seen=_shown,
    )


def _open_schema(max_rows: int) -> Schema:
    """Return the schema of people's towns, whose names are not known."""
    person, town = Field(name="person", type="string", identifier=True), Field(name="town", type="string", open=True)
    return Schema(fields=(person, town), privacy_unit=PrivacyUnit("person", max_rows))


def _towns(own: list[str], schema: Schema) -> CodedSource:
    """Return a table: two towns of many people each, and those of the person."""
    others = ["x", "y"] * _OFTEN
    people = [*(f"other {place}" for place in range(len(others))), *["the person"] * len(own)]
    return code_table(pl.DataFrame({"person": people, "town": [*others, *own]}), schema)


def _shown(answer: SelectedTexts) -> list[int]:
    """Return the counts of the three texts, 0 for one that is left out, and how many are shown."""
    counts = dict(zip(answer.texts, answer.counts.tolist(), strict=True))
    return [counts.get("x", 0), counts.get("y", 0), counts.get(_OWN, 0), len(counts)]


CHECK: Final = Recheck(
    cases=_cases,
    recount=lambda answer, source, schema: [recounted_texts(answer.question, source, schema)],
    flags=category_flags,
    loss=category_loss,
    loss_flags=category_loss_flags,
)
