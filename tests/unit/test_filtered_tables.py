"""Tables of the rows that meet a condition: their counts, their lines, and their intervals."""

import polars as pl
import pytest

import lapwing as lw
from helpers.studio_releases import PEOPLE, people
from lapwing.errors import ParameterError
from lapwing.release.queries import as_frame, query_table


def filtered_table(release, columns, where, **settings):
    return as_frame(*query_table(release, columns, where=where, **settings))


@pytest.fixture(scope="module")
def release():
    """Return a release of so much budget that its noise is nothing."""
    return lw.synthesize(people(), PEOPLE, epsilon=1e6, seed=1)


@pytest.fixture(scope="module")
def noisy():
    """Return a release with noise, in which all pairs were counted together."""
    return lw.synthesize(people(), PEOPLE, epsilon=20.0, seed=1)


def test_counts_are_those_of_the_wider_table_summed_over_what_meets_the_condition(noisy):
    found = filtered_table(noisy, "sex", {"smokes": True})
    whole = noisy.query(["sex", "smokes"]).filter(pl.col("smokes") == "true")

    assert found["sex"].to_list() == whole["sex"].to_list()
    assert found["count"].to_list() == pytest.approx(whole["count"].to_list())
    assert found["share"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("columns", ["sex", ["age", "sex"], "smokes"])
@pytest.mark.parametrize("where", [{"age": lw.between(20, 49)}, {"sex": "Male"}, {"sex": "Male", "smokes": [True]}])
def test_without_noise_each_interval_is_the_true_count(release, columns, where):
    table = people()
    if "age" in where:
        table = table.filter(pl.col("age").is_between(20, 49))
    for name in set(where) - {"age"}:
        table = table.filter(pl.col(name) == (where[name] if name == "sex" else True))

    found = filtered_table(release, columns, where)

    known = found.filter(pl.col("lower").is_not_null())
    assert (known["lower"] == known["upper"]).all()
    assert found["count"].sum() == pytest.approx(table.height, rel=0.02)
    if found.height == known.height:
        assert known["lower"].sum() == table.height


def test_intervals_are_those_of_the_accuracy_of_each_count(noisy):
    found = filtered_table(noisy, "sex", {"smokes": False})

    assert found["lower"].null_count() < found.height
    for sex, count, lower, upper in found.select("sex", "count", "lower", "upper").iter_rows():
        told = noisy.accuracy(where={"sex": None if sex == "missing" else sex, "smokes": False})
        assert count == pytest.approx(told.count)
        assert (lower, upper) == ((told.lower, told.upper) if told.is_measured else (None, None))


def test_groups_end_where_the_condition_does_and_none_is_beyond(noisy):
    found = filtered_table(noisy, "age", {"age": lw.between(33, 58)}, groups=4)

    first, last = found["age"][0], found["age"][-1]
    assert first.startswith("33")
    assert last.endswith("58")
    assert filtered_table(noisy, "sex", {"sex": "Male"})["sex"].to_list() == ["Male"]


def test_a_condition_that_no_row_can_meet_is_refused(noisy):
    with pytest.raises(ParameterError, match="one of its categories"):
        filtered_table(noisy, "sex", {"sex": "x"})
