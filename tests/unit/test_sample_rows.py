"""Rows drawn from a model: of atoms, of log-linear models, and chosen row by row."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2

from helpers.log_linear import drawn, model_at, random_part
from helpers.models import allowed, random_model, small_schema
from helpers.saved import small_saved
from lapwing.engine.tables import Axis
from lapwing.errors import CapacityError, ParameterError
from lapwing.model.files import SavedRelease
from lapwing.model.laws import Laws, laws_from_probabilities, point_laws, uniform_law
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, LogLinear, ReleasedModel, Spans, narrow
from lapwing.model.rows import population_codes, row_chunks, row_ends, sample_codes
from lapwing.model.sampling import log_linear, row_choice
from lapwing.model.sampling.conditions import condition_model
from lapwing.model.sampling.descent import PairTables, swap_downhill
from lapwing.model.sampling.draws import row_ends as linear_row_ends
from lapwing.model.sampling.grouped import GroupedColumn
from lapwing.model.sampling.marginals import marginal
from lapwing.release.release import Release
from lapwing.schema.conditions import Between
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


def _many(atoms: int, seed: int = 0) -> ReleasedModel:
    """Return atoms that are points with mass under the base laws."""
    rng = np.random.default_rng(seed)
    part = random_part(SCHEMA, seed)
    starts = [
        rng.choice(part.base[field.name].starts, atoms, p=part.base[field.name].probabilities)
        for field in SCHEMA.columns
    ]
    return model_at(SCHEMA, part, np.stack(starts, axis=1))


def _numbered(atoms: int) -> tuple[Schema, ReleasedModel]:
    """Return a model whose first column tells the atom, with uneven weights and two more columns."""
    limits = {"atom": atoms - 1, "a": 5, "b": 3}
    fields = [
        {"name": name, "type": "integer", "constraints": {"required": True, "minimum": 0, "maximum": most}}
        for name, most in limits.items()
    ]
    schema = Schema.from_dict({"fields": fields})
    rng = np.random.default_rng(1)
    laws = {
        "atom": Spans(np.arange(atoms), np.arange(atoms) + 1),
        "a": Indexed(narrow(rng.integers(0, 6, atoms)), point_laws(np.arange(6))),
        "b": Indexed(narrow(rng.integers(0, 4, atoms)), point_laws(np.arange(4))),
    }
    base = {field.name: uniform_law(field.domain) for field in schema.columns}
    part = LogLinear(tables=(), groupings=(), thetas=(), base=base)
    return schema, ReleasedModel(weights=rng.gamma(2.0, size=atoms), rows=5, laws=laws, log_linear=part)


@pytest.mark.parametrize(("atoms", "n"), [(5, 300), (200, 1000), (3000, 1500), (3000, 3001)])
def test_chunks_hold_the_rows_and_the_same_state_gives_the_same_rows(atoms: int, n: int):
    model = _many(atoms)

    chunks = list(sample_codes(model, SCHEMA, n, np.random.default_rng(1), chunk=128))
    one, same, other = (drawn(model, SCHEMA, n, seed, chunk=128) for seed in (1, 1, 2))

    sizes = [len(each["age"]) for each in chunks]
    assert sum(sizes) == n
    assert max(sizes) <= 128
    assert all(np.array_equal(one[name], same[name]) for name in one)
    assert not all(np.array_equal(one[name], other[name]) for name in one)
    for field in SCHEMA.columns:
        assert one[field.name].dtype == field.domain.dtype
        assert one[field.name].max() < allowed(field.domain)


def test_more_rows_than_atoms_keep_each_atom_once_and_move_the_others():
    schema, model = _numbered(100)

    found = drawn(model, schema, 5000, 3, chunk=512)

    own = np.stack([law.index for law in (model.laws["a"], model.laws["b"])])
    stayed = (np.stack([found["a"], found["b"]]) == own[:, found["atom"]]).all(axis=0)
    assert set(found["atom"][stayed].tolist()) == set(range(100))
    # A moved row meets its new atom's values by chance, 1 in 24: 4900/24 + 100 = 304, standard deviation 14.
    assert 200 < stayed.sum() < 420


def _away(atoms: int) -> float:
    """Return how far a table of 100,000 rows is from that of atoms of which theta says nothing."""
    limits = {"required": True, "minimum": 0, "maximum": 3}
    schema = Schema.from_dict({"fields": [{"name": each, "type": "integer", "constraints": limits} for each in "ab"]})
    cells = np.random.default_rng(2).choice(16, atoms, p=np.arange(1, 17) / 136)
    points = np.stack([cells // 4, cells % 4], axis=1)
    grouping = identity(schema.field("a").domain)
    part = LogLinear(
        tables=(("a", "b"),),
        groupings=((grouping, grouping),),
        thetas=(np.zeros((grouping.groups, grouping.groups)),),
        base={name: uniform_law(schema.field(name).domain) for name in "ab"},
    )

    found = drawn(model_at(schema, part, points), schema, 100_000, 1)

    seen = np.bincount(found["a"].astype(int) * 4 + found["b"], minlength=16) / 100_000
    return float(np.abs(seen - np.bincount(cells, minlength=16) / atoms).sum()) / 2


def test_moved_rows_keep_the_tables_of_atoms_that_are_not_few(monkeypatch: pytest.MonkeyPatch):
    many, few = _away(12_000), _away(9_000)
    monkeypatch.setattr(log_linear, "HOLD", 0.0)

    assert many < 0.03
    assert few == _away(9_000) > 0.15
    assert _away(12_000) > 0.15


def test_chosen_rows_keep_floor_or_ceil_of_each_atom_and_the_codes_of_its_laws():
    schema, model = _numbered(4000)
    n = 3000

    found = drawn(model, schema, n, 1, chunk=700)

    expected = model.weights / model.weights.sum() * n
    copies = np.bincount(found["atom"], minlength=4000)
    assert copies.sum() == n
    assert (np.abs(copies - expected) < 1 + 1e-6).all()
    assert np.array_equal(found["a"], model.laws["a"].index[found["atom"]])


def test_chosen_rows_fit_the_model_better_than_a_systematic_sample(monkeypatch: pytest.MonkeyPatch):
    schema, model = _numbered(4000)
    n = 2000
    target = np.bincount(model.laws["a"].index * 4 + model.laws["b"].index, model.weights / model.weights.sum() * n)

    def misfit() -> float:
        found = drawn(model, schema, n, 1)
        return float(np.abs(np.bincount(found["a"].astype(int) * 4 + found["b"], minlength=24) - target).sum())

    chosen = misfit()
    monkeypatch.setattr(row_choice, "_LEAST_ROWS", n + 1)

    # The column of atoms has 256 cells of its own, which the descent has to fit as well.
    assert chosen < 0.6 * misfit()


def _many_valued(values: int, n: int) -> tuple[Schema, ReleasedModel]:
    """Return a model of columns with a law for each value, with few laws of many values, with points, and with few."""
    rng, atoms = np.random.default_rng(2), 12_000
    limits = {"own": values - 1, "shared": values - 1, "point": values - 1, "few": 3}
    fields = [
        {"name": name, "type": "integer", "constraints": {"required": True, "minimum": 0, "maximum": most}}
        for name, most in limits.items()
    ]
    schema = Schema.from_dict({"fields": fields})
    laws = Laws(
        np.array([0, *np.arange(1, 9) * values // 8]),
        np.arange(values),
        np.arange(values) + 1,
        np.full(values, 8 / values),
    )
    point = rng.integers(0, values, atoms)
    columns = {
        "own": Indexed(narrow(rng.integers(0, values, atoms)), point_laws(np.arange(values))),
        "shared": Indexed(narrow(rng.integers(0, 8, atoms)), laws),
        "point": Spans(point, point + 1),
        "few": Indexed(narrow(rng.integers(0, 4, atoms)), point_laws(np.arange(4))),
    }
    part = LogLinear(tables=(), groupings=(), thetas=(), base={f.name: uniform_law(f.domain) for f in schema.columns})
    return schema, ReleasedModel(weights=np.ones(atoms), rows=n, laws=columns, log_linear=part)


@pytest.mark.parametrize(("values", "n"), [(400, 3000), (2000, 3000), (40, 500)])
def test_rows_follow_the_models_columns_however_many_values_they_have(values: int, n: int):
    schema, model = _many_valued(values, n)

    found = drawn(model, schema, n, 1)

    rng = np.random.default_rng(0)
    for name in model.laws:
        size = schema.field(name).domain.size
        expected = marginal(model, [name], [identity(schema.field(name).domain)])
        away = float(np.abs(np.bincount(found[name], minlength=size) - expected).sum()) / 2 / n
        whole = np.diff(linear_row_ends(expected, n, rng), prepend=0)
        forced = float(np.abs(whole - expected).sum()) / 2 / n
        independent = float(np.abs(rng.multinomial(n, expected / n) - expected).sum()) / 2 / n
        assert away < forced + 0.15 * independent, name


def test_tables_with_too_many_cells_are_looked_at_more_coarsely(monkeypatch: pytest.MonkeyPatch):
    schema, model = _numbered(3000)
    monkeypatch.setattr(row_choice, "_MOST_CELLS", 200)

    found = drawn(model, schema, 1500, 1)

    assert np.array_equal(found["a"], model.laws["a"].index[found["atom"]])


def test_a_condition_that_no_atom_meets_gives_matching_rows_and_expects_none():
    model = model_at(SCHEMA, random_part(SCHEMA, 1), np.array([[0, 1, 0, 0], [0, 2, 1, 0]]))
    base = {**model.log_linear.base, "colour": uniform_law(SCHEMA.field("colour").domain)}
    part = LogLinear(
        tables=model.log_linear.tables,
        groupings=model.log_linear.groupings,
        thetas=model.log_linear.thetas,
        base=base,
    )
    model = ReleasedModel(weights=model.weights, rows=1000, laws=model.laws, log_linear=part)

    given = condition_model(model, SCHEMA, {"colour": "red"})
    found = drawn(given.model, SCHEMA, 70, 1, chunk=20, is_matched=given.is_matched)

    assert not given.is_matched
    assert given.model.rows == 0
    assert (found["colour"] == 0).all()


def test_starts_are_the_atoms_that_match_in_most_columns():
    codes = np.array([[0, 0, 3, 1], [1, 0, 2, 1], [1, 1, 5, 0]])
    part = LogLinear(
        tables=(), groupings=(), thetas=(), base={field.name: uniform_law(field.domain) for field in SCHEMA.columns}
    )
    model = model_at(SCHEMA, part, codes)

    given = condition_model(model, SCHEMA, {"flag": True, "colour": "red", "age": Between(6, 7)})

    assert given.model.atoms == 1
    assert given.model.laws["flag"].laws.starts.tolist() == [1]
    assert given.model.laws["colour"].laws.starts.tolist() == [0]
    assert (given.model.laws["age"].laws.starts.tolist(), given.model.laws["age"].laws.stops.tolist()) == ([6], [8])


def test_a_release_gives_rows_for_a_condition_that_no_atom_meets():
    saved = small_saved()
    laws = {**saved.model.laws, "age": Spans(np.zeros(7, dtype=np.uint8), np.ones(7, dtype=np.uint8))}
    model = ReleasedModel(weights=np.ones(7), rows=100, laws=laws, log_linear=saved.model.log_linear)
    release = Release.of_one(SavedRelease(saved.schema, model, saved.certificate, saved.answers))

    rows = release.sample(40, seed=1, where={"age": 5})

    assert rows["age"].to_list() == [5] * 40
    with pytest.raises(ParameterError, match="the model expects no row"):
        release.sample(40, seed=1, where={"age": -1})


def test_groups_without_base_mass_are_never_drawn_however_large_theta_is():
    domain = SCHEMA.field("age").domain
    theta = np.zeros(domain.size)
    theta[3] = 200.0
    base = {field.name: uniform_law(field.domain) for field in SCHEMA.columns}
    part = LogLinear(
        tables=(("age",),), groupings=((identity(domain),),), thetas=(theta,), base={**base, "age": point_laws([5])}
    )
    model = model_at(SCHEMA, part, np.array([[0, 0, 3, 0]]))

    assert set(drawn(model, SCHEMA, 500, 0)["age"].tolist()) == {5}


def test_columns_with_too_many_groups_are_refused():
    schema, model = _numbered(5000)
    grouping = identity(schema.field("atom").domain)
    part = LogLinear(
        tables=(("atom",),),
        groupings=((grouping,),),
        thetas=(np.zeros(grouping.groups),),
        base=model.log_linear.base,
    )
    model = ReleasedModel(weights=model.weights, rows=5, laws=model.laws, log_linear=part)

    with pytest.raises(CapacityError, match="5000 groups of column 'atom'"):
        drawn(model, schema, 6000, 0)


def test_a_law_lies_in_a_group_only_where_all_its_pieces_do():
    column = GroupedColumn(
        Axis(np.array([0.5, 0.5]), (np.arange(2),)),
        np.array([0, 4, 6, 9]),
        np.array([0, 1, 0, -1]),
        point_laws(np.arange(2)),
    )

    def groups(offsets: list[int], starts: list[int], stops: list[int]) -> np.ndarray | None:
        pieces = np.diff(offsets)
        laws = Laws(np.array(offsets), np.array(starts), np.array(stops), 1 / np.repeat(pieces, pieces))
        return column.groups_of_laws(Indexed(np.zeros(1, np.uint8), laws))

    found = groups([0, 1, 3], [4, 0, 6], [6, 4, 9])
    assert found is not None
    assert found.tolist() == [1, 0]
    assert groups([0, 1], [3], [5]) is None  # over an edge
    assert groups([0, 2], [0, 4], [1, 5]) is None  # pieces in two groups
    assert groups([0, 1], [9], [10]) is None  # where the base law has no mass
    assert column.groups_of_laws(Bernoulli(np.ones(1))) is None


def _tables(seed: int, candidates: int = 600, chosen: int = 250) -> tuple[PairTables, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = (3, 5, 2)
    cells = np.stack([np.minimum(rng.geometric(0.4, candidates) - 1, size - 1) for size in sizes]).astype(np.uint8)
    pairs = tuple(itertools.combinations(range(3), 2))
    every = PairTables(cells=cells, sizes=sizes, pairs=pairs, targets=np.zeros(31, dtype=np.float32))
    targets = every.counts(np.ones(candidates, dtype=bool)) * (chosen / candidates)
    start = np.zeros(candidates, dtype=bool)
    start[rng.permutation(candidates)[:chosen]] = True
    return PairTables(cells=cells, sizes=sizes, pairs=pairs, targets=targets), start, rng.random(candidates) < 0.9


def _misfit(tables: PairTables, chosen: np.ndarray) -> float:
    return float(np.abs(tables.counts(chosen) - tables.targets).sum())


@pytest.mark.parametrize("seed", range(3))
def test_swaps_take_most_of_the_misfit_away(seed: int):
    tables, start, free = _tables(seed)

    found = swap_downhill(tables, start, free, np.random.default_rng(seed))

    assert _misfit(tables, found) < 0.5 * _misfit(tables, start)
    assert found.sum() == start.sum()


@pytest.mark.parametrize("seed", range(3))
def test_candidates_that_are_not_free_stay_as_they_are(seed: int):
    tables, start, free = _tables(seed)

    found = swap_downhill(tables, start, free, np.random.default_rng(seed))

    assert np.array_equal(found[~free], start[~free])
    assert not np.array_equal(found[free], start[free])


def test_counts_are_those_of_a_loop_over_rows():
    tables, start, _ = _tables(3)

    found = tables.counts(start)

    naive = {}
    for place, (one, two) in enumerate(tables.pairs):
        for a, b in tables.cells[[one, two]][:, start].T:
            naive[place, int(a), int(b)] = naive.get((place, int(a), int(b)), 0) + 1
    keys = [
        (place, a, b)
        for place, (one, two) in enumerate(tables.pairs)
        for a in range(tables.sizes[one])
        for b in range(tables.sizes[two])
    ]
    assert found.tolist() == [naive.get(key, 0) for key in keys]


def test_the_start_is_not_modified_and_the_generator_decides():
    tables, start, free = _tables(1)
    before = start.copy()

    one, same, other = (swap_downhill(tables, start, free, np.random.default_rng(seed)) for seed in (5, 5, 6))

    assert np.array_equal(start, before)
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("which", ["nothing free", "all chosen", "none chosen"])
def test_without_anybody_to_swap_the_start_is_returned(which: str):
    tables, start, free = _tables(2)
    start = {"nothing free": start, "all chosen": np.ones_like(start), "none chosen": np.zeros_like(start)}[which]
    free = np.zeros_like(free) if which == "nothing free" else free

    assert np.array_equal(swap_downhill(tables, start, free, np.random.default_rng(0)), start)
