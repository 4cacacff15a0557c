"""The certificate: exact sums, refusals, round trip, text."""

import re
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw, Sensitivity
from lapwing.kernel.plain import rational_text
from lapwing.model.certificate.certificate import Certificate, CostLine, LedgerEntry, Statement
from lapwing.model.certificate.cost_lines import RequestedBudget
from lapwing.model.certificate.notices import Notice


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
    schema = {"fields": [{"name": "flag", "type": "boolean"}]}
    for budget in ({"rho": "1/3"}, {"rho": 3}, {"epsilon": "2/3"}, {"epsilon": 1, "delta": 1e-5}):
        certificate = lw.synthesize(flags, schema, **budget, mechanism="Independent").certificate
        amounts = list(amounts_of(certificate.to_dict()))
        assert len(amounts) >= 4
        for each in amounts:
            exact = Fraction(each["exact"])
            assert exact <= Fraction(each["decimal"]) <= exact * Fraction(100_002, 100_000)


def test_no_epsilon_is_told_smaller_than_it_is():
    flags = pl.DataFrame({"flag": [True, False] * 9})
    schema = {"fields": [{"name": "flag", "type": "boolean"}]}
    for rho in ("0.0001", "0.1", "0.5", "3", "50"):
        certificate = lw.synthesize(flags, schema, rho=rho, mechanism="Independent").certificate
        told = re.findall(r"epsilon ([0-9.]+) at delta", certificate.text().split("Warning")[0])
        assert len(told) == len(certificate.epsilons)
        for (_, epsilon), short in zip(certificate.epsilons, told, strict=True):
            assert epsilon <= Fraction(short) <= epsilon * Fraction(1001, 1000)
