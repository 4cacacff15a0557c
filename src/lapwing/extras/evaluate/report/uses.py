"""The internal report's sections on use and misuse: prediction, groups of rows, and attacks as sanity checks."""

from typing import Final

from lapwing.extras.evaluate.metrics.disclosure.disclosure import Disclosure, Risk
from lapwing.extras.evaluate.metrics.disclosure.nearest_rows import ClosestDistances
from lapwing.extras.evaluate.metrics.findings import Findings
from lapwing.extras.evaluate.metrics.prediction.downstream import Downstream
from lapwing.extras.evaluate.metrics.prediction.subgroups import SubgroupAccuracy
from lapwing.extras.evaluate.report.charts import interval_dots
from lapwing.present.document import Part, Section, Table, Text, clipped, counted, percent

GROUPS: Final = 100  # groups in the table, the worst first


def prediction_section(found: Findings) -> Section:
    """Return the section *Prediction*: classifiers trained on synthetic rows and tested on real ones."""
    key, title = "prediction", "Prediction"
    area = found.downstream
    if area is None:
        words = (
            "Nothing was predicted. Name a column of 2 to 64 values by the option --target (target=) to see how well "
            "classifiers learn it from synthetic rows."
        )
        return Section(key, title, (Text(words),))
    words = (
        f"How well the other columns predict {clipped(area.target)} in real rows, learned from synthetic rows and from "
        "real ones. The area under the ROC curve (AUC) is 0.5 for a classifier that knows nothing and 1 for one that "
        "is always right. Real rows are the ceiling: the nearer a synthetic dot is to its real one, the better."
    )
    lines = _classifiers(area)
    drawn = [line for line in lines if line[1] is not None or line[2] is not None]
    parts: list[Part] = [Text(words)]
    if drawn:
        own, ceilings = [line[1] for line in drawn], [line[2] for line in drawn]
        least = min(value for value in (area.floor, *own, *ceilings) if value is not None)
        parts.append(
            interval_dots(
                [line[0] for line in drawn],
                own,
                title=f"Classifiers of {clipped(area.target)}",
                meaning=_lost(area, drawn),
                unit="AUC on real test rows",
                marks={"real": ceilings, "majority class": [area.floor for _ in drawn]},
                ends=(min(0.45, least - 0.02), 1.0),
            )
        )
    parts.append(_classifier_table(area, lines))
    return Section(key, title, tuple(parts))


def subgroups_section(found: Findings) -> Section:
    """Return the section *Groups*: how far single columns are from the real ones within each group."""
    key, title = "groups", "Groups"
    if not found.subgroups:
        words = "No columns were named by the option --by (by=), so that no groups are compared."
        return Section(key, title, (Text(words),))
    order = sorted(found.subgroups, key=lambda group: (group.is_too_small, -group.variation.value))
    small = sum(group.is_too_small for group in order)
    large = len(order) - small
    words = (
        "How far the other columns' shares are from the real ones within each group, on average: the share of the "
        "group's rows that would have to change. A resample of the group is never at 0 either."
    )
    if large:
        worst = order[0]
        words += (
            f" Of {counted(large, 'group')} large enough to judge, {_group(worst)} is farthest: "
            f"{percent(worst.variation.value)}, a resample {percent(worst.bootstrap.value)}."
        )
    parts: list[Part] = [Text(words)]
    if small:
        warning = (
            f"{counted(small, 'group')} of {len(order)} {'is' if small == 1 else 'are'} too small to trust: say "
            "nothing about them, in either direction. They stand at the end of the table."
        )
        parts.append(Text(warning, is_warning=True))
    return Section(key, title, (*parts, _group_table(order)))


def _classifiers(area: Downstream) -> list[tuple[str, float | None, float | None, str]]:
    """Return name, AUC from synthetic rows, AUC from real rows and note of every classifier."""
    if not area.scores:
        return [("histogram gradient boosting", area.auc, area.ceiling, "")]
    return [(each.name, each.auc, each.ceiling, each.note) for each in area.scores]


def _lost(area: Downstream, lines: list[tuple[str, float | None, float | None, str]]) -> str:
    """Return the sentence about what was lost."""
    figures = f"{area.auc:.3f} from synthetic rows and {area.ceiling:.3f} from real ones"
    text = f"The main classifier, histogram gradient boosting, reaches {figures}"
    both = [(name, auc, ceiling) for name, auc, ceiling, _ in lines if auc is not None and ceiling is not None]
    losses = [ceiling - auc for _, auc, ceiling in both]
    if len(both) > 1:
        name = both[losses.index(max(losses))][0]
        mean = sum(losses) / len(losses)
        text += f"; over {len(both)} classifiers the mean loss is {mean:.3f}, the largest {max(losses):.3f} ({name})"
    if area.ceiling - area.floor < 0.05:
        text += "; real rows predict hardly better than chance, so that this says little"
    return f"{text}."


def _classifier_table(area: Downstream, lines: list[tuple[str, float | None, float | None, str]]) -> Table:
    return Table(
        f"AUC of predictions of {clipped(area.target)}",
        ("classifier", "from synthetic rows", "from real rows", "majority class", ""),
        tuple(
            (name, *("-" if each is None else f"{each:.3f}" for each in (auc, ceiling, area.floor)), note)
            for name, auc, ceiling, note in lines
        ),
        numbers=(1, 2, 3),
    )


def _group(group: SubgroupAccuracy) -> str:
    """Return the name of a group."""
    pairs = zip(group.columns, group.labels, strict=True)
    return ", ".join(f"{clipped(name, 24)} = {clipped(label, 24)}" for name, label in pairs)


def _group_table(order: list[SubgroupAccuracy]) -> Table:
    """Return the groups, the worst first, those that are too small last."""
    lines = [
        (
            _group(group),
            f"{group.rows:,}",
            f"{group.synthetic_rows:,}",
            percent(group.variation.value)
            + (f" ± {percent(group.variation.standard_error)}" if group.variation.standard_error else ""),
            percent(group.bootstrap.value),
            _times(group),
            "too small to trust" if group.is_too_small else "",
        )
        for group in order[:GROUPS]
    ]
    left = len(order) - len(lines)
    return Table(
        "Groups: rows that differ in a column, on average"
        + (f"; {left} more are in the file" if left else "")
        + ". Coloured: too small to trust",
        ("group", "real rows", "synthetic rows", "differ", "resample", "times as far", ""),
        tuple(lines),
        numbers=(1, 2, 3, 4, 5),
        marked=tuple(place for place, group in enumerate(order[:GROUPS]) if group.is_too_small),
    )


def _times(group: SubgroupAccuracy) -> str:
    """Return how many times as far as a resample of it a group is; nothing of one that is too small."""
    low = group.bootstrap.value
    return "-" if group.is_too_small or low <= 0 else f"{group.variation.value / low:.1f}"


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
        none = Text("No attack could be tried on these tables: too few rows or columns.", points=notes)
        return Section(key, title, (Text(words), none))
    meanings = tuple(f"{clipped(risk.title)}: {risk.meaning}" for risk in seen.risks)
    return Section(
        key,
        title,
        (Text(words, is_warning=True), *_risks(seen)),
        folded=(Text("What the attacks do:", points=meanings),),
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
        ([risk.lower for risk in risks], [risk.upper for risk in risks]),
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
    parts: list[Part] = [*_singled(risks), chart]
    parts.append(
        Table(
            "Attacks: a sanity check, not a proof. Coloured: a reason to look closer",
            heading,
            lines,
            numbers=tuple(range(1, len(heading))),
            marked=tuple(place for place, risk in enumerate(risks) if _is_alarming(risk)),
        )
    )
    if seen.distances.holdout is not None:
        parts.append(_closest(seen.distances))
    return [*parts, Text(f"{seen.rows:,} real rows took part.{held}", points=seen.notes)]


_SINGLED: Final = "singling_out"


def _singled(risks: tuple[Risk, ...]) -> list[Part]:
    """Say what singling out means beside what strangers would show, in a sentence for each kind."""
    points = []
    for risk in risks:
        if risk.key.startswith(_SINGLED) and risk.baseline is not None:
            more = "more often than strangers' rows do" if _beats_baseline(risk) else "no more often than chance"
            points.append(
                f"{risk.title}: {percent(risk.rate)} of the descriptions that fit one synthetic row fit exactly one "
                f"real person, and so do {percent(risk.baseline)} of those that fit one row of a table of strangers: "
                f"the synthetic rows point at people {more}."
            )
    words = "A description may fit one person by chance. Strangers' rows tell how often:"
    return [Text(words, points=tuple(points))] if points else []


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
        "Distance to the closest row, mean over the columns, 0 to 1: so many of the synthetic rows are at "
        "most so far from a real row, and from a held-out one; smaller on the left is closer than to people who were "
        "not in it",
        ("synthetic rows", "from a real row", "from a held-out row"),
        tuple(lines),
        numbers=(0, 1, 2),
    )


def _is_alarming(risk: Risk) -> bool:
    """Return whether an attack clearly succeeds more often than it should.

    Without held-out rows guesses cannot be judged: that they beat those without the synthetic rows says that columns
    are related, which is what a synthetic table is for.
    """
    if (risk.key == "exact_copies" or risk.key.startswith(_SINGLED)) and _beats_baseline(risk):
        return True
    if risk.control is not None:
        interval = risk.control_interval
        return risk.lower > (risk.control if interval is None else interval[1])
    return False


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
