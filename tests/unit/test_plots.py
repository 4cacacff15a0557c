"""Plots of releases, plans and evaluations: charts of altair with the look of the report."""

import sys
import xml.etree.ElementTree as ET

import altair as alt
import pytest
import vl_convert

import lapwing as lw
from helpers.shown_objects import BUDGET, HOSTILE, PLANTED, people, schema_of_people
from lapwing.errors import LapwingError

MARKS = {"path", "rect", "line"}


@pytest.fixture(scope="module")
def release():
    return lw.synthesize(people(), schema_of_people(), **BUDGET, seed=1)


@pytest.fixture(scope="module")
def plots(release):
    evaluation = lw.evaluate(people(), release.sample(seed=1), release.schema)
    return {
        "number": release.plot("age"),
        "hostile": release.plot([HOSTILE]),
        "numbers": release.plot(["age", "income"]),
        "pair": release.plot((HOSTILE, "flag")),
        "first": release.plot(),
        "plan": lw.plan(release.schema, expected_rows=400, **BUDGET).plot(),
        "evaluation": evaluation.plot(),
    }


def drawn(chart):
    """Return a chart as SVG, and how many marks it has."""
    svg = vl_convert.vegalite_to_svg(chart.to_json())
    return svg, sum(each.tag.rpartition("}")[2] in MARKS for each in ET.fromstring(svg).iter())


def test_plots_are_charts_that_can_be_drawn_changed_and_saved(plots, tmp_path):
    for name, chart in plots.items():
        assert isinstance(chart, alt.TopLevelMixin), name
        svg, marks = drawn(chart)
        chart.properties(background="#fafafa").save(tmp_path / "plot.png")

        assert marks > 5, name
        assert "var(--" not in svg, name
        assert (tmp_path / "plot.png").stat().st_size > 2000, name


def test_notebooks_show_a_drawing_that_fetches_nothing_unless_a_renderer_is_chosen(plots):
    for name, chart in plots.items():
        shown = chart._repr_mimebundle_(include=None, exclude=None)
        assert list(shown) == ["image/svg+xml"], name
        assert "<script" not in shown["image/svg+xml"], name

    assert alt.renderers.active == "default"
    with alt.renderers.enable("mimetype"):
        assert "vegalite" in next(iter(plots["number"]._repr_mimebundle_()[0]))


def test_a_hostile_name_is_a_text_in_the_drawing(plots):
    svg, _ = drawn(plots["hostile"])

    assert HOSTILE in "".join(ET.fromstring(svg).itertext())
    assert "<script" not in svg


def test_no_private_cell_reaches_a_plot(plots):
    for name, chart in plots.items():
        assert [each for each in PLANTED if each in chart.to_json()] == [], name


@pytest.mark.parametrize(
    ("columns", "error"), [(["age", "income", "flag"], lw.ParameterError), ("nothing", lw.SchemaError)]
)
def test_what_cannot_be_plotted_is_refused(release, columns, error):
    with pytest.raises(error):
        release.plot(columns)


def test_altair_that_is_missing_is_one_sentence(release, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)

    with pytest.raises(LapwingError, match=r"needs altair; run .*\[evaluate\]") as caught:
        release.plot("age")
    assert caught.value.code == "LW701"
