"""What a release cost, as a picture and line by line, and what is proved about its accuracy."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from lapwing.extras.evaluate.report.charts import bars, budget_bar
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.plain import at_least
from lapwing.model.accuracy import Accuracy, MarginalAccuracy
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.cost_lines import CostLine
from lapwing.model.certificate.statements import Statement
from lapwing.present.costs import amount_spent, by_purpose, cost_summary, purpose_of, sign_of
from lapwing.present.document import Chart, Part, Section, Table, Text, crossed, sentence
from lapwing.present.messages import say

_MOST_LINES: Final = 300
_MOST_BARS: Final = 30  # kinds of table
_NAMED: Final = 3  # tables of a kind that are named


def cost_section(certificate: Certificate) -> Section:
    """Return the section about where the budget went: a bar in parts, the figures, and every line for experts."""
    sign = sign_of(certificate.total)
    if not certificate.lines:
        return Section("cost", "What it cost", (Text("Nothing was asked about private rows."),))
    words = (
        "Privacy is paid for like this: each question about the private rows is answered with noise, and the smaller "
        "the noise, the more of the budget it takes. What is shown here sums exactly to the total."
    )
    if sign == "ρ":
        words += " The total is counted in ρ, which adds up better than ε; the section on privacy says what it means."
    return Section(
        "cost",
        "What it cost",
        (
            Text(words),
            budget_chart(certificate.lines, certificate.total),
            cost_summary(certificate.lines, certificate.total),
        ),
        folded=_every_line(certificate.lines, sign),
    )


def budget_chart(lines: Sequence[CostLine], budget: Budget) -> Chart:
    """Return what the lines of a certificate or plan cost, by purpose."""
    sign, spent = sign_of(budget), {name: amount_spent(own) for name, own in by_purpose(lines).items()}
    total, largest = float(budget.amount), max(spent, key=spent.__getitem__)
    meaning = f"Of {sign} = {total:.4g}, {100 * spent[largest] / total:.0f} % goes into {largest}." if total else ""
    return budget_bar(list(spent.items()), title="Where the budget goes", meaning=meaning, unit=sign)


def noise_chart(lines: Sequence[CostLine]) -> Chart:
    """Return how much noise the counts of each kind of table get."""
    kinds: dict[tuple[str, int | None, float], list[CostLine]] = {}
    for line in lines:
        if line.noise is not None:
            kinds.setdefault((purpose_of(line), line.level, line.noise.sd), []).append(line)
    widest = sorted(kinds, key=lambda kind: -kind[2])[:_MOST_BARS]
    labels = []
    for kind in widest:
        named = list(dict.fromkeys(crossed(line.columns) for line in kinds[kind] if line.columns))
        many = f"{len(kinds[kind]):,} " * (len(kinds[kind]) > 1)
        level = "" if kind[1] is None else f", level {kind[1]}"
        labels.append((", ".join(named) if 0 < len(named) <= _NAMED else many + kind[0]) + level)
    more = f" The {len(widest)} kinds of table with most noise, of {len(kinds)}." if len(widest) < len(kinds) else ""
    return bars(
        labels,
        {"released": [kind[2] for kind in widest]},
        title="Noise on each count",
        meaning=f"One standard deviation; 95 % of such noise is smaller than two.{more}",
        unit="rows",
    )


def _every_line(lines: Sequence[CostLine], sign: str) -> tuple[Text | Table, ...]:
    """Return every line of the certificate, or as many as can be read."""
    heading = ("question", "columns", "level", "chosen among", sign, "noise", "standard deviation", "sensitivity (L1)")
    shown_lines = tuple(
        (
            line.question,
            ", ".join(line.columns) or "-",
            "-" if line.level is None else str(line.level),
            "-" if line.candidates is None else f"{line.candidates:,}",
            at_least(line.cost.amount, 4),
            "-" if line.noise is None else line.noise.kind,
            "-" if line.noise is None else f"{line.noise.sd:.4g}",
            str(line.sensitivity.l1),
        )
        for line in lines[:_MOST_LINES]
    )
    table = Table(
        "Every answer, in the order in which it was given; noise values are whole numbers (discrete laws)",
        heading,
        shown_lines,
        numbers=(2, 3, 4, 6, 7),
    )
    if len(lines) <= _MOST_LINES:
        return (table,)
    words = f"The first {_MOST_LINES} of {len(lines):,} lines; the certificate has all of them."
    return (Text(words), table)


_FIRST: Final = 12
_OF_A_KIND: Final = 3
_MOST_STATED: Final = 300
_DRAWN: Final = 12


def accuracy_section(accuracy: Accuracy) -> Section:
    """Return the section about accuracy: the statements, and the measured tables with the largest bounds."""
    parts: list[Part] = [Text(_words(accuracy))]
    folded: list[Part] = []
    first, further = _sorted(accuracy.statements)
    if first:
        parts.append(_statements(first, "What can be said, and on what ground"))
    if further:
        folded.append(_statements(further[:_MOST_STATED], "Further statements"))
    if accuracy.marginals:
        parts.append(_chart(accuracy.marginals))
        folded.append(_measured(accuracy.marginals))
    if not accuracy.statements and not accuracy.marginals:
        words = (
            "Nothing is proved about the accuracy of this release. Take its figures as hints, and ask its owner for "
            "an evaluation."
        )
        parts.append(Text(words, is_warning=True))
    return Section("accuracy", "How far figures may be off", tuple(parts), folded=tuple(folded))


def _sorted(statements: Sequence[Statement]) -> tuple[list[Statement], list[Statement]]:
    """Return the statements for everybody, and those for experts: kinds of which there are many."""
    kinds = Counter(each.code for each in statements)
    first = [each for each in statements if kinds[each.code] <= _OF_A_KIND]
    return first[:_FIRST], first[_FIRST:] + [each for each in statements if kinds[each.code] > _OF_A_KIND]


def _words(accuracy: Accuracy) -> str:
    """Say what the section is about."""
    words = (
        "Everything here follows from the noise that was added, whose law is public, and from released numbers. "
        "Relations between columns that were not counted together are the model's guess, and no bound is proved for "
        "them."
    )
    worth = accuracy.effective_rows
    words += f" The model stands on patterns whose weights are worth {worth:,.0f} equal ones."
    if accuracy.largest_density is not None:
        words += (
            f" Its density is at most {accuracy.largest_density:.3g} times that of the points that it was fitted on."
        )
    return words


def _statements(statements: Sequence[Statement], caption: str) -> Table:
    """Return statements as a table."""
    lines = tuple(
        (
            sentence(each.text),
            "-" if each.confidence is None else f"{100 * each.confidence:.6g} %",
            say(f"basis.{each.basis}"),
        )
        for each in statements
    )
    return Table(caption, ("statement", "holds with", "ground"), lines, numbers=(1,))


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


def _measured(marginals: Sequence[MarginalAccuracy]) -> Table:
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
        for each in marginals[:_MOST_STATED]
    )
    caption = "The measured tables, the most uncertain first"
    if len(marginals) > _MOST_STATED:
        caption += f" ({_MOST_STATED} of {len(marginals):,})"
    heading = ("table", "cells", "noise (sd, rows)", "largest error (rows)", "total variation, at most", "each with")
    return Table(caption, heading, lines, numbers=(1, 2, 3, 4, 5))
