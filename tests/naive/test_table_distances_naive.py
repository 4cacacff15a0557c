"""Bought distances against slow twins written from the formulas: sums, sensitivity, expected counts, floor, bounds."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from lapwing.extras.audit.mechanism_pairs import synthetic_codes
from lapwing.extras.audit.questions.table_distances import remeasured
from lapwing.extras.evaluate.metrics.tables.public_tables import _reach, noisy_variations, public_tables
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.table_distances import answer as room
from lapwing.kernel.questions.table_distances.answer import exact_distances
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "a", "type": "boolean"},
            {"name": "b", "type": "string", "categories": ["x", "y", "z"]},
            {"name": "c", "type": "integer", "constraints": {"minimum": 0, "maximum": 4000, "required": True}},
            {"name": "d", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
        ]
    }
)
ROUNDING = 1e-9  # of sums of a few thousand floats below 1


class Rows:
    """A source of coded rows, in chunks."""

    def __init__(self, codes, chunk=7):
        self.codes, self.chunk = codes, chunk

    def chunks(self):
        rows = len(next(iter(self.codes.values())))
        for start in range(0, rows, self.chunk):
            yield {name: codes[start : start + self.chunk] for name, codes in self.codes.items()}


def asked(tables, rows, bits):
    """Return the question about public tables, scaled to so many rows."""
    return TableDistances(
        columns=tables.columns,
        groupings=tables.groupings,
        tables=tables.tables,
        cells=tables.cells,
        expected=tables.expected(rows, bits),
        bits=bits,
        cost=Budget.pure(1),
    )


def cell_lists(codes, tables):
    """Return the cell of every row in every table."""
    groups = {
        name: grouping.apply(codes[name]).tolist()
        for name, grouping in zip(tables.columns, tables.groupings, strict=True)
    }
    return [list(zip(*(groups[name] for name in names), strict=True)) for names in tables.names]


def distance_by_hand(codes, synthetic, tables, rows):
    """Return the sum over tables of the L1 distance of counts from shares times ``rows``, exactly, in rows."""
    total = Fraction(0)
    for real, other in zip(cell_lists(codes, tables), cell_lists(synthetic, tables), strict=True):
        counts, shares = Counter(real), Counter(other)
        for cell in {*counts, *shares}:
            total += abs(counts[cell] - Fraction(rows * shares[cell], len(other)))
    return total


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bits", [0, 5, 16])
def test_the_sum_is_the_formula_s(seed, bits):
    rng = np.random.default_rng(seed)
    real, other = synthetic_codes(SCHEMA, rng, 60), synthetic_codes(SCHEMA, rng, int(rng.integers(1, 90)))

    for tables in public_tables(other, SCHEMA, rng=rng):
        question = asked(tables, 55, bits)
        (found,) = exact_distances([question], Rows(real))

        occurring = sum(np.count_nonzero(each) for each in tables.counts)
        by_hand = distance_by_hand(real, other, tables, 55) * 2**bits
        assert abs(found - by_hand) <= Fraction(occurring, 2)  # each expected count is rounded by half a unit at most
        assert [found] == remeasured(question, Rows(real, 3)).tolist()


@pytest.mark.parametrize("dense", [0, 4, 10**9])
def test_both_ways_of_counting_agree(dense, monkeypatch):
    monkeypatch.setattr(room, "_DENSE", dense)
    monkeypatch.setattr(room, "_ROWS", 16)
    rng = np.random.default_rng(3)
    real, other = synthetic_codes(SCHEMA, rng, 100), synthetic_codes(SCHEMA, rng, 70)
    questions = [asked(tables, 80, 7) for tables in public_tables(other, SCHEMA, rng=rng)]

    found = exact_distances(questions, Rows(real, 50))

    assert found == [int(remeasured(question, Rows(real))[0]) for question in questions]


def test_no_rows_are_as_far_as_what_is_expected():
    rng = np.random.default_rng(3)
    empty, other = synthetic_codes(SCHEMA, rng, 0), synthetic_codes(SCHEMA, rng, 70)
    questions = [asked(tables, 80, 7) for tables in public_tables(other, SCHEMA, rng=rng)]

    found = exact_distances(questions, Rows(empty))

    assert found == [sum(int(each.sum()) for each in question.expected) for question in questions]


FLAG, THREE = Domain(2, 0, False, True, False), Domain(2, 0, True, False, False)
DOMAINS = {"x": FLAG, "y": THREE}
EVERY_ROW = list(itertools.product(range(3), range(3)))


def small_question(rng, tables, bits):
    """Return a question about small tables with any expected counts, zeros among them, and any cells listed."""
    groupings = tuple(map(identity, DOMAINS.values()))
    sizes = [math.prod(groupings[place].groups for place in table) for table in tables]
    cells = tuple(np.flatnonzero(rng.integers(0, 2, size) | (np.arange(size) == 0)) for size in sizes)
    expected = tuple(rng.integers(0, 2, len(each)) * rng.integers(1, 20 << bits, len(each)) for each in cells)
    return TableDistances(
        columns=tuple(DOMAINS),
        groupings=groupings,
        tables=tables,
        cells=cells,
        expected=expected,
        bits=bits,
        cost=Budget.pure(1),
    )


@pytest.mark.parametrize("max_rows", [1, 2, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_no_unit_moves_the_sum_further_than_the_sensitivity_and_some_unit_that_far(relation, max_rows):
    rng, attained = np.random.default_rng([max_rows, len(relation)]), 0
    for _ in range(12):
        tables = (((0,), (1,), (0, 1)), ((1,),), ((0,), (0,)))[rng.integers(3)]
        question = small_question(rng, tables, int(rng.integers(0, 3)))
        bound = question.sensitivity(relation, max_rows)
        base = [EVERY_ROW[place] for place in rng.integers(len(EVERY_ROW), size=3)]
        units = [()] if relation == "add-remove" else owned(rng, max_rows)
        sums = {unit: summed(question, [*base, *unit]) for unit in {*units, *owned(rng, max_rows)}}
        changes = [abs(sums[one] - sums[other]) for one in units for other in sums]
        assert max(changes) <= bound.l1
        assert bound.l2_squared == bound.l1**2
        attained += max(changes) == bound.l1
    assert attained


def owned(rng, max_rows):
    """Return what a unit may own: nothing, and rows up to the limit; some of all where there are many."""
    every = [unit for size in range(max_rows + 1) for unit in itertools.combinations_with_replacement(EVERY_ROW, size)]
    kept = rng.permutation(len(every))[:60].tolist()
    return [(), *(every[place] for place in kept), *((row,) * max_rows for row in EVERY_ROW)]


def summed(question, rows):
    codes = np.array(rows, dtype=np.int64).reshape(-1, 2)
    (found,) = exact_distances([question], Rows(dict(zip(question.columns, codes.T, strict=True))))
    return found


def test_rows_to_compare_with_hold_every_code_missing_ones_and_misfits_too():
    codes = synthetic_codes(SCHEMA, np.random.default_rng(1), 200)

    for field in SCHEMA.columns[:2]:
        assert set(codes[field.name].tolist()) == set(range(field.domain.last + 1))


@pytest.mark.parametrize(("rows", "bits"), [(1, 0), (50_000, 16), (2**30, 16), (2**40, 6)])
def test_expected_counts_are_shares_rounded_to_the_nearest(rows, bits):
    rng = np.random.default_rng(1)
    (tables,) = public_tables(synthetic_codes(SCHEMA, rng, 991), SCHEMA, ways=[2], rng=rng)

    for counts, expected in zip(tables.counts, tables.expected(rows, bits), strict=True):
        exact = [Fraction(count * rows << bits, tables.rows) for count in counts.tolist()]
        assert all(abs(one - other) <= Fraction(1, 2) for one, other in zip(exact, expected.tolist(), strict=True))


@pytest.mark.parametrize("rows", [1, 2, 37])
def test_the_floor_is_the_expected_variation_of_rows_drawn_from_the_shares(rows):
    rng = np.random.default_rng(2)

    for tables in public_tables(synthetic_codes(SCHEMA, rng, 30), SCHEMA, rng=rng):
        by_hand = []
        for counts in tables.counts:
            for share in (counts / tables.rows).tolist():
                law = [math.comb(rows, k) * share**k * (1 - share) ** (rows - k) for k in range(rows + 1)]
                by_hand.append(sum(mass * abs(k / rows - share) for k, mass in enumerate(law)) / 2)
        assert math.isclose(tables.floor(rows), sum(by_hand) / len(tables.tables), abs_tol=ROUNDING)


@pytest.mark.parametrize("compared_as", [1, 40, 61, 200])
@pytest.mark.parametrize("seed", range(3))
def test_without_noise_the_interval_holds_the_variation_whatever_the_number_of_rows_is_taken_for(seed, compared_as):
    """Noise of so small a scale that it is 0 except with a probability far below the failure."""
    rng = np.random.default_rng(seed)
    real, other = synthetic_codes(SCHEMA, rng, 61), synthetic_codes(SCHEMA, rng, 40)
    real["a"][:30] = 0
    compared = public_tables(other, SCHEMA, rng=rng)
    questions = [asked(tables, compared_as, 10) for tables in compared]
    none = NoiseLaw("laplace", Fraction(1, 1000))
    answers = [
        NoisySums(each, np.array([total]), none)
        for each, total in zip(questions, exact_distances(questions, Rows(real)), strict=True)
    ]
    truth = [float(distance_by_hand(real, other, each, 61)) / (122 * len(each.tables)) for each in compared]

    for error in (None, abs(61 - compared_as)):
        found = noisy_variations(compared, answers, rows=compared_as, rows_error=error, failure=Fraction(3, 100))
        for each, exact in zip(found, truth, strict=True):
            assert each.lower - ROUNDING <= exact <= each.upper + ROUNDING
            if compared_as == 61 and error == 0:
                assert each.upper - each.lower <= 0.02  # rounding alone: a cell at most for each row, 61 rows, 10 bits


def masses(law, steps):
    """Return P(Z = z) for z = -steps .. steps."""
    z = np.arange(-steps, steps + 1)
    scale = float(law.parameter)
    weights = np.exp(-np.abs(z) / scale) if law.kind == "laplace" else np.exp(-(z**2) / (2 * scale))
    return z, weights / weights.sum()


@pytest.mark.parametrize("failure", [Fraction(1, 60), Fraction(1, 4)])
@pytest.mark.parametrize(("rows_scale", "sum_scale", "unit"), [(4, 4, 1), (4, 60, 15), (6, 12, 4), (20, 1, 5)])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_noise_on_the_sum_and_on_the_rows_together_stays_within_reach(kind, rows_scale, sum_scale, unit, failure):
    """Sum over both noises, for effects of the number of rows that are as large as they can be, of either sign."""
    square = 2 if kind == "gaussian" else 1
    on_sum, on_rows = (NoiseLaw(kind, Fraction(each) ** square) for each in (sum_scale, rows_scale))

    reach = _reach(on_sum, unit, on_rows, failure)

    z, sum_masses = masses(on_sum, 40 * sum_scale)
    y, row_masses = masses(on_rows, 40 * rows_scale)
    for effect in (y, -y, np.abs(y), -np.abs(y), 0 * y, np.where(y > 0, y, 0)):
        beyond = np.abs(z[:, None] / unit + effect) > reach + ROUNDING
        assert sum_masses @ beyond @ row_masses <= failure
    if kind == "laplace":
        # A row and a half closer the two of them would go too far, where both matter.
        is_even = sum_scale == rows_scale * unit
        closer = np.abs(z[:, None] / unit + y) > reach - (1.5 if is_even else reach)
        assert sum_masses @ closer @ row_masses > failure
