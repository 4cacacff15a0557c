import numpy as np
import polars as pl
import pytest

from lapwing.errors import DataError, ParameterError
from lapwing.extras.evaluate.internal.panels import compare_panel_tables
from lapwing.extras.evaluate.metrics.metric import BOOTSTRAP, INDEPENDENT, SYNTHETIC
from lapwing.extras.evaluate.metrics.panels import compare_panels, panel_of
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
