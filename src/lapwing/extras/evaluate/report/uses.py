"""The internal report's sections on use and misuse: prediction, groups of rows, and attacks as sanity checks."""

from typing import Final

from lapwing.extras.evaluate.metrics.disclosure.disclosure import Disclosure, Risk
from lapwing.extras.evaluate.metrics.disclosure.nearest_rows import ClosestDistances
from lapwing.extras.evaluate.metrics.findings import Findings
from lapwing.extras.evaluate.metrics.prediction.downstream import Downstream
from lapwing.extras.evaluate.metrics.prediction.subgroups import SubgroupAccuracy
from lapwing.extras.evaluate.report.charts import interval_dots
from lapwing.extras.evaluate.report.parts import section, table
from lapwing.extras.evaluate.words import say
from lapwing.present.document import Part, Section, Table, Text, clip_text, count_text, percent

GROUPS: Final = 100  # groups in the table, the worst first


def prediction_section(found: Findings) -> Section:
    """Return the section *Prediction*: classifiers trained on synthetic rows and tested on real ones."""
    area = found.downstream
    if area is None:
        return section("prediction", (Text(say("prediction.none")),))
    lines = _classifiers(area)
    drawn = [line for line in lines if line[1] is not None or line[2] is not None]
    parts: list[Part] = [Text(say("prediction.words", target=clip_text(area.target)))]
    if drawn:
        own, ceilings = [line[1] for line in drawn], [line[2] for line in drawn]
        least = min(value for value in (area.floor, *own, *ceilings) if value is not None)
        parts.append(
            interval_dots(
                [line[0] for line in drawn],
                own,
                title=say("prediction.chart", target=clip_text(area.target)),
                meaning=_lost(area, drawn),
                unit=say("prediction.unit"),
                marks={"real": ceilings, say("prediction.majority"): [area.floor for _ in drawn]},
                ends=(min(0.45, least - 0.02), 1.0),
            )
        )
    return section("prediction", (*parts, _classifier_table(area, lines)))


def subgroups_section(found: Findings) -> Section:
    """Return the section *Groups*: how far single columns are from the real ones within each group."""
    if not found.subgroups:
        return section("groups", (Text(say("groups.none")),))
    order = sorted(found.subgroups, key=lambda group: (group.is_too_small, -group.variation.value))
    small = sum(group.is_too_small for group in order)
    large = len(order) - small
    words = say("groups.words")
    if large:
        worst = order[0]
        words += say(
            "groups.worst",
            groups=count_text(large, "group"),
            worst=_group(worst),
            differ=percent(worst.variation.value),
            resample=percent(worst.bootstrap.value),
        )
    parts: list[Part] = [Text(words)]
    if small:
        key = "groups.small_1" if small == 1 else "groups.small"
        parts.append(Text(say(key, small=small, groups=len(order)), is_warning=True))
    return section("groups", (*parts, _group_table(order)))


def _classifiers(area: Downstream) -> list[tuple[str, float | None, float | None, str]]:
    """Return name, AUC from synthetic rows, AUC from real rows and note of every classifier."""
    if not area.scores:
        return [(say("prediction.boosting"), area.auc, area.ceiling, "")]
    return [(each.name, each.auc, each.ceiling, each.note) for each in area.scores]


def _lost(area: Downstream, lines: list[tuple[str, float | None, float | None, str]]) -> str:
    """Return the sentence about what was lost."""
    text = say("prediction.main", auc=area.auc, ceiling=area.ceiling)
    both = [(name, auc, ceiling) for name, auc, ceiling, _ in lines if auc is not None and ceiling is not None]
    losses = [ceiling - auc for _, auc, ceiling in both]
    if len(both) > 1:
        name = both[losses.index(max(losses))][0]
        mean = sum(losses) / len(losses)
        text += say("prediction.losses", count=len(both), mean=mean, most=max(losses), name=name)
    if area.ceiling - area.floor < 0.05:
        text += say("prediction.little")
    return f"{text}."


def _classifier_table(area: Downstream, lines: list[tuple[str, float | None, float | None, str]]) -> Table:
    return table(
        "prediction.table",
        (
            (name, *("-" if each is None else f"{each:.3f}" for each in (auc, ceiling, area.floor)), note)
            for name, auc, ceiling, note in lines
        ),
        numbers=(1, 2, 3),
        target=clip_text(area.target),
    )


def _group(group: SubgroupAccuracy) -> str:
    """Return the name of a group."""
    pairs = zip(group.columns, group.labels, strict=True)
    return ", ".join(f"{clip_text(name, 24)} = {clip_text(label, 24)}" for name, label in pairs)


def _group_table(order: list[SubgroupAccuracy]) -> Table:
    """Return the groups, the worst first, those that are too small last."""
    lines = [
        (
            _group(group),
            f"{group.rows:,}",
            f"{group.synthetic_rows:,}",
            percent(group.variation.value)
            + (
                say("groups.error", error=percent(group.variation.standard_error))
                if group.variation.standard_error
                else ""
            ),
            percent(group.bootstrap.value),
            _times(group),
            say("groups.too_small") if group.is_too_small else "",
        )
        for group in order[:GROUPS]
    ]
    left = len(order) - len(lines)
    return table(
        "groups.table",
        lines,
        numbers=range(1, 6),
        marked=(place for place, group in enumerate(order[:GROUPS]) if group.is_too_small),
        left=say("groups.left", left=left) if left else "",
    )


def _times(group: SubgroupAccuracy) -> str:
    """Return how many times as far as a resample of it a group is; nothing of one that is too small."""
    low = group.bootstrap.value
    return "-" if group.is_too_small or low <= 0 else f"{group.variation.value / low:.1f}"


def disclosure_section(found: Findings) -> Section:
    """Return the section *Disclosure*: attacks, as sanity checks."""
    seen = found.disclosure
    if seen is None or not seen.risks:
        none = Text(say("attacks.none"), points=() if seen is None else seen.notes)
        return section("disclosure", (Text(say("attacks.words")), none))
    meanings = tuple(f"{clip_text(risk.title)}: {risk.meaning}" for risk in seen.risks)
    words = Text(say("attacks.words"), is_warning=True)
    return section("disclosure", (words, *_risks(seen)), folded=(Text(say("attacks.meanings"), points=meanings),))


def _risks(seen: Disclosure) -> list[Part]:
    """Return the attacks as a chart, a table and their meaning."""
    risks = seen.risks
    marks = {say("attacks.without"): [risk.baseline for risk in risks]}
    if any(risk.control is not None for risk in risks):
        marks[say("attacks.held_out")] = [risk.control for risk in risks]
    chart = interval_dots(
        [risk.title for risk in risks],
        [risk.rate for risk in risks],
        ([risk.lower for risk in risks], [risk.upper for risk in risks]),
        title=say("attacks.chart"),
        meaning=_alarm(risks),
        unit=say("attacks.unit"),
        marks=marks,
        is_share=True,
    )
    lines = tuple(
        (
            risk.title,
            f"{risk.attacks:,}",
            percent(risk.rate, 2),
            say("attacks.interval", lower=percent(risk.lower, 2), upper=percent(risk.upper, 2)),
            percent(risk.baseline, 2),
            *((percent(risk.control, 2), _excess(risk)) if seen.has_holdout else ()),
        )
        for risk in risks
    )
    key = "attacks.beside" if seen.has_holdout else "attacks.alone"
    alarming = [place for place, risk in enumerate(risks) if _is_alarming(risk)]
    figures = table(key, lines, numbers=range(1, len(lines[0])), marked=alarming)
    parts: list[Part] = [*_singled(risks), chart, figures]
    if seen.distances.holdout is not None:
        parts.append(_closest(seen.distances))
    return [
        *parts,
        Text(say("attacks.rows" if seen.has_holdout else "attacks.rows_alone", rows=seen.rows), points=seen.notes),
    ]


_SINGLED: Final = "singling_out"


def _singled(risks: tuple[Risk, ...]) -> list[Part]:
    """Say what singling out means beside what strangers would show, in a sentence for each kind."""
    points = []
    for risk in risks:
        if risk.key.startswith(_SINGLED) and risk.baseline is not None:
            key = "attacks.singled" if _beats_baseline(risk) else "attacks.singled_by_chance"
            points.append(say(key, title=risk.title, rate=percent(risk.rate), baseline=percent(risk.baseline)))
    return [Text(say("attacks.strangers"), points=tuple(points))] if points else []


def _excess(risk: Risk) -> str:
    """Return what an attack learns about rows of the release alone, with its interval."""
    if risk.excess is None or risk.excess_interval is None:
        return percent(risk.excess, 2)
    lower, upper = risk.excess_interval
    return say("attacks.excess", excess=percent(risk.excess), lower=percent(lower), upper=percent(upper))


def _closest(found: ClosestDistances) -> Table:
    """Return how far synthetic rows are from the closest real ones, and from held-out ones."""
    holdout = found.holdout or (None,) * len(found.percents)
    lines = [
        (f"{share} %", f"{real:.4f}", "-" if other is None else f"{other:.4f}")
        for share, real, other in zip(found.percents, found.real, holdout, strict=True)
    ]
    return table("attacks.closest", lines, numbers=range(3))


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
    loud = [clip_text(risk.title) for risk in risks if _is_alarming(risk)]
    if loud:
        return say("attacks.loud", attacks="; ".join(loud))
    above = [risk for risk in risks if _beats_baseline(risk)]
    if above and all(risk.control is None for risk in risks):
        return say("attacks.above", above=len(above), attacks=len(risks))
    return say("attacks.quiet", attacks=len(risks))
