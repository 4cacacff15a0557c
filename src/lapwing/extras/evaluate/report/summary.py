"""The findings of a comparison on one screen of a terminal."""

from collections.abc import Iterable, Sequence
from typing import Final

from lapwing.extras.evaluate.metrics.columns import error_sizes
from lapwing.extras.evaluate.metrics.disclosure.disclosure import Risk
from lapwing.extras.evaluate.metrics.findings import Findings
from lapwing.extras.evaluate.metrics.glance import glance
from lapwing.extras.evaluate.metrics.metric import BOOTSTRAP, INDEPENDENT, SYNTHETIC
from lapwing.extras.evaluate.metrics.panels import PanelErrors
from lapwing.extras.evaluate.metrics.prediction.downstream import Downstream
from lapwing.extras.evaluate.metrics.standing import glance_lines
from lapwing.extras.evaluate.report.tables import panel_lines, weighted_lines
from lapwing.extras.evaluate.words import say
from lapwing.present.document import clip_text
from lapwing.schema.scalars import align_lines, visible

_MOST_LINES: Final = 7
_MOST_GROUPS: Final = 10
_MOST_WEIGHTED: Final = 5
_MOST_COLUMNS: Final = 10
_COLUMN_LINES: Final = ("missing", "special", "mean", "rank", "wasserstein")


def summary_text(found: Findings, *, details: bool) -> str:
    """Return the findings in at most seven lines of text, or all figures, the most important first."""
    seen = glance(found)
    first = [*seen.quality, *(f"- {each}" for each in (*seen.details, *seen.cautions))]
    if not details:
        chief = first if len(first) <= _MOST_LINES else [*first[: _MOST_LINES - 1], say("summary.more")]
        return "\n".join(visible(line) for line in chief)
    parts = ["\n".join(visible(line) for line in first), _tables(found), *_columns(found)]
    if seen.standings:
        parts.append(_table("figures", glance_lines(seen.standings), right=range(1, 5)))
    if found.panel is not None:
        parts += _panel(found.panel)
    if found.weighted is not None:
        lines = weighted_lines(found.weighted, _MOST_WEIGHTED)
        parts.append(_table("weighted", lines, right=range(1, 6), weight=found.weighted.weight))
    parts += [
        *_predictions(found.downstream),
        *_groups(found),
        *_disclosure(found),
        "\n".join(say.listed("summary.explained")),
    ]
    return "\n\n".join(parts)


def _tables(found: Findings) -> str:
    """Return the total variation of the tables with so many columns."""
    lines = [
        (
            say("summary.ways", ways=each.ways),
            say("summary.of", compared=len(each.tables), possible=each.possible),
            *_shown((each.mean, each.maximum, floor.mean, lazy.mean)),
            " x ".join(each.worst(1)[0][0]),
        )
        for each, floor, lazy in zip(*(found.tables[name] for name in (SYNTHETIC, BOOTSTRAP, INDEPENDENT)), strict=True)
    ]
    return _table("tables", lines, right=range(1, 6))


def _columns(found: Findings) -> list[str]:
    """Return how far single columns and their missing cells are from the real ones; nothing where there is nothing."""
    lines = []
    floors = error_sizes(found.columns[BOOTSTRAP])
    for kind, sizes in error_sizes(found.columns[SYNTHETIC]).items():
        if sizes and kind in _COLUMN_LINES:
            values, floor = list(sizes.values()), list(floors[kind].values())
            figures = (sum(values) / len(values), max(values), sum(floor) / max(len(floor), 1))
            worst = max(sizes, key=sizes.__getitem__)
            lines.append((say(f"summary.column.{kind}"), str(len(values)), *_shown(figures), worst))
    for kind, gaps in (("together", found.together), ("given", found.given)):
        if gaps is not None:
            each = gaps[SYNTHETIC]
            figures = (each.mean, each.maximum, gaps[BOOTSTRAP].mean)
            compared = say("summary.of", compared=len(each.tables), possible=each.possible)
            lines.append((say(f"summary.column.{kind}"), compared, *_shown(figures), " x ".join(each.worst(1)[0][0])))
    return [_table("columns", lines, right=range(1, 5))] if lines else []


def _panel(found: PanelErrors) -> list[str]:
    """Return how often rows of one parent agree, and how far what follows what is off, in the first columns."""
    lines = list(panel_lines(found))[:_MOST_COLUMNS]
    return [_table("panel", lines, right=range(1, 7))] if lines else []


def _predictions(found: Downstream | None) -> list[str]:
    """Return how well the target was predicted."""
    if found is None:
        return []
    lines = zip(say.listed("summary.trained"), _shown((found.auc, found.ceiling, found.floor)), strict=True)
    return [_table("prediction", lines, right=[1], target=found.target)]


def _groups(found: Findings) -> list[str]:
    """Return how far single columns are off within the groups that are large enough, the worst group first."""
    if not found.subgroups:
        return []
    told = sorted((each for each in found.subgroups if not each.is_too_small), key=lambda group: -group.variation.value)
    small = len(found.subgroups) - len(told)
    lines = [
        (
            ", ".join(f"{name}={label}" for name, label in zip(group.columns, group.labels, strict=True)),
            str(group.rows),
            str(group.synthetic_rows),
            *_shown((group.variation.value, group.bootstrap.value)),
        )
        for group in told[:_MOST_GROUPS]
    ]
    shown = min(len(told), _MOST_GROUPS)
    counts = say("summary.shown", shown=shown, groups=len(found.subgroups), small=small)
    return [f"{_table('groups', lines, right=range(1, 5))}\n{counts}" if lines else counts]


def _disclosure(found: Findings) -> list[str]:
    """Return the sanity checks of disclosure."""
    if found.disclosure is None or not found.disclosure.risks:
        return []
    lines = [
        (
            risk.title,
            f"{risk.rate:.3f}",
            say("summary.interval", lower=risk.lower, upper=risk.upper),
            *("-" if value is None else f"{value:.3f}" for value in (risk.baseline, risk.control)),
            _excess(risk),
        )
        for risk in found.disclosure.risks
    ]
    return [f"{_table('disclosure', lines, right=range(1, 6))}\n{say('summary.attacks')}"]


def _excess(risk: Risk) -> str:
    """Return what an attack learns about the rows of the release alone."""
    if risk.excess is None or risk.excess_interval is None:
        return "-"
    lower, upper = risk.excess_interval
    return say("summary.excess", excess=risk.excess, lower=lower, upper=upper)


def _table(key: str, lines: Iterable[Sequence[str]], right: Sequence[int], **fields: object) -> str:
    """Return lines under their heading as aligned text, no cell of them very long."""
    cells = [say.listed(f"summary.{key}", **fields), *lines]
    return align_lines([[clip_text(cell, 100) for cell in line] for line in cells], right=right)


def _shown(figures: Sequence[float]) -> list[str]:
    return [f"{figure:.4f}" for figure in figures]
