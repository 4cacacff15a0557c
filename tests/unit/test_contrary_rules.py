"""Rules that real rows break: what noisy counts tell of it, and that the certificate says so."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.cases import spread
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.maths.noise_tails import sum_tail
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.model.certificate.declared import broken_at_least, sum_reach
from lapwing.schema.groupings.grouping import prefix_grouping
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "role", "type": "string", "categories": ["husband", "wife", "other"], "constraints": {"required": True}},
    {"name": "sex", "type": "string", "categories": ["f", "m"]},
    {"name": "hours", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}},
]
CUT = ("hours", "age")
CONTRARY = [
    {"when": {"role": "husband"}, "then": {"sex": "f"}},
    {"order": ["hours", "age"]},
    {"never": {"role": "wife"}},
    {"never": {"role": "other", "sex": "f", "age": {"maximum": 50}}},
    {"sum": {"hours": 1}, "equals": "age"},
    {"determines": ["role"], "column": "sex"},
]


def rows(count: int) -> dict[str, np.ndarray]:
    """Return codes: half are husbands and men, a quarter wives; all work 60 hours and are 30 years old."""
    place = np.arange(count)
    return {
        "role": np.where(place % 2 == 0, 0, np.where(place % 4 == 1, 1, 2)),
        "sex": (place % 2 == 0).astype(int),
        "hours": np.full(count, 60),
        "age": np.full(count, 30),
    }


def counted(schema: Schema, codes: dict[str, np.ndarray], names: tuple[str, ...], *, shift: int = 0) -> NoisyCounts:
    """Return the exact table of some columns as an answer with a small noise law."""
    groupings = tuple(prefix_grouping(schema.field(name).domain, shift if name in CUT else 0) for name in names)
    question = MarginalCounts(columns=names, groupings=groupings, cost=Budget.pure(Fraction(1)))
    counts = np.zeros(question.shape, dtype=np.int64)
    np.add.at(counts, tuple(grouping.apply(codes[name]) for grouping, name in zip(groupings, names, strict=True)), 1)
    return NoisyCounts(question, counts, question.noise("add-remove", 1))


TABLES = {
    "implication": ([("role", "sex")], 0, {0: 0.5, 2: 0.25}),
    "one column": ([("role",)], 0, {2: 0.25}),
    "three columns and one more": ([("age", "role", "hours", "sex")], 3, {0: 0.5, 1: 1, 2: 0.25, 3: 0.25, 4: 1}),
    "order by one-way tables": ([("hours",), ("age",)], 0, {1: 1, 4: 1}),
    "groups that cannot tell": ([("hours", "age"), ("hours",), ("age",)], 6, {}),
    "one-way tables that cannot tell": ([("role",), ("sex",)], 0, {2: 0.25}),
    "no table": ([], 0, {}),
}


@pytest.mark.parametrize("case", TABLES)
def test_counts_tell_how_many_rows_break_a_rule_at_least(case):
    names, shift, wanted = TABLES[case]
    schema = Schema.from_dict({"fields": FIELDS, "rules": CONTRARY})
    answers = [counted(schema, rows(100_000), each, shift=shift) for each in names]

    found = broken_at_least(schema, answers)

    # Less some five deviations of at most 1.4 rows of at most 10,000 cells.
    assert found == {schema.rules[place].text: pytest.approx(share, abs=0.02) for place, share in wanted.items()}
    assert all(found[schema.rules[place].text] <= share for place, share in wanted.items())


def test_one_way_tables_bound_an_implication():
    fields = [{"name": name, "type": "boolean"} for name in ("rich", "old")]
    schema = Schema.from_dict({"fields": fields, "rules": [{"when": {"rich": True}, "then": {"old": True}}]})
    codes = {"rich": np.arange(10_000) % 10 < 7, "old": np.arange(10_000) % 10 < 2}
    answers = [counted(schema, {name: each.astype(int) for name, each in codes.items()}, (name,)) for name in codes]

    found = broken_at_least(schema, answers)

    assert found == {"when rich is true, old is true": pytest.approx(0.5, abs=0.01)}


def contrary_rows(count: int) -> pl.DataFrame:
    """Return decoded rows that break rules."""
    codes = rows(count)
    roles = ["husband", "wife", "other"]
    return pl.DataFrame(
        {
            "role": [roles[code] for code in codes["role"]],
            "sex": ["fm"[code] for code in codes["sex"]],
            "hours": codes["hours"],
            "age": codes["age"],
        },
    )


@pytest.mark.parametrize("name", ["adaptive", "independent"])
def test_a_certificate_warns_of_rules_that_real_rows_break(name):
    release = lw.synthesize(
        contrary_rows(3000),
        {"fields": FIELDS, "rules": CONTRARY[1:3]},
        epsilon=4,
        mechanism=MECHANISMS[name].small(),
        seed=1,
    )

    told = [each.fields["rule"] for each in release.certificate.warnings if each.code == "rule_broken"]

    assert told == ["hours <= age", "never role is wife"]


@pytest.mark.parametrize("seed", range(2))
def test_rows_that_keep_the_rules_are_not_accused(seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, 400)
    data = pl.DataFrame(
        {
            "role": rng.choice(["husband", "other"], 400),
            "sex": ["f"] * 400,
            "hours": (age * rng.random(400)).astype(int),
            "age": age,
        },
    )
    release = lw.synthesize(data, {"fields": FIELDS, "rules": CONTRARY[:3]}, epsilon=0.3, seed=seed)

    assert not [each for each in release.certificate.warnings if each.code == "rule_broken"]


def test_hundreds_of_rules_that_hold_are_not_accused_by_laplace_noise():
    names = [f"c{place}" for place in range(600)]
    schema = Schema.from_dict(
        {
            "fields": [{"name": "code", "type": "string", "categories": names}],
            "rules": [{"never": {"code": name}} for name in names[:400]],
        },
    )
    codes = {"code": np.random.default_rng(0).integers(400, 600, 1000)}
    exact = counted(schema, codes, ("code",))
    rng = np.random.default_rng(1)
    noise = rng.geometric(1 - np.exp(-1.0), (20, 2, exact.counts.size))
    assert exact.noise == NoiseLaw("laplace", Fraction(1))

    accused = [
        len(broken_at_least(schema, [NoisyCounts(exact.question, exact.counts + one - two, exact.noise)]))
        for one, two in noise
    ]

    # Beyond four standard deviations, 5.4 of 1.36 each, goes one count in 500: 16 of these 8,000.
    assert sum(accused) == 0


@spread(
    ("kind", ["laplace", "gaussian"]),
    ("terms", [1, 5, 300]),
    ("parameter", [Fraction(1, 3), Fraction(7), Fraction(4000)]),
    ("failure", [1e-3, 1e-7]),
)
def test_a_sum_of_noise_stays_within_its_reach(kind, terms, parameter, failure):
    # Of one side; `sum_tail` says it of both.
    least = sum_tail(kind, parameter, terms, 2 * failure)

    reach = sum_reach(((NoiseLaw(kind, parameter), terms),), failure)

    assert least <= reach <= 1.6 * least + 2
