"""A small release with every kind of part, as it is saved."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from helpers.models import random_law, small_schema
from helpers.selections import question
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.select_worst.question import Selection
from lapwing.kernel.terms import Terms
from lapwing.model.certificate.certificate import Certificate, CostLine, LedgerEntry, Statement
from lapwing.model.certificate.cost_lines import RequestedBudget
from lapwing.model.files import SavedRelease, save_release
from lapwing.model.laws import uniform_law
from lapwing.model.model import LogLinear, ReleasedModel
from lapwing.release.release import Release
from lapwing.schema.groupings.grouping import identity, interval_grouping, lookup

KINDS = {"flag": "bernoulli", "colour": "indexed", "age": "spans", "grade": "indexed"}


def small_saved(seed: int = 0, atoms: int = 7) -> SavedRelease:
    """Return a release with all kinds of laws, a log-linear part, two tables, a selection, and a full certificate."""
    schema = small_schema()
    rng = np.random.default_rng(seed)
    laws = {field.name: random_law(KINDS[field.name], field.domain, atoms, rng) for field in schema.columns}
    ages, grades = schema.field("age").domain, schema.field("grade").domain
    groupings = (interval_grouping(ages, [3, 5]), lookup(grades, [0, 1, 1, 0, 2]))
    part = LogLinear(
        tables=(("age", "grade"),),
        groupings=(groupings,),
        thetas=(rng.normal(size=tuple(grouping.groups for grouping in groupings)),),
        base={field.name: uniform_law(field.domain) for field in schema.columns},
    )
    model = ReleasedModel(weights=rng.random(atoms), rows=100, laws=laws, log_linear=part)
    terms = Terms(relation="add-remove", max_rows=1, expected_rows=90)
    budget = Budget.zcdp("0.1")
    selection = question(
        ("age", "grade"),
        tuple((each,) for each in groupings),
        (((0, 0),), ((0, 0), (1, 0))),
        epsilon=Fraction(2, 5),
        notion="zcdp",
    )
    costs = (budget - selection.cost).split((1, 2))
    questions = (
        MarginalCounts(columns=("age", "grade"), groupings=groupings, cost=costs[0]),
        MarginalCounts(columns=("colour",), groupings=(identity(schema.field("colour").domain),), cost=costs[1]),
    )
    tables = tuple(
        NoisyCounts(asked, rng.integers(-5, 50, asked.shape), asked.noise("add-remove", 1)) for asked in questions
    )
    answers = (*tables, Selection(selection, 1, 1))
    certificate = Certificate(
        lapwing="0.1.0",
        mechanism="Test",
        settings={"groups": 5},
        lines=tuple(line for answer in answers for line in CostLine.of(answer, terms)),
        total=budget,
        requested=RequestedBudget(epsilon=Fraction(3), delta=Fraction(1, 10**6)),
        epsilons=((Fraction(1, 10**6), Fraction(5, 2)),),
        relation="add-remove",
        privacy_unit="row",
        max_rows=1,
        assumed_fields=(),
        dp_fields=(),
        public_rows=None,
        expected_rows=90,
        released_rows=100,
        seed=4,
        ledger=LedgerEntry(dataset="d", release_id="r"),
        accuracy=(Statement("share_kept", 0.5, {"cells": 3}),),
    )
    return SavedRelease(schema, model, certificate, answers)


def save(saved: SavedRelease, path: Path) -> None:
    """Write the model file of one table."""
    save_release(saved.certificate, {"": saved}, path)


def changed(release: Release, **of_table: Any) -> Release:
    """Return the release of one table with something else in its place; of_table: fields of `SavedRelease`."""
    return Release.of_one(replace(release.parts[""], **of_table), release.layout, release.seed)
