"""The internal report's sections on use: prediction, and groups of rows."""

from typing import Final

from lapwing.judge.findings import Findings
from lapwing.judge.metrics import Estimate
from lapwing.judge.prediction.downstream import Downstream
from lapwing.judge.prediction.subgroups import SubgroupAccuracy
from lapwing.judge.report.compared.charts import dots
from lapwing.judge.report.compared.glance import clipped, counted, percent
from lapwing.judge.report.page import Part, Section, Table, Text

GROUPS: Final = 100
"""Groups in the table, the worst first."""

_FROM_SYNTHETIC: Final = "synthetic"
_FROM_REAL: Final = "real"
_MAJORITY: Final = "majority class"


def prediction_section(found: Findings) -> Section:
    """Return the section *Prediction*: classifiers trained on synthetic rows and tested on real ones."""
    key, title = "prediction", "Prediction"
    area = found.downstream
    if area is None:
        words = (
            "Nothing was predicted. Name a column of 2 to 64 values by the option --target (target=) to see how well "
            "classifiers learn it from synthetic rows."
        )
        return Section(key=key, title=title, parts=(Text(words=words),))
    words = (
        f"How well the other columns predict {clipped(area.target)} in real rows, learned from synthetic rows and from "
        "real ones. The area under the ROC curve (AUC) is 0.5 for a classifier that knows nothing and 1 for one that "
        "is always right. Real rows are the ceiling: the nearer a synthetic dot is to its real one, the better."
    )
    lines = _classifiers(area)
    drawn = [line for line in lines if line[1] is not None or line[2] is not None]
    parts: list[Part] = [Text(words=words)]
    if drawn:
        series: dict[str, list[float | None]] = {
            _FROM_SYNTHETIC: [line[1] for line in drawn],
            _FROM_REAL: [line[2] for line in drawn],
            _MAJORITY: [area.floor for _ in drawn],
        }
        least = min(value for values in series.values() for value in values if value is not None)
        parts.append(
            dots(
                [line[0] for line in drawn],
                series,
                title=f"Classifiers of {clipped(area.target)}",
                meaning=_lost(area, drawn),
                unit="AUC on real test rows",
                ends=(min(0.45, least - 0.02), 1.0),
            )
        )
    parts.append(_classifier_table(area, lines))
    return Section(key=key, title=title, parts=tuple(parts))


def subgroups_section(found: Findings) -> Section:
    """Return the section *Groups*: how far single columns are from the real ones within each group."""
    key, title = "groups", "Groups"
    if not found.subgroups:
        words = "No columns were named by the option --by (by=), so that no groups are compared."
        return Section(key=key, title=title, parts=(Text(words=words),))
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
    parts: list[Part] = [Text(words=words)]
    if small:
        warning = (
            f"{counted(small, 'group')} of {len(order)} {'is' if small == 1 else 'are'} too small to trust: say "
            "nothing about them, in either direction. They stand at the end of the table."
        )
        parts.append(Text(words=warning, is_warning=True))
    return Section(key=key, title=title, parts=(*parts, _group_table(order)))


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
        caption=f"AUC of predictions of {clipped(area.target)}",
        heading=("classifier", "from synthetic rows", "from real rows", "majority class", ""),
        lines=tuple(
            (name, _three(auc), _three(ceiling), _three(area.floor), note) for name, auc, ceiling, note in lines
        ),
        numbers=(1, 2, 3),
    )


def _three(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


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
            _estimated(group.variation),
            percent(group.bootstrap.value),
            _times(group),
            "too small to trust" if group.is_too_small else "",
        )
        for group in order[:GROUPS]
    ]
    left = len(order) - len(lines)
    return Table(
        caption="Groups: rows that differ in a column, on average"
        + (f"; {left} more are in the file" if left else "")
        + ". Coloured: too small to trust",
        heading=("group", "real rows", "synthetic rows", "differ", "resample", "times as far", ""),
        lines=tuple(lines),
        numbers=(1, 2, 3, 4, 5),
        marked=tuple(place for place, group in enumerate(order[:GROUPS]) if group.is_too_small),
    )


def _estimated(found: Estimate) -> str:
    """Return a share with its standard error, where it has one."""
    return percent(found.value) + (f" ± {percent(found.standard_error)}" if found.standard_error else "")


def _times(group: SubgroupAccuracy) -> str:
    """Return how many times as far as a resample of it a group is; nothing of one that is too small."""
    low = group.bootstrap.value
    return "-" if group.is_too_small or low <= 0 else f"{group.variation.value / low:.1f}"
