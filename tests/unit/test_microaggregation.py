"""Microaggregation: settings, what it asks and refuses, and plans."""

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.bits import ZeroNoiseBits
from helpers.cases import spread
from helpers.flag_tables import FLAG, KIND, MIXED, WIDE, flags, frame_of_flags, latent_rows, mixed_rows
from helpers.pmm_runs import frame_of, run, unit_columns
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation
from lapwing.schema.schemas import Schema

PAPER = Microaggregation(variant="paper")


FLAGS = frame_of_flags(latent_rows(np.random.default_rng(1), 400, 4))
TABLES = {
    "one flag": (flags(1), FLAGS),
    "flags": (flags(4), FLAGS),
    "wide": (Schema.from_dict({"fields": [WIDE]}), mixed_rows(300)),
    "mixed": (MIXED, mixed_rows(300)),
}


def asked(answers):
    """Return what was asked, in order, in short."""
    return [getattr(answer.question, "summed", answer.question.kind) for answer in answers]


# -------------------------------------------------------------------------------------------------------- settings


# --------------------------------------------------------------------------------------------- questions and budget


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ({"relation": "replace-one"}, ["vectors"]),
        ({"expected_rows": 100}, ["rows", "vectors"]),
        ({}, ["rows", "vectors"] * 2),  # the first answers told how many rows there are
    ],
)
def test_no_second_moment_is_bought_where_noise_alone_would_pass_any_eigenvalue(terms, expected):
    _, answers = run(Microaggregation(), FLAGS.head(100), flags(4), budget=Budget.pure("0.01"), **terms)

    assert asked(answers) == expected


@pytest.mark.parametrize("max_rows", [1, 3])
def test_noise_covers_all_rows_of_a_person(max_rows):
    person = {"name": "person", "type": "integer", "role": "identifier"}
    schema = Schema.from_dict(
        {"fields": [person, *flags(3).to_dict()["fields"]], "privacyUnit": {"field": "person", "maxRows": max_rows}}
    )
    data = FLAGS.select("f0", "f1", "f2").with_columns(person=pl.Series(range(400)))

    _, answers = run(Microaggregation(directions=1), data, schema)

    for answer in answers:
        assert answer.noise == answer.question.noise("add-remove", max_rows)
        assert answer.noise.parameter == max_rows * answer.question.noise("add-remove", 1).parameter


# ------------------------------------------------------------------------------------------------ plans and statements


@spread(
    ("table", TABLES),
    ("relation", ["add-remove", "replace-one"]),
    ("settings", [{}, {"directions": 1}, {"directions": 2, "bins": 3}, {"directions": 0}]),
)
def test_a_plan_asks_at_the_costs_of_the_release(table, relation, settings):
    schema, data = TABLES[table]
    mechanism, rows = Microaggregation(**settings), data.height
    terms = Terms(relation=relation, rows=rows if relation == "replace-one" else None, expected_rows=rows)

    planned = mechanism.plan(schema, Budget.pure(1), terms, np.random.default_rng(1))

    _, answers = run(mechanism, data, schema, relation=relation, expected_rows=rows, bits=ZeroNoiseBits())
    short = [(getattr(each, "summed", each.kind), each.cost, each.columns) for each in planned.questions]
    assert short == [
        (getattr(each.question, "summed", each.question.kind), each.question.cost, each.question.columns)
        for each in answers
    ]
    error, cells, *noise = [each.code for each in planned.accuracy]
    assert error.startswith("expected_mean_noise")
    assert cells == "cells_of_vectors"
    assert len(noise) == ("SecondMoment" in [each[0] for each in short])
    cells = max(getattr(answer.question, "cells", 1) for answer in answers)
    assert planned.accuracy[1].value >= cells


# ------------------------------------------------------------------------------------------------------- refusals


def refused(tmp_path, data, schema, mechanism, error, message, *, neighbours="add-remove", **budget):
    """Check that a release is refused with a message before it is debited, and that a plan is refused likewise."""
    ledger, path = tmp_path / "budget.db", tmp_path / "t.jsonl"
    budget = budget or {"epsilon": 1}
    unit = "zcdp" if "rho" in budget else "pure"
    Ledger.create_or_open(ledger).init("d", unit=unit, limit=2, relation=neighbours, privacy_unit="row")

    with pytest.raises(error, match=f"^{message}"):
        lw.synthesize(
            data,
            schema,
            mechanism=mechanism,
            neighbours=neighbours,
            ledger=ledger,
            dataset="d",
            transcript=path,
            **budget,
        )

    assert Ledger.open(ledger).balance("d").spent == 0
    assert not path.exists() or len(path.read_text().splitlines()) == 1  # the header alone
    with pytest.raises(error, match=f"^{message}"):
        lw.plan(schema, expected_rows=100, mechanism=mechanism, neighbours=neighbours, **budget)


def test_the_paper_s_constants_are_refused_where_its_proof_does_not_reach(tmp_path):
    cases = [
        ("variant='paper' is for replace-one neighbours with one row per unit and a public number of rows; use", {}),
        ("variant='paper' is for pure epsilon; leave delta out, or", {"neighbours": "replace-one", "rho": "0.5"}),
    ]

    for place, (message, settings) in enumerate(cases):
        folder = tmp_path / str(place)
        folder.mkdir()
        refused(folder, FLAGS, flags(4), PAPER, ParameterError, message, **settings)
    public = Budget.pure(1), Terms(relation="replace-one", rows=400)
    private = Budget.pure(1), Terms(relation="replace-one", max_rows=2, expected_rows=400)
    for convex_set in ("ball", "simplex"):
        mechanism = Microaggregation(variant="paper", convex_set=convex_set)
        with pytest.raises(ParameterError, match=r"^variant='paper' is for convex_set='box'; use"):
            mechanism.questions(flags(4), *public, np.random.default_rng(1))
    with pytest.raises(ParameterError, match="with one row per unit and a public number of rows; use"):
        PAPER.questions(flags(4), *private, np.random.default_rng(1))


def test_more_cells_than_fit_in_memory_are_refused_before_the_debit(tmp_path):
    message = r"4096 bins along 3 directions are 6.87e\+10 cells, above the .* whose laws fit in memory"

    refused(tmp_path, FLAGS, flags(4), Microaggregation(directions=3, bins=4096), CapacityError, message)


def test_more_than_2000_columns_are_refused_before_the_debit(tmp_path):
    data = pl.DataFrame({f"f{i}": [True] for i in range(2001)})
    message = r"2001 coordinates are above 2000 \(their second moment would take 31 MiB\); leave columns out"

    refused(tmp_path, data, flags(2001), Microaggregation(), CapacityError, message)


@pytest.mark.parametrize("convex_set", ["ball", "simplex"])
@pytest.mark.parametrize(
    ("field", "message"),
    [
        (WIDE, 'column "wide" has missing or special values, which no (ball|simplex) has; require it in the schema'),
        (KIND, 'column "kind" must be one coordinate in a (ball|simplex), but has categories'),
    ],
)
def test_columns_that_no_ball_and_no_simplex_has_are_refused_before_the_debit(tmp_path, convex_set, field, message):
    schema = Schema.from_dict({"fields": [*unit_columns(1).to_dict()["fields"], field]})
    data = mixed_rows(50).with_columns(x0=0.5)

    refused(tmp_path, data, schema, Microaggregation(convex_set=convex_set), ParameterError, message)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (
            lambda points: points[:, :2],
            r"convex_set must return an array of finite numbers of shape \(8, 3\)",
        ),
        (lambda points: points * np.nan, "convex_set must return an array of finite numbers"),
        (lambda points: [[0.0], *points.tolist()], "convex_set must return an array of finite numbers"),
        (lambda points: points * 1j, "convex_set must return an array of finite numbers"),
        (lambda _: "a", "convex_set must return an array of finite numbers"),
        (lambda points: points * 10, "convex_set returned points outside the box of the schema"),
        (lambda points: points * 0 + 3, "convex_set returned points outside the box of the schema"),
        (lambda points: points / 3, "convex_set moved points that it returned itself, so it is no projection"),
    ],
)
def test_a_callable_that_is_no_projection_is_refused_before_the_debit(tmp_path, own, message):
    data = frame_of(np.random.default_rng(1).random((50, 3)))

    refused(tmp_path, data, unit_columns(3), Microaggregation(convex_set=own), ParameterError, message)


@pytest.mark.parametrize("field", [WIDE, KIND], ids=["missing and special", "categories"])
def test_a_callable_is_refused_for_columns_that_are_not_one_coordinate(tmp_path, field):
    schema = Schema.from_dict({"fields": [FLAG, field]})
    own = Microaggregation(convex_set=lambda points: np.clip(points, -1, 1))
    message = f'column "{field["name"]}" must be one coordinate under a convex_set of one\'s own'

    refused(tmp_path, mixed_rows(50), schema, own, ParameterError, message)
