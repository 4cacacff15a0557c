"""The law of selections that the room makes, at false-alarm rate 1e-9; the same test rejects a wrong epsilon."""

import functools
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from helpers.noise_laws import FALSE_ALARM, chi_square
from helpers.selections import levels_of, question, rows_of, scores_by_hand
from lapwing.curator.select_worst import answer_select_worst
from lapwing.noise.bits import SystemBits
from lapwing.release.terms import Terms
from lapwing.schema.schemas import Schema
from lapwing.table.exact_tables import ExactTables
from lapwing.table.source import code_table

SCHEMA = Schema.from_dict({"fields": [{"name": "x", "type": "string", "categories": ["a", "b", "c"]}]})
DRAWS = 20_000
EPSILON = Fraction(3, 2)


@functools.cache
def small():
    return code_table(pl.DataFrame({"x": ["a", "a", "b", None]}), SCHEMA)


def asked(epsilon=EPSILON):
    levels = (levels_of(SCHEMA.field("x").domain),)
    candidates = (((0, 0),), ((0, 0),), ((0, 1),), ((0, 2),))
    estimates = [2, 1, 0, 0, 3, 3, 1, 0, 3, 1, -1, 2, 3]
    return question(("x",), levels, candidates, estimates=estimates, penalties=[-1, 0, 1, 0], epsilon=epsilon)


def exact_law(sensitivity):
    """Return the probabilities of the exponential mechanism, from scores counted by hand."""
    scores = scores_by_hand(asked(), rows_of(small()))
    weights = [math.exp(float(EPSILON) * score / (2 * sensitivity)) for score in scores]
    return np.array([weight / sum(weights) for weight in weights])


def choices(terms, epsilon=EPSILON):
    whole = asked(epsilon)
    answers = answer_select_worst([whole] * DRAWS, ExactTables(small()), terms, SystemBits())
    return np.bincount([answer.choice for answer in answers], minlength=4)


@pytest.mark.parametrize(("relation", "max_rows", "sensitivity"), [("add-remove", 1, 1), ("replace-one", 1, 2)])
def test_choices_follow_the_exponential_mechanism(relation, max_rows, sensitivity):
    observed = choices(Terms(relation=relation, max_rows=max_rows))

    assert chi_square(observed, exact_law(sensitivity)) > FALSE_ALARM


@pytest.mark.parametrize("factor", [Fraction(6, 5), Fraction(4, 5)])
def test_an_epsilon_wrong_by_a_fifth_is_noticed(factor):
    observed = choices(Terms(relation="add-remove"), EPSILON * factor)

    assert chi_square(observed, exact_law(1)) < FALSE_ALARM


def test_the_sensitivity_of_another_relation_is_noticed():
    observed = choices(Terms(relation="add-remove"))

    assert chi_square(observed, exact_law(2)) < FALSE_ALARM
