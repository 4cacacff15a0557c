"""What is proved about the accuracy of a release, for those who will use its figures."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from lapwing.judge.report.charts.charts import bars
from lapwing.judge.report.page import Part, Section, Table, Text
from lapwing.model.accuracy import Accuracy, MarginalAccuracy, Statement

_BASES: Final = {
    "theorem": "theorem",
    "certificate": "proved for this release",
    "interval": "confidence interval",
    "simulation": "found by simulation",
    "model": "property of the model",
}
_FIRST: Final = 12
_OF_A_KIND: Final = 3
_MOST: Final = 300
_DRAWN: Final = 20


def accuracy_section(accuracy: Accuracy) -> Section:
    """Return the section about accuracy.

    Returns the statements, and the measured tables with the largest bounds.
    """
    parts: list[Part] = [Text(words=_words(accuracy))]
    folded: list[Part] = []
    first, further = _sorted(accuracy.statements)
    if first:
        parts.append(_statements(first, "What can be said, and on what ground"))
    if further:
        folded.append(_statements(further[:_MOST], "Further statements"))
    if accuracy.marginals:
        parts.append(_chart(accuracy.marginals))
        folded.append(_marginals(accuracy.marginals))
    if not accuracy.statements and not accuracy.marginals:
        words = (
            "Nothing is proved about the accuracy of this release. Take its figures as hints, and ask its owner for "
            "an evaluation."
        )
        parts.append(Text(words=words, is_warning=True))
    return Section(key="accuracy", title="How far figures may be off", parts=tuple(parts), folded=tuple(folded))


def _sorted(statements: Sequence[Statement]) -> tuple[list[Statement], list[Statement]]:
    """Return the statements for everybody, and those for experts: kinds of which there are many."""
    kinds = Counter(each.key for each in statements)
    first = [each for each in statements if kinds[each.key] <= _OF_A_KIND]
    return first[:_FIRST], first[_FIRST:] + [each for each in statements if kinds[each.key] > _OF_A_KIND]


def _words(accuracy: Accuracy) -> str:
    """Say what the section is about."""
    words = (
        "Everything here follows from the noise that was added, whose law is public, and from released numbers. "
        "Relations between columns that were not counted together are the model's guess, and no bound is proved for "
        "them."
    )
    worth = accuracy.effective_rows
    words += f" The model stands on patterns whose weights are worth {worth:,.0f} equal ones."
    if accuracy.kappa is not None:
        words += f" Its density is at most {accuracy.kappa:.3g} times that of the points that it was fitted on."
    return words


def _statements(statements: Sequence[Statement], caption: str) -> Table:
    """Return statements as a table."""
    lines = tuple(
        (
            sentence(each.text),
            "-" if each.confidence is None else f"{100 * each.confidence:.6g} %",
            _BASES[each.basis],
            each.source,
        )
        for each in statements
    )
    return Table(caption=caption, heading=("statement", "holds with", "ground", "source"), lines=lines, numbers=(1,))


def sentence(text: str) -> str:
    """Return a text as a sentence.

    >>> sentence("no bound is proved; `replicates` estimates")
    'No bound is proved; replicates estimates.'
    """
    plain = text.replace("`", "")
    return f"{plain[:1].upper()}{plain[1:]}{'' if plain.endswith('.') else '.'}"


def _name(each: MarginalAccuracy) -> str:
    return " x ".join(each.columns) or "number of rows"


def _chart(marginals: Sequence[MarginalAccuracy]) -> Part:
    """Return the bounds of the most uncertain tables."""
    first = marginals[:_DRAWN]
    confidence = f"{100 * first[0].confidence:.6g} %"
    which = f"The {len(first)} most uncertain of {len(marginals):,} measured tables" if len(marginals) > _DRAWN else ""
    return bars(
        [f"{_name(each)} ({each.cells:,} cells)" for each in first],
        {"released": [each.variation for each in first]},
        title=which or "The measured tables",
        meaning="At most so much of the released table would have to be moved to get the true one (total variation "
        f"distance, 0 to 1), each with probability {confidence}.",
        unit="total variation, at most",
    )


def _marginals(marginals: Sequence[MarginalAccuracy]) -> Table:
    """Return the bounds of all measured tables, or as many as can be read."""
    lines = tuple(
        (
            _name(each),
            f"{each.cells:,}",
            f"{each.noise:.4g}",
            f"{each.largest_error:,.0f}",
            f"{each.variation:.3f}",
            f"{100 * each.confidence:.6g} %",
        )
        for each in marginals[:_MOST]
    )
    caption = "The measured tables, the most uncertain first"
    if len(marginals) > _MOST:
        caption += f" ({_MOST} of {len(marginals):,})"
    heading = ("table", "cells", "noise (sd, rows)", "largest error (rows)", "total variation, at most", "each with")
    return Table(caption=caption, heading=heading, lines=lines, numbers=(1, 2, 3, 4, 5))
