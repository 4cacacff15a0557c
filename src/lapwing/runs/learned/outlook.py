"""What a learning run can find at its budget, before it is paid for: from noise laws alone."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.terms import Terms
from lapwing.runs.learned.domains import BOUNDS, CATEGORIES, learned_fields
from lapwing.runs.learned.settings import LearnSettings

_MANY = 2**55
"""Rows in the one cell of a made-up table: more than noise hides, and far from the ends of 64 bits."""

_WORDS: Final = {
    CATEGORIES: "a value needs about {rows} rows to be listed, in {names}",
    BOUNDS: "bounds leave out at most about {rows} rows{more} at each end, of {names}",
}
_NAMED: Final = 8


def outlook(settings: LearnSettings, terms: Terms) -> tuple[str, ...]:
    """Say what a run would notice, one sentence per field; refuse what cannot be asked.

    Returns what the certificate would say of a made-up table whose rows all lie in one place, fields of one kind
    together.
    """
    learned = learned_fields(
        _MadeUp(terms),
        settings.schema,
        settings.original,
        settings.names,
        settings.request.budget,
        settings.selection_delta,
        quantile=Fraction(0),  # the parts that it leaves out are those of the table, whose number of rows is not known
        dictionaries=settings.dictionaries,
    )
    alike: dict[tuple[str, float], list[str]] = {}
    for name, each in zip(settings.names, learned.statements, strict=True):
        alike.setdefault((each.kind, each.value or 0.0), []).append(name)
    more = f", and {float(settings.quantile):.3g} of all rows," if settings.quantile else ""
    return tuple(
        _WORDS[kind].format(rows=f"{rows:.0f}", names=_named(names), more=more) for (kind, rows), names in alike.items()
    )


def _named(names: Sequence[str]) -> str:
    """Return a few names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


class _MadeUp:
    """Answer questions about a made-up table: no row is looked at."""

    __slots__ = ("terms",)

    def __init__(self, terms: Terms) -> None:
        self.terms = terms

    def ask(self, *questions: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as the room
        """Answer with no texts, or with counts of which one is huge and all others are 0.

        It stands where numbers above zero do: nowhere are the cells that noise has to be told from as many.
        """
        return tuple(map(self._answer, questions))

    def _answer(self, question: MarginalCounts | CategorySelection) -> NoisyCounts | SelectedTexts:
        noise = question.noise(self.terms.relation, self.terms.max_rows)
        if isinstance(question, CategorySelection):
            threshold = question.threshold(self.terms.relation, self.terms.max_rows)
            return SelectedTexts(question, (), np.zeros(0, dtype=np.int64), noise, threshold)
        counts = np.zeros(question.shape, dtype=np.int64)
        counts.flat[counts.size * 3 // 4] = _MANY
        return NoisyCounts(question, counts, noise)
