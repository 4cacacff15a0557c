"""Metrics over samples and panels, groups of rows, and workloads."""

import html
import itertools
import math

import numpy as np
import polars as pl
import pytest

from helpers.findings import findings
from lapwing.errors import CapacityError, DataError, ParameterError
from lapwing.extras.evaluate.internal.panels import compare_panel_tables
from lapwing.extras.evaluate.metrics.distances import compare_bounded_lipschitz, compare_densities, compare_wasserstein
from lapwing.extras.evaluate.metrics.glance import glance
from lapwing.extras.evaluate.metrics.metric import (
    BOOTSTRAP,
    INDEPENDENT,
    SYNTHETIC,
    bootstrap_rows,
    independent_columns,
)
from lapwing.extras.evaluate.metrics.moments import compare_moments
from lapwing.extras.evaluate.metrics.panels import METRICS, bootstrap_units, compare_panels, dealt_rows, panel_of
from lapwing.extras.evaluate.metrics.prediction import subgroups
from lapwing.extras.evaluate.metrics.prediction.subgroups import FEWEST_ROWS, compare_subgroups
from lapwing.extras.evaluate.metrics.samples import (
    MAX_ASSIGNED,
    kernel_densities,
    mean_features,
    mmd,
    mmd_from_features,
    random_frequencies,
    wasserstein_assignment,
    wasserstein_sliced,
    wasserstein_subsampled,
)
from lapwing.extras.evaluate.metrics.tables.variation import Variation
from lapwing.extras.evaluate.metrics.tables.workload import compare_workloads, workload_error
from lapwing.extras.evaluate.report.compared import compared_sections
from lapwing.extras.evaluate.report.page import render
from lapwing.present.document import Page
from lapwing.release.marked import Internal
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema


def cloud(seed, rows, columns):
    return np.random.default_rng(seed).random((rows, columns))


@pytest.mark.parametrize("sliced", [False, True])
def test_the_standard_error_is_that_of_the_value(sliced: bool) -> None:
    points, others = cloud(1, 300, 2), 1.5 * cloud(2, 250, 2)
    rng = np.random.default_rng(7)

    estimates = [
        wasserstein_sliced(points, others, rng, directions=12)
        if sliced
        else wasserstein_subsampled(points, others, rng, size=30, repeats=12)
        for _ in range(300)
    ]
    spread = np.std([estimate.value for estimate in estimates], ddof=1)
    claimed = np.sqrt(np.mean([estimate.standard_error**2 for estimate in estimates]))

    # Over 300 estimates the spread is known to about 4 %; an error without its root of 12 would be off by 250 %.
    assert spread == pytest.approx(claimed, rel=0.2)


def test_samples_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ParameterError, match="equally many points"):
        wasserstein_assignment(cloud(1, 3, 2), cloud(1, 4, 2))
    with pytest.raises(ParameterError, match="same columns"):
        wasserstein_assignment(cloud(1, 3, 2), cloud(1, 3, 1))


def test_more_points_than_can_be_assigned_are_refused_before_any_work() -> None:
    many = np.zeros((MAX_ASSIGNED + 1, 1))

    with pytest.raises(CapacityError, match=str(MAX_ASSIGNED)):
        wasserstein_assignment(many, many)


# Single-precision sines of angles up to pi.
SINGLE = 1e-6


def test_a_small_distance_far_from_the_origin_keeps_its_digits() -> None:
    # Coordinates near 2**26 and differences of 2**-6: |x|^2 + |y|^2 - 2 x.y would round to whole numbers.
    step, away = 2.0**-6, 2.0**26

    found = mmd([[away]], [[away + step]], gamma=1.0)

    assert found == pytest.approx(math.sqrt(-2 * math.expm1(-(step**2))), rel=1e-9)


def test_random_features_are_right_within_their_standard_error() -> None:
    points, others = cloud(1, 400, 2), 0.8 * cloud(2, 300, 2)
    exact = mmd(points, others, gamma=4.0)
    rng = np.random.default_rng(3)

    def estimate():
        frequencies = random_frequencies(2, 200, rng, gamma=4.0)
        return mmd_from_features(mean_features(points, frequencies), mean_features(others, frequencies))

    found = [estimate() for _ in range(60)]

    deviations = [(each.value - exact) / each.standard_error for each in found]
    # The delta method's bias is below a tenth of a standard error here; the mean of 60 has a spread of 0.13.
    assert abs(np.mean(deviations)) < 0.6
    assert 0.7 < np.std(deviations) < 1.4


def test_features_are_means_of_sines_and_cosines() -> None:
    points, weights = 1000 * cloud(1, 2500, 2), np.arange(2500)
    frequencies = random_frequencies(2, 5, np.random.default_rng(2), gamma=3.0)

    found = mean_features(points, frequencies, weights)

    phases = (points[:, np.newaxis] * frequencies).sum(axis=2)
    expected = (weights[:, np.newaxis] * np.exp(1j * phases)).sum(axis=0) / weights.sum()
    assert found == pytest.approx(expected, abs=SINGLE)


@pytest.mark.parametrize("gamma", [0, -1, math.nan, math.inf])
def test_a_gamma_that_is_no_kernels_is_refused(gamma: float) -> None:
    points = cloud(1, 3, 1)

    for refused in (lambda: mmd(points, points, gamma=gamma), lambda: kernel_densities(points, points, gamma=gamma)):
        with pytest.raises(ParameterError, match=r"gamma must be finite and above 0, got .*; it is 1 / \(2"):
            refused()


def test_what_no_kernel_compares_is_refused() -> None:
    points = cloud(1, 3, 2)

    with pytest.raises(ParameterError, match="both samples need the same columns, got 2 and 1 columns"):
        mmd(points, points[:, :1], gamma=1)
    with pytest.raises(ParameterError, match="both samples need the same columns, got 1 and 2 columns"):
        kernel_densities(points, points[:, :1], gamma=1)
    with pytest.raises(ParameterError, match="weights must be one for each point"):
        kernel_densities(points, points, gamma=1, weights=[1.0])
    with pytest.raises(ParameterError, match="weights must be at least 0"):
        kernel_densities(points, points, gamma=1, weights=[1, -1, 1])
    with pytest.raises(ParameterError, match="points must be a non-empty array of numbers with 2 axes"):
        mmd([["a"]], points, gamma=1)
    with pytest.raises(ParameterError, match="points must be finite"):
        mmd([[math.nan, 0.0]], points, gamma=1)


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


# Means of a few numbers of size 1.
ROUNDED = 1e-12


def variation(ways, distances, possible=None):
    """Return distances of as many tables of columns 0, 1, 2, ..."""
    names = map(str, range(12))
    tables = tuple(itertools.islice(itertools.combinations(names, ways), len(distances)))
    return Variation(
        ways=ways, possible=possible or len(tables), tables=tables, distances=np.array(distances, dtype=float)
    )


def test_with_fewer_columns_the_widest_tables_are_the_workload() -> None:
    found = compare_workloads({"synthetic": [variation(1, [0.5, 0.5]), variation(2, [0.25])]})

    assert found is not None
    assert found.values["synthetic"].value == 0.5
    assert found.columns == 2


def test_the_error_is_twice_the_mean_distance() -> None:
    assert workload_error(variation(2, [0.1, 0.2, 0.6])).value == pytest.approx(0.6, abs=ROUNDED)


def test_the_standard_error_is_the_spread_of_means_over_samples_of_tables() -> None:
    rng = np.random.default_rng(1)
    everything = rng.beta(2, 5, size=200)
    drawn = [rng.choice(everything, 80, replace=False) for _ in range(3000)]

    found = [workload_error(variation(3, each, possible=200)) for each in drawn]

    # Both sides vary by 1.3 % over so many samples of 80.
    spread = np.std([each.value for each in found])
    assert np.mean([each.standard_error for each in found]) == pytest.approx(spread, rel=0.06)


def test_all_tables_have_no_standard_error_and_one_of_many_has_the_largest_there_is() -> None:
    assert workload_error(variation(3, [0.1, 0.9])).standard_error == 0
    assert workload_error(variation(3, [0.1], possible=100)).standard_error == pytest.approx(0.995, abs=1e-3)


def real_compared(path, schema_path, most_rows=None):
    """Return all figures of the reference rows of a table."""
    schema = Schema.load(schema_path)
    parts = list(code_table(pl.read_parquet(path, n_rows=most_rows), schema).chunks())
    real = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    rng = np.random.default_rng(1)
    others = {"bootstrap": bootstrap_rows(real, rng), "independent": independent_columns(real, rng)}
    found = list(compare_moments(real, others, schema, rng=rng))
    found += compare_wasserstein(real, others, schema, rng=rng)
    for compare in (compare_bounded_lipschitz, compare_densities):
        each = compare(real, others, schema, rng=rng)
        found += [each] if each else []
    return {each.metric.key: each for each in found}


def test_adult_rows_without_their_relations_are_farther_than_a_bootstrap(adult_path, adult_schema_path) -> None:
    found = real_compared(adult_path, adult_schema_path, most_rows=600)

    for key, each in found.items():
        # Shuffling keeps what single columns say, and a kernel as wide as the table hardly sees more.
        if key not in ("marginal_error_1", "kernel_density"):
            assert each.values["independent"].value > each.values["bootstrap"].value, key
    assert len(found) == 13


AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "special": [-1]}
SEX = {"name": "sex", "type": "string", "categories": ["f", "m"]}
FLAG = {"name": "flag", "type": "boolean"}
WIDE = {"name": "wide", "type": "number", "constraints": {"minimum": 0, "maximum": 1}}
SUBGROUPS_SCHEMA = Schema.from_dict({"fields": [AGE, SEX, FLAG, WIDE]})


def subgroups_compared(schema, real, other, columns, **others):
    tables = {"synthetic": other, **others}
    return compare_subgroups(real, tables, schema, columns, rng=np.random.default_rng(0))


def rows(seed, count=4000):
    rng = np.random.default_rng(seed)
    return {column.name: rng.integers(column.domain.size, size=count) for column in SUBGROUPS_SCHEMA.columns}


def two(sex, flag):
    """Return a table of two columns."""
    return {"sex": np.asarray(sex), "flag": np.asarray(flag)}


SEX_AND_FLAG = Schema.from_dict({"fields": [SEX, FLAG]})


def test_wide_ordered_columns_are_crossed_in_five_parts_and_gaps_apart() -> None:
    real = rows(1) | {"age": np.arange(4000) % 102}

    found = subgroups_compared(SUBGROUPS_SCHEMA, real, real, ["age"])

    assert [group.labels for group in found] == [
        (each,) for each in ("0-19", "20-39", "40-59", "60-79", "80-99", "-1", "missing")
    ]
    assert sum(group.rows for group in found) == 4000


@pytest.mark.parametrize(("count", "is_too_small"), [(FEWEST_ROWS - 1, True), (FEWEST_ROWS, False)])
@pytest.mark.parametrize("which", [0, 1])
def test_fewer_than_fifty_rows_in_either_table_are_too_few(count: int, which: int, is_too_small: bool) -> None:
    tables = [two([0] * 60, [0] * 60), two([0] * 60, [0] * 60)]
    tables[which] = two([0] * count, [0] * count)

    assert subgroups_compared(SEX_AND_FLAG, *tables, ["sex"])[0].is_too_small == is_too_small


def test_a_group_in_which_chance_alone_is_large_is_too_small() -> None:
    schema = Schema.from_dict({"fields": [SEX, WIDE]})

    def few_and_many(seed, few, many):
        rng = np.random.default_rng(seed)
        return {"sex": np.repeat([0, 1], [few, many]), "wide": rng.integers(2**32, size=few + many)}

    few, many = subgroups_compared(schema, few_and_many(1, 500, 9000), few_and_many(2, 500, 9000), ["sex"])

    # 64 even cells: sqrt(64 / (2 pi n)) is 0.143 for 500 rows, 0.034 for 9000; a run is off by a tenth.
    assert few.bootstrap.value == pytest.approx(0.143, abs=0.02)
    assert many.bootstrap.value == pytest.approx(0.034, abs=0.005)
    assert (few.is_too_small, many.is_too_small) == (True, False)
    # Fewer synthetic rows than real ones are noisier: 0.034 sqrt(1 + 9000 / 500) is 0.15.
    assert subgroups_compared(schema, few_and_many(1, 500, 9000), few_and_many(2, 500, 500), ["sex"])[1].is_too_small


@pytest.mark.parametrize(("noisy", "is_too_small"), [(7, False), (8, True)])
def test_the_real_rows_are_a_sample_too(noisy: int, is_too_small: bool) -> None:
    real, bootstrap = two([0] * 100, [0] * 100), two([0] * 100, np.arange(100) < noisy)

    # Two samples are farther apart than one and its bootstrap, by the root of 2.
    assert subgroups_compared(SEX_AND_FLAG, real, real, ["sex"], bootstrap=bootstrap)[0].is_too_small == is_too_small


def test_of_many_groups_those_with_the_most_real_rows_are_kept(monkeypatch) -> None:
    city = {"name": "city", "type": "string", "categories": [f"c{place}" for place in range(9)]}
    schema = Schema.from_dict({"fields": [city, FLAG]})
    real = {"city": np.repeat(np.arange(9), np.arange(1, 10)), "flag": np.zeros(45, dtype=int)}
    monkeypatch.setattr(subgroups, "MOST_GROUPS", 3)

    found = subgroups_compared(schema, real, real, ["city"])

    assert [(group.labels[0], group.rows) for group in found] == [("c6", 7), ("c7", 8), ("c8", 9)]
    assert {group.variation.value for group in found} == {0.0}


def test_columns_of_many_codes_are_crossed_without_overflow() -> None:
    fields = [
        {"name": f"town{place}", "type": "string", "categories": [f"t{town}" for town in range(3000)]}
        for place in range(7)
    ]
    schema = Schema.from_dict({"fields": [*fields, FLAG]})
    table = {column.name: np.arange(300) for column in schema.columns} | {"flag": np.arange(300) % 2}

    # 3000**7 is above 2**63.
    found = subgroups_compared(schema, table, table, [field["name"] for field in fields])

    assert len(found) == 200
    assert found[7].labels == ("t7",) * 7
    assert found[7].variation.value == 0


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ([], "at least one column"),
        ("sex", "a list"),
        (["none"], '"none" is no modelled column'),
        (["sex", "sex"], "must be different"),
        (["sex", "flag"], "leave a column"),
    ],
)
def test_columns_that_make_no_groups_are_refused(columns, why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        subgroups_compared(SEX_AND_FLAG, two([0], [0]), two([0], [0]), columns)
