"""An evaluation as one chart."""

from typing import Any

from lapwing.extras.evaluate.metrics.findings import Findings
from lapwing.extras.evaluate.metrics.glance import glance
from lapwing.extras.evaluate.report.columns import differences_chart
from lapwing.extras.evaluate.report.compared import place_chart
from lapwing.extras.evaluate.report.pairs import change_map
from lapwing.present.page import NOTICE
from lapwing.present.plots import as_altair


def compared_plot(found: Findings) -> Any:  # noqa: ANN401
    """Return how far a synthetic table is from the real one: all figures, every column, every pair. Internal."""
    standings = glance(found).standings
    charts = [differences_chart(found)]
    if any(each.place is not None for each in standings):
        words = "0 %: as near as a resample of the real rows; 100 %: as far as columns without any relation."
        charts.insert(0, place_chart(standings, title="How much of the dependence is lost", meaning=words))
    if found.associations is not None:
        charts.append(change_map(found.associations))
    return as_altair(charts, title=NOTICE)
