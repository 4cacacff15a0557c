"""What a release cost, as a picture and line by line, and what is proved about its accuracy."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from lapwing.extras.evaluate.report.charts import bars, budget_bar
from lapwing.extras.evaluate.report.parts import section, table
from lapwing.extras.evaluate.words import say
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.plain import at_least
from lapwing.model.accuracy import Accuracy, MarginalAccuracy
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.cost_lines import CostLine
from lapwing.model.certificate.statements import Statement
from lapwing.present.costs import amount_spent, by_purpose, cost_summary, purpose_of, sign_of
from lapwing.present.document import Chart, Part, Section, Table, Text, cross_name, sentence

_MOST_LINES: Final = 300
_MOST_BARS: Final = 30  # kinds of table
_NAMED: Final = 3  # tables of a kind that are named


def cost_section(certificate: Certificate) -> Section:
    """Return the section about where the budget went: a bar in parts, the figures, and every line for experts."""
    sign = sign_of(certificate.total)
    if not certificate.lines:
        return section("cost", (Text(say("cost.nothing")),))
    words = say("cost.words")
    if sign == "ρ":
        words += say("cost.counted_in_rho")
    return section(
        "cost",
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
    share = 100 * spent[largest] / total if total else 0.0
    meaning = say("cost.largest", sign=sign, total=total, share=share, largest=largest) if total else ""
    return budget_bar(list(spent.items()), title=say("plan.budget"), meaning=meaning, unit=sign)


def noise_chart(lines: Sequence[CostLine]) -> Chart:
    """Return how much noise the counts of each kind of table get."""
    kinds: dict[tuple[str, int | None, float], list[CostLine]] = {}
    for line in lines:
        if line.noise is not None:
            kinds.setdefault((purpose_of(line), line.level, line.noise.sd), []).append(line)
    widest = sorted(kinds, key=lambda kind: -kind[2])[:_MOST_BARS]
    labels = []
    for kind in widest:
        named = list(dict.fromkeys(cross_name(line.columns) for line in kinds[kind] if line.columns))
        many = f"{len(kinds[kind]):,} " * (len(kinds[kind]) > 1)
        level = "" if kind[1] is None else say("cost.noise.level", level=kind[1])
        labels.append((", ".join(named) if 0 < len(named) <= _NAMED else many + kind[0]) + level)
    more = say("cost.noise.more", shown=len(widest), kinds=len(kinds)) if len(widest) < len(kinds) else ""
    return bars(
        labels,
        {"released": [kind[2] for kind in widest]},
        title=say("cost.noise.title"),
        meaning=say("cost.noise.meaning") + more,
        unit="rows",
    )


def _every_line(lines: Sequence[CostLine], sign: str) -> tuple[Text | Table, ...]:
    """Return every line of the certificate, or as many as can be read."""
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
    first = say("cost.first", shown=_MOST_LINES, lines=len(lines))
    every = table("cost.table", shown_lines, numbers=(2, 3, 4, 6, 7), sign=sign)
    return (Text(first), every) if len(lines) > _MOST_LINES else (every,)


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
        parts.append(_statements("accuracy.first", first))
    if further:
        folded.append(_statements("accuracy.further", further[:_MOST_STATED]))
    if accuracy.marginals:
        parts.append(_chart(accuracy.marginals))
        folded.append(_measured(accuracy.marginals))
    if not accuracy.statements and not accuracy.marginals:
        parts.append(Text(say("accuracy.unproved"), is_warning=True))
    return section("accuracy", parts, folded=folded)


def _sorted(statements: Sequence[Statement]) -> tuple[list[Statement], list[Statement]]:
    """Return the statements for everybody, and those for experts: kinds of which there are many."""
    kinds = Counter(each.code for each in statements)
    first = [each for each in statements if kinds[each.code] <= _OF_A_KIND]
    return first[:_FIRST], first[_FIRST:] + [each for each in statements if kinds[each.code] > _OF_A_KIND]


def _words(accuracy: Accuracy) -> str:
    """Say what the section is about."""
    words = say("accuracy.words", worth=accuracy.effective_rows)
    most = accuracy.largest_density
    return words if most is None else words + say("accuracy.density", most=most)


def _statements(key: str, statements: Sequence[Statement]) -> Table:
    """Return statements as a table."""
    lines = tuple(
        (
            sentence(each.text),
            "-" if each.confidence is None else f"{100 * each.confidence:.6g} %",
            say(f"basis.{each.basis}"),
        )
        for each in statements
    )
    return table(key, lines, numbers=(1,))


def _name(each: MarginalAccuracy) -> str:
    return " x ".join(each.columns) or say("accuracy.rows")


def _chart(marginals: Sequence[MarginalAccuracy]) -> Part:
    """Return the bounds of the most uncertain tables."""
    first = marginals[:_DRAWN]
    confidence = f"{100 * first[0].confidence:.6g} %"
    title = "accuracy.chart.most" if len(marginals) > _DRAWN else "accuracy.chart.all"
    return bars(
        [say("accuracy.chart.label", name=_name(each), cells=each.cells) for each in first],
        {"released": [each.variation for each in first]},
        title=say(title, shown=len(first), tables=len(marginals)),
        meaning=say("accuracy.chart.meaning", confidence=confidence),
        unit=say("accuracy.chart.unit"),
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
    more = say("accuracy.more", shown=_MOST_STATED, tables=len(marginals)) if len(marginals) > _MOST_STATED else ""
    return table("accuracy.measured", lines, numbers=range(1, 6), more=more)
