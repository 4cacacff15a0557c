import json
import sys

import numpy as np
import pytest

from lapwing.errors import LapwingError
from lapwing.extras.evaluate.report.charts import bars, budget_bar, histogram, interval_dots
from lapwing.extras.evaluate.report.heat_maps import heat_map, map_heat

WORDS = {"title": "title", "meaning": "meaning", "unit": "rows"}
LONG = "x" * 500
MATRIX = np.array([[1.0, np.nan], [0.25, -0.5]])

CHARTS = {
    "bars": lambda: bars(["a", "a", LONG], {"real": [1, None, float("nan")], "guess": [1, 2, 3]}, **WORDS),
    "bars with intervals": lambda: bars(
        ["a", "b"], {"real": [1, 2]}, intervals={"real": ([0, None], [2, None])}, **WORDS
    ),
    "no bars": lambda: bars([], {"real": []}, **WORDS),
    "histogram": lambda: histogram(["0-1", "2-3"], ["0", "2"], {"real": [0.5, 0.5], "synthetic": [1.0, 0.0]}, **WORDS),
    "histogram with intervals": lambda: histogram(
        ["0"], ["0"], {"released": [5]}, is_share=False, intervals={"released": ([1], [9])}, **WORDS
    ),
    "interval dots": lambda: interval_dots(
        ["a", "b"], [0.1, None], ([0.0, None], [0.2, None]), marks={"bootstrap": [0.05, 0.1]}, **WORDS
    ),
    "dots": lambda: interval_dots(["a"], [0.7], marks={"real": [0.8]}, ends=(0.4, 1.0), **WORDS),
    "budget bar": lambda: budget_bar([("tables", 0.75), ("choices", 0.25)], **WORDS),
    "budget of nothing": lambda: budget_bar([("tables", 0.0)], **WORDS),
    "heat map": lambda: heat_map(MATRIX, ["a", "b"], ["a", "a"], **WORDS),
    "differences": lambda: heat_map(MATRIX, ["a", "b"], ["c", "d"], domain=(-1, 1), both_ways=True, **WORDS),
    "map": lambda: map_heat(MATRIX, [0, 1, 2], [5, 6, 7], x_title="x", y_title="y", **WORDS),
    "empty map": lambda: map_heat(np.zeros((1, 1)), [0, 1], [0, 1], x_title="x", y_title="y", **WORDS),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_is_plain_json_that_vega_lite_knows_and_the_same_each_time(name):
    import altair

    chart = CHARTS[name]()

    text = json.dumps(dict(chart.spec), allow_nan=False)
    altair.Chart.from_dict(json.loads(text))  # checks it against the schema of Vega-Lite
    assert json.dumps(dict(CHARTS[name]().spec)) == text
    assert chart.figures is not None
    assert all(len(line) == len(chart.figures.heading) for line in chart.figures.lines)
    assert name.startswith("budget") or '"title": "rows"' in text
    # Names of columns are data, never names of fields.
    assert LONG not in json.dumps({key: value for key, value in chart.spec.items() if key != "data"})


def test_a_series_has_the_same_colour_in_all_charts():
    def colours(chart):
        found = chart.spec["layer"][0]["encoding"]["color"]["scale"]
        return dict(zip(found["domain"], found["range"], strict=True))

    both = colours(bars(["a"], {"real": [1], "synthetic": [1]}, **WORDS))
    swapped = colours(histogram(["a"], ["a"], {"synthetic": [1], "real": [1]}, **WORDS))

    assert both == swapped
    assert both["real"] != both["synthetic"]


def test_figures_hold_what_is_drawn_and_a_dash_where_there_is_nothing():
    chart = bars(
        ["a", "b"], {"real": [0.25, None]}, is_share=True, intervals={"real": ([0.2, None], [0.3, None])}, **WORDS
    )

    assert chart.figures.heading == ("", "real", "lower", "upper")
    assert chart.figures.lines == (("a", "25.00 %", "20.00 %", "30.00 %"), ("b", "-", "-", "-"))


def test_the_figures_of_a_large_matrix_are_its_largest():
    matrix = np.arange(-400.0, 500.0).reshape(30, 30)

    lines = heat_map(matrix, [f"r{i}" for i in range(30)], [f"c{i}" for i in range(30)], **WORDS).figures.lines

    assert len(lines) == 50
    assert lines[0] == ("r29", "c29", "499")


def test_altair_that_is_missing_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)

    with pytest.raises(LapwingError, match=r'(?m)^a report needs altair; run .*pip install .*\[evaluate\]"$'):
        bars(["a"], {"real": [1]}, **WORDS)


def test_labels_that_javascript_finds_in_every_object_are_told_apart_from_its_members() -> None:
    names = ["constructor", "__proto__", "toString", "sex"]

    found = heat_map(np.eye(4), names, names, title="t", meaning="m", unit="u").spec

    assert found["encoding"]["x"]["scale"]["domain"] == [*(f"{name}\u200b" for name in names[:3]), "sex"]
