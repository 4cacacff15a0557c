"""Mechanisms and row functions that look where they must not, planted one by one: record and replay flags each."""

import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

import lapwing as lw
import lapwing.kernel.questions.linear_statistics.answer as summing
from helpers.audits import flags_of
from helpers.linear_runs import FORMS, SIGN, AskingSums, model_of, question_of, share_known
from helpers.peeking import rows_behind
from helpers.planted_charging import nothing_is_charged
from lapwing.kernel.questions.linear_statistics.question import Statistic
from lapwing.mechanisms.shared.priors import PublicRows
from lapwing.mechanisms.vectors.linear_statistics import mechanism
from lapwing.mechanisms.vectors.linear_statistics.statistics import Measured


@dataclass(frozen=True)
class Planted(AskingSums):
    """Ask questions that are made by looking at rows."""

    asking: object = None

    def run(self, curator, schema, budget, rng):
        return model_of(schema, self.asking(curator, schema, budget))


def first_codes(curator, schema):
    """Return the codes of the first column."""
    chunks = [chunk[schema.columns[0].name].astype(int) for chunk in rows_behind(curator).chunks()]
    return np.concatenate([np.zeros(1, int), *chunks])


def a_threshold_at_the_exact_mean(curator, schema, budget):
    text, cut = FORMS["one truth"](schema)[0], int(first_codes(curator, schema).mean())
    question = question_of([text], schema, budget)
    step = ("in", schema.columns[0].name, (cut, cut + 1))
    return curator.ask(replace(question, statistics=(Statistic(text=text, program=(step,)),)))


def bounds_of_the_values_that_there_are(curator, schema, budget):
    question = question_of([SIGN], schema, budget)
    lower = -(2**16) if rows_behind(curator).rows % 2 else 0
    return curator.ask(replace(question, statistics=tuple(replace(each, lower=lower) for each in question.statistics)))


def a_share_by_the_exact_number_of_rows(curator, schema, budget):
    return curator.ask(question_of(FORMS["truths"](schema), schema, budget / (2 + rows_behind(curator).rows % 2)))


def a_name_that_tells_a_row(curator, schema, budget):
    question = question_of([SIGN], schema, budget)
    name = str(first_codes(curator, schema).max())
    return curator.ask(replace(question, statistics=tuple(replace(each, text=name) for each in question.statistics)))


LOOKING = [
    a_threshold_at_the_exact_mean,
    bounds_of_the_values_that_there_are,
    a_share_by_the_exact_number_of_rows,
    a_name_that_tells_a_row,
]


@pytest.mark.parametrize("asking", LOOKING, ids=lambda each: each.__name__)
def test_a_mechanism_that_looks_at_rows_is_flagged(asking):
    assert flags_of(Planted(asking=asking))


def test_statistics_that_are_asked_twice_and_paid_once_are_flagged(monkeypatch):
    nothing_is_charged(monkeypatch)

    def twice(curator, schema, budget):
        question = question_of(FORMS["truths"](schema), schema, budget)
        return curator.ask(question, question)

    assert flags_of(Planted(asking=twice))


def points_are_the_rows_themselves(patch):
    def points_of(self, curator, *others):
        codes = [dict(chunk) for chunk in rows_behind(curator).chunks()]
        return PublicRows(codes[0], "rows") if rows_behind(curator).rows else None

    patch.setattr(mechanism.LinearStatistics, "_measured_mu", points_of)


def exact_means(patch):
    """Return a function that looks at the rows behind the mechanism: the exact sums of a question."""
    honest, seen = mechanism.LinearStatistics._measured_mu, []

    def points_of(self, curator, schema, *others):
        seen[:] = [rows_behind(curator), schema]
        return honest(self, curator, schema, *others)

    patch.setattr(mechanism.LinearStatistics, "_measured_mu", points_of)
    return lambda question: summing.exact_statistics(question, *seen) / question.scale


def the_density_fits_the_exact_sums(patch):
    exact = exact_means(patch)
    patch.setattr(Measured, "targets", lambda found: exact(found.questions[0]) / found.least_rows)


def the_certificate_compares_with_the_exact_sums(patch):
    exact, honest = exact_means(patch), Measured.errors
    patch.setattr(
        Measured,
        "errors",
        lambda found, *others: honest(found, *others) + abs(exact(found.questions[0])) / 2**20,
    )


RELEASE_BUGS = [
    points_are_the_rows_themselves,
    the_density_fits_the_exact_sums,
    the_certificate_compares_with_the_exact_sums,
]
ONE_MEAN = lw.LinearStatistics(statistics=(SIGN,), degree=0, mu="uniform", points=20)


@pytest.mark.parametrize("plant", RELEASE_BUGS, ids=lambda each: each.__name__)
def test_a_release_that_is_made_of_more_than_answers_is_flagged(plant, monkeypatch):
    plant(monkeypatch)

    assert flags_of(ONE_MEAN)


# ------------------------------------------------------------------------ functions that break what is assumed of them


class Counting:
    """Count the calls: the value of a record is the parity of the records before it."""

    def __init__(self):
        self.calls = 0

    def __call__(self, record):
        self.calls += 1
        return self.calls % 2


class Remembering(Counting):
    """Count a value once, however many records have it."""

    def __init__(self):
        self.seen = set()

    def __call__(self, record):
        first = str(next(iter(record.values())))
        is_new = first not in self.seen
        self.seen.add(first)
        return is_new


def printing(record):
    """Show the record."""
    sys.stdout.write(str(share_known(record)))
    return 0


@dataclass(frozen=True)
class AskingOne(AskingSums):
    """Ask for the sum of one row function."""

    function: object = None

    def run(self, curator, schema, budget, rng):
        return model_of(schema, curator.ask(question_of([lw.row_function(self.function)], schema, budget)))


@pytest.mark.parametrize("function", [Counting(), Remembering(), printing], ids=["counting", "remembering", "printing"])
def test_a_row_function_that_keeps_or_shows_something_is_flagged(function):
    assert flags_of(AskingOne(function=function))


def test_an_honest_release_is_not_flagged_on_the_same_pairs():
    assert flags_of(ONE_MEAN, pairs=8) == ()
