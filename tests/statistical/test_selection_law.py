"""The law of selections that the room makes, exactly, from scores counted by hand."""

from fractions import Fraction

import polars as pl
import pytest

from helpers.exact_laws import ALL_ONES, Script, ScriptEndsError, exp_of, turns_at
from helpers.selections import levels_of, question, rows_of, scores_by_hand
from lapwing.kernel.noise import selection
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.select_worst.answer import answer_select_worst
from lapwing.kernel.terms import Terms
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

SCHEMA = Schema.from_dict({"fields": [{"name": "x", "type": "string", "categories": ["a", "b", "c"]}]})
SMALL = pl.DataFrame({"x": ["a", "a", "b", None]})
EPSILON = Fraction(3, 2)


def asked():
    levels = (levels_of(SCHEMA.field("x").domain),)
    candidates = (((0, 0),), ((0, 0),), ((0, 1),), ((0, 2),))
    estimates = [2, 1, 0, 0, 3, 3, 1, 0, 3, 1, -1, 2, 3]
    return question(("x",), levels, candidates, estimates=estimates, penalties=[-1, 0, 1, 0], epsilon=EPSILON)


def follows_the_law(patch, terms, sensitivity, epsilon=EPSILON):
    """Tell whether each candidate's turn is taken with the probability exp(-epsilon gap / (2 sensitivity))."""
    patch.setattr(selection, "FIRST_BATCH", 1)
    source = code_table(SMALL, SCHEMA)
    scores = scores_by_hand(asked(), rows_of(source))
    best = max(scores)
    turns = {(turn + scores.index(best)) % 4: turn for turn in range(4)}

    def is_taken(bits, candidate):
        bits.left.insert(0, turns[candidate])
        try:
            (answer,) = answer_select_worst([asked()], PrivateRows.of(source, None), terms, bits)
        except ScriptEndsError:
            return False
        return answer.choice == candidate

    def takes_its_turns(candidate, gap):
        if not gap:
            return is_taken(Script([ALL_ONES]), candidate)
        chance = exp_of(-epsilon * gap / (2 * sensitivity))
        return turns_at(lambda bits: is_taken(bits, candidate), chance)

    return all(takes_its_turns(candidate, best - score) for candidate, score in enumerate(scores))


@pytest.mark.parametrize(("relation", "max_rows", "sensitivity"), [("add-remove", 1, 1), ("replace-one", 1, 2)])
def test_choices_follow_the_exponential_mechanism(relation, max_rows, sensitivity, monkeypatch):
    assert follows_the_law(monkeypatch, Terms(relation=relation, max_rows=max_rows), sensitivity)


def test_an_epsilon_wrong_by_a_part_in_a_million_is_noticed(monkeypatch):
    wrong = EPSILON * Fraction(1_000_001, 1_000_000)

    assert not follows_the_law(monkeypatch, Terms(relation="add-remove"), 1, wrong)


def test_the_sensitivity_of_another_relation_is_noticed(monkeypatch):
    assert not follows_the_law(monkeypatch, Terms(relation="add-remove"), 2)
