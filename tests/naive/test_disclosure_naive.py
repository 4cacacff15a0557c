"""Closest rows, copies, guesses and descriptions against double loops."""

from fractions import Fraction

import numpy as np
import pytest

from lapwing.extras.evaluate.metrics.disclosure.disclosure import best_constant, guess_secret, is_close
from lapwing.extras.evaluate.metrics.disclosure.nearest_rows import (
    Closest,
    closer_to_real,
    closest_rows,
    copies_beyond_chance,
    exact_copies,
    measure_distances,
    row_keys,
)
from lapwing.extras.evaluate.metrics.disclosure.singling_out import count_matches, joint_conditions, single_conditions
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 12}, "special": [-1, -2]},
    {"name": "flag", "type": "boolean"},
    {"name": "place", "type": "string", "categories": [f"p{number}" for number in range(40)]},
    {"name": "height", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
    {"name": "always", "type": "integer", "constraints": {"minimum": 5, "maximum": 5}},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})
NAMES = [column.name for column in SCHEMA.columns]
# Places are rounded to 2**-20 of the range, so a distance of two is off by at most 2**-20.
ROUNDED = 2.0**-20


def drawn(rng, rows, columns=SCHEMA.columns):
    found = {}
    for column in columns:
        reserved = rng.integers(column.domain.values, column.domain.size, size=rows)
        regular = rng.integers(min(column.domain.values, 2**32), size=rows)
        found[column.name] = np.where(rng.random(rows) < 0.2, reserved, regular).astype(column.domain.dtype)
    return found


def row(codes, position):
    return tuple(int(codes[name][position]) for name in NAMES)


def rows_of(codes):
    return [row(codes, position) for position in range(len(codes[NAMES[0]]))]


def distance(first, second, skip=None):
    total, columns = Fraction(0), 0
    for name, a, b in zip(NAMES, first, second, strict=True):
        domain = SCHEMA.field(name).domain
        if name == skip:
            continue
        columns += 1
        if domain.ordered and domain.values > 1 and a < domain.values and b < domain.values:
            total += Fraction(abs(a - b), domain.values - 1)
        else:
            total += a != b
    return float(total / columns)


@pytest.mark.parametrize(("many", "others"), [(1, 1), (30, 70), (60, 20)])
def test_closest_rows_are_those_of_all_pairs(many, others):
    rng = np.random.default_rng([many, others])
    codes, tables = drawn(rng, many), [drawn(rng, others), drawn(rng, others + 3)]

    found = closest_rows(codes, tables, SCHEMA.columns, rng=rng)

    for each, table in zip(found, tables, strict=True):
        for position, mine in enumerate(rows_of(codes)):
            all_distances = [distance(mine, theirs) for theirs in rows_of(table)]
            assert each.distances[position] == pytest.approx(min(all_distances), abs=ROUNDED)
            assert all_distances[each.positions[position]] == pytest.approx(min(all_distances), abs=2 * ROUNDED)


def test_candidates_have_the_distances_that_they_are_said_to_have():
    rng = np.random.default_rng(5)
    codes, table = drawn(rng, 50), drawn(rng, 400)

    [found] = closest_rows(codes, [table], SCHEMA.columns, rng=rng, exact=0)

    # Of 400 rows, 64 are candidates in each search: the closest is among them for most.
    best = [min(distance(mine, theirs) for theirs in rows_of(table)) for mine in rows_of(codes)]
    own = [distance(row(codes, k), row(table, int(found.positions[k]))) for k in range(50)]
    assert found.distances == pytest.approx(own, abs=ROUNDED)
    assert np.mean(found.distances < np.array(best) + 2 * ROUNDED) > 0.7


def test_a_row_of_the_table_is_its_own_closest_candidate():
    rng = np.random.default_rng(6)
    table = drawn(rng, 3000)
    codes = {name: cells[500:600] for name, cells in table.items()}

    [found] = closest_rows(codes, [table], SCHEMA.columns, rng=rng, exact=0)

    assert not found.distances.any()
    assert [row(table, int(place)) for place in found.positions] == rows_of(codes)


def test_copies_are_those_of_comparing_all_rows():
    rng = np.random.default_rng(7)
    few = SCHEMA.columns[:2]
    synthetic, real, holdout = (drawn(rng, rows, few) for rows in (90, 30, 30))
    lists = [list(zip(*(codes[column.name].tolist() for column in few), strict=True)) for codes in (synthetic, real)]

    found = exact_copies(row_keys(synthetic, few), row_keys(real, few))
    against = copies_beyond_chance(synthetic, real, holdout, few)

    assert found.attack.successes == sum(each in lists[1] for each in lists[0])
    assert found.baseline.successes == sum(lists[1].count(each) > 1 for each in lists[1])
    assert against.attack.successes == len(set(lists[0]) & set(lists[1]))
    assert against.attack.trials == against.control.trials == len(set(lists[0]))
    fresh = set(zip(*(holdout[column.name].tolist() for column in few), strict=True))
    assert against.control.successes == len(set(lists[0]) & fresh)


def test_shares_count_ties_half_and_closest_rows_once():
    rng = np.random.default_rng(8)
    real, holdout = (Closest(rng.integers(4, size=60) / 4, rng.integers(5, size=60)) for _ in range(2))

    outcome, closer, ties = closer_to_real(real, holdout)

    # Each closest row is real or holdout with the same probability: the variance of the share, over that.
    weights = {}
    wins = halves = 0
    for k in range(60):
        if real.distances[k] == holdout.distances[k]:
            halves += 1
            weights["tie", k] = 1
            continue
        is_closer = real.distances[k] < holdout.distances[k]
        wins += is_closer
        side = ("real", int(real.positions[k])) if is_closer else ("holdout", int(holdout.positions[k]))
        weights[side] = weights.get(side, 0) + 1
    assert (closer, ties) == (wins, halves)
    assert outcome.attack.rate == pytest.approx((wins + halves / 2) / 60, abs=1e-12)
    variance = sum(Fraction(weight, 60) ** 2 for weight in weights.values()) / 4
    assert outcome.attack.trials == pytest.approx(float(1 / (4 * variance)), rel=1e-12)


def test_quantiles_are_distances_that_occur():
    rng = np.random.default_rng(9)
    synthetic, real = drawn(rng, 50), drawn(rng, 40)

    found, closest, _ = measure_distances(synthetic, real, SCHEMA.columns, rng=rng)

    for percent, value in zip(found.percents, found.real, strict=True):
        assert value == min(x for x in closest.distances if np.mean(closest.distances <= x) >= percent / 100 - 1e-12)


def right(guess, truth, domain):
    if domain.ordered and guess < domain.values and truth < domain.values:
        return abs(guess - truth) * 100 <= domain.values - domain.values % 100
    return guess == truth


@pytest.mark.parametrize(
    "domain", [Domain(250, 2, True, True, False), Domain(250, 2, True, False, False), Domain(7, 0, False, True, False)]
)
def test_guesses_are_right_within_a_hundredth(domain):
    guesses, truths = (np.repeat(np.arange(domain.size), domain.size), np.tile(np.arange(domain.size), domain.size))

    found = is_close(guesses, truths, domain)

    assert found.tolist() == [right(int(a), int(b), domain) for a, b in zip(guesses, truths, strict=True)]


@pytest.mark.parametrize("domain", [Domain(250, 2, True, True, False), Domain(250, 2, True, False, False)])
def test_no_constant_is_right_more_often(domain):
    codes = np.random.default_rng(10).integers(domain.size, size=300)
    hits = {int(code): sum(right(int(code), int(each), domain) for each in codes) for code in codes}

    assert hits[best_constant(codes, domain)] == max(hits.values())


@pytest.mark.parametrize("secret", ["age", "place", "height"])
def test_guesses_succeed_as_often_as_by_hand(secret):
    rng = np.random.default_rng(11)
    real, controls, synthetic = drawn(rng, 40), drawn(rng, 30), drawn(rng, 60)
    domain, place = SCHEMA.field(secret).domain, NAMES.index(secret)

    found = guess_secret(real, controls, synthetic, SCHEMA, secret, rng=rng)

    for codes, proportion in ((real, found.attack), (controls, found.control)):
        hits = 0
        for mine in rows_of(codes):
            closest = min(rows_of(synthetic), key=lambda theirs: distance(mine, theirs, secret))
            hits += right(closest[place], mine[place], domain)
        assert proportion.successes == hits


def fits(mine, description):
    for each in description:
        code, domain = mine[NAMES.index(each.column)], SCHEMA.field(each.column).domain
        holds = {
            "equal": code == each.code,
            "at most": code <= each.code,
            "at least": each.code <= code < domain.values,
        }
        if not holds[each.direction]:
            return False
    return True


def test_descriptions_fit_the_rows_that_they_fit_by_hand():
    rng = np.random.default_rng(12)
    synthetic, real = drawn(rng, 80), drawn(rng, 60)

    single = single_conditions(synthetic, SCHEMA, rng=rng)
    joint = joint_conditions(synthetic, SCHEMA, rng=rng)[:60]
    guesses = joint_conditions(drawn(rng, 70), SCHEMA, rng=rng)[:60]  # of other rows

    for each in (*single, *joint):
        assert sum(fits(mine, each) for mine in rows_of(synthetic)) == 1
    for each in (*single, *joint, *guesses):
        assert count_matches(real, each, SCHEMA) == sum(fits(mine, each) for mine in rows_of(real))
    assert {3} <= {len(each) for each in joint} <= {3, 4, 5}
    assert len(set(joint)) == len(joint)
    once = sum(np.sum(np.unique(cells, return_counts=True)[1] == 1) for cells in synthetic.values())
    assert once == sum(each.direction == "equal" for (each,) in single)
