"""The internal report's section on disclosure: simple attacks, as sanity checks."""

from typing import Final

from lapwing.judge.disclosure.disclosure import Disclosure, Risk
from lapwing.judge.disclosure.nearest_rows import ClosestDistances
from lapwing.judge.findings import Findings
from lapwing.judge.report.charts.charts import interval_dots
from lapwing.judge.report.compared.glance import clipped, percent
from lapwing.judge.report.page import Part, Section, Table, Text

_NO_HOLDOUT: Final = (
    " No rows were held out: the option --test FILE (test=) tells what an attack learns about rows of the release from "
    "what it learns about anybody."
)


def disclosure_section(found: Findings) -> Section:
    """Return the section *Disclosure*: attacks, as sanity checks."""
    key, title = "disclosure", "Disclosure: sanity checks"
    words = (
        "Simple attacks on the synthetic table. This is a sanity check, not a proof: an attack that fails here "
        "may succeed in better hands. Only the privacy guarantee of the release speaks about all attacks."
    )
    seen = found.disclosure
    if seen is None or not seen.risks:
        notes = () if seen is None else seen.notes
        none = Text(words="No attack could be tried on these tables: too few rows or columns.", points=notes)
        return Section(key=key, title=title, parts=(Text(words=words), none))
    meanings = tuple(f"{clipped(risk.title)}: {risk.meaning}" for risk in seen.risks)
    return Section(
        key=key,
        title=title,
        parts=(Text(words=words, is_warning=True), *_risks(seen)),
        folded=(Text(words="What the attacks do:", points=meanings),),
    )


def _risks(seen: Disclosure) -> list[Part]:
    """Return the attacks as a chart, a table and their meaning."""
    risks = seen.risks
    marks = {"without the synthetic rows": [risk.baseline for risk in risks]}
    if any(risk.control is not None for risk in risks):
        marks["held-out rows"] = [risk.control for risk in risks]
    chart = interval_dots(
        [risk.title for risk in risks],
        [risk.rate for risk in risks],
        [risk.lower for risk in risks],
        [risk.upper for risk in risks],
        title="How often attacks succeed, with 95 % intervals",
        meaning=_alarm(risks),
        unit="share of attacks",
        marks=marks,
        is_share=True,
    )
    lines = tuple(
        (
            risk.title,
            f"{risk.attacks:,}",
            percent(risk.rate, 2),
            f"{percent(risk.lower, 2)} to {percent(risk.upper, 2)}",
            percent(risk.baseline, 2),
            *((percent(risk.control, 2), _excess(risk)) if seen.has_holdout else ()),
        )
        for risk in risks
    )
    heading: tuple[str, ...] = ("attack", "attempts", "succeed", "95 % interval", "without the synthetic rows")
    if seen.has_holdout:
        heading = (*heading, "on held-out rows", "learned beyond them, 95 % interval")
    held = "" if seen.has_holdout else _NO_HOLDOUT
    parts: list[Part] = [chart]
    parts.append(
        Table(
            caption="Attacks: a sanity check, not a proof. Coloured: a reason to look closer",
            heading=heading,
            lines=lines,
            numbers=tuple(range(1, len(heading))),
            marked=tuple(place for place, risk in enumerate(risks) if _is_alarming(risk)),
        )
    )
    if seen.distances.holdout is not None:
        parts.append(_closest(seen.distances))
    return [*parts, Text(words=f"{seen.rows:,} real rows took part.{held}", points=seen.notes)]


def _excess(risk: Risk) -> str:
    """Return what an attack learns about rows of the release alone, with its interval."""
    if risk.excess is None or risk.excess_interval is None:
        return percent(risk.excess, 2)
    lower, upper = risk.excess_interval
    return f"{percent(risk.excess)} ({percent(lower)} to {percent(upper)})"


def _closest(found: ClosestDistances) -> Table:
    """Return how far synthetic rows are from the closest real ones, and from held-out ones."""
    holdout = found.holdout or (None,) * len(found.percents)
    lines = [
        (f"{share} %", f"{real:.4f}", "-" if other is None else f"{other:.4f}")
        for share, real, other in zip(found.percents, found.real, holdout, strict=True)
    ]
    return Table(
        caption="Distance to the closest row, mean over the columns, 0 to 1: so many of the synthetic rows are at "
        "most so far from a real row, and from a held-out one; smaller on the left is closer than to people who were "
        "not in it",
        heading=("synthetic rows", "from a real row", "from a held-out row"),
        lines=tuple(lines),
        numbers=(0, 1, 2),
    )


def _is_alarming(risk: Risk) -> bool:
    """Return whether an attack clearly succeeds more often than it should.

    Without held-out rows only exact copies can be judged: that guesses beat those without the synthetic rows says that
    columns are related, which is what a synthetic table is for.
    """
    if risk.control is not None:
        interval = risk.control_interval
        return risk.lower > (risk.control if interval is None else interval[1])
    return risk.key == "exact_copies" and _beats_baseline(risk)


def _beats_baseline(risk: Risk) -> bool:
    """Return whether an attack clearly succeeds more often than without the synthetic rows' relations."""
    if risk.baseline is None:
        return False
    return risk.lower > (risk.baseline if risk.baseline_interval is None else risk.baseline_interval[1])


def _alarm(risks: tuple[Risk, ...]) -> str:
    """Return the sentence about which attacks stand out."""
    loud = [clipped(risk.title) for risk in risks if _is_alarming(risk)]
    if loud:
        return f"A reason to look closer, more often than on rows that were not used: {'; '.join(loud)}."
    above = [risk for risk in risks if _beats_baseline(risk)]
    if above and all(risk.control is None for risk in risks):
        return (
            f"{len(above)} of {len(risks)} succeed more often than without the synthetic rows; whether they learn "
            "about these people or about anybody, only held-out rows tell."
        )
    return f"None of {len(risks)} attacks stands out; that is a sanity check, not a proof."
