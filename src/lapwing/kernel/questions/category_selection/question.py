"""The question for the texts that occur in a column: noisy counts of those that reach a public threshold."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Final

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.codec import KNOWN, packed_array
from lapwing.kernel.noise_law import NoiseLaw, NoisyTable, Sensitivity, row_sensitivity, tail_ratio, value_ratio
from lapwing.kernel.questions.questions import (
    Asks,
    RecordedAnswer,
    check_cost,
    noise_for_cost,
    one_table,
)
from lapwing.kernel.terms import Relation, Terms
from lapwing.maths.arrays import read_only
from lapwing.maths.selection_threshold import check_delta, selection_threshold
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.scalars import check_whole_number
from lapwing.schema.schemas import Schema

LONGEST_TEXT: Final = 200
"""Longer texts are never listed."""

MOST_TEXTS: Final = 10**6
"""The most texts of one answer."""


def can_be_listed(text: str) -> bool:
    r"""Tell whether a text may be listed at all, by itself: 1 to 200 characters, all of them printable.

    >>> can_be_listed("St. Gallen"), can_be_listed(""), can_be_listed("two\nlines")
    (True, False, False)
    """
    return 1 <= len(text) <= LONGEST_TEXT and text.isprintable()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CategorySelection(Asks["SelectedTexts"]):
    """Ask which texts occur in an open column, and how often: those whose noisy count reaches a public threshold.

    prefix: 1 to 200: so many first characters of each text are counted, a shorter text as it is. None: whole texts;
    delta: from 1e-300 to 1/2: at most so probable is it that a text is shown which one unit alone has; most: 1 to
    10**6. Of more texts, those with the largest noisy counts are shown.

    References
    ----------
    Korolova, Kenthapadi, Mishra and Ntoulas (2009), "Releasing search queries and clicks privately"; Wilson et al.
    (2020), "Differentially private SQL with bounded user contribution". Desfontaines, Voss, Gipson and Mandayam (2022),
    "Differentially private partition selection", show rare texts somewhat more often for one row per unit and
    (epsilon, delta); we keep the thresholded noise, because its counts come with the texts, and it serves both notions
    and any number of rows per unit.

    Guarantee: ε-DP with discrete Laplace, ρ-zCDP with discrete Gaussian noise on each count, except with probability
    ``delta`` (δ-approximate), under the relation and ``max_rows`` that `noise` and `threshold` are given (proof:
    ``proof.md``). Texts that `can_be_listed` refuses, and the field's texts for missing, are
    never shown.

    >>> towns = CategorySelection(column="town", prefix=None, cost=Budget.pure(1), delta=Fraction(1, 10**6))
    >>> towns.noise("add-remove", 3).parameter, towns.threshold("add-remove", 3)
    (Fraction(3, 1), 45)
    """

    kind: ClassVar[str] = "CategorySelection"
    called: ClassVar[str] = "noisy category list"
    purpose: ClassVar[str] = ""

    column: str
    prefix: int | None
    cost: Budget
    delta: Fraction
    most: int = 100_000

    def __post_init__(self) -> None:
        check_cost(self.cost)
        check_delta(self.delta)
        prefix = 1 if self.prefix is None else self.prefix
        check_whole_number("the prefix of a selection", prefix, 1, LONGEST_TEXT, code="LW641")
        check_whole_number("the most texts of a selection", self.most, 1, MOST_TEXTS, code="LW641")

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    @property
    def groupings(self) -> tuple[Grouping, ...]:
        """None: the texts that occur are not known beforehand."""
        return ()

    def sensitivity(self, relation: Relation, max_rows: int) -> Sensitivity:
        """Bound the change of the counts of the texts that two neighbours share: each row holds at most one text."""
        return row_sensitivity(relation, max_rows)

    noise = noise_for_cost
    parts = one_table

    def threshold(self, relation: Relation, max_rows: int) -> int:
        """Return the least noisy count that is shown: exact, and a function of public numbers alone."""
        law = self.noise(relation, max_rows)
        return selection_threshold(law.kind, law.parameter, max_rows, self.delta)

    def check(self, terms: Terms, schema: Schema) -> None:
        """Refuse a column whose texts are listed, or are no texts."""
        del terms
        field = schema.field(self.column)
        if not (field.open and field.type == "string"):
            raise ParameterError(
                f'texts are selected in open string fields only, and "{field.name}" is none; count it instead',
                code="LW641",
            )


@dataclass(frozen=True, slots=True, eq=False)
class SelectedTexts(RecordedAnswer):
    """Hold the answer to a `CategorySelection`: the texts that are shown, with their noisy counts.

    counts: int64 (k,), exact count plus noise of each text, at least the threshold. As small ones are left out, they
    are too large on average where they are near it.
    """

    question: CategorySelection = field(metadata=KNOWN)
    texts: tuple[str, ...]
    counts: np.ndarray = field(metadata=packed_array(lambda seen: (len(seen["texts"]),)))
    noise: NoiseLaw
    threshold: int

    def __post_init__(self) -> None:
        question, texts = self.question, self.texts
        if self.counts.dtype != np.int64 or self.counts.shape != (len(texts),):
            raise ParameterError(
                f"{len(texts)} selected texts need as many counts in int64, got {self.counts.shape}", code="LW643"
            )
        longest = question.prefix or LONGEST_TEXT
        is_sorted = all(one < other for one, other in pairwise(texts))
        if not is_sorted or len(texts) > question.most or any(len(text) > longest for text in texts):
            raise ParameterError(
                "selected texts must be distinct, sorted, and no more or longer than was asked for", code="LW643"
            )
        if not all(map(can_be_listed, texts)):
            raise ParameterError("selected texts must be printable and not empty; the record is damaged", code="LW643")
        if texts and int(self.counts.min()) < self.threshold:
            raise ParameterError(
                f"selected texts must reach the threshold {self.threshold}; the record is damaged", code="LW643"
            )
        object.__setattr__(self, "counts", read_only(self.counts))

    @property
    def tables(self) -> tuple[NoisyTable, ...]:
        """The noisy counts as one table."""
        return (NoisyTable(self.counts, self.noise, self.question.cost),)

    def privacy_loss(self, exact: Mapping[str, int], other: Mapping[str, int]) -> Fraction:
        """Return the loss of this answer between two tables, outside the event of probability delta.

        exact, other: the rows of each text, or prefix, that can be listed and occurs, on either table. One that only
        one of them has must not be among those shown: that is the event. Returns laplace: the exact log-likelihood
        ratio, an ε. Gaussian: the ρ of the counts of texts that both tables have.
        """
        common = exact.keys() & other.keys()
        if self.noise.kind == "gaussian":
            return self.noise.loss(np.array([exact[text] - other[text] for text in common], dtype=np.int64))
        shown = dict(zip(self.texts, self.counts.tolist(), strict=True))
        scale, loss = self.noise.parameter, Fraction(0)
        for text in common:
            one, two = exact[text], other[text]
            if text in shown:
                loss += value_ratio(scale, shown[text], one, two)
            else:  # its noisy count is below: Z <= least - 1 - count, as likely as Z >= 1 - least + count
                least = self._least_shown(text)
                loss += tail_ratio(scale, 1 - least + one, 1 - least + two)
        return abs(loss)

    def _least_shown(self, text: str) -> int:
        """Return the least noisy count with which a hidden text would have been shown."""
        if len(self.texts) < self.question.most:
            return self.threshold
        lowest = int(self.counts.min())
        last = self.texts[int(np.flatnonzero(self.counts == lowest)[-1])]
        return lowest if text < last else lowest + 1
