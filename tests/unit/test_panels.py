import html

import numpy as np
import polars as pl
import pytest

from helpers.findings import findings
from lapwing.errors import DataError, ParameterError
from lapwing.extras.evaluate.internal.panels import compare_panel_tables
from lapwing.extras.evaluate.metrics.glance import glance
from lapwing.extras.evaluate.metrics.metric import BOOTSTRAP, INDEPENDENT, SYNTHETIC
from lapwing.extras.evaluate.metrics.panels import METRICS, bootstrap_units, compare_panels, dealt_rows, panel_of
from lapwing.extras.evaluate.report.compared import compared_sections
from lapwing.extras.evaluate.report.page import render
from lapwing.present.document import Page
from lapwing.release.marked import Internal
from lapwing.schema.schemas import Schema

SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "person", "type": "string", "role": "identifier"},
            {"name": "state", "type": "string", "categories": ["well", "ill", "dead"]},
            {"name": "day", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}},
        ]
    }
)
DAYS = pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 12, 31), eager=True)


def visits(persons, rng, stay=0.9):
    """Return four visits of each person, who stays in a state with some probability."""
    states = [rng.integers(2, size=persons)]
    for _ in range(3):
        states.append(np.where(rng.random(persons) < stay, states[-1], 1 - states[-1]))
    days = np.cumsum(rng.integers(1, 60, (persons, 4)), axis=1).ravel()
    names = [f"p{person}" for person in range(persons) for _ in range(4)]
    state = np.array(["well", "ill"])[np.stack(states, axis=1).ravel()]
    frame = pl.DataFrame({"person": names, "state": state, "day": DAYS.gather(days)})
    return frame.sample(fraction=1, shuffle=True, seed=int(rng.integers(99)))


def figures(found):
    return {each.metric.key: {name: value.value for name, value in each.values.items()} for each in found.figures}


def test_the_same_rows_in_another_order_and_under_other_names_are_at_distance_0():
    rng = np.random.default_rng(1)
    real = visits(200, rng)
    other = real.with_columns(person=pl.col("person") + "x").reverse()

    found = compare_panel_tables(real, other, SCHEMA, unit="person", order="day", rng=rng).value

    assert set(figures(found)) == set(METRICS)
    assert {name: values[SYNTHETIC] for name, values in figures(found).items()} == dict.fromkeys(METRICS, 0.0)


def test_rows_dealt_out_at_random_have_the_columns_and_lose_the_person():
    rng = np.random.default_rng(2)
    real, other = visits(4000, rng), visits(4000, rng)

    found = compare_panel_tables(real, other, SCHEMA, unit="person", order="day", rng=rng).value

    said = figures(found)
    for key in ("transitions", "next_states", "triples", "trajectories", "siblings"):
        assert said[key][INDEPENDENT] > 4 * max(said[key][SYNTHETIC], said[key][BOOTSTRAP]), key
    # Nine in ten stay: the law of pairs is 0.45, 0.05, 0.05, 0.45, and of dealt ones a quarter each.
    assert said["transitions"][INDEPENDENT] == pytest.approx(0.4, abs=0.02)
    assert said["rows_per_unit"][INDEPENDENT] == 0
    assert said["rows_per_unit"][BOOTSTRAP] == 0
    assert found.agreement[INDEPENDENT]["state"] == pytest.approx(0.5, abs=0.02)


def test_rows_without_an_order_are_shuffled_so_that_any_two_are_compared():
    rng = np.random.default_rng(3)
    codes = {"state": np.tile(np.array([0, 0, 1, 1], dtype=np.uint8), 3000)}
    schema = SCHEMA.select(["state"])
    units = np.repeat(np.arange(3000), 4)

    panel, other = panel_of(codes, units, rng=rng), panel_of(codes, units, rng=rng)
    found = compare_panels(panel, {"it": other}, schema, rng=rng)

    first = panel.runs(2)
    # Of two of these four rows, a third agree.
    same = (panel.codes["state"][first] == panel.codes["state"][first + 1]).mean()
    assert same == pytest.approx(1 / 3, abs=0.02)
    assert found.agreement["real"]["state"] == pytest.approx(1 / 3)
    assert "gaps" not in figures(found)
    assert figures(found)["transitions"]["it"] < 0.02


def test_units_without_rows_count_in_the_number_of_rows_and_as_trajectories():
    rng = np.random.default_rng(4)
    codes = {"state": np.array([0, 1, 0, 1], dtype=np.uint8)}
    schema, units = SCHEMA.select(["state"]), np.array([0, 0, 1, 1])

    real, other = panel_of(codes, units, total=8, rng=rng), panel_of(codes, units, rng=rng)
    found = figures(compare_panels(real, {"it": other}, schema, rng=rng))

    assert found["rows_per_unit"]["it"] == 0.75
    assert found["trajectories"]["it"] > 0.3
    with pytest.raises(ParameterError, match="total must be at least"):
        panel_of(codes, units, total=1, rng=rng)


def test_a_table_without_second_rows_is_at_distance_1_from_one_that_has_them():
    rng = np.random.default_rng(7)
    real = pl.DataFrame({"person": ["a", "a"], "state": ["well", "ill"], "day": DAYS.head(2)})
    other = real.head(1)

    there = figures(compare_panel_tables(real, other, SCHEMA, unit="person", order="day", rng=rng).value)
    back = figures(compare_panel_tables(other, real, SCHEMA, unit="person", order="day", rng=rng).value)

    assert {there[key][SYNTHETIC] for key in ("transitions", "next_states", "gaps", "rows_per_unit")} == {1.0}
    assert set(back) == {"positions", "rows_per_unit", "trajectories"}


def test_what_cannot_be_compared_is_refused():
    rng = np.random.default_rng(5)
    real = visits(3, rng)
    codes, units = {"state": np.zeros(2, dtype=np.uint8), "day": np.arange(2)}, np.zeros(2, dtype=np.int64)
    panel = panel_of(codes, units, order="day", rng=rng)

    with pytest.raises(ParameterError, match="modelled column"):
        compare_panel_tables(real, real, SCHEMA, unit="person", order="person", rng=rng)
    with pytest.raises(DataError, match="person"):
        compare_panel_tables(real.drop("person"), real, SCHEMA, unit="person", rng=rng)
    with pytest.raises(ParameterError, match="no row"):
        compare_panel_tables(real.clear(), real, SCHEMA, unit="person", rng=rng)
    with pytest.raises(ParameterError, match="one order"):
        compare_panels(panel, {"it": panel_of(codes, units, rng=rng)}, SCHEMA, rng=rng)


def test_references_keep_the_order_of_the_panel():
    rng = np.random.default_rng(6)
    codes = {"state": rng.integers(2, size=60).astype(np.uint8), "day": rng.permutation(60)}
    panel = panel_of(codes, np.repeat(np.arange(20), 3), order="day", descending=True, rng=rng)

    for reference in (panel, bootstrap_units(panel, rng), dealt_rows(panel, rng)):
        first = reference.runs(2)
        assert (reference.codes["day"][first] >= reference.codes["day"][first + 1]).all()


def test_figures_of_panels_have_a_place_between_a_resample_and_rows_dealt_at_random():
    rng = np.random.default_rng(8)
    real, other = visits(500, rng), visits(500, rng, stay=0.7)
    found = compare_panel_tables(real, other, SCHEMA, unit="person", order="day", rng=rng).value
    codes = {
        field.name: rng.integers(field.domain.values, size=50).astype(field.domain.dtype) for field in SCHEMA.columns
    }

    whole = findings(SCHEMA, codes, codes, metrics=found.figures)
    page = render(Internal(Page(title="it", sections=compared_sections(whole, SCHEMA))))

    places = {each.metric.key: each.place for each in glance(whole).standings}
    # Nine in ten stay, seven in ten there, and half of rows dealt at random.
    assert places["next_states"] == pytest.approx(0.5, abs=0.1)
    shown = html.unescape(page)
    assert all(metric.title in shown and metric.meaning in shown for metric in METRICS.values())
