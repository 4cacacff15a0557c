"""PrivateSampling: how many rows are allowed, what is refused, and what comes out."""

import math
from contextlib import suppress
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.bits import SeededBits
from helpers.command import lapwing
from helpers.private_draws import asked, cube_schema, frame_of, kinds_of_rows, source_of
from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.weighted import weighted_draws
from lapwing.kernel.questions.private_draw.answer import exact_weights
from lapwing.kernel.questions.private_draw.question import row_price
from lapwing.kernel.terms import Terms
from lapwing.maths.reduced_density import is_well_conditioned

TERMS = Terms(relation="replace-one", rows=8)
TABLE = [*kinds_of_rows(3)[:7], kinds_of_rows(3)[0]]


def settings_of(**changes):
    settings = {
        "mechanism": lw.PrivateSampling(degree=1, floor=0.5),
        "epsilon": 2,
        "neighbours": "replace-one",
        "seed": 1,
    }
    return settings | changes


def released(points=TABLE, columns=3, **changes):
    return lw.synthesize(frame_of(points, columns), cube_schema(columns), **settings_of(**changes))


# ------------------------------------------------------------------------------------------------- how many rows


@pytest.mark.parametrize(("columns", "degree", "rows"), [(16, 2, 686), (10, 1, 4847)])
def test_so_many_rows_are_allowed_as_the_specification_says(columns, degree, rows):
    """The specification's figures are sums of the rows' epsilons, for a million rows and a floor of a tenth."""
    price = row_price(columns, degree, Fraction(1, 10), 10**6, notion="pure")

    assert math.floor(1 / price) == rows


@pytest.mark.parametrize(
    ("notion", "wanted"),
    [
        ("pure", lambda o, c, n: math.log1p(2 * o / c) + math.log1p(2 * math.sqrt(o) / n)),
        ("zcdp", lambda o, c, n: math.log1p(2 * o / c) ** 2 / 2),
    ],
)
def test_a_price_is_just_above_its_formula(notion, wanted):
    for columns, degree, odd in [(1, 1, 1), (10, 1, 10), (16, 2, 72), (3, 3, 4)]:
        for rows, floor in [(1, Fraction(1)), (37, Fraction(1, 3)), (2**31, Fraction(1, 10))]:
            price = row_price(columns, degree, floor, rows, notion=notion)
            formula = wanted(odd, math.ceil(floor * rows), rows)

            assert 1 - 1e-14 < float(price) / formula < 1 + 1e-11  # twelve digits, and a double's rounding


def test_the_price_of_the_published_variant_is_just_above_the_paper_s():
    for rows, size, degree, floor, ceiling in [(8, 8, 1, 0.25, 2.0), (2**31, 16, 2, 0.4, 1.6)]:
        sets = sum(math.comb(4, each) for each in range(degree + 1))
        allowed = (floor / ceiling) ** 1.5 * math.exp(-degree / 2) * sets**-0.25 * math.sqrt(rows) / size**0.75
        allowed /= 4 * math.sqrt(2)

        price = row_price(
            4, degree, Fraction(str(floor)), rows, notion="pure", points=size, ceiling=Fraction(str(ceiling))
        )

        rounding = 4 * size / (2**40 * floor)
        assert 1 / allowed + rounding * 0.999 < price < (1 / allowed + rounding) * (1 + 1e-11)


def test_as_many_rows_are_drawn_as_the_budget_allows():
    for budget, notion in [({"epsilon": 2}, "pure"), ({"rho": 2}, "zcdp"), ({"epsilon": 9, "delta": 1e-6}, "zcdp")]:
        release = released(**{"epsilon": None, "misfits": 1} | budget)

        (answer,) = release.noisy
        granted = Fraction(2) if "delta" not in budget else release.certificate.total.amount + answer.question.row_price
        assert answer.question.notion == notion
        assert answer.question.draws == release.model.rows == release.model.atoms
        assert answer.question.cost == release.certificate.total
        assert answer.question.cost.amount <= granted < answer.question.cost.amount + 2 * answer.question.row_price


def test_more_rows_than_the_budget_allows_are_refused_before_any_debit(tmp_path):
    ledger = tmp_path / "budget.db"
    lapwing(
        "ledger",
        "init",
        "d",
        "--ledger",
        str(ledger),
        "--unit",
        "pure",
        "--limit",
        "9",
        "--neighbours",
        "replace-one",
        "--privacy-unit",
        "row",
    )

    with pytest.raises(ParameterError) as refused:
        released(mechanism=lw.PrivateSampling(degree=1, floor=0.5, draws=99), misfits=1, ledger=ledger, dataset="d")

    assert str(refused.value) == (
        "draws must be at most 1 for epsilon 2, 3 columns, degree 1 and a table of 8 rows, where one row costs "
        "1.27606974453, got 99; draw no more, or use a lower degree, a higher floor or more budget"
    )
    assert "9" in lapwing("ledger", "show", "d", "--ledger", str(ledger)).out


def test_a_budget_for_less_than_one_row_is_refused():
    with pytest.raises(ParameterError, match=r"not one row can be drawn with epsilon 0\.1 from 3 columns"):
        released(epsilon=0.1, misfits=1)


# -------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "best"}, "variant must be default or paper, got 'best'; default allows more rows"),
        ({"degree": 0}, "degree must be a whole number from 1 to 20, got 0"),
        ({"degree": None}, "degree must be a whole number from 1 to 20, got None"),
        ({"draws": 0}, "draws must be a whole number from 1 to 1048576, got 0"),
        ({"draws": True}, "draws must be a whole number from 1 to 1048576, got True"),
        ({"points": 33}, "points must be a whole number from 1 to 32, got 33"),
        ({"floor": 0}, "floor must be from 0.000001 to 1, got 0; 0.1 suits most tables"),
        ({"floor": 1.5}, "floor must be from 0.000001 to 1, got 3/2; 0.1 suits most tables"),
        ({"floor": float("nan")}, "floor must be a finite number, got 'nan'; give a number such as 0.5"),
        (
            {"variant": "paper", "floor": 0.5},
            "variant paper needs 2 floor < 1 < ceiling - floor, and 2 (ceiling - floor - 1) at most "
            "3 ceiling**2 (1 - 2 floor), got floor 0.5 and ceiling 2; use 0.25 and 2",
        ),
        (
            {"variant": "paper", "floor": 0.49, "ceiling": 8},
            "variant paper needs 2 floor < 1 < ceiling - floor, and 2 (ceiling - floor - 1) at most "
            "3 ceiling**2 (1 - 2 floor), got floor 0.49 and ceiling 8; use 0.25 and 2",
        ),
    ],
)
def test_a_setting_out_of_range_is_refused(settings, message):
    with pytest.raises(ParameterError) as refused:
        lw.PrivateSampling(**settings)

    assert str(refused.value) == message


@pytest.mark.parametrize(
    "field",
    [
        {"name": "x", "type": "boolean"},
        {"name": "x", "type": "string", "categories": ["a", "b", "c"], "constraints": {"required": True}},
        {"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 1, "required": True}, "special": [9]},
        {"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}},
    ],
)
def test_a_column_of_another_kind_is_refused_with_the_way_out(field):
    with pytest.raises(ParameterError) as refused:
        lw.synthesize(pl.DataFrame({"x": ["1"]}), {"fields": [field]}, **settings_of())

    assert str(refused.value) == (
        'column "x" must be required and have two values for private sampling; declare it so in the schema, leave it '
        "out, or use another mechanism"
    )


def test_twenty_one_columns_are_refused():
    with pytest.raises(ParameterError, match="at most 20 columns, got 21; leave some out, or use another mechanism"):
        lw.plan(cube_schema(21), expected_rows=9, epsilon=1, mechanism=lw.PrivateSampling(), neighbours="replace-one")


def test_several_rows_of_a_unit_and_other_neighbours_are_refused():
    schema = {
        "fields": [{"name": "who", "type": "string", "role": "identifier"}, cube_schema(1).to_dict()["fields"][0]],
        "privacyUnit": {"field": "who", "maxRows": 2},
    }
    data = pl.DataFrame({"who": ["a"], "x0": ["true"]})

    with pytest.raises(ParameterError, match="with one row per unit, got replace-one and maxRows 2; use maxRows 1"):
        lw.synthesize(data, schema, **settings_of())
    with pytest.raises(ParameterError, match="supports the neighbour relation replace-one, got add-remove"):
        released(neighbours="add-remove")


def test_a_unit_of_one_row_is_planned_and_certified_where_each_row_names_its_own():
    who = {"name": "who", "type": "string", "role": "identifier"}
    named = {**who, "constraints": {"required": True}}
    flag = cube_schema(1).to_dict()["fields"][0]
    schema, open_schema = (
        {"fields": [each, flag], "privacyUnit": {"field": "who", "maxRows": 1}} for each in (named, who)
    )
    data = pl.DataFrame({"who": [f"p{place}" for place in range(50)], "x0": ["true", "false"] * 25})

    plan = lw.plan(schema, expected_rows=50, **{key: value for key, value in settings_of().items() if key != "seed"})
    release = lw.synthesize(data, schema, **settings_of())

    assert plan.max_rows_effects == ()
    assert "a public number." in release.certificate.text()
    with pytest.raises(ParameterError, match=r"rows may lack their privacy unit; make the unit's field required"):
        lw.synthesize(data, open_schema, **settings_of())


def test_an_empty_table_is_refused():
    with pytest.raises(ParameterError, match=r"private sampling needs a table of 1 to 2\*\*31 rows, got 0"):
        released([])


def test_too_many_walsh_functions_for_the_points_are_refused():
    with pytest.raises(ParameterError) as refused:
        released(mechanism=lw.PrivateSampling(variant="paper", degree=2, points=6))

    assert str(refused.value) == (
        "degree 2 of 3 columns has 7 Walsh functions, more than 6 points; use as many points (at most 32), a lower "
        "degree, fewer columns or variant='default'"
    )


# ------------------------------------------------------------------------------------------------------ the release


def test_drawing_so_many_rows_from_the_model_gives_exactly_the_drawn_rows():
    release = released(epsilon=300)

    out = release.sample(seed=5)

    (answer,) = release.noisy
    codes = np.stack([out[f"x{place}"].to_numpy().astype(int) for place in range(3)])
    shown = (codes << np.arange(3)[:, np.newaxis]).sum(axis=0)
    assert sorted(shown.tolist()) == sorted(answer.rows.tolist())


def test_the_certificate_says_research_and_what_is_proved():
    certificate = released(epsilon=30, misfits=1).certificate

    (line,) = certificate.lines
    errors = {statement.code: statement.value for statement in certificate.accuracy}
    assert (line.question, line.noise, line.sensitivity.l1) == ("PrivateDraw", None, 6)
    assert "Cost: epsilon 29.35 for 1 private draw, pure differential privacy." in certificate.text().replace(
        str(certificate.total), "epsilon 29.35"
    )
    assert any(str(warning).startswith("research mechanism") for warning in certificate.warnings)
    assert errors["rows_drawn"] == certificate.released_rows
    assert errors["error_of_draw"] == pytest.approx(math.sqrt(math.log(2 * 6 / 0.05) / 2 / certificate.released_rows))


def test_the_stated_error_of_the_draw_holds_in_most_releases():
    """At 95 % at least: 200 releases fail more than 24 times with a probability below 1e-4 if the rate is 5 %."""
    question = asked(3, 8, degree=1, floor="1/2", draws=40)
    weights = exact_weights(question, source_of(TABLE, 3))
    ones = np.array([[point >> place & 1 for place in range(3)] for point in range(8)])
    bound = math.sqrt(math.log(2 * 6 / 0.05) / 2 / 40)
    bits = SeededBits(1)

    failures = sum(
        np.abs(ones[weighted_draws(weights, 40, bits)].mean(axis=0) - weights @ ones / weights.sum()).max() > bound
        for _ in range(200)
    )

    assert failures <= 24


def test_the_published_variant_draws_points_that_the_seed_fixes():
    mechanism = lw.PrivateSampling(variant="paper", degree=1, floor=0.25, points=8)

    first, second = (released(mechanism=mechanism, epsilon=2000).noisy[0].question for _ in range(2))

    assert first.points.tolist() == second.points.tolist()
    assert first.points.size == 8


class Ones:
    """A generator that never finds points which tell marginals apart."""

    def integers(self, most, size):
        return np.ones(size, dtype=np.int64)


@pytest.mark.parametrize(("columns", "degree"), [(1, 1), (3, 1), (3, 2), (4, 2), (5, 1), (5, 2)])
@pytest.mark.parametrize("points", [2, 4, 7, 8, 11, 12, 20])
def test_points_that_the_seed_does_not_find_are_even_ones_or_refused(columns, degree, points):
    mechanism = lw.PrivateSampling(variant="paper", degree=degree, floor=0.25, points=points)
    asked = cube_schema(columns), Budget.pure(10**9)
    with suppress(ParameterError):
        (question,) = mechanism.questions(*asked, TERMS, Ones())
        assert is_well_conditioned(question.points, columns, degree)
        return

    with pytest.raises(ParameterError, match=r"use as many points|never told the marginals"):
        mechanism.plan(*asked, TERMS, Ones())
