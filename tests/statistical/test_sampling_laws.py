"""The laws of rows drawn from a model, at a false-alarm rate of 1e-9 a test; each test also rejects a planted error."""

import math

import numpy as np
import pytest
from scipy import stats

from lapwing.model.laws import laws_from_probabilities
from lapwing.model.model import Bernoulli, Indexed, ReleasedModel, Spans
from lapwing.model.rows import row_ends, sample_codes
from lapwing.schema.schemas import Schema

ALPHA = 1e-9
ONE = np.zeros(1, dtype=np.uint8)
WEIGHTS = np.array([5.0, 3.0, 1.0, 0.7, 0.3])
PROBABILITIES = np.array([0.4, 0.3, 0.2, 0.1])


def _schema(columns: int, maximum: int) -> Schema:
    limits = {"required": True, "minimum": 0, "maximum": maximum}
    return Schema.from_dict(
        {"fields": [{"name": f"x{i}", "type": "integer", "constraints": limits} for i in range(columns)]}
    )


def _chi_square(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the p-value of independent counts against a law."""
    expected = counts.sum() * probabilities
    return float(stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), counts.size - 1))


def _is_table_independent(table: np.ndarray) -> bool:
    """Tell whether a table looks like a random matching of its margins: neither too far from it nor too close."""
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / table.sum()
    statistic = ((table - expected) ** 2 / expected).sum() * (table.sum() - 1) / table.sum()
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    return bool(ALPHA / 2 < stats.chi2.sf(statistic, freedom) < 1 - ALPHA / 2)


def test_the_first_row_has_the_law_of_the_mixture():
    laws = laws_from_probabilities(np.arange(4), np.arange(1, 5), np.stack([PROBABILITIES, PROBABILITIES[::-1]]))
    model = ReleasedModel(
        weights=np.array([3.0, 1.0]), rows=1, laws={"x0": Indexed(np.array([0, 1], dtype=np.uint8), laws)}
    )
    schema, rng = _schema(1, 3), np.random.default_rng(1)

    # Ten rows in chunks of three: the first row of the first chunk.
    drawn = [int(next(sample_codes(model, schema, 10, rng, chunk=3))["x0"][0]) for _ in range(8000)]

    counts = np.bincount(drawn, minlength=4)
    law = 0.75 * PROBABILITIES + 0.25 * PROBABILITIES[::-1]
    assert _chi_square(counts, law) > ALPHA
    assert _chi_square(counts, PROBABILITIES) < ALPHA


def test_the_first_row_comes_from_every_atom_in_proportion_to_its_weight():
    model = ReleasedModel(weights=WEIGHTS, rows=1, laws={"x0": Spans(np.arange(5), np.arange(5) + 1)})
    schema, rng = _schema(1, 4), np.random.default_rng(2)

    drawn = [int(next(sample_codes(model, schema, 20, rng, chunk=4))["x0"][0]) for _ in range(8000)]

    counts = np.bincount(drawn, minlength=5)
    planted = np.array([5.0, 3.0, 1.0, 0.7, 0.3]) * np.array([0.8, 1, 1, 1, 1])
    assert _chi_square(counts, WEIGHTS / WEIGHTS.sum()) > ALPHA
    assert _chi_square(counts, planted / planted.sum()) < ALPHA


def test_expected_counts_of_atoms_are_their_weights():
    weights = np.random.default_rng(3).random(12) + 0.05
    planted = weights * np.where(np.arange(12) == 4, 1.2, 1.0)
    runs, rng = 20_000, np.random.default_rng(4)
    # Hoeffding's bound for the means of 12 counts that differ from run to run by at most one row, two sides.
    limit = math.sqrt(math.log(24 / ALPHA) / (2 * runs))

    means = np.mean([np.diff(row_ends(weights, 10, rng), prepend=0) for _ in range(runs)], axis=0)

    assert np.abs(means - 10 * weights / weights.sum()).max() < limit
    assert np.abs(means - 10 * planted / planted.sum()).max() > limit


@pytest.mark.parametrize("kind", ["indexed", "spans", "bernoulli"])
def test_columns_of_one_atom_are_independent(kind: str):
    if kind == "indexed":
        law = Indexed(ONE, laws_from_probabilities(np.arange(4), np.arange(1, 5), PROBABILITIES))
        groups = 4
    elif kind == "spans":
        law, groups = Spans(np.array([0]), np.array([1000])), 10
    else:
        law, groups = Bernoulli(np.array([0.3])), 2
    schema = _schema(2, 999)
    model = ReleasedModel(weights=np.ones(1), rows=1, laws={"x0": law, "x1": law})

    codes = next(sample_codes(model, schema, 20_000, np.random.default_rng(5)))

    first, second = (codes[name].astype(int) // (100 if kind == "spans" else 1) for name in ("x0", "x1"))
    table = np.bincount(first * groups + second, minlength=groups**2).reshape(groups, groups)
    slightly = np.where(np.arange(20_000) % 10 == 0, first, second)  # one row in ten repeats the first column
    planted = np.bincount(first * groups + slightly, minlength=groups**2).reshape(groups, groups)
    matched = np.rint(table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / table.sum())
    assert _is_table_independent(table)
    assert not _is_table_independent(planted)
    assert not _is_table_independent(matched)


@pytest.mark.parametrize("kind", ["indexed", "spans", "bernoulli"])
def test_columns_are_independent_within_each_of_many_atoms(kind: str):
    atoms, rows = 500, 20_000
    if kind == "indexed":
        laws = laws_from_probabilities(np.arange(2), np.arange(1, 3), np.ones((atoms, 2)))
        law = Indexed(np.arange(atoms, dtype=np.uint16), laws)
    elif kind == "spans":
        law = Spans(np.zeros(atoms, dtype=np.uint8), np.full(atoms, 2, dtype=np.uint8))
    else:
        law = Bernoulli(np.full(atoms, 0.5))
    model = ReleasedModel(weights=np.ones(atoms), rows=1, laws={"x0": law, "x1": law})

    codes = next(sample_codes(model, _schema(2, 1), rows, np.random.default_rng(6)))

    # In an atom of 40 rows both columns hold 20 ones in random order: matches of two ones are hypergeometric with mean
    # 10 and variance 20 * 20 * 20 * 20 / (40**2 * 39); their sum over atoms is close to normal.
    both = int((codes["x0"] & codes["x1"]).sum())
    sd = math.sqrt(atoms * 20**4 / (40**2 * 39))
    limit = stats.norm.isf(ALPHA / 2) * sd
    assert abs(both - rows / 4) < limit
    repeated = np.where(np.arange(rows) % 5 == 0, codes["x0"], codes["x1"])
    assert abs(int((codes["x0"] & repeated).sum()) - rows / 4) > limit


def test_codes_are_uniform_inside_spans_with_one_row_each():
    atoms = 20_000
    rng = np.random.default_rng(7)
    starts = rng.integers(0, 2**31, atoms)
    lengths = rng.integers(2**20, 2**30, atoms)
    model = ReleasedModel(weights=np.ones(atoms), rows=1, laws={"x0": Spans(starts, starts + lengths)})
    order = Spans(np.arange(atoms), np.arange(atoms) + 1)
    model = ReleasedModel(weights=np.ones(atoms), rows=1, laws={**model.laws, "x1": order})

    codes = next(sample_codes(model, _schema(2, 2**33), atoms, np.random.default_rng(8)))

    places = (codes["x0"] - starts[codes["x1"]]) / lengths[codes["x1"]]
    assert stats.kstest(places, "uniform").pvalue > ALPHA
    assert stats.kstest(places**1.2, "uniform").pvalue < ALPHA


@pytest.mark.parametrize("rows", [1, 2])
def test_code_one_has_its_probability_in_atoms_with_few_rows(rows: int):
    atoms = 40_000
    model = ReleasedModel(weights=np.ones(atoms), rows=1, laws={"x0": Bernoulli(np.full(atoms, 0.3))})

    ones = int(next(sample_codes(model, _schema(1, 1), rows * atoms, np.random.default_rng(13)))["x0"].sum())

    # An atom of two rows holds 0 or 1 ones: less spread than two independent rows, so the bound is on the safe side.
    assert stats.binomtest(ones, rows * atoms, 0.3).pvalue > ALPHA
    assert stats.binomtest(ones, rows * atoms, 0.36).pvalue < ALPHA


def test_rows_of_an_atom_stand_anywhere_in_a_chunk():
    model = ReleasedModel(weights=np.array([1.0, 9.0]), rows=1, laws={"x0": Spans(np.arange(2), np.arange(2) + 1)})
    schema, rng = _schema(1, 1), np.random.default_rng(9)

    places = [int(np.argmin(next(sample_codes(model, schema, 10, rng))["x0"])) for _ in range(5000)]

    counts = np.bincount(places, minlength=10)
    planted = counts + np.where(np.arange(10) == 0, counts[0] // 2, 0)
    assert _chi_square(counts, np.full(10, 0.1)) > ALPHA
    assert _chi_square(planted, np.full(10, 0.1)) < ALPHA


def test_one_way_laws_are_far_closer_than_independent_draws():
    cells, n = 50, 10_000
    masses = np.random.default_rng(10).random(cells)
    law = laws_from_probabilities(np.arange(cells), np.arange(1, cells + 1), masses)
    model = ReleasedModel(weights=np.ones(1), rows=1, laws={"x0": Indexed(ONE, law)})
    truth = masses / masses.sum()

    drawn = np.concatenate(
        [c["x0"] for c in sample_codes(model, _schema(1, 99), n, np.random.default_rng(11), chunk=2500)]
    )

    ours = np.abs(np.bincount(drawn, minlength=cells) / n - truth).sum() / 2
    independent = np.abs(np.random.default_rng(12).multinomial(n, truth) / n - truth).sum() / 2
    # Four chunks, each within one row in every cell.
    assert ours <= 4 * cells / (2 * n)
    assert independent > 4 * cells / (2 * n)
