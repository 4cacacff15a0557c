"""The figures of a comparison that are placed between a resample and independent columns, all in one form."""

from collections.abc import Mapping
from typing import Final

from lapwing.judge.dependence.moments import MOMENT_BOUND
from lapwing.judge.findings import Findings
from lapwing.judge.metrics import BOOTSTRAP, INDEPENDENT, SYNTHETIC, Compared, Estimate, Metric
from lapwing.judge.tables.workload import workload_error

PREDICTION: Final = "downstream"
"""Key of the prediction of the target."""

LESSON: Final = 0.05
"""AUC by which real rows must beat the majority class for a prediction to have a place."""


def placed_figures(found: Findings) -> tuple[Compared, ...]:
    """Return all figures of a comparison that have those of a resample and of independent columns beside them.

    Returns mean total variation of the tables of one, two and three columns, missing cells, then the other metrics but
    for bounds, then prediction where real rows teach anything: there the ceiling stands for the resample and the floor
    for independent columns.
    """
    metrics = [each for each in found.metrics if each.metric not in MOMENT_BOUND.values()]  # no figures, but bounds
    return (*_variations(found), *_gaps(found), *metrics, *_prediction(found))


def _exact(values: Mapping[str, float]) -> dict[str, Estimate]:
    return {name: Estimate(value=value, standard_error=0.0) for name, value in values.items()}


def _variations(found: Findings) -> list[Compared]:
    """Return the mean total variation of the tables with so many columns."""
    compared = []
    for place, tables in enumerate(found.tables[SYNTHETIC]):
        count = f"{tables.ways} columns" if tables.ways > 1 else "one column"
        metric = Metric(
            key=f"total_variation_{tables.ways}",
            title=f"Tables of {count}, mean",
            unit="share of rows",
            meaning=f"Mean total variation of the tables of {count}: the share of rows that would have to change for a "
            "table to be the real one, from 0 to 1.",
            best=0.0,
            reference="docs: evaluate, total variation",
        )
        halves = {name: workload_error(each[place]) for name, each in found.tables.items()}
        values = {
            name: Estimate(value=each.value / 2, standard_error=each.standard_error / 2)
            for name, each in halves.items()
        }
        compared.append(Compared(metric=metric, values=values, rows=None, columns=len(found.columns[SYNTHETIC])))
    return compared


def _gaps(found: Findings) -> list[Compared]:
    """Return the mean total variation of what is missing together, and where."""
    compared = []
    kinds = (
        ("missing_together", "Missing together, mean", found.together, "which cells of a row are regular together"),
        ("missing_given", "Missing given a column, mean", found.given, "where on another column cells are missing"),
    )
    for key, title, tables, what in kinds:
        if tables is not None:
            metric = Metric(
                key=key,
                title=title,
                unit="share of rows",
                meaning=f"Mean total variation of {what}, from 0 to 1.",
                best=0.0,
                reference="docs: evaluate, single columns and gaps",
            )
            values = _exact({name: each.mean for name, each in tables.items()})
            compared.append(Compared(metric=metric, values=values, rows=None, columns=len(found.columns[SYNTHETIC])))
    return compared


def _prediction(found: Findings) -> list[Compared]:
    """Return how well the target is predicted: from synthetic rows, from real ones, and by the majority class."""
    area = found.downstream
    if area is None or area.ceiling - area.floor < LESSON:
        return []
    metric = Metric(
        key=PREDICTION,
        title="Prediction of the target, AUC",
        unit="AUC",
        meaning="Area under the ROC curve of a classifier that was trained on synthetic rows and tested on real ones, "
        "from 0.5 (knows nothing) to 1; beside it the same trained on real rows, and the majority class.",
        best=1.0,
        reference="docs: evaluate, prediction",
    )
    values = _exact({SYNTHETIC: area.auc, BOOTSTRAP: area.ceiling, INDEPENDENT: area.floor})
    return [Compared(metric=metric, values=values, rows=None, columns=len(found.columns[SYNTHETIC]))]
