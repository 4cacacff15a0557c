"""Questions: what they cost, and how far a neighbour can move their answer."""

import itertools
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw, Sensitivity, calibrate_noise
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.registered import answer_from_dict, question_from_dict
from lapwing.rows.source import code_table
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

DOMAIN = Domain(values=2, specials=0, missing=True, ordered=True, continuous=False)
FLAGS = {"fields": [{"name": name, "type": "boolean"} for name in ("x", "y")]}


def question(cost=None, columns=("x", "y")):
    groupings = tuple(identity(DOMAIN) for _ in columns)
    return MarginalCounts(columns=columns, groupings=groupings, cost=cost or Budget.pure(1))


def unit_schema(max_rows):
    return Schema.from_dict(
        {
            "fields": [{"name": "who", "type": "integer", "role": "identifier"}, *FLAGS["fields"]],
            "privacyUnit": {"field": "who", "maxRows": max_rows},
        }
    )


def rows_of(who, cells):
    return [{"who": who, "x": cell[0], "y": cell[1]} for cell in cells]


def changes(max_rows, relation):
    """Yield the change of the x-y table over all neighbours whose changed unit owns up to max_rows + 1 rows."""
    schema = unit_schema(max_rows)
    others = rows_of(1, [(True, False)] * 2) + rows_of(2, [(False, False), (True, True)])
    values = list(itertools.product((True, False), repeat=2))
    sets = [
        rows_of(9, c) for size in range(max_rows + 2) for c in itertools.combinations_with_replacement(values, size)
    ]
    whole = identity(DOMAIN)
    kinds = {"who": pl.Int64, "x": pl.Boolean, "y": pl.Boolean}
    tables = [
        code_table(pl.DataFrame(others + extra, schema=kinds), schema).count([(("x", whole), ("y", whole))])[0]
        for extra in sets
    ]
    if relation == "add-remove":
        return [(table - tables[0]).ravel() for table in tables]
    nonempty = tables[1:]
    return [(one - other).ravel() for one, other in itertools.product(nonempty, repeat=2)]


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_brute_force_attains_the_claimed_sensitivity_and_never_passes_it(relation, max_rows):
    claimed = question().sensitivity(relation, max_rows)

    moved = changes(max_rows, relation)

    assert max(int(np.abs(change).sum()) for change in moved) == claimed.l1
    assert max(int((change**2).sum()) for change in moved) == claimed.l2_squared


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("cost", [Budget.pure(Fraction(1, 7)), Budget.zcdp(Fraction(1, 7))])
def test_the_worst_neighbour_loses_exactly_the_cost(relation, max_rows, cost):
    asked = question(cost)
    law = asked.noise(relation, max_rows)
    answer = NoisyCounts(asked, np.zeros(asked.shape, dtype=np.int64), law)

    losses = [answer.privacy_loss(change, np.zeros_like(change)) for change in changes(max_rows, relation)]

    assert max(losses) == cost.amount


def test_noise_laws_are_exact_rationals():
    assert calibrate_noise(Sensitivity(1, 1), Budget.pure("0.1")).parameter == 10
    assert calibrate_noise(Sensitivity(6, 18), Budget.zcdp("0.5")) == NoiseLaw("gaussian", Fraction(18))


def test_a_budget_too_small_for_64_bit_counts_is_refused():
    with pytest.raises(ParameterError, match="larger budget"):
        calibrate_noise(Sensitivity(1, 1), Budget("pure", Fraction(1, 2**52)))


@pytest.mark.parametrize(
    ("kind", "parameter", "sd"), [("laplace", 3, 4.2228), ("gaussian", 9, 3.0), ("laplace", 1, 1.3570)]
)
def test_the_standard_deviation_is_that_of_the_integer_law(kind, parameter, sd):
    z = np.arange(-2000, 2001)
    weights = np.exp(-abs(z) / parameter) if kind == "laplace" else np.exp(-(z**2) / (2 * parameter))
    exact = float(np.sqrt((weights * z**2).sum() / weights.sum()))

    law = NoiseLaw(kind, Fraction(parameter))

    assert law.sd == pytest.approx(exact, rel=1e-9 if kind == "laplace" else 1e-6)


def test_an_answer_that_inflates_beyond_its_table_is_refused():
    big = NoisyCounts(question(), np.zeros((3, 3), dtype=np.int64), NoiseLaw("laplace", Fraction(1))).to_dict()
    import base64
    import zlib

    big["answer"]["counts"] = base64.b64encode(zlib.compress(bytes(10**7))).decode()

    with pytest.raises(ParameterError, match="must hold 9 counts"):
        answer_from_dict(big)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"columns": ("x", "x")}, "names a column twice"),
        ({"columns": ("x",)}, "give one each"),
        ({"cost": Budget("pure", Fraction(0))}, "must cost more than 0"),
    ],
)
def test_a_malformed_question_is_refused(broken, message):
    parts = {"columns": ("x", "y"), "groupings": (identity(DOMAIN),) * 2, "cost": Budget.pure(1)} | broken

    with pytest.raises(ParameterError, match=message):
        MarginalCounts(**parts)


def test_a_table_beyond_the_cell_limit_is_refused():
    wide = Domain(values=2**14, specials=0, missing=True, ordered=True, continuous=False)

    with pytest.raises(CapacityError, match="use coarser groupings"):
        MarginalCounts(columns=("x", "y"), groupings=(identity(wide),) * 2, cost=Budget.pure(1))


def test_an_unknown_kind_of_question_is_refused():
    with pytest.raises(ParameterError, match="unknown question kind"):
        question_from_dict({"kind": "Everything"})
