"""A plan asks what the release asks, at the same costs, whatever the mechanism, relation and budget."""

import itertools
import os
from fractions import Fraction

import pytest

import lapwing as lw
from helpers.unrecorded import RUN
from lapwing.api.running import run_release
from lapwing.extras.audit.mechanism_pairs import settings_for
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.room.opening import public_terms
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.mechanisms.shared.dry_run import DryCurator
from lapwing.release.runs.generators import generator
from lapwing.release.runs.plan.planning import expected_terms
from lapwing.rows.counting import CodedSource
from lapwing.rows.source import code_table
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema
from mechanism_checks import fitting

MADE = [made for each in MECHANISMS.values() for made in (each.small(), each()) if made != lw.PrivateSampling()]
"""Of which the budgets pay for forty rows."""


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-9"}, {"rho": 500}], ids=str)
@pytest.mark.parametrize("mechanism", MADE, ids=repr)
def test_a_plan_asks_what_the_release_asks(mechanism, budget):
    data, schema = fitting(mechanism)
    for relation in mechanism.relations:
        settings = {"mechanism": mechanism, "neighbours": relation, "expected_rows": data.height, **budget}

        planned = lw.plan(schema, **settings)
        made = lw.synthesize(data, schema, seed=1, **settings).certificate

        # Which tables Adaptive chooses hangs on answers; how many misfits there are and one-way tables come first.
        first = 6 if mechanism.name == "Adaptive" and "rho" in budget else None
        assert planned.lines[:first] == made.lines[:first]
        assert planned.total.amount >= made.total.amount
        assert (planned.privacy_unit, dict(planned.settings)) == (made.privacy_unit, dict(made.settings))


def asked(mechanism, question):
    """Return what a question asks, without what answers before it, or the seed, decide: a split tree, public points."""
    parts = {} if mechanism.name != "KDTree" or not hasattr(question, "tree") else {"tree": None}
    parts |= {"points": None} if getattr(question, "points", None) is not None else {}
    return {**question.to_dict(), **parts}


@pytest.mark.parametrize("mechanism", MADE, ids=repr)
def test_a_dry_run_asks_the_questions_of_a_run_and_draws_nothing(mechanism, monkeypatch):
    data, schema = fitting(mechanism)
    for relation, pure in itertools.product(mechanism.relations, (True, False)):
        settings = settings_for(mechanism, schema, relation, pure=pure, times=1000)
        source = code_table(data, settings.schema)
        terms = public_terms(source, settings.schema, relation, settings.expected_rows)
        with monkeypatch.context() as patch:
            patch.setattr(os, "urandom", None)
            patch.setattr(CodedSource, "chunks", None)
            dry = mechanism.questions(settings.schema, settings.request.budget, terms, generator(11, "fit"))

        found = [each.question for each in run_release(source, settings, terms, RUN).noisy]

        if type(mechanism).questions is lw.Mechanism.questions:
            assert [asked(mechanism, each) for each in dry] == [asked(mechanism, each) for each in found]
        elif mechanism.name != "Adaptive":  # its own formula says how many and at what cost
            assert [(each.kind, each.cost, each.columns) for each in dry] == [
                (each.kind, each.cost, each.columns) for each in found
            ]
        for all_asked in (dry, found):
            assert 0 < sum((each.cost.amount for each in all_asked), Fraction(0)) <= settings.request.budget.amount


def test_the_mechanisms_that_say_their_questions_themselves_are_those_whose_answers_decide_them():
    own = [each.name for each in MECHANISMS.values() if "questions" in vars(each)]

    assert own == ["Adaptive", "Microaggregation", "LinearStatistics"]


@pytest.mark.parametrize("mechanism", MADE, ids=repr)
def test_every_answer_of_a_dry_run_is_one_that_a_run_can_go_on_with(mechanism):
    schema = Schema.load(fitting(mechanism)[1])
    for relation in mechanism.relations:
        budget = Budget.pure(4)
        terms = expected_terms(relation, schema, 40)
        curator = DryCurator(schema, budget * 2, terms)  # which is never spent, so that the run comes to its end

        model = mechanism.run(curator, schema, budget, generator(1, "fit"))

        model.validate(schema)
        assert 0 < sum((each.cost.amount for each in curator.asked), Fraction(0)) <= budget.amount


class Unfit(lw.Independent):
    """Asks for a grouping that is not of the column's domain."""

    def run(self, curator, schema, budget, rng):
        wrong = identity(Domain(3, 1, True, True, False))
        return curator.ask(MarginalCounts(columns=(schema.columns[-1].name,), groupings=(wrong,), cost=budget))


def test_what_a_room_would_refuse_of_a_mechanism_is_refused_before_the_debit(tmp_path):
    data, schema = fitting(lw.Independent())
    book = tmp_path / "budget.db"
    Ledger.create_or_open(book).init("d", unit="pure", limit=2, relation="add-remove", privacy_unit="row")

    with pytest.raises(lw.LapwingError, match="its domain has"):
        lw.synthesize(data, schema, epsilon=1, mechanism=lw.Trusted(Unfit()), ledger=book)

    assert Ledger.open(book).balance("d").spent == 0
