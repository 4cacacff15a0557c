"""Rows out of a released model: counts, chunks, types, order."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2

from helpers.models import random_model, small_schema
from lapwing.errors import ParameterError
from lapwing.model.laws import Laws, laws_from_probabilities, point_laws, uniform_law
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, Spans, narrow
from lapwing.model.rows import population_codes, row_chunks, sample_codes
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

SCHEMA = small_schema()
ONE = np.zeros(1, dtype=np.uint8)


def _schema(*maxima: int) -> Schema:
    fields = [
        {"name": f"x{i}", "type": "integer", "constraints": {"required": True, "minimum": 0, "maximum": maximum}}
        for i, maximum in enumerate(maxima)
    ]
    return Schema.from_dict({"fields": fields})


def _one_column(law: ColumnLaw, maximum: int, weights: np.ndarray | None = None) -> tuple[Schema, ReleasedModel]:
    weights = np.ones(law.atoms) if weights is None else weights
    return _schema(maximum), ReleasedModel(weights=weights, rows=5, laws={"x0": law})


def _codes(schema: Schema, model: ReleasedModel, n: int, seed: int = 0, chunk: int = 2**18) -> dict[str, np.ndarray]:
    chunks = list(sample_codes(model, schema, n, np.random.default_rng(seed), chunk=chunk))
    return {name: np.concatenate([each[name] for each in chunks]) for name in chunks[0]}


@pytest.mark.parametrize("n", [1, 2, 7, 100])
@pytest.mark.parametrize("chunk", [1, 3, 64, 1000])
def test_chunks_together_hold_the_rows_and_stay_under_their_limit(n: int, chunk: int):
    model = random_model(SCHEMA, 9, 3)

    chunks = list(sample_codes(model, SCHEMA, n, np.random.default_rng(1), chunk=chunk))

    sizes = [len(each["age"]) for each in chunks]
    assert sum(sizes) == n
    assert len(sizes) == -(-n // chunk)
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= chunk
    assert all({len(column) for column in each.values()} == {size} for each, size in zip(chunks, sizes, strict=True))


def test_chunks_and_later_calls_of_one_generator_share_no_draw():
    schema, model = _one_column(Spans(np.zeros(1, np.uint32), np.full(1, 2**31, np.uint32)), 2**31 - 1)
    rng = np.random.default_rng(5)

    chunks = [codes["x0"] for _ in range(2) for codes in sample_codes(model, schema, 300, rng, chunk=100)]

    assert np.unique(np.concatenate(chunks)).size == 600


@pytest.mark.parametrize("seed", range(5))
def test_identifiers_count_on_over_chunks_of_unequal_sizes(seed: int):
    chunks = row_chunks(random_model(SCHEMA, 3, 0), SCHEMA, 107, np.random.default_rng(seed), chunk=10)

    sizes = [frame.height for frame in chunks.frames()]

    assert [chunks.rows_before(number) for number in range(chunks.count)] == [0, *np.cumsum(sizes)[:-1]]


@pytest.mark.parametrize("n", [-1, 2.0, True, None, 2**40 + 1])
def test_a_number_of_rows_that_is_none_is_refused_at_once(n: Any):
    with pytest.raises(ParameterError, match="number of rows"):
        sample_codes(random_model(SCHEMA, 2, 0), SCHEMA, n, np.random.default_rng(0))


def test_a_chunk_without_rows_is_refused_at_once():
    with pytest.raises(ParameterError, match="at least 1 row"):
        sample_codes(random_model(SCHEMA, 2, 0), SCHEMA, 5, np.random.default_rng(0), chunk=0)


class _Extreme:
    """Draw the same extreme number always."""

    def __init__(self, number: float) -> None:
        self.number = number

    def random(self, size: int) -> np.ndarray:
        return np.full(size, self.number)

    def permutation(self, size: int) -> np.ndarray:
        return np.arange(size)

    def integers(self, below: int) -> int:
        return int(self.number * below)


@pytest.mark.parametrize("number", [0.0, np.nextafter(1.0, 0.0)])
def test_extreme_draws_lose_no_row_and_leave_no_law(number: float):
    probabilities = np.full(10, 0.1)
    edges = np.arange(11) * 5
    indexed = Indexed(ONE, laws_from_probabilities(edges[:-1], edges[1:], probabilities))
    laws = {"x0": indexed, "x1": Spans(np.array([3]), np.array([50])), "x2": Bernoulli(np.array([0.5]))}
    model = ReleasedModel(weights=np.ones(1), rows=1, laws=laws)

    rng: Any = _Extreme(float(number))
    source = row_chunks(model, _schema(49, 49, 1), 2**18, np.random.default_rng(0)).source
    assert source is not None
    found = source.codes(np.arange(2**18), rng)

    assert np.abs(np.bincount(found["x0"] // 5, minlength=10) - 2**18 / 10).max() <= 1
    assert (found["x1"].min(), found["x1"].max()) == (3, 49)
    assert abs(int(found["x2"].sum()) - 2**17) <= 1  # the offset just below 1 is rounded away


@pytest.mark.parametrize(("count", "pieces"), [(200, 1), (1000, 2), (70_000, 1)])
def test_each_row_has_a_code_of_the_law_of_its_atom(count: int, pieces: int):
    """Laws of one run of two codes, and laws of two points."""
    offsets = np.arange(count + 1) * pieces
    starts = np.arange(count * pieces) * (2 // pieces)
    laws = Laws(offsets, starts, starts + 2 // pieces, np.full(starts.size, 1 / pieces))
    index = np.random.default_rng(1).permutation(count)
    atoms = np.arange(count)
    model = ReleasedModel(
        weights=np.ones(count),
        rows=5,
        laws={"x0": Spans(atoms, atoms + 1), "x1": Indexed(narrow(index), laws)},
    )

    found = _codes(_schema(count - 1, 2 * count - 1), model, 2 * count)

    assert np.array_equal(found["x1"] // 2, index[found["x0"]])


def test_laws_beyond_sixteen_bits_keep_their_rows():
    atoms = 100_000
    law = Indexed(narrow(np.arange(atoms)), point_laws(np.arange(atoms)))
    laws = {"x0": law, "x1": Spans(np.arange(atoms), np.arange(atoms) + 1)}
    model = ReleasedModel(weights=np.ones(atoms), rows=5, laws=laws)

    found = _codes(_schema(atoms, atoms), model, 3 * atoms)

    assert np.array_equal(found["x0"], found["x1"])
    assert np.bincount(found["x0"], minlength=atoms).tolist() == [3] * atoms


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.int64])
def test_spans_at_the_ends_of_their_dtype_do_not_wrap(dtype: type):
    top = int(np.iinfo(dtype).max) if dtype is not np.int64 else 2**53
    starts, stops = np.array([0, top - 1, 0], dtype=dtype), np.array([1, top, top], dtype=dtype)
    schema, model = _one_column(Spans(starts, stops), min(top, 2**53 - 1))

    drawn = _codes(schema, model, 3000)["x0"]

    assert drawn.min() == 0
    assert drawn.max() == top - 1
    assert ((drawn > 0) & (drawn < top - 1)).sum() >= 900


def test_frames_have_the_types_of_the_schema_and_fresh_row_numbers():
    fields = [
        {"name": "id", "type": "integer", "role": "identifier"},
        {"name": "share", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
        {"name": "sex", "type": "string", "categories": ["f", "m"]},
    ]
    schema = Schema.from_dict({"fields": fields})
    laws = {field.name: Indexed(ONE, uniform_law(field.domain)) for field in schema.columns}
    model = ReleasedModel(weights=np.ones(1), rows=5, laws=laws)

    frames = list(row_chunks(model, schema, 25, np.random.default_rng(0), chunk=10).frames())

    whole = pl.concat(frames)
    assert whole.schema == pl.Schema({"id": pl.Int64, "share": pl.Float64, "sex": pl.String})
    assert whole["id"].to_list() == list(range(1, 26))
    assert whole["share"].is_between(0, 1).all()
    assert set(whole["sex"]) == {"f", "m"}


# -- Independent rows of a released model.


FALSE_ALARMS = 1e-9


@pytest.mark.parametrize("seed", range(2))
def test_rows_have_the_joint_law_of_the_model(seed):
    rng, model, n = np.random.default_rng(seed), random_model(SCHEMA, 7, seed), 100_000
    model = replace(model, weights=model.weights * (np.arange(7) % 4 != 2), rows=100)
    groupings = [identity(column.domain) for column in SCHEMA.columns]
    expected = marginal(model, [column.name for column in SCHEMA.columns], groupings) * n / model.rows

    codes = population_codes(model, SCHEMA, n, rng)

    found = np.zeros(expected.shape)
    np.add.at(found, tuple(codes[column.name].astype(np.intp) for column in SCHEMA.columns), 1)
    assert found[expected == 0].sum() == 0
    often = expected >= 10
    distance = ((found - expected)[often] ** 2 / expected[often]).sum()
    assert distance < chi2.isf(FALSE_ALARMS, int(often.sum()))
    assert {name: column.dtype for name, column in codes.items()} == {
        column.name: column.domain.dtype for column in SCHEMA.columns
    }


def test_rows_have_all_the_sampling_error_that_rows_of_a_release_lack():
    model = ReleasedModel(weights=np.ones(1), rows=100, laws={"flag": Bernoulli(np.full(1, 0.5))})
    flag = Schema.from_dict({"fields": [{"name": "flag", "type": "boolean"}]})
    rng = np.random.default_rng(3)

    drawn = [population_codes(model, flag, 400, rng)["flag"].mean() for _ in range(500)]
    released = [next(sample_codes(model, flag, 400, rng))["flag"].mean() for _ in range(20)]

    # The standard deviation of 500 draws is known to 3 %; 20 % is six times that.
    assert np.std(drawn) == pytest.approx(0.5 / 20, rel=0.2)
    assert np.ptp(released) <= 1 / 400
