"""All that a comparison found: as one value, as JSON, and as figures that lie between two references."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final

import numpy as np

from lapwing.extras.evaluate.metrics.associations import Associations
from lapwing.extras.evaluate.metrics.columns import PERCENTS, ColumnErrors
from lapwing.extras.evaluate.metrics.declared import DeclaredFit, WeightedFit, weighted_record
from lapwing.extras.evaluate.metrics.disclosure.disclosure import Disclosure
from lapwing.extras.evaluate.metrics.metric import BOOTSTRAP, INDEPENDENT, SYNTHETIC, Estimate, Metric, MetricResult
from lapwing.extras.evaluate.metrics.moments import MOMENT_BOUND
from lapwing.extras.evaluate.metrics.overlays import Overlays
from lapwing.extras.evaluate.metrics.panels import PanelErrors
from lapwing.extras.evaluate.metrics.prediction.downstream import Downstream
from lapwing.extras.evaluate.metrics.prediction.subgroups import SubgroupAccuracy
from lapwing.extras.evaluate.metrics.tables.variation import Variation
from lapwing.extras.evaluate.metrics.tables.workload import workload_error
from lapwing.model.quality import Quality
from lapwing.version import VERSION


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Findings:
    """Hold all that a comparison found; where the real table is private, so is this.

    quality: on the scale of a release's verdict; tables: total variation of the 1-way, 2-way and 3-way tables, by the
    name of the table compared: ``synthetic``, ``bootstrap`` (as many real rows drawn with replacement: chance alone)
    and ``independent`` (the real rows with every column shuffled by itself: no relation kept); columns: of the first
    two; together, given: missing cells by pairs of columns, None without such a pair; notes: what was left out or looks
    wrong, one sentence each; sampled: most rows of a table that everything but ``tables`` and exact copies is of, None
    where that is all rows; seed: chose tables, rows and pairs, and drew the reference rows; panel: what rows of one
    parent have to do with each other, whose figures are among the metrics. None stands for what was not asked for or
    does not apply.
    """

    quality: Quality
    tables: Mapping[str, tuple[Variation, ...]]
    columns: Mapping[str, tuple[ColumnErrors, ...]]
    together: Mapping[str, Variation] | None
    given: Mapping[str, Variation] | None
    metrics: tuple[MetricResult, ...]
    associations: Associations | None
    downstream: Downstream | None
    subgroups: tuple[SubgroupAccuracy, ...]
    disclosure: Disclosure | None
    overlays: Overlays
    notes: tuple[str, ...]
    rows: int
    synthetic_rows: int
    seed: int
    sampled: int | None = None
    weighted: WeightedFit | None = None
    declared: DeclaredFit | None = None
    panel: PanelErrors | None = None

    @property
    def looked_at(self) -> int:
        """Rows of the real table that most figures are of."""
        return min(self.rows, self.sampled or self.rows)


def findings_record(found: Findings) -> dict[str, Any]:
    """Return findings as plain JSON values: the content of the file that `lapwing evaluate --json` writes."""
    return {
        "lapwing": VERSION,
        "seed": found.seed,
        "rows": {"real": found.rows, "synthetic": found.synthetic_rows, "sampled": found.sampled},
        "notes": list(found.notes),
        "quality": {"score": found.quality.score, "shape": found.quality.shape, "trend": found.quality.trend}
        | plain(found.quality),
        "metrics": [_metric(each) for each in found.metrics],
        "total_variation": {name: [_variation(each) for each in tables] for name, tables in found.tables.items()},
        "columns": {name: [_column(each) for each in columns] for name, columns in found.columns.items()},
        "missing": {"together": _by_table(found.together), "given": _by_table(found.given)},
        "associations": plain(found.associations),
        "downstream": plain(found.downstream),
        "subgroups": plain(found.subgroups),
        "weighted": weighted_record(found.weighted),
        "disclosure": plain(found.disclosure),
        "overlays": plain(found.overlays),
        "declared": plain(found.declared),
        "panel": found.panel and plain({"columns": found.panel.columns, "agreement": found.panel.agreement}),
    }


def plain(value: Any) -> Any:  # noqa: ANN401
    """Return a value as plain JSON: dataclasses as dicts, arrays as lists, numbers that are not finite as None.

    >>> plain({"shares": np.array([0.5, np.nan]), "columns": ("a", "b")})
    {'shares': [0.5, None], 'columns': ['a', 'b']}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    match value:
        case str() | bool() | int() | None:
            return value
        case float():
            return value if np.isfinite(value) else None
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case np.ndarray() | np.generic():
            return plain(value.tolist())
        case Sequence():
            return [plain(each) for each in value]
    return str(value)


def _metric(compared: MetricResult) -> dict[str, Any]:
    told = {name: getattr(compared.metric, name) for name in ("key", "title", "unit", "meaning", "best", "reference")}
    return {**told, "columns": compared.columns, "rows": compared.rows, "values": plain(compared.values)}


def _by_table(found: Mapping[str, Variation] | None) -> dict[str, Any] | None:
    return None if found is None else {name: _variation(each) for name, each in found.items()}


def _variation(variation: Variation) -> dict[str, Any]:
    """Return the figures of the tables with so many columns."""
    return {
        "ways": variation.ways,
        "tables": len(variation.tables),
        "possible": variation.possible,
        "mean": variation.mean,
        "max": variation.maximum,
        "worst": [{"columns": list(columns), "distance": distance} for columns, distance in variation.worst()],
    }


def _column(errors: ColumnErrors) -> dict[str, Any]:
    """Return the errors of a column."""
    record: dict[str, Any] = plain(errors) | {
        "special": [{"value": value, "error": error} for value, error in errors.special]
    }
    if errors.numbers is not None:
        ranks = {str(percent): error for percent, error in zip(PERCENTS, errors.numbers.ranks, strict=True)}
        record["numbers"] |= {"ranks": ranks, "rank": errors.numbers.rank}
    return record


PREDICTION: Final = "downstream"  # key of the prediction of the target
LESSON: Final = 0.05  # AUC by which real rows must beat the majority class for a prediction to have a place


def placed_figures(found: Findings) -> tuple[MetricResult, ...]:
    """Return all figures of a comparison that have those of a resample and of independent columns beside them.

    Tables of one, two and three columns, missing cells, the other metrics but for bounds, then prediction where real
    rows teach anything: there the ceiling stands for the resample and the floor for independent columns.
    """
    metrics = [each for each in found.metrics if each.metric not in MOMENT_BOUND.values()]  # no figures, but bounds
    return (*_variations(found), *_gaps(found), *metrics, *_prediction(found))


def _exact(values: Mapping[str, float]) -> dict[str, Estimate]:
    return {name: Estimate(value=value) for name, value in values.items()}


def _variations(found: Findings) -> list[MetricResult]:
    """Return the mean total variation of the tables with so many columns."""
    compared = []
    for place, tables in enumerate(found.tables[SYNTHETIC]):
        metric = Metric(f"total_variation_{tables.ways}")
        halves = {name: workload_error(each[place]) for name, each in found.tables.items()}
        values = {
            name: Estimate(value=each.value / 2, standard_error=each.standard_error / 2)
            for name, each in halves.items()
        }
        compared.append(MetricResult(metric=metric, values=values, columns=len(found.columns[SYNTHETIC])))
    return compared


def _gaps(found: Findings) -> list[MetricResult]:
    """Return the mean total variation of what is missing together, and where."""
    compared = []
    for key, tables in (("missing_together", found.together), ("missing_given", found.given)):
        if tables is not None:
            metric = Metric(key)
            values = _exact({name: each.mean for name, each in tables.items()})
            columns = len(found.columns[SYNTHETIC])
            compared.append(MetricResult(metric=metric, values=values, rows=found.sampled, columns=columns))
    return compared


def _prediction(found: Findings) -> list[MetricResult]:
    """Return how well the target is predicted: from synthetic rows, from real ones, and by the majority class."""
    area = found.downstream
    if area is None or area.ceiling - area.floor < LESSON:
        return []
    metric = Metric(PREDICTION, best=1.0)
    values = _exact({SYNTHETIC: area.auc, BOOTSTRAP: area.ceiling, INDEPENDENT: area.floor})
    return [MetricResult(metric=metric, values=values, columns=len(found.columns[SYNTHETIC]))]
