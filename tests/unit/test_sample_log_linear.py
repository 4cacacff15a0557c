"""Rows of models with a log-linear part: chunks, choice, conditions."""

import numpy as np
import pytest

from helpers.log_linear import drawn, model_at, random_part
from helpers.models import allowed, small_schema
from helpers.saved import small_saved
from lapwing.engine.tables import Axis
from lapwing.errors import CapacityError, ParameterError
from lapwing.model.files import SavedRelease
from lapwing.model.laws import Laws, point_laws, uniform_law
from lapwing.model.model import Bernoulli, Indexed, LogLinear, ReleasedModel, Spans, narrow
from lapwing.model.rows import sample_codes
from lapwing.model.sampling import log_linear, row_choice
from lapwing.model.sampling.conditions import condition_model
from lapwing.model.sampling.draws import row_ends
from lapwing.model.sampling.grouped import GroupedColumn
from lapwing.model.sampling.marginals import marginal
from lapwing.release.release import Release
from lapwing.schema.conditions import Between
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

SCHEMA = small_schema()


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
        whole = np.diff(row_ends(expected, n, rng), prepend=0)
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
