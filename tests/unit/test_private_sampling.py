"""PrivateSampling: the draw, its privacy, and what its releases keep."""

import itertools
import math
from contextlib import suppress
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog, minimize

import lapwing as lw
from helpers.bits import ScriptedBits, SeededBits
from helpers.pmm_runs import refused
from helpers.private_draws import asked, cube_schema, frame_of, kinds_of_rows, sets_up_to, source_of, walsh
from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise.weighted import weighted_draws
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.private_draw.answer import answer_private_draw, exact_weights
from lapwing.kernel.questions.private_draw.question import DrawnRows, row_price
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.maths.reduced_density import (
    exact_minimum,
    is_well_conditioned,
    largest_odd_family,
    low_sets,
    nearest_density,
    sign_matrix,
)
from lapwing.model.certificate.certificate import CostLine
from lapwing.rows.source import code_table

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


POINTS = [0, 1, 2, 3, 4, 5, 6, 7]


def published(rows=8, **changes):
    return asked(3, rows, **{"points": POINTS, "floor": "1/4", "ceiling": "2"} | changes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": [8]}, "takes 1 to 32 points, all of its cube"),
        ({"points": [-1]}, "takes 1 to 32 points, all of its cube"),
        ({"points": []}, "takes 1 to 32 points, all of its cube"),
        ({"points": list(range(8)) * 5}, "takes 1 to 32 points, all of its cube"),
        ({"ceiling": None}, "a ceiling goes with points"),
        ({"points": None}, "a ceiling goes with points"),
        ({"degree": 4}, "degree of a private draw must be a whole number from 1 to 3, got 4"),
        ({"draws": 0}, "draws of a private draw must be a whole number from 1 to 1048576, got 0"),
        ({"draws": True}, "draws of a private draw must be a whole number from 1 to 1048576, got True"),
        ({"rows": 0}, "rows of a private draw must be a whole number from 1 to 2147483648, got 0"),
        ({"notion": "gaussian"}, "the notion of a budget must be 'pure' or 'zcdp', got 'gaussian'"),
        ({"floor": "1/1000001"}, "floor must be from 0.000001 to 1, got 1/1000001"),
        ({"floor": "0"}, "floor must be from 0.000001 to 1, got 0"),
    ],
)
def test_a_question_outside_its_range_is_refused(change, message):
    with pytest.raises(ParameterError, match=message):
        published(**change)


def test_the_published_variant_needs_a_floor_below_what_its_ceiling_allows():
    published(floor="9/20")
    for change in ({"floor": "23/50"}, {"floor": "1/2"}, {"ceiling": "1"}, {"ceiling": "5/4"}):
        with pytest.raises(ParameterError, match="needs 2 floor < 1 < ceiling - floor"):
            published(**change)


@pytest.mark.parametrize(("columns", "degree"), [(1, 1), (3, 1), (3, 2), (3, 3), (4, 2)])
def test_the_sensitivity_is_how_far_a_replaced_row_moves_the_sums_of_walsh_functions(columns, degree):
    chosen = [each for size in range(degree + 1) for each in itertools.combinations(range(columns), size)]
    signs = itertools.product((-1, 1), repeat=columns)
    walsh = np.array([[math.prod(row[place] for place in places) for places in chosen] for row in signs])
    moves = walsh[:, None] - walsh

    bound = asked(columns, 8, degree=degree).sensitivity("replace-one", 1)

    assert (bound.l1, bound.l2_squared) == (np.abs(moves).sum(axis=2).max(), (moves**2).sum(axis=2).max())


# ----------------------------------------------------------------------------------------------------- in the room
def room(points=TABLE, *, terms=TERMS, budget="9", bits=None):
    source = code_table(frame_of(points, 3), cube_schema(3))
    return Room(source, cube_schema(3), terms, Budget.pure(budget), bits=bits or SystemBits(), sink=NoTranscript())


def test_a_number_of_rows_that_is_not_the_public_one_is_refused():
    with pytest.raises(ParameterError, match="is for 9 rows, which is not the public number of rows"):
        room().ask(asked(3, 9, floor="1"))


@pytest.mark.parametrize("terms", [Terms(relation="add-remove"), Terms(relation="replace-one", max_rows=2)])
def test_terms_that_hide_the_number_of_rows_are_refused(terms):
    with pytest.raises(ParameterError, match="is for 8 rows, which is not the public number of rows"):
        room(terms=terms).ask(asked(3, 8))
    with pytest.raises(ParameterError, match="a private draw protects replace-one neighbours with one row per unit"):
        CostLine.planned(asked(3, 8), terms)


def test_points_that_do_not_tell_the_marginals_apart_are_refused_before_a_row_is_read():
    with pytest.raises(ParameterError, match=r"smallest singular value of 4 points is below sqrt\(m\) / \(2 e\*\*1\)"):
        room(budget=9999).ask(published(points=[0, 0, 0, 1]))


def test_the_answer_is_drawn_by_exact_weights_from_the_secret_words():
    question = asked(3, 8, floor="1/8", draws=3)
    weights = exact_weights(question, source_of(TABLE, 3))
    ends = np.cumsum(weights)

    words = [0, int(ends[4]), int(ends[-1]) - 1]
    (answer,) = answer_private_draw([question], PrivateRows.of(source_of(TABLE, 3), None), TERMS, ScriptedBits(words))

    assert answer.rows.tolist() == [0, 5, 7]
    assert answer.tables == ()


def test_rows_of_the_published_variant_are_its_points():
    question = published(points=[7, 6, 5, 4, 3, 2, 1, 0], draws=200)

    (answer,) = answer_private_draw([question], PrivateRows.of(source_of(TABLE, 3), None), TERMS, SystemBits())

    assert set(answer.rows.tolist()) <= set(POINTS)
    assert answer.question.points.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]


def test_a_misfit_counts_as_spread_over_the_whole_cube():
    misfits = [None] * 8

    assert set(exact_weights(asked(3, 8, degree=3), source_of(misfits, 3)).tolist()) == {8}


# ---------------------------------------------------------------------------------------------------------- records
@pytest.mark.parametrize("rows", [[0, 8], [-1, 0], [0], [0, 1, 2]])
def test_an_answer_outside_the_space_is_refused(rows):
    with pytest.raises(ParameterError, match="an answer must hold 2 rows of the space"):
        DrawnRows(asked(3, 8, draws=2), np.array(rows))


SMALL = [
    (1, 1, 4, "1/10"),
    (1, 1, 9, "22/25"),
    (2, 1, 4, "1/2"),
    (2, 2, 4, "1/4"),
    (2, 2, 4, "1"),
    (3, 1, 2, "1/2"),
    (3, 2, 2, "1/2"),
    (3, 3, 2, "1"),
    *[
        pytest.param(*case, marks=pytest.mark.full)
        for case in [
            (3, 1, 3, "1/3"),
            (3, 2, 3, "9/10"),
            (3, 3, 4, "1/10"),
            (4, 1, 2, "1"),
            (4, 2, 2, "1/2"),
            (4, 4, 2, "1/10"),
        ]
    ],
]
"""Columns, degree, rows, floor."""


@cache
def weights_of_all_tables(columns, degree, rows, floor):
    """Return the weights of every table of so many rows, misfits among them, by its sorted kinds of rows."""
    kinds = kinds_of_rows(columns)
    question = asked(columns, rows, degree=degree, floor=floor)
    return {
        table: exact_weights(question, source_of([kinds[each] for each in table], columns)).tolist()
        for table in itertools.combinations_with_replacement(range(len(kinds)), rows)
    }


def neighbours(columns, degree, rows, floor):
    """Yield the weights of every two tables that differ in one row."""
    weights = weights_of_all_tables(columns, degree, rows, floor)
    kinds = range(len(kinds_of_rows(columns)))
    for table, own in weights.items():
        for place, kind in itertools.product(range(rows), kinds):
            yield own, weights[tuple(sorted((*table[:place], kind, *table[place + 1 :])))]


def ratios(own, other):
    return [Fraction(one, two) for one, two in zip(own, other, strict=True)]


def largest_ratio(pairs):
    return max(Fraction(*each) for each in {each for own, other in pairs for each in zip(own, other, strict=True)})


@pytest.mark.parametrize(("columns", "degree", "rows", "floor"), SMALL)
def test_no_neighbour_passes_either_term_of_the_bound(columns, degree, rows, floor):
    odd = largest_odd_family(columns, degree)
    least = math.ceil(Fraction(floor) * rows)

    pairs = list(neighbours(columns, degree, rows, floor))
    growths = {(sum(other), sum(own)) for own, other in pairs}

    assert min(min(own) for own, _ in pairs) >= least
    assert largest_ratio(pairs) <= 1 + Fraction(2 * odd, least)
    assert max(Fraction(*growth) - 1 for growth in growths) ** 2 <= Fraction(4 * odd, rows**2)


@pytest.mark.parametrize(("columns", "degree", "rows", "floor"), SMALL)
@pytest.mark.parametrize("notion", ["pure", "zcdp"])
def test_no_neighbour_loses_more_than_the_price(columns, degree, rows, floor, notion):
    question = asked(columns, rows, degree=degree, floor=floor, notion=notion)
    answer = DrawnRows(question, np.zeros(1, dtype=np.int64))

    losses = {
        answer.privacy_loss(np.array(own), np.array(other))
        for own, other in set(map(_key, neighbours(columns, degree, rows, floor)))
    }

    assert 0 < max(losses) <= question.row_price


@pytest.mark.parametrize(("own", "other"), [([1, 3, 4, 1], [2, 3, 7, 1]), ([5, 1, 1, 2], [1, 1, 1, 1])])
def test_the_loss_of_a_draw_is_that_of_its_probabilities(own, other):
    logs = [math.log((one / sum(own)) / (two / sum(other))) for one, two in zip(own, other, strict=True)]

    losses = [
        DrawnRows(asked(2, 9, degree=1, floor="1/3", notion=notion, draws=3), np.zeros(3, dtype=np.int64)).privacy_loss(
            np.array(own), np.array(other)
        )
        for notion in ("pure", "zcdp")
    ]

    assert list(map(float, losses)) == pytest.approx([3 * max(map(abs, logs)), 3 * (max(logs) - min(logs)) ** 2 / 8])


def _key(pair):
    return tuple(pair[0]), tuple(pair[1])


def test_the_first_term_is_attained():
    for columns, degree, rows, floor in [*SMALL[:5], (3, 1, 3, "1/3")]:
        term = 1 + Fraction(2 * largest_odd_family(columns, degree), math.ceil(Fraction(floor) * rows))

        assert largest_ratio(neighbours(columns, degree, rows, floor)) == term, (columns, degree)


def test_the_bounded_range_is_attained_and_an_eighth_of_epsilon_squared_is_too_little():
    case = (1, 1, 9, "22/25")
    eta = 2 * math.log(1 + 2 / 8)
    epsilon = float(row_price(1, 1, Fraction(22, 25), 9, notion="pure"))

    widths = {math.log(max(ratios(*pair)) / min(ratios(*pair))) for pair in neighbours(*case)}
    divergences = [renyi(own, other, order) / order for own, other in neighbours(*case) for order in (1.0001, 2, 8, 64)]

    assert max(widths) == pytest.approx(eta, rel=1e-12)  # logarithms of doubles
    assert max(divergences) <= eta**2 / 8
    assert max(divergences) > epsilon**2 / 8
    assert float(row_price(1, 1, Fraction(22, 25), 9, notion="zcdp")) == pytest.approx(eta**2 / 8, rel=1e-11)


@pytest.mark.parametrize(("columns", "degree", "rows", "floor"), SMALL)
def test_no_renyi_divergence_passes_rho(columns, degree, rows, floor):
    rho = float(row_price(columns, degree, Fraction(floor), rows, notion="zcdp"))

    for own, other in set(map(_key, neighbours(columns, degree, rows, floor))):
        for order in (1.01, 2, 16):
            assert renyi(own, other, order) <= order * rho + 1e-9  # sums of a few doubles of size at most 10


def renyi(own, other, order):
    """Return the Renyi divergence of an order above 1 between the laws with these weights."""
    laws = [[weight / sum(weights) for weight in weights] for weights in (own, other)]
    total = sum(p * math.exp((order - 1) * math.log(p / q)) for p, q in zip(*laws, strict=True))
    return math.log(total) / (order - 1)


@pytest.mark.parametrize(("columns", "degree"), [(p, d) for p in range(1, 6) for d in range(1, p + 1)])
def test_the_odd_family_is_what_two_points_can_see_differently(columns, degree):
    sets = sets_up_to(columns, degree)
    cube = list(itertools.product((0, 1), repeat=columns))

    seen = max(sum(walsh(each, cube[0]) != walsh(each, point) for each in sets) for point in cube)

    assert largest_odd_family(columns, degree) == seen
    assert low_sets(columns, degree) == len(sets)


# --------------------------------------------------------------------------------------------- the published variant
SETTINGS = [("1/4", "2"), ("2/5", "8/5"), ("1/10", "3"), ("9/20", "3/2"), ("1/20", "6/5")]
"""Floor and ceiling."""


def well_conditioned(columns, degree, size, rng):
    while True:
        points = rng.integers(2**columns, size=size)
        if is_well_conditioned(points, columns, degree):
            return points


def stability(columns, degree, size, floor, ceiling, rows, rng):
    """Return the largest of ``|h - h'|**2 / (8 Δ**3 τ / δ)`` over neighbours of a lopsided table, and densities."""
    signs = sign_matrix(well_conditioned(columns, degree, size, rng), columns, degree)
    sets = sets_up_to(columns, degree)
    floor, ceiling = Fraction(floor), Fraction(ceiling)
    tau = 4 * math.exp(degree) * math.sqrt(len(sets) / size) / rows
    limit = 8 * float(ceiling) ** 3 * tau / float(floor)
    cube = list(itertools.product((0, 1), repeat=columns))
    vectors = np.array([[walsh(each, point[::-1]) for each in sets] for point in cube])
    counts = rng.multinomial(rows - 1, rng.dirichlet(np.full(len(cube), 0.3)))
    densities = [
        nearest_density(signs, counts @ vectors + vectors[each], rows, floor, ceiling)
        for each in rng.choice(len(cube), size=min(3, len(cube)), replace=False)
    ]
    moved = [
        float(sum((one - two) ** 2 for one, two in zip(*pair, strict=True))) / size**2
        for pair in itertools.combinations(densities, 2)
    ]
    return max(moved) / limit, densities


@pytest.mark.parametrize(("floor", "ceiling"), SETTINGS)
@pytest.mark.parametrize("rows", [2, 30, 10**4])
def test_no_neighbour_moves_the_published_density_further_than_the_lemma_says(floor, ceiling, rows):
    rng = np.random.default_rng([rows, len(floor)])

    for columns, degree, size in [(2, 1, 6), (3, 1, 8), (3, 2, 9)]:
        share, densities = stability(columns, degree, size, floor, ceiling, rows, rng)

        assert share <= 1
        for density in densities:
            assert sum(density) == size
            assert Fraction(floor) <= min(density) <= max(density) <= Fraction(ceiling)


@pytest.mark.full
@pytest.mark.parametrize(("floor", "ceiling"), SETTINGS)
def test_no_neighbour_of_many_tables_moves_the_published_density_too_far(floor, ceiling):
    rng = np.random.default_rng(5)
    shares = []

    for rows in (1, 2, 3, 10, 100, 1000, 10**5):
        for columns, degree, size in [(1, 1, 4), (2, 1, 5), (2, 2, 8), (3, 1, 8), (3, 2, 12), (4, 1, 12)]:
            shares += [stability(columns, degree, size, floor, ceiling, rows, rng)[0] for _ in range(5)]

    assert max(shares) <= 1


def fractions(values):
    return [Fraction(int(each)) for each in values]


def random_program(rng, *, is_linear):
    """Return a feasible, bounded program in whole numbers, with repeated and binding limits."""
    count = int(rng.integers(1, 7))
    inside = rng.integers(0, 4, count)
    rows = rng.integers(-3, 4, (int(rng.integers(0, 5)), count))
    limits = rows @ inside - rng.integers(0, 2, len(rows))
    rows = np.vstack([rows, rows[:1], -np.eye(count, dtype=int)])
    limits = np.concatenate([limits, limits[:1], np.full(count, -5)])
    hessian = np.zeros(count, dtype=int) if is_linear else rng.integers(1, 4, count)
    return hessian, rng.integers(-4, 5, count), rows, limits, inside


def value_by_solver(hessian, gradient, rows, limits, inside):
    """Return the minimum that SciPy finds."""
    if not hessian.any():
        return linprog(gradient, A_ub=-rows, b_ub=-limits).fun
    return minimize(
        lambda x: (hessian * x * x / 2 + gradient * x).sum(),
        inside,
        jac=lambda x: hessian * x + gradient,
        constraints=[{"type": "ineq", "fun": lambda x: rows @ x - limits, "jac": lambda x: rows}],
        bounds=[(0, None)] * len(inside),
        method="SLSQP",
    ).fun


@pytest.mark.parametrize("is_linear", [True, False])
def test_no_solver_finds_a_lower_value(is_linear):
    rng = np.random.default_rng(is_linear)

    for _ in range(60):
        hessian, gradient, rows, limits, inside = random_program(rng, is_linear=is_linear)

        found = exact_minimum(
            fractions(hessian), fractions(gradient), [fractions(row) for row in rows], fractions(limits)
        )

        assert min(found) >= 0
        assert all(
            sum(a * x for a, x in zip(row, found, strict=True)) >= limit
            for row, limit in zip(rows.tolist(), limits.tolist(), strict=True)
        )
        value = sum(h * x * x / 2 + g * x for h, g, x in zip(hessian.tolist(), gradient.tolist(), found, strict=True))
        other = value_by_solver(hessian, gradient, rows, limits, inside)
        assert float(value) == pytest.approx(other, abs=1e-5)  # what SLSQP leaves


def test_more_rows_than_the_budget_allows_are_refused_before_the_debit(tmp_path):
    mechanism, settings = lw.PrivateSampling(degree=1, floor=0.5, draws=99), {"neighbours": "replace-one", "epsilon": 2}
    message = r"^draws must be at most \d+ for epsilon .*, 3 columns, degree 1 and a table of .*, got 99; draw no more"

    refused(tmp_path, mechanism, cube_schema(3), ParameterError, message, **settings)
