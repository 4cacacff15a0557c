"""Rows out of a released model: counts, chunks, types, order."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2

from helpers.models import allowed, random_model, small_schema
from lapwing.errors import ParameterError
from lapwing.model.laws import Laws, laws_from_probabilities, point_laws, uniform_law
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, Spans, narrow
from lapwing.model.rows import population_codes, row_chunks, row_ends, sample_codes
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


def test_no_rows_give_one_chunk_of_typed_empty_arrays():
    chunks = list(sample_codes(random_model(SCHEMA, 3, 0), SCHEMA, 0, np.random.default_rng(0)))

    assert len(chunks) == 1
    assert {name: (column.dtype, column.shape) for name, column in chunks[0].items()} == {
        field.name: (field.domain.dtype, (0,)) for field in SCHEMA.columns
    }


@pytest.mark.parametrize("seed", range(3))
def test_codes_have_the_dtype_of_their_domain_and_stay_in_it(seed: int):
    found = _codes(SCHEMA, random_model(SCHEMA, 20, seed), 500, seed)

    for field in SCHEMA.columns:
        assert found[field.name].dtype == field.domain.dtype
        assert found[field.name].max() < allowed(field.domain)


def test_chunks_come_out_the_same_in_any_order_and_again():
    model = random_model(SCHEMA, 20, 1)
    chunks = row_chunks(model, SCHEMA, 1000, np.random.default_rng(5), chunk=100)

    in_order = list(chunks.frames())
    backwards = [chunks.frame(number) for number in reversed(range(chunks.count))]

    assert all(one.equals(other) for one, other in zip(in_order, reversed(backwards), strict=True))
    assert not in_order[0]["age"].equals(in_order[1]["age"])


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


def test_masses_of_whole_numbers_of_rows_are_met_exactly():
    weights = np.array([0.1, 0.3, 0.2, 0.4, 0.0])

    for n in (10, 1000, 10**7):
        for seed in range(20):
            ends = row_ends(weights, n, np.random.default_rng(seed))
            assert np.diff(ends, prepend=0).tolist() == [n // 10, 3 * n // 10, n // 5, 2 * n // 5, 0]


def test_a_rest_that_no_fraction_can_take_goes_to_the_heaviest_atom():
    tiny = 2.0**-50
    weights = np.array([tiny, 1.0000000001164153, tiny, tiny])

    owned = np.diff(row_ends(weights, 2**40, np.random.default_rng(0)), prepend=0)

    assert owned.sum() == 2**40
    assert owned.tolist() == [0, 2**40, 0, 0]


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


def test_each_chunk_represents_the_whole_model():
    atoms = 50
    weights = np.random.default_rng(2).random(atoms)
    schema, model = _one_column(Spans(np.arange(atoms), np.arange(atoms) + 1), atoms - 1, weights)

    for chunk in sample_codes(model, schema, 10_000, np.random.default_rng(3), chunk=1000):
        counts = np.bincount(chunk["x0"], minlength=atoms)
        assert (np.abs(counts - 1000 * weights / weights.sum()) < 1 + 1e-9).all()


@pytest.mark.parametrize("n", [1, 10, 999])
def test_one_atom_gives_each_piece_floor_or_ceil_of_its_share(n: int):
    probabilities = np.array([0.5, 0.3, 0.15, 0.05])
    law = laws_from_probabilities(np.array([0, 10, 20, 30]), np.array([10, 20, 30, 31]), probabilities)
    schema, model = _one_column(Indexed(ONE, law), 30)

    for seed in range(20):
        counts = np.bincount(_codes(schema, model, n, seed)["x0"] // 10, minlength=4)
        assert (np.abs(counts - n * probabilities) < 1 + 1e-9).all()


@pytest.mark.parametrize("kind", ["indexed", "spans"])
def test_rows_of_one_uniform_law_fall_one_into_each_stratum(kind: str):
    width = 1000
    law = Indexed(ONE, laws_from_probabilities(np.array([0]), np.array([width]), np.ones(1)))
    law = law if kind == "indexed" else Spans(np.array([0]), np.array([width]))
    schema, model = _one_column(law, width - 1)

    drawn = _codes(schema, model, 100)["x0"]

    assert sorted((drawn // 10).tolist()) == list(range(100))
    assert drawn.tolist() != sorted(drawn.tolist())


def test_bernoulli_rows_of_one_atom_hold_floor_or_ceil_of_their_share():
    laws = {"x0": Bernoulli(np.array([0.3, 0.7, 0.0, 1.0])), "x1": Spans(np.arange(4), np.arange(4) + 1)}
    numbered = ReleasedModel(weights=np.ones(4), rows=5, laws=laws)

    found = _codes(_schema(1, 3), numbered, 4 * 33)

    ones = np.bincount(found["x1"], found["x0"], minlength=4)
    assert ones[0] in (9, 10)
    assert ones[1] in (23, 24)
    assert ones[2:].tolist() == [0, 33]


def test_laws_beyond_sixteen_bits_keep_their_rows():
    atoms = 100_000
    law = Indexed(narrow(np.arange(atoms)), point_laws(np.arange(atoms)))
    laws = {"x0": law, "x1": Spans(np.arange(atoms), np.arange(atoms) + 1)}
    model = ReleasedModel(weights=np.ones(atoms), rows=5, laws=laws)

    found = _codes(_schema(atoms, atoms), model, 3 * atoms)

    assert np.array_equal(found["x0"], found["x1"])
    assert np.bincount(found["x0"], minlength=atoms).tolist() == [3] * atoms


def test_many_laws_with_one_row_each_do_not_all_take_the_same_piece():
    atoms = 2000
    laws = laws_from_probabilities(np.array([0, 1]), np.array([1, 2]), np.ones((atoms, 2)))
    schema, model = _one_column(Indexed(narrow(np.arange(atoms)), laws), 1)

    ones = int(_codes(schema, model, atoms)["x0"].sum())

    assert 800 < ones < 1200  # 9 standard deviations; a common offset would give 0 or 2000


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


def test_chunks_that_went_to_another_process_are_the_same():
    chunks = row_chunks(random_model(SCHEMA, 20, 1), SCHEMA, 1000, np.random.default_rng(5), chunk=100)

    cloudpickle = pytest.importorskip("cloudpickle")

    sent = cloudpickle.loads(cloudpickle.dumps(chunks))

    assert all(one.equals(other) for one, other in zip(sent.frames(), chunks.frames(), strict=True))
