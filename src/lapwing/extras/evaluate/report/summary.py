"""The findings of a comparison on one screen of a terminal."""

from collections.abc import Sequence
from typing import Final

from lapwing.extras.evaluate.metrics.columns import error_sizes
from lapwing.extras.evaluate.metrics.disclosure.disclosure import Risk
from lapwing.extras.evaluate.metrics.findings import Findings
from lapwing.extras.evaluate.metrics.glance import glance
from lapwing.extras.evaluate.metrics.metric import BOOTSTRAP, INDEPENDENT, SYNTHETIC
from lapwing.extras.evaluate.metrics.panels import PanelErrors
from lapwing.extras.evaluate.metrics.prediction.downstream import Downstream
from lapwing.extras.evaluate.metrics.standing import glance_table
from lapwing.extras.evaluate.report.tables import panel_lines, weighted_lines
from lapwing.present.document import clipped
from lapwing.schema.scalars import aligned, visible

_EXPLAINED = (
    "mean and max: total variation between the real and the synthetic table, 0 (same shares) to 1 (no cell in common)",
    "bootstrap, resample: the real rows against as many of them drawn with replacement, the sampling floor",
    "independent: the real rows against the same with every column shuffled by itself, the lazy baseline",
    "place: 0 % where a resample is, 100 % where independent columns are",
    "dealt out: the real rows, dealt out to parents at random; transitions: total variation of a row and the next",
    "missing, special: difference in the share of such cells; quantiles: error in rank; sd: real standard deviations",
    "missing together, given: total variation of two columns of which one or both are taken as missing or not",
)
_MOST_GROUPS: Final = 10
_MOST_WEIGHTED: Final = 5
_MOST_COLUMNS: Final = 10
_COLUMN_LINES = {
    "missing": "missing cells",
    "special": "special values",
    "mean": "mean (sd)",
    "rank": "quantiles (rank)",
    "wasserstein": "Wasserstein (sd)",
}


def summary_text(found: Findings) -> str:
    """Return the main figures as some 60 lines of text, the most important first."""
    seen = glance(found)
    first = [seen.headline, *(f"- {each}" for each in (*seen.details, *seen.cautions))]
    parts = ["\n".join(visible(line) for line in first), _tables(found), *_columns(found)]
    if seen.standings:
        parts.append(_table(glance_table(seen.standings), right=[1, 2, 3, 4]))
    if found.panel is not None:
        parts += _panel(found.panel)
    if found.weighted is not None:
        parts.append(_table(weighted_lines(found.weighted, _MOST_WEIGHTED), right=[1, 2, 3, 4, 5]))
    parts += [*_predictions(found.downstream), *_groups(found), *_disclosure(found), "\n".join(_EXPLAINED)]
    return "\n\n".join(parts)


def _tables(found: Findings) -> str:
    """Return the total variation of the tables with so many columns."""
    heading = ("tables", "compared", "mean", "max", "bootstrap", "independent", "worst")
    lines = [
        (
            f"{each.ways}-way",
            f"{len(each.tables)} of {each.possible}",
            *_shown((each.mean, each.maximum, floor.mean, lazy.mean)),
            " x ".join(each.worst(1)[0][0]),
        )
        for each, floor, lazy in zip(*(found.tables[name] for name in (SYNTHETIC, BOOTSTRAP, INDEPENDENT)), strict=True)
    ]
    return _table([heading, *lines], right=[1, 2, 3, 4, 5])


def _columns(found: Findings) -> list[str]:
    """Return how far single columns and their missing cells are from the real ones; nothing where there is nothing."""
    lines = []
    floors = error_sizes(found.columns[BOOTSTRAP])
    for kind, sizes in error_sizes(found.columns[SYNTHETIC]).items():
        if sizes and kind in _COLUMN_LINES:
            values, floor = list(sizes.values()), list(floors[kind].values())
            figures = (sum(values) / len(values), max(values), sum(floor) / max(len(floor), 1))
            lines.append((_COLUMN_LINES[kind], str(len(values)), *_shown(figures), max(sizes, key=sizes.__getitem__)))
    for name, gaps in (("missing together", found.together), ("missing given", found.given)):
        if gaps is not None:
            each = gaps[SYNTHETIC]
            figures = (each.mean, each.maximum, gaps[BOOTSTRAP].mean)
            compared = f"{len(each.tables)} of {each.possible}"
            lines.append((name, compared, *_shown(figures), " x ".join(each.worst(1)[0][0])))
    heading = ("columns", "compared", "mean", "max", "bootstrap", "worst")
    return [_table([heading, *lines], right=[1, 2, 3, 4])] if lines else []


def _panel(found: PanelErrors) -> list[str]:
    """Return how often rows of one parent agree, and how far what follows what is off, in the first columns."""
    lines = list(panel_lines(found))[:_MOST_COLUMNS]
    heading = ("rows of one parent agree in", "real", "synthetic", "dealt out", "transitions", "bootstrap", "dealt out")
    return [_table([heading, *lines], right=[1, 2, 3, 4, 5, 6])] if lines else []


def _predictions(found: Downstream | None) -> list[str]:
    """Return how well the target was predicted."""
    if found is None:
        return []
    trained = (("synthetic rows", found.auc), ("real rows", found.ceiling), ("the majority class", found.floor))
    lines = [(name, f"{value:.4f}") for name, value in trained]
    return [_table([(f"{found.target} predicted from", "test AUC"), *lines], right=[1])]


def _groups(found: Findings) -> list[str]:
    """Return how far single columns are off within the groups that are large enough, the worst group first."""
    if not found.subgroups:
        return []
    told = sorted((each for each in found.subgroups if not each.is_too_small), key=lambda group: -group.variation.value)
    small = len(found.subgroups) - len(told)
    heading = ("group", "real rows", "synthetic rows", "1-way", "bootstrap")
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
    counts = f"{shown} of {len(found.subgroups)} groups, the worst first; {small} are too small to trust"
    return [f"{_table([heading, *lines], right=[1, 2, 3, 4])}\n{counts}" if lines else counts]


def _disclosure(found: Findings) -> list[str]:
    """Return the sanity checks of disclosure."""
    if found.disclosure is None or not found.disclosure.risks:
        return []
    heading = (
        "disclosure: sanity checks, no proof",
        "rate",
        "95 % interval",
        "baseline",
        "control",
        "excess, 95 % interval",
    )
    lines = [
        (
            risk.title,
            f"{risk.rate:.3f}",
            f"{risk.lower:.3f} to {risk.upper:.3f}",
            *("-" if value is None else f"{value:.3f}" for value in (risk.baseline, risk.control)),
            _excess(risk),
        )
        for risk in found.disclosure.risks
    ]
    words = "control: the same attack on the test rows; excess: what it learns about the rows of the release alone"
    return [f"{_table([heading, *lines], right=[1, 2, 3, 4, 5])}\n{words}"]


def _excess(risk: Risk) -> str:
    """Return what an attack learns about the rows of the release alone."""
    if risk.excess is None or risk.excess_interval is None:
        return "-"
    return f"{risk.excess:.3f}, {risk.excess_interval[0]:.3f} to {risk.excess_interval[1]:.3f}"


def _table(lines: Sequence[Sequence[str]], right: Sequence[int]) -> str:
    """Return cells as aligned text, none of them very long."""
    return aligned([[clipped(cell, 100) for cell in line] for line in lines], right=right)


def _shown(figures: Sequence[float]) -> list[str]:
    return [f"{figure:.4f}" for figure in figures]
