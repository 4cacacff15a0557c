"""What a release cost: the budget as a picture, and line by line."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from lapwing.judge.report.charts.charts import budget_bar
from lapwing.judge.report.charts.parts import shown
from lapwing.judge.report.page import Section, Table, Text
from lapwing.kernel.plain import at_least
from lapwing.kernel.questions.registered import KINDS
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.cost_lines import CostLine

_MOST_LINES: Final = 300
_WAYS: Final = {
    0: "the number of rows",
    1: "tables of one column",
    2: "tables of two columns",
    3: "tables of three columns",
}


def cost_section(certificate: Certificate) -> Section:
    """Return the section about where the budget went.

    Returns a bar in parts, the figures, and every line for experts.
    """
    sign = "ε" if certificate.total.notion == "pure" else "ρ"
    if not certificate.lines:
        return Section(key="cost", title="What it cost", parts=(Text(words="Nothing was asked about private rows."),))
    groups = _grouped(certificate.lines)
    spent = {name: float(sum((line.cost.amount for line in lines), Fraction(0))) for name, lines in groups.items()}
    total = float(certificate.total.amount)
    largest = max(spent, key=spent.__getitem__)
    meaning = f"Of {sign} = {total:.4g}, {100 * spent[largest] / total:.0f} % went into {largest}." if total else ""
    words = (
        "Privacy is paid for like this: each question about the private rows is answered with noise, and the smaller "
        "the noise, the more of the budget it takes. What is shown here sums exactly to the total."
    )
    if sign == "ρ":
        words += " The total is counted in ρ, which adds up better than ε; the section on privacy says what it means."
    chart = budget_bar(list(spent.items()), title="Where the budget went", meaning=meaning, unit=sign)
    return Section(
        key="cost",
        title="What it cost",
        parts=(Text(words=words), chart, _summary(groups, sign, total)),
        folded=_every_line(certificate.lines, sign),
    )


def _purpose(line: CostLine) -> str:
    """Say in plain words what a line paid for."""
    purpose = KINDS[line.question].purpose if line.question in KINDS else ""
    return purpose or _WAYS.get(len(line.columns), f"tables of {len(line.columns)} columns")


def _grouped(lines: Sequence[CostLine]) -> dict[str, list[CostLine]]:
    """Return the lines by what they paid for, in the order in which that came up."""
    groups: dict[str, list[CostLine]] = {}
    for line in lines:
        groups.setdefault(_purpose(line), []).append(line)
    return groups


def _summary(groups: dict[str, list[CostLine]], sign: str, total: float) -> Table:
    """Return one line for each purpose."""
    lines = []
    for name, own in groups.items():
        cost = float(sum((line.cost.amount for line in own), Fraction(0)))
        share = cost / total if total else 0.0
        lines.append((name, f"{len(own):,}", f"{cost:.4g}", shown(share, is_share=True), _noise(own)))
    heading = ("spent on", "answers", sign, "share", "noise on a count (standard deviation)")
    return Table(caption="The budget, by purpose", heading=heading, lines=tuple(lines), numbers=(1, 2, 3))


def _noise(lines: Sequence[CostLine]) -> str:
    """Return from where to where the noise of some lines goes."""
    if any(line.question == "TableDistances" for line in lines):
        return "in the intervals"
    deviations = [line.noise.sd for line in lines if line.noise is not None]
    if not deviations:
        return "none: protected by a random choice"
    low, high = min(deviations), max(deviations)
    if f"{low:.3g}" == f"{high:.3g}":
        return f"{low:.3g}"
    return f"{low:.3g} to {high:.3g}"


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
        caption="Every answer, in the order in which it was given; noise values are whole numbers (discrete laws)",
        heading=heading,
        lines=shown_lines,
        numbers=(2, 3, 4, 6, 7),
    )
    if len(lines) <= _MOST_LINES:
        return (table,)
    words = f"The first {_MOST_LINES} of {len(lines):,} lines; the certificate has all of them."
    return (Text(words=words), table)
