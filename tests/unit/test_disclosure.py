"""Attacks on copied, half copied and fresh tables; intervals of shares and of excesses."""

import math
import sys

import numpy as np
import pytest
from scipy.stats import binomtest

from lapwing.errors import LapwingError, ParameterError
from lapwing.extras.evaluate.metrics.disclosure import disclosure
from lapwing.extras.evaluate.metrics.disclosure.disclosure import compare_disclosure
from lapwing.extras.evaluate.metrics.metric import excess, wilson
from lapwing.extras.evaluate.words import say
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}, "special": [-1]},
    {"name": "place", "type": "string", "categories": [f"p{number}" for number in range(40)]},
    {"name": "height", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
    {"name": "flag", "type": "boolean"},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})
KEYS = ["exact_copies", "copies", "closer_to_real", *["inference"] * 4, "singling_out_one", "singling_out_several"]


def drawn(seed, rows=300, schema=SCHEMA):
    """Draw rows whose columns depend on each other, a tenth of the cells missing."""
    rng = np.random.default_rng(seed)
    level = rng.random(rows)
    found = {}
    for column in schema.columns:
        place = np.clip(level + rng.normal(0, 0.15, rows), 0, 0.999999)
        codes = (place * column.domain.values).astype(np.int64)
        found[column.name] = np.where(rng.random(rows) < 0.1, column.domain.last, codes).astype(column.domain.dtype)
    return found


def joined(*parts):
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def first(codes, rows):
    return {name: cells[:rows] for name, cells in codes.items()}


def compare(real, synthetic, holdout=None, schema=SCHEMA, **settings):
    return compare_disclosure(real, synthetic, schema, holdout_codes=holdout, rng=np.random.default_rng(3), **settings)


def by_key(found):
    return {each.key if each.column is None else each.column: each for each in found.risks}


def test_a_copied_table_is_found_by_every_attack():
    real = drawn(1)

    found = compare(real, real, drawn(2))

    assert [each.key for each in found.risks] == KEYS
    assert found.distances.real == (0.0,) * 7
    assert found.distances.holdout[3] > 0
    for each in found.risks:
        assert each.rate > 0.9, each.key
        if each.key not in ("exact_copies", "closer_to_real"):
            assert each.excess > 0.8, each.key
            assert each.excess_interval[0] > 0.5, each.key
    assert by_key(found)["exact_copies"].rate == 1


def test_a_table_of_which_half_is_copied_is_found():
    real = drawn(1)

    found = by_key(compare(real, joined(first(real, 150), drawn(4, 150)), drawn(2)))

    # Beside the copies, a few rows at the ends of all columns agree by chance.
    assert 150 <= found["exact_copies"].successes <= 156
    # The others win half of their comparisons: three quarters, and 300 rows have a standard deviation of 0.025.
    assert found["closer_to_real"].rate == pytest.approx(0.75, abs=0.1)
    assert found["closer_to_real"].lower > 0.5
    assert found["copies"].excess == pytest.approx(0.5, abs=0.02)
    for key in ("height", "singling_out_one", "singling_out_several"):
        assert found[key].excess_interval[0] > 0.1


def test_a_fresh_sample_is_not_flagged():
    found = by_key(compare(drawn(1), drawn(6), drawn(2)))

    # A few rows at the ends of all columns agree by chance.
    assert found["exact_copies"].rate < 0.03
    assert found["closer_to_real"].lower < 0.5 < found["closer_to_real"].upper
    for key, each in found.items():
        if key not in ("exact_copies", "closer_to_real"):
            assert each.excess_interval[0] <= 0 <= each.excess_interval[1], key


@pytest.mark.parametrize("holdout", [None, 2])
def test_singling_out_stands_beside_what_rows_of_other_people_show(holdout):
    real, control = drawn(1), None if holdout is None else drawn(holdout)

    fresh, copied = (by_key(compare(real, synthetic, control)) for synthetic in (drawn(4), real))

    for key in ("singling_out_one", "singling_out_several"):
        # A fresh sample is one of other people too: three standard deviations of a share of some hundred are 0.12.
        assert fresh[key].rate == pytest.approx(fresh[key].baseline, abs=0.12)
        assert copied[key].lower > 0.6 > copied[key].baseline_interval[1]


def test_columns_without_relation_do_not_beat_the_best_constant():
    rng = np.random.default_rng(5)
    shuffled = {name: rng.permutation(cells) for name, cells in drawn(4).items()}

    found = by_key(compare(drawn(1), shuffled))

    for name in SCHEMA.columns:
        risk = found[name.name]
        assert risk.lower < risk.baseline_interval[1]


def test_a_smaller_holdout_takes_as_many_real_rows():
    real = drawn(1)

    found = compare(real, real, drawn(2, 100))

    assert found.rows == 100
    assert by_key(found)["exact_copies"].rate == 1
    # A third of the real rows is there to be found.
    assert by_key(found)["copies"].rate == pytest.approx(1 / 3, abs=0.01)


def test_without_holdout_what_needs_one_is_left_out_and_the_notes_say_so():
    found = compare(drawn(1), drawn(4))

    assert [each.key for each in found.risks] == [each for each in KEYS if each not in ("copies", "closer_to_real")]
    assert not found.has_holdout
    assert found.distances.holdout is None
    assert all(each.control is each.excess is None for each in found.risks)
    assert {say("attack_note.no_holdout"), say("attack_note.no_proof")} <= set(found.notes)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("holdout", [None, 1, 3])
def test_tables_of_one_row_and_one_column_are_tried(rows, holdout):
    for schema in (SCHEMA, Schema.from_dict({"fields": FIELDS[1:2]})):
        control = None if holdout is None else drawn(2, holdout, schema)

        found = compare(drawn(1, rows, schema), drawn(4, rows, schema), control, schema)

        assert {"exact_copies", "singling_out_one"} <= {each.key for each in found.risks}
        assert all(0 <= each.lower <= each.rate <= each.upper <= 1 for each in found.risks)
        assert any("one column" in note for note in found.notes) == (len(schema.columns) == 1)


def test_tables_without_any_value_are_tried():
    missing = {column.name: np.full(50, column.domain.last) for column in SCHEMA.columns}

    found = compare(missing, missing, missing)

    rates = by_key(found)
    assert rates["exact_copies"].rate == rates["exact_copies"].baseline == 1
    assert rates["closer_to_real"].rate == 0.5
    assert rates["closer_to_real"].ties == 50
    assert rates["age"].rate == rates["age"].baseline == rates["age"].control == 1
    assert rates["age"].excess is None
    # No description fits one row only.
    assert sum("could not be tried" in note for note in found.notes) == 2


def test_large_tables_are_searched_in_part_and_say_so(monkeypatch):
    monkeypatch.setattr(disclosure, "MOST_SEARCHED", 200)
    monkeypatch.setattr(disclosure, "TARGETS", 20)
    real = drawn(1)

    found = compare(real, real, drawn(2))

    assert any("tables are large" in note for note in found.notes)
    assert by_key(found)["closer_to_real"].attacks == 20
    assert by_key(found)["age"].attacks == 10


@pytest.mark.parametrize("which", ["real", "synthetic", "holdout"])
def test_a_table_without_rows_is_refused(which):
    tables = {"real": drawn(1), "synthetic": drawn(4), "holdout": drawn(2)}
    tables[which] = drawn(1, 0)

    with pytest.raises(ParameterError, match=f'the {which} table needs codes of column "age", at least one row'):
        compare(*tables.values())


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.neighbors", None)

    with pytest.raises(LapwingError, match=r'pip install .*\[evaluate\]"'):
        compare(drawn(1), drawn(4))


@pytest.mark.parametrize(("successes", "trials"), [(0, 1), (1, 1), (0, 40), (3, 40), (20, 40), (40, 40), (999, 1000)])
def test_wilson_intervals_are_those_of_scipy(successes, trials):
    found = wilson(successes, trials)

    theirs = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    assert found.rate == successes / trials
    # Both are a few roundings of numbers below 1.
    assert found.lower == pytest.approx(theirs.low, abs=1e-12)
    assert found.upper == pytest.approx(theirs.high, abs=1e-12)


@pytest.mark.parametrize(("successes", "trials"), [(1, 0), (-1, 5), (6, 5), (math.nan, 5), (1, math.nan)])
def test_impossible_counts_are_refused(successes, trials):
    with pytest.raises(ParameterError, match="successes must be from 0 to trials"):
        wilson(successes, trials)


def test_an_attack_that_always_succeeds_takes_all_that_was_left():
    value, (lower, upper) = excess(wilson(50, 50), wilson(20, 50))

    assert (value, upper) == (1, 1)
    assert 0.8 < lower < 1


def test_where_every_control_succeeds_nothing_was_left():
    assert excess(wilson(5, 5), wilson(5, 5)) is None


@pytest.mark.parametrize("trials", [1, 2, 7])
def test_the_interval_holds_the_value_for_all_small_counts(trials):
    for successes in range(trials + 1):
        for controls in range(trials):
            value, (lower, upper) = excess(wilson(successes, trials), wilson(controls, trials))

            assert lower <= value + 1e-12
            assert value <= upper + 1e-12
            assert upper <= 1


@pytest.mark.parametrize(("attack", "control"), [(0.3, 0.3), (0.95, 0.9), (0.5, 0.2), (0.04, 0.02)])
def test_intervals_cover_the_truth_as_often_as_they_say(attack, control):
    rng = np.random.default_rng([7, int(100 * attack)])
    truth = (attack - control) / (1 - control)

    pairs = zip(rng.binomial(500, attack, 2000), rng.binomial(500, control, 2000), strict=True)
    found = [excess(wilson(int(a), 500), wilson(int(b), 500))[1] for a, b in pairs]

    # Standard deviation of a share of 2000 at 0.95: 0.005. Four of them, and half a percent for the approximation.
    assert abs(np.mean([lower <= truth <= upper for lower, upper in found]) - 0.95) < 0.025
