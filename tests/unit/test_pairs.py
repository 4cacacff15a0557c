"""Pairs of columns: what a release certifies, states and shows of each, and tables that were filtered."""

import itertools
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.bits import SeededBits
from helpers.findings import texts
from helpers.flag_tables import FLAG, KIND, MIXED, WIDE, flags, frame_of_flags, latent_rows, mixed_rows
from helpers.pmm_runs import frame_of, run, unit_columns
from helpers.studio_releases import PEOPLE, people
from lapwing.errors import ParameterError
from lapwing.extras.evaluate.report.released_pairs import counted_pairs, pairs_section, released_pairs
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.conversions import epsilon_for, rho_for
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.vectors.certified_pairs import (
    known_range,
    measured_moments,
    pair_statements,
    pair_weights,
)
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation
from lapwing.model.certificate.promise import check_pairs
from lapwing.model.sampling.marginals import marginal
from lapwing.present.document import Chart
from lapwing.release.queries import as_frame, query_table
from lapwing.schema.schemas import Schema

FLAGS = frame_of_flags(latent_rows(np.random.default_rng(1), 2000, 4))
TWO_FLAGS = Schema.from_dict({"fields": [FLAG, {**FLAG, "name": "f1"}, WIDE, KIND]})
TERMS = Terms(relation="add-remove")


def coordinates_of(answers):
    return next(answer.question.coordinates for answer in answers if isinstance(answer.question, SecondMoment))


def test_weighted_errors_of_moments_are_those_of_all_pairs_cells():
    """Between two released models, of which one stands for the rows: their cells are known exactly."""
    data = mixed_rows(500).with_columns(f1=mixed_rows(500, seed=2)["f0"]).select("f0", "f1", "wide", "kind")
    models, answers = zip(*(run(Microaggregation(directions=2), data, TWO_FLAGS) for _ in range(2)), strict=True)
    coordinates = coordinates_of(answers[0])
    one, other = (measured_moments(answers[0], TERMS, model) for model in models)

    of_moments = sum(
        float(mine.weights @ (mine.released - yours.released) ** 2) for mine, yours in zip(one, other, strict=True)
    )

    of_cells, cells = 0.0, 0
    groupings = dict(zip(coordinates.columns, coordinates.groupings, strict=True))
    for pair in itertools.combinations(coordinates.columns, 2):
        tables = [marginal(model, pair, [groupings[name] for name in pair]) / model.rows for model in models]
        of_cells += float(((tables[0] - tables[1]) ** 2).sum())
        cells += math.prod(
            groupings[name].groups - (not TWO_FLAGS.field(name).domain.missing) for name in pair
        )  # without cells of misfits
    assert of_moments == pytest.approx(of_cells)
    assert pair_weights(coordinates)[2] == cells


def test_a_release_states_its_error_over_all_pairs_and_a_plan_what_noise_makes_of_it():
    release = lw.synthesize(FLAGS, flags(4), epsilon=10, mechanism="microaggregation", seed=1)
    planned = lw.plan(flags(4), expected_rows=2000, epsilon=10, mechanism="microaggregation")

    (stated,) = [each for each in release.certificate.accuracy if each.code == "error_of_all_halved_pairs"]
    (noise,) = [each for each in planned.accuracy if each.code == "noise_over_all_pairs"]

    said = "With 95 % probability the model's root-mean-square error over all pairs' cells is at most"
    rows = "of the rows; what is neither of a column's two values counts as half of each."
    assert stated.text == f"{said} {stated.value:.4g} {rows}"
    assert noise.value < stated.value < 10 * noise.value
    assert f"Certified error: with {stated.text.removeprefix('With ')}" in release.certificate.text()
    assert stated in release.accuracy().statements
    assert (stated.confidence, stated.basis) == (0.95, "certificate")


def test_numbers_on_a_line_have_products_and_no_cells():
    data = frame_of(np.random.default_rng(1).random((2000, 3)))

    release = lw.synthesize(
        data, unit_columns(3), epsilon=10, mechanism=lw.Microaggregation(numbers="means", directions=1), seed=1
    )

    kinds = [each.code for each in release.certificate.accuracy]
    assert "error_of_all_products" in kinds
    assert "error_of_all_pairs" not in kinds


@pytest.mark.parametrize("rows", [0, 1, 50])
@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1000000"])
@pytest.mark.parametrize("settings", [{"directions": 1}, {"convex_set": "ball", "directions": 1}])
def test_nothing_is_stated_that_any_two_tables_keep(rows, epsilon, settings):
    in_box = len(settings) == 1
    schema, data = (MIXED, mixed_rows(50)) if in_box else (unit_columns(2), frame_of(np.eye(2)[[0, 1] * 25]))

    model, answers = run(Microaggregation(**settings), data.head(rows), schema, budget=Budget.pure(Fraction(epsilon)))
    stated = pair_statements(answers, TERMS, model, np.random.default_rng(1))

    assert bool(stated) == (in_box and epsilon == "1000000" and rows > 0)
    assert all(each.value < 0.1 for each in stated)


def test_all_totals_narrow_the_number_of_rows():
    data = mixed_rows(3000)
    _, answers = run(Microaggregation(directions=1), data, MIXED, bits=SeededBits(1))

    failure = Fraction(1, 20)
    first = next(answer for answer in answers if answer.question.kind in ("MarginalCounts", "CellSums"))
    alone = known_range([first], TERMS, failure)

    low, high = known_range(answers, TERMS, failure)

    assert low <= 3000 <= high
    assert high - low < alone[1] - alone[0]
    assert known_range(answers, Terms(relation="replace-one", rows=7), Fraction(1, 20)) == (7.0, 7.0)
    assert known_range((), TERMS, Fraction(1, 20)) == (0.0, math.inf)


def related(mechanism, rows=2000):
    """Return a release of a table whose columns a and b are one, and c is by itself."""
    fields = [{"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 3}} for name in "abc"]
    data = pl.DataFrame({"a": [at % 4 for at in range(rows)], "c": [at // 4 % 4 for at in range(rows)]})
    data = data.select("a", pl.col("a").alias("b"), "c")
    return lw.synthesize(data, {"fields": fields}, epsilon=20, delta="1e-9", mechanism=mechanism, seed=1)


def test_the_report_shows_which_columns_depend_on_each_other_and_whether_they_were_counted_together():
    release = related("adaptive")

    found = released_pairs(release.model, release.schema)
    section = pairs_section(found, release.certificate, 3)

    assert found.columns == ("a", "b", "c")
    assert found.strengths[0, 1] == pytest.approx(1, abs=0.05)
    assert max(found.strengths[0, 2], found.strengths[1, 2]) < 0.2
    assert found.tables[0].columns == ("a", "b")
    assert found.tables[0].rows.sum() == pytest.approx(release.model.rows, rel=0.01)
    charts = [part for part in section.parts if isinstance(part, Chart)]
    assert [chart.title for chart in charts][:2] == ["All pairs of columns", "a × b"]
    assert "the strongest is a × b" in charts[0].meaning
    assert charts[1].meaning.endswith("The two were counted together.")


def test_relations_that_nobody_counted_are_not_made_up():
    release = related("independent")

    found = released_pairs(release.model, release.schema)

    assert found.tables == ()
    assert (found.strengths == np.eye(3)).all()
    assert counted_pairs(release.certificate, "abc") == set()
    assert "0 of 3 pairs were counted together" in " ".join(texts(pairs_section(found, release.certificate, 3)))


def test_a_column_of_which_no_value_is_expected_has_a_report():
    fields = [{"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 3}} for name in "ab"]
    data = pl.DataFrame({"a": [0, 1] * 500, "b": [None] * 1000}, schema={"a": pl.Int64, "b": pl.Int64})
    release = lw.synthesize(data, {"fields": fields}, epsilon=1000, mechanism="Independent", seed=1)

    assert release.sample()["b"].null_count() == release.model.rows
    found = released_pairs(release.model, release.schema)
    assert found is not None
    assert found.columns == ("a", "b")


RHO = Fraction(1, 10)
STEP = Fraction(1, 10**9)
AT, OWN = Fraction(1, 10**6), Fraction(1, 10**7)
NOTHING = (None, None)
WORTH = epsilon_for(RHO, AT - OWN)
REQUEST = (Fraction(1), AT)
GRANTED = rho_for(Fraction(1), AT - OWN)


def stated(epsilon, *, rho=RHO, request=NOTHING, delta=OWN):
    """Check one pair at a δ, of which selections have a part."""
    check_pairs(((AT, epsilon),), Budget.zcdp(rho), delta, request)


def test_what_the_total_is_worth_and_more_may_be_stated():
    stated(WORTH)
    stated(WORTH + 1)


@pytest.mark.parametrize("epsilon", [WORTH - STEP, epsilon_for(RHO, AT), Fraction(0)], ids=["less", "whole δ", "0"])
def test_less_than_the_total_is_worth_beside_selections_is_refused(epsilon):
    assert epsilon < WORTH

    with pytest.raises(lw.ParameterError, match="must not be below what its total is worth"):
        stated(epsilon)


def test_a_request_holds_where_it_grants_the_total_and_nowhere_else():
    stated(Fraction(1), rho=GRANTED, request=REQUEST)

    for rho, request in ((GRANTED + Fraction(1, 10**6), REQUEST), (GRANTED * 2, (Fraction(1), AT))):
        with pytest.raises(lw.ParameterError, match="must not be below"):
            stated(Fraction(1), rho=rho, request=request)
    with pytest.raises(lw.ParameterError, match="must not be below"):
        stated(Fraction(1, 2), rho=GRANTED, request=REQUEST)


def test_selections_must_leave_some_of_each_delta():
    with pytest.raises(lw.ParameterError, match="part of the delta"):
        stated(Fraction(100), delta=AT)


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
