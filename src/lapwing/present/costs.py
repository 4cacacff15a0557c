"""What a budget was or would be spent on, by purpose."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.registered import KINDS
from lapwing.model.certificate.cost_lines import CHOSEN, CostLine
from lapwing.present.document import Table

_WAYS: Final = {
    0: "the number of rows",
    1: "tables of one column",
    2: "tables of two columns",
    3: "tables of three columns",
}


def purpose_of(line: CostLine) -> str:
    """Say in plain words what a line paid for."""
    if line.question == CHOSEN:
        return "tables chosen on the way"
    purpose = KINDS[line.question].purpose if line.question in KINDS else ""
    return purpose or _WAYS.get(len(line.columns), f"tables of {len(line.columns)} columns")


def by_purpose(lines: Sequence[CostLine]) -> dict[str, list[CostLine]]:
    """Return the lines by what they paid for, in the order in which that came up."""
    groups: dict[str, list[CostLine]] = {}
    for line in lines:
        groups.setdefault(purpose_of(line), []).append(line)
    return groups


def cost_summary(costs: Sequence[CostLine], budget: Budget) -> Table:
    """Return one line for each purpose."""
    total, lines = float(budget.amount), []
    for name, own in by_purpose(costs).items():
        cost = amount_spent(own)
        share = cost / total if total else 0.0
        lines.append((name, f"{len(own):,}", f"{cost:.4g}", f"{100 * share:.2f} %", _noise(own)))
    heading = ("spent on", "answers", sign_of(budget), "share", "noise on a count (standard deviation)")
    return Table("The budget, by purpose", heading, tuple(lines), numbers=(1, 2, 3))


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


def sign_of(budget: Budget) -> str:
    """Return the letter in which a budget is counted."""
    return "ε" if budget.notion == "pure" else "ρ"


def amount_of(budget: Budget) -> dict[str, Any]:
    """Return a budget as the figure of a fact."""
    return {"value": float(budget.amount), "unit": sign_of(budget)}


def amount_spent(lines: Sequence[CostLine]) -> float:
    """Return what some lines cost together."""
    return float(sum((line.cost.amount for line in lines), Fraction(0)))
