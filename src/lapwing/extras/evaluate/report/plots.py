"""Charts of a report by themselves: charts of altair, to show in a notebook, to change and to save."""

import contextlib
import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from lapwing.errors import ParameterError
from lapwing.extras.evaluate.metrics.findings import Findings
from lapwing.extras.evaluate.metrics.glance import glance
from lapwing.extras.evaluate.report.charts import altair
from lapwing.extras.evaluate.report.columns import differences_chart
from lapwing.extras.evaluate.report.compared import place_chart
from lapwing.extras.evaluate.report.cost import budget_chart, noise_chart
from lapwing.extras.evaluate.report.page import CONFIG, NOTICE, visible_texts
from lapwing.extras.evaluate.report.pairs import change_map
from lapwing.extras.evaluate.report.released_columns import column_chart, map_chart, released_columns, released_map
from lapwing.extras.evaluate.report.released_pairs import pair_chart
from lapwing.extras.evaluate.words import say
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.questions import Answer
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.cost_lines import CostLine
from lapwing.model.model import ReleasedModel
from lapwing.present.document import Chart
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

_WIDE: Final = 480  # pixels of a chart by itself
_NARROW: Final = 300  # of one among several
_FIRST: Final = 6  # columns that are drawn where none is named
_LETTER: Final = 6.3  # pixels of a letter of a subtitle
_COLOUR: Final = re.compile(r"var\(--([\w-]+)(?:, (#\w+))?\)")
_ON_PAPER: Final = {"ink": "#1b2430", "soft": "#566170", "line": "#c5ced8", "grid": "#e6ebf0"}
"""What the page's style sheet says of colours that have no other value."""
_WORDS: Final = ("values", "text", "subtitle", "description", "domain")
"""Keys of a specification that hold data and words, never a colour."""


def as_altair(charts: Sequence[Chart], *, width: int = _WIDE, across: int = 1, title: str = "") -> Any:  # noqa: ANN401
    """Return charts of a report as one chart of altair, with the look of the report on a light ground.

    across: how many stand beside each other; title: above all of them.
    """
    alt = altair()
    drawn = [alt.Chart.from_dict(_by_itself(each, width)) for each in charts]
    whole = drawn[0] if len(drawn) == 1 and not title else alt.concat(*drawn, columns=across)
    if whole is not drawn[0]:
        whole = whole.resolve_scale(color="independent", shape="independent", yOffset="independent")
    look = {key: value for key, value in CONFIG.items() if key not in ("aria", "autosize")}
    fonts = {"background": "#ffffff", "font": "Liberation Sans,Arial,Helvetica,sans-serif"}
    quiet = {"title": {"anchor": "start", "fontSize": 13, "subtitleColor": "var(--soft)", "subtitleFontSize": 11.5}}
    whole.config = alt.Config.from_dict(_on_paper({**look, **fonts, **quiet}))
    found = whole.properties(title=title) if title else whole
    object.__setattr__(found, "_repr_mimebundle_", partial(_shown, found))  # an attribute would be part of the chart
    return found


def _shown(chart: Any, **_asked: object) -> Any:  # noqa: ANN401 - a chart of altair
    """Return what a notebook shows: a drawing, as altair's own way fetches scripts; unless a renderer was chosen."""
    alt = altair()
    with alt.renderers.enable("svg") if alt.renderers.active == "default" else contextlib.nullcontext():
        return type(chart)._repr_mimebundle_(chart)


def _by_itself(chart: Chart, width: int) -> dict[str, Any]:
    """Return the specification of a chart with its data in it, its words above it, and no colour left to a page."""
    spec = {key: value for key, value in chart.spec.items() if key != "$schema"}
    words = {"subtitle": textwrap.wrap(chart.meaning, int(width / _LETTER))} if chart.meaning else {}
    found = visible_texts(
        {**spec, "width": width, "title": {"text": chart.title, **words}, "description": chart.meaning}
    )
    return dict(_on_paper(found))


def _on_paper(value: Any) -> Any:  # noqa: ANN401 - JSON values
    """Return a specification with colours instead of those that a page would choose."""
    if isinstance(value, dict):
        return {key: each if key in _WORDS else _on_paper(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_on_paper(each) for each in value]
    return (
        _COLOUR.sub(lambda name: name[2] or _ON_PAPER.get(name[1], name[0]), value) if isinstance(value, str) else value
    )


def released_plot(
    model: ReleasedModel,
    schema: Schema,
    certificate: Certificate,
    noisy: Sequence[Answer],
    columns: str | Sequence[str] | None,
) -> Any:  # noqa: ANN401
    """Return what a released model says of one column, of two together, or of the first ones; released numbers only."""
    names = [columns] if isinstance(columns, str) else list(columns or [each.name for each in schema.columns[:_FIRST]])
    if columns is not None and len(names) > 2:
        raise ParameterError(
            f"a plot shows one or two columns, got {len(names)}; make one for each pair, or give none", code="LW304"
        )
    fields = [schema.field(name) for name in names]
    if columns is not None and len(names) == 2:
        return as_altair([_together(model, certificate, fields)])
    found = released_columns(model, schema, noisy, names, certificate.public_rows)
    charts = [column_chart(each) for each in found]
    if len(charts) == 1:
        return as_altair([replace(charts[0], meaning=f"{say('plot.lines')} {charts[0].meaning}")])
    return as_altair(charts, width=_NARROW, across=2, title=say("plot.rows"))


def _together(model: ReleasedModel, certificate: Certificate, fields: Sequence[Field]) -> Chart:
    """Return two columns on one map where both are numbers, or else in a few groups each."""
    is_map = all(field.type in ("integer", "number") and not field.is_categorical for field in fields)
    found = released_map(model, fields) if is_map else None
    return pair_chart(model, certificate, fields) if found is None else map_chart(found)


def planned_plot(lines: Sequence[CostLine], total: Budget) -> Any:  # noqa: ANN401
    """Return where the budget of a plan would go, and how much noise each kind of table would get."""
    charts = [budget_chart(lines, total)] + [noise_chart(lines)] * any(line.noise is not None for line in lines)
    return as_altair(charts)


def compared_plot(found: Findings) -> Any:  # noqa: ANN401
    """Return how far a synthetic table is from the real one: all figures, every column, every pair. Internal."""
    standings = glance(found).standings
    charts = [differences_chart(found)]
    if any(each.place is not None for each in standings):
        words = say("plot.places")
        charts.insert(0, place_chart(standings, title=say("plot.lost"), meaning=words))
    if found.associations is not None:
        charts.append(change_map(found.associations))
    return as_altair(charts, title=NOTICE)
