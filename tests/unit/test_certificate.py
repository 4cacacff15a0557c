"""Certificates and plans: what they hold, what they promise, and how an attack is bounded by them."""

import math
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import lapwing as lw
from helpers import make
from helpers.saved import small_saved
from lapwing.errors import ParameterError
from lapwing.extras.evaluate.report.promise import promise_section
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.conversions import epsilon_for
from lapwing.kernel.noise_law import NoiseLaw, Sensitivity
from lapwing.kernel.plain import rational_text
from lapwing.model.certificate.attack import most_found, most_right, up
from lapwing.model.certificate.certificate import Certificate, CostLine, LedgerEntry, Statement
from lapwing.model.certificate.cost_lines import PlannedRelease, RequestedBudget
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.promise import uncovered_warnings
from lapwing.present.attacks import detail_facts
from lapwing.present.document import Table
from lapwing.schema.schemas import Schema


def _line(cost: Budget, **changes: Any) -> CostLine:
    noise = (
        NoiseLaw("laplace", 1 / cost.amount) if cost.notion == "pure" else NoiseLaw("gaussian", 1 / (2 * cost.amount))
    )
    fields = {
        "question": "MarginalCounts",
        "columns": ("flag",),
        "relation": "add-remove",
        "max_rows": 1,
        "sensitivity": Sensitivity(1, 1),
        "noise": noise,
        "cost": cost,
    }
    return CostLine(**{**fields, **changes})


def _certificate(**changes: Any) -> Certificate:
    fields: dict[str, Any] = {
        "lapwing": "0.1.0",
        "mechanism": "Independent",
        "settings": {"groups": 128},
        "lines": tuple(_line(cost) for cost in Budget.pure(1).split((1, 1, 1))),
        "total": Budget.pure(1),
        "requested": RequestedBudget(epsilon=Fraction(1)),
        "relation": "add-remove",
        "privacy_unit": "row",
        "max_rows": 1,
        "assumed_fields": ("age",),
        "dp_fields": (),
        "public_rows": None,
        "expected_rows": 50_000,
        "released_rows": 48_842,
        "seed": 7,
    }
    return Certificate(**{**fields, **changes})


def _zcdp(**changes: Any) -> Certificate:
    rho = Budget.zcdp("0.1")
    fields = {
        "lines": tuple(_line(cost) for cost in rho.split((1, 2))),
        "total": rho,
        "requested": RequestedBudget(epsilon=Fraction(3), delta=Fraction(1, 10**9)),
        "epsilons": ((Fraction(1, 10**6), Fraction(5, 2)), (Fraction(1, 10**9), Fraction(3))),
        "ledger": LedgerEntry(dataset="adult-2026", release_id="r1"),
        "accuracy": (Statement("expected_cell_noise", 3.0),),
        "warnings": (Notice("mostly_noise", {"sd": 4.5, "rows": 12}),),
        "written_rows": 10,
    }
    return _certificate(**{**fields, **changes})


@pytest.mark.parametrize("make", [_certificate, _zcdp])
@pytest.mark.parametrize("off", ["-0.05", "-1e-12", "1e-12", "1"])
def test_cost_lines_must_sum_exactly_to_the_total(make: Any, off: str):
    total = make().total

    with pytest.raises(ParameterError, match="cost lines sum to"):
        make(total=Budget(total.notion, total.amount + Fraction(off)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"noise": NoiseLaw("laplace", Fraction(999, 1000))}, "loses more privacy"),
        ({"sensitivity": Sensitivity(2, 2)}, "loses more privacy"),
        ({"noise": NoiseLaw("gaussian", Fraction(100))}, "no pure epsilon"),
        ({"sensitivity": Sensitivity(-1, 1)}, "at least 0"),
        ({"relation": "swap"}, "neighbours must be one of"),
        ({"max_rows": 0}, "max_rows"),
    ],
)
def test_a_line_whose_noise_does_not_give_its_cost_is_refused(changes: dict[str, Any], message: str):
    with pytest.raises(ParameterError, match=message):
        _line(Budget.pure(1), **changes)


def test_gaussian_noise_that_is_too_small_for_its_rho_is_refused():
    with pytest.raises(ParameterError, match="loses more privacy"):
        _line(Budget.zcdp(1), noise=NoiseLaw("gaussian", Fraction(49, 100)))


def test_laplace_noise_costs_half_its_epsilon_squared_in_rho():
    _line(Budget.zcdp("0.5"), noise=NoiseLaw("laplace", Fraction(1)))

    with pytest.raises(ParameterError, match="loses more privacy"):
        _line(Budget.zcdp("0.49"), noise=NoiseLaw("laplace", Fraction(1)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"requested": RequestedBudget(epsilon=Fraction(1, 2))}, "more than the 1/2"),
        ({"requested": RequestedBudget(epsilon=Fraction(1), delta=Fraction(1, 10**6))}, "does not answer the request"),
        ({"epsilons": ((Fraction(1, 10**6), Fraction(1)),)}, "leave the list of epsilons out"),
        ({"max_rows": 2, "privacy_unit": "person:2"}, "of other terms"),
        ({"max_rows": 2}, "must be FIELD:2, or row for 1, got 'row'"),
        ({"privacy_unit": "person:2"}, "must be FIELD:1, or row for 1, got 'person:2'"),
        ({"privacy_unit": "person"}, "must be FIELD:1, or row for 1, got 'person'"),
        ({"relation": "replace-one"}, "of other terms"),
        ({"lines": (_line(Budget.zcdp(1)),)}, "of other terms"),
        ({"public_rows": 5}, "public only under replace-one"),
        ({"released_rows": -1}, "at least 0"),
        ({"written_rows": -1}, "at least 0"),
        ({"settings": {"f": len}}, "plain JSON"),
        ({"settings": {"x": float("nan")}}, "plain JSON"),
    ],
)
def test_certificates_that_contradict_themselves_are_refused(changes: dict[str, Any], message: str):
    with pytest.raises(ParameterError, match=message):
        _certificate(**changes)


@pytest.mark.parametrize("amounts", [{}, {"epsilon": Fraction(1), "rho": Fraction(1)}])
def test_a_request_is_of_epsilon_or_of_rho(amounts: dict[str, Fraction]):
    with pytest.raises(ParameterError, match="requested epsilon or the requested rho"):
        RequestedBudget(**amounts)


def test_a_total_above_the_requested_rho_is_refused():
    with pytest.raises(ParameterError, match="more than the 1/20"):
        _zcdp(requested=RequestedBudget(rho=Fraction(1, 20)))


@pytest.mark.parametrize(
    "pair", [(Fraction(0), Fraction(1)), (Fraction(1), Fraction(1)), (Fraction(1, 2), Fraction(-1))]
)
def test_epsilons_out_of_range_are_refused(pair: tuple[Fraction, Fraction]):
    with pytest.raises(ParameterError, match="epsilons of a certificate"):
        _zcdp(epsilons=(pair,))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "3", 10**400])
def test_statements_need_a_finite_value(value: Any):
    with pytest.raises(ParameterError, match="must be finite"):
        Statement("fit", value)


@pytest.mark.parametrize(
    ("number", "decimal"),
    [
        (Fraction(0), "0"),
        (Fraction(1, 2), "0.5"),
        (Fraction(10_000_001, 10_000_000), "1.00001"),
        (Fraction(1, 10**9) + Fraction(1, 10**30), "1.00001e-09"),
        (Fraction(1, 10**999), "1e-999"),
        (Fraction(1, 3 * 10**320), "3.33334e-321"),
        (Fraction(10**400 + 1), "1.00001e+400"),
    ],
)
def test_a_decimal_is_at_least_what_it_stands_for(number, decimal):
    assert rational_text(number) == {"exact": str(number), "decimal": decimal}
    assert Fraction(decimal) >= number


def amounts_of(values):
    """Yield each object of a JSON value that stands for an exact amount."""
    if isinstance(values, dict):
        if "exact" in values and "means" not in values:
            yield values
        values = list(values.values())
    for each in values if isinstance(values, list) else ():
        yield from amounts_of(each)


def test_no_amount_of_a_certificate_is_written_smaller_than_it_is():
    flags = pl.DataFrame({"flag": [True, False] * 9})
    schema = make.schema({"flag": bool})
    for budget in ({"rho": "1/3"}, {"rho": 3}, {"epsilon": "2/3"}, {"epsilon": 1, "delta": 1e-5}):
        certificate = lw.synthesize(flags, schema, **budget, mechanism="Independent").certificate
        amounts = list(amounts_of(certificate.to_dict()))
        assert len(amounts) >= 4
        for each in amounts:
            exact = Fraction(each["exact"])
            assert exact <= Fraction(each["decimal"]) <= exact * Fraction(100_002, 100_000)


def test_no_epsilon_is_told_smaller_than_it_is():
    flags = pl.DataFrame({"flag": [True, False] * 9})
    schema = make.schema({"flag": bool})
    for rho in ("0.0001", "0.1", "0.5", "3", "50"):
        certificate = lw.synthesize(flags, schema, rho=rho, mechanism="Independent").certificate
        told = re.findall(r"epsilon ([0-9.]+) at delta", certificate.text().split("Warning")[0])
        assert len(told) == len(certificate.epsilons)
        for (_, epsilon), short in zip(certificate.epsilons, told, strict=True):
            assert epsilon <= Fraction(short) <= epsilon * Fraction(1001, 1000)


ROWS = 300
UNIT = {"type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}}
POINTS = {"fields": [{"name": "x", **UNIT}, {"name": "y", **UNIT}]}
MIXED = {
    "fields": [
        {"name": "id", "type": "integer", "role": "identifier"},
        make.field("kind", ["a", "b", "c"]),
        make.field("size", (-1.0, 1.0), special=[99]),
        make.field("age", (0, 30), required=True),
    ]
}
OWNED = {**MIXED, "privacyUnit": {"field": "id", "maxRows": 3}}


def table(rows=ROWS, **columns):
    rng = np.random.default_rng(5)
    made = {
        "id": np.arange(rows) // 2,
        "kind": rng.choice(["a", "b", "c"], rows),
        "size": rng.uniform(-1, 1, rows),
        "age": rng.integers(0, 31, rows),
        "x": rng.random(rows),
        "y": rng.random(rows),
    }
    return pl.DataFrame(made | columns)


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "0.5"}], ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_the_mean_variation_of_independent_columns_stays_below_its_bound(budget, neighbours):
    schema = {"fields": [MIXED["fields"][3]]}
    data = table(rows=200).select("age")
    own = np.bincount(data["age"].to_numpy(), minlength=31) / 200
    settings = {"mechanism": "Independent", "neighbours": neighbours, **budget}

    bound = lw.plan(schema, expected_rows=200, **settings).accuracy[0].value
    found = []
    for seed in range(40):
        drawn = (
            lw.synthesize(data, schema, seed=seed, misfits=1, **settings).sample(40_000, seed=seed)["age"].to_numpy()
        )
        found.append(np.abs(np.bincount(drawn, minlength=31) / 40_000 - own).sum() / 2)

    # The drawn rows themselves err by about sqrt(31 / 40000) / 2 = 0.014.
    assert np.mean(found) <= bound + 0.014
    assert bound <= 8 * np.mean(found)


def test_a_tree_has_the_simulated_bound_with_its_error_and_the_published_one():
    planned = lw.plan(POINTS, expected_rows=200_000, epsilon=1, mechanism=lw.PMM())

    expected, simulated, _, published = planned.accuracy
    codes = tuple(each.code for each in planned.accuracy)
    assert codes == ("expected_distance", "simulated_bound", "largest_cell", "published_bound")
    assert "standard error" in simulated.text
    # All levels of a tree that shrinks: twice the noise, and above what the first levels alone bound.
    assert expected.value < published.value < simulated.value
    assert "Theorem 4.3" in published.text


@pytest.mark.parametrize("schema", [OWNED, MIXED], ids=["three rows", "one row"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "0.5"}], ids=str)
def test_the_published_bound_counts_what_a_unit_can_change(schema, neighbours, budget):
    first = {**schema, "fields": schema["fields"][:1] + schema["fields"][2:3]}
    mechanism = lw.PMM(variant="paper", depth=4)

    planned = lw.plan(first, expected_rows=100_000, mechanism=mechanism, neighbours=neighbours, **budget)

    # The greedy bound at the plan's own, rounded shares is the same theorem.
    assert planned.accuracy[-1].value == pytest.approx(planned.accuracy[0].value, rel=1e-3)


def test_a_delta_is_compared_with_pure_epsilon_and_back():
    pure = lw.plan(POINTS, expected_rows=10_000, epsilon=1).delta_gain
    approximate = lw.plan(POINTS, expected_rows=10_000, epsilon=1, delta="1e-9").delta_gain

    assert pure == approximate
    assert pure.delta == 1e-9
    assert pure.pure < pure.with_delta


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"expected_rows": 0, "epsilon": 1}, "expected_rows must be a whole number from 1"),
        ({"expected_rows": None, "epsilon": 1}, "a plan needs expected_rows"),
        ({"expected_rows": 10, "epsilon": 1, "mechanism": "nonesuch"}, "there is no mechanism"),
    ],
)
def test_settings_that_no_release_takes_are_refused(settings, message):
    with pytest.raises(lw.ParameterError, match=message):
        lw.plan(POINTS, **settings)


def test_a_tree_that_does_not_fit_is_refused_with_the_depth_that_fits():
    with pytest.raises(lw.CapacityError, match="depth=10 fits"):
        lw.plan(POINTS, expected_rows=10, epsilon=1, mechanism=lw.PMM(depth=20, max_nodes=2**11))


@pytest.mark.parametrize("accuracy", [(), (Statement("expected_cell_noise"),)])
def test_a_mechanism_that_plans_no_figure_of_its_error_is_refused_when_it_plans(accuracy):
    with pytest.raises(lw.ParameterError, match="must begin with a statement that has a value") as refused:
        PlannedRelease(questions=(), accuracy=accuracy)

    assert refused.value.code == "LW304"


def test_more_rows_per_unit_multiply_the_noise_and_the_plan_says_by_how_much():
    settings = {"expected_rows": ROWS, "rho": 1, "mechanism": "Independent"}

    one, three = (lw.plan(schema, **settings) for schema in (MIXED, OWNED))

    assert [each.lines[0].question for each in (one, three)] == ["MisfitRows"] * 2
    assert (1 - share(three)) * three.lines[1].noise.sd ** 2 == pytest.approx(
        9 * (1 - share(one)) * one.lines[1].noise.sd ** 2
    )
    assert "At the same cost, the noise on a count is 3 times that for one row per unit." in three.text()
    assert "At the same cost" not in one.text()


def share(planned):
    return float(planned.lines[0].cost.amount / planned.total.amount)


def owned(max_rows, fields=MIXED["fields"]):
    return {"fields": fields, "privacyUnit": {"field": "id", "maxRows": max_rows}}


@pytest.mark.parametrize(
    ("mechanism", "neighbours", "own", "values"),
    [
        (lw.Independent(groups=8), "add-remove", 3, [1, 2, 3, 6]),
        (lw.Independent(groups=8), "replace-one", 8, [1, 2, 4, 8, 16]),
        (lw.PMM(depth=6), "replace-one", 1, [1, 2]),
        (lw.Adaptive(), "add-remove", 1, [1, 2]),
        (lw.Adaptive(), "replace-one", 2, [1, 2, 4]),
    ],
    ids=str,
)
def test_the_plan_shows_what_another_max_rows_would_cost(mechanism, neighbours, own, values):
    settings = {"mechanism": mechanism, "neighbours": neighbours, "expected_rows": 10**6, "epsilon": 1}

    planned = lw.plan(owned(own), **settings)

    assert [effect.max_rows for effect in planned.max_rows_effects] == values
    for effect in planned.max_rows_effects:
        alone = lw.plan(owned(effect.max_rows), **settings)
        lines, own_lines = ([line for line in each.lines if line.question != "MisfitRows"] for each in (alone, planned))
        assert effect.noise_sd == lines[0].noise.sd
        assert effect.tables == sum(line.noise is not None for line in lines)
        assert effect.noise_times == pytest.approx(effect.noise_sd / own_lines[0].noise.sd)
        assert effect.stated in alone.accuracy
    (own_figure,) = (each.stated.value for each in planned.max_rows_effects if each.max_rows == own)
    assert [each.error_times for each in planned.max_rows_effects] == pytest.approx(
        [each.stated.value / own_figure for each in planned.max_rows_effects]
    )


ALARMS = (0.001, 0.01, 0.05, 0.1, 0.5)
ROUNDING = 1e-12
DELTAS = [Fraction(1, 10**power) for power in (1, 2, 3, 4, 6, 9)]
SCHEMA = make.schema({"flag": bool}, required=True)
DATA = pl.DataFrame({"flag": [True, False] * 50})


def worst_pair(epsilon, delta):
    """Return the two laws on four outcomes that meet (epsilon, delta) with equality everywhere."""
    rest = (1 - delta) / (1 + math.exp(epsilon))
    return np.array([delta, rest * math.exp(epsilon), rest, 0]), np.array([0, rest, rest * math.exp(epsilon), delta])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.1])
def test_the_bounds_are_those_of_the_worst_pair_of_laws(epsilon, delta):
    with_row, without = worst_pair(epsilon, delta)

    # Neyman and Pearson: outcomes are accused in the order of their likelihood ratio, the last one by a coin.
    alarms, found = np.cumsum([0, *without]), np.cumsum([0, *with_row])
    best = [float(np.interp(alarm, alarms, found)) if alarm > 0 else 0 for alarm in ALARMS]
    right = float(np.maximum(with_row, without).sum() / 2)

    total, lists = Budget.pure(str(epsilon)), Fraction(str(delta))
    assert most_right(total, lists) == pytest.approx(right, abs=ROUNDING)
    assert [most_found(total, alarm, lists) for alarm in ALARMS] == pytest.approx(best, abs=ROUNDING)


def test_nothing_is_ruled_out_by_a_huge_budget_and_all_by_an_empty_one():
    assert most_right(Budget.pure(10**6)) == most_right(Budget.zcdp(10**6)) == 1.0
    assert most_right(Budget("pure", Fraction(0))) == most_right(Budget("zcdp", Fraction(0))) == 0.5
    assert most_right(Budget("zcdp", Fraction(0)), Fraction(1, 10)) == 0.55


@pytest.mark.parametrize("rho", ["1e-6", "0.0001", "0.015", "0.5", "8"])
def test_the_bounds_for_rho_lie_between_gaussian_noise_and_every_epsilon_at_some_delta(rho):
    total, amount = Budget.zcdp(rho), Fraction(rho)
    pairs = [(float(delta), float(epsilon_for(amount, delta))) for delta in DELTAS]
    most = [min((1 + d * math.exp(-e)) / (1 + math.exp(-e)) for d, e in pairs)]
    most += [min(math.exp(min(e, 700)) * f + d for d, e in pairs) for f in ALARMS]

    found = [most_right(total), *(most_found(total, alarm) for alarm in ALARMS)]

    reach = math.sqrt(2 * float(amount))  # two normal laws, so many deviations apart
    least = [norm.cdf(reach / 2), *(norm.cdf(norm.ppf(alarm) + reach) for alarm in ALARMS)]
    # A list of orders is off by less than 0.2 % from all of them.
    assert all(low <= each <= 1.002 * high for low, each, high in zip(least, found, most, strict=True))


@pytest.mark.parametrize("asked", [{"epsilon": 1}, {"epsilon": 3, "delta": "1e-6"}, {"rho": "0.4"}], ids=str)
def test_certificate_and_report_state_one_number_for_one_attack(asked):
    release = lw.synthesize(DATA, SCHEMA, seed=1, mechanism=lw.Independent.small(), **asked)
    certificate = release.certificate

    (accusing, guessing) = [each for each in promise_section(certificate).folded if isinstance(each, Table)]
    curve = next(detail_facts(certificate.total, certificate.delta, ())).text
    of_certificate = {alarm: found for found, alarm in re.findall(r"([\d.]+ %) at ([\d.]+ %)", curve)}

    assert len(accusing.lines) == 4
    assert all(of_certificate[alarm] == found for alarm, found in accusing.lines)
    assert guessing.lines[0][1] == up(most_right(certificate.total))
    assert [row[1] for row in guessing.lines] == sorted((row[1] for row in guessing.lines), key=lambda x: float(x[:-2]))


def test_lists_of_texts_count_in_the_report_and_say_nothing_of_several_units():
    paid = small_saved().certificate
    certificate = replace(paid, delta=Fraction(1, 100), epsilons=(), requested=RequestedBudget(rho=paid.total.amount))

    accusing, guessing = [each for each in promise_section(certificate).folded if isinstance(each, Table)]

    assert accusing.lines[0][1] == up(most_found(certificate.total, 0.001, Fraction(1, 100)))
    assert {row[2] for row in guessing.lines} == {"-"}


def test_percentages_are_rounded_up():
    for share in np.random.default_rng(0).random(200):
        text = up(share)
        assert float(text.removesuffix(" %")) >= 100 * share
        assert float(text.removesuffix(" %")) - 100 * share < 0.1 + ROUNDING


AGE = make.field("age", (0, 97), required=True, provenance="public")


def test_every_list_and_bound_from_the_table_is_warned_of_lists_of_many_texts_first():
    many = {"name": "diagnosis", "type": "string", "categories": [f"d{n}" for n in range(95)]}
    fields = [
        {"name": "patient", "type": "integer", "role": "identifier", "provenance": "assumed"},
        {**AGE, "provenance": "assumed"},
        {**AGE, "name": "known"},
        {**AGE, "name": "bought", "provenance": "dp"},
        make.field("flag", bool, provenance="assumed"),
        make.field("ward", ["east", "west"]),
        make.field("code", [3, 7, 9]),
        {**many, "provenance": "assumed"},
        *({**AGE, "name": f"x{number}", "provenance": "assumed"} for number in range(20)),
    ]

    (warning,) = uncovered_warnings(Schema.from_dict({"fields": fields}).columns)

    told = {"diagnosis": 95, "ward": 2, "code": 3, "age": None, **{f"x{number}": None for number in range(20)}}
    assert list(warning.fields["fields"].items()) == list(told.items())
    assert "diagnosis (95 values), ward (2 values), code (3 values), age, x0, x1" in warning.text


@pytest.mark.parametrize("alarms", [-0.1, 1.1, math.nan])
def test_what_is_no_probability_is_refused(alarms):
    with pytest.raises(ParameterError, match="from 0 to 1"):
        most_found(Budget.pure(1), alarms)
