"""The findings of a comparison on one screen of a terminal."""

from collections.abc import Mapping, Sequence

from lapwing.evaluate.columns import error_sizes
from lapwing.evaluate.downstream import Downstream
from lapwing.evaluate.estimates import Estimate
from lapwing.evaluate.findings import Findings
from lapwing.evaluate.metrics import BOOTSTRAP, INDEPENDENT, SYNTHETIC
from lapwing.report.text import aligned

_EXPLAINED = (
    "mean and max: total variation between the real and the synthetic table, 0 (same shares) to 1 (no cell in common)",
    "bootstrap: the real rows against as many of them drawn with replacement, the sampling floor",
    "independent: the real rows against the same with every column shuffled by itself",
    "missing, special: difference in the share of such cells; quantiles: error in rank; sd: real standard deviations",
    "missing together, given: total variation of two columns of which one or both are taken as missing or not",
)
_COLUMN_LINES = {
    "missing": "missing cells",
    "special": "special values",
    "mean": "mean (sd)",
    "rank": "quantiles (rank)",
    "wasserstein": "Wasserstein (sd)",
}


def summary_text(found: Findings) -> str:
    """Return the main figures as aligned text.

    Parameters
    ----------
    found : Findings

    Returns
    -------
    str
        Some 40 lines, without a line break at the end.
    """
    parts = [_tables(found), *_columns(found), *_metrics(found), *_predictions(found.downstream)]
    parts += [*_subgroups(found), *_disclosure(found), "\n".join(_EXPLAINED)]
    return "\n\n".join(parts + [f"note: {note}" for note in found.notes])


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
    return aligned([heading, *lines], right=[1, 2, 3, 4, 5])


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
    return [aligned([heading, *lines], right=[1, 2, 3, 4])] if lines else []


def _metrics(found: Findings) -> list[str]:
    """Return the single figures with those of the reference rows."""
    heading = ("figure", "best", "synthetic", "bootstrap", "independent", "unit")
    lines = [
        (
            each.metric.title,
            f"{each.metric.best:g}",
            *(_estimate(each.values, name) for name in (SYNTHETIC, BOOTSTRAP, INDEPENDENT)),
            each.metric.unit,
        )
        for each in found.metrics
    ]
    return [aligned([heading, *lines], right=[1, 2, 3, 4])] if lines else []


def _estimate(values: Mapping[str, Estimate], name: str) -> str:
    """Return a figure, with its standard error where it is an estimate."""
    if name not in values:
        return "-"
    found = values[name]
    return f"{found.value:.4g}" + (f" +- {found.standard_error:.1g}" if found.standard_error else "")


def _predictions(found: Downstream | None) -> list[str]:
    """Return how well the target was predicted."""
    if found is None:
        return []
    trained = (("synthetic rows", found.auc), ("real rows", found.ceiling), ("the majority class", found.floor))
    lines = [(name, f"{value:.4f}") for name, value in trained]
    return [aligned([(f"{found.target} predicted from", "test AUC"), *lines], right=[1])]


def _subgroups(found: Findings) -> list[str]:
    """Return how far single columns are off within each group, the worst group first."""
    if not found.subgroups:
        return []
    worst = sorted(found.subgroups, key=lambda group: -group.variation.value)[:10]
    heading = ("group", "real rows", "synthetic rows", "1-way", "bootstrap", "")
    lines = [
        (
            ", ".join(f"{name}={label}" for name, label in zip(group.columns, group.labels, strict=True)),
            str(group.rows),
            str(group.synthetic_rows),
            *_shown((group.variation.value, group.bootstrap.value)),
            "too small to trust" if group.is_too_small else "",
        )
        for group in worst
    ]
    return [aligned([heading, *lines], right=[1, 2, 3, 4])]


def _disclosure(found: Findings) -> list[str]:
    """Return the sanity checks of disclosure."""
    if found.disclosure is None or not found.disclosure.risks:
        return []
    heading = ("disclosure, a sanity check", "rate", "95 % interval", "baseline", "holdout")
    lines = [
        (
            risk.title,
            f"{risk.rate:.4f}",
            f"{risk.lower:.4f} to {risk.upper:.4f}",
            *("-" if value is None else f"{value:.4f}" for value in (risk.baseline, risk.control)),
        )
        for risk in found.disclosure.risks
    ]
    return [aligned([heading, *lines], right=[1, 2, 3, 4])]


def _shown(figures: Sequence[float]) -> list[str]:
    return [f"{figure:.4f}" for figure in figures]
