"""Plots of releases, plans and evaluations: charts of altair with the look of the report."""

import sys
import xml.etree.ElementTree as ET

import altair as alt
import numpy as np
import polars as pl
import pytest
import vl_convert

import lapwing as lw
from helpers.shown_objects import BUDGET, HOSTILE, PLANTED, people, schema_of_people
from lapwing.errors import LapwingError
from lapwing.present.heat_maps import map_heat
from lapwing.present.page import NOTICE
from lapwing.present.plots import as_altair

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


def test_a_plot_of_private_rows_says_so_and_no_other_does(plots):
    for name, chart in plots.items():
        assert (NOTICE in chart.to_json()) == (name == "evaluation"), name


def test_bars_are_the_rows_that_the_model_expects_with_their_intervals(release):
    shown = {each["label"]: each for each in _records(release.plot("flag").to_dict())}

    lines = release.query("flag").rows(named=True)
    for line in (each for each in lines if each["flag"] in shown):
        drawn = shown.pop(line["flag"])
        assert drawn["value"] == pytest.approx(line["count"], abs=1e-6)
        assert (drawn["lower"], drawn["upper"]) == (line["lower"], line["upper"])
    assert shown == {}
    assert len(lines) == 3


def test_shades_are_told_in_plain_numbers():
    words = {"x_title": "a", "y_title": "b", "title": "t", "meaning": "m", "unit": "rows"}

    chart = as_altair([map_heat(np.array([[160.0, 900.0]]), [0, 1, 2], [0, 1], **words)])

    texts = [each.text for each in ET.fromstring(drawn(chart)[0]).iter() if each.text]
    assert {"100", "800"} <= set(texts)


def _records(spec):
    """Return what is drawn of each label and series, wherever it stands in a specification."""
    if isinstance(spec, dict) and "series" in spec:
        return [spec]
    parts = spec.values() if isinstance(spec, dict) else spec if isinstance(spec, list) else ()
    return [each for part in parts for each in _records(part)]


def test_the_noise_of_a_plan_is_that_of_its_lines(plots):
    plan = lw.plan(schema_of_people(), expected_rows=400, **BUDGET)
    deviations = {round(line.noise.sd, 9) for line in plan.lines if line.noise is not None}

    records = _records(plots["plan"].to_dict())
    shown = [each["value"] for each in records]
    assert {round(each, 9) for each in shown} == deviations


def test_plots_beside_each_other_keep_their_own_colours_and_data(release):
    frame = pl.DataFrame({"a": [True, False] * 40, "b": [True] * 80})
    schema = {"fields": [{"name": name, "type": "boolean"} for name in frame.columns]}
    spec = lw.synthesize(frame, schema, epsilon=1, mechanism="Independent", seed=1).plot().to_dict()

    assert len(spec["concat"]) == 2
    assert spec["resolve"]["scale"]["color"] == "independent"


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
