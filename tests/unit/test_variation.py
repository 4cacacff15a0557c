import math

import numpy as np
import pytest

from lapwing.errors import CapacityError, ParameterError
from lapwing.extras.evaluate.metrics.metric import bootstrap_rows, independent_columns
from lapwing.extras.evaluate.metrics.tables.variation import Variation, compare_tables
from lapwing.model.compared import choose_tables, compared_cells
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.schemas import Schema


def flags(count):
    return Schema.from_dict({"fields": [{"name": f"x{number}", "type": "boolean"} for number in range(count)]})


def wide(count, values=256):
    bounds = {"minimum": 0, "maximum": values - 1}
    fields = [{"name": f"x{number}", "type": "integer", "constraints": bounds} for number in range(count)]
    return Schema.from_dict({"fields": fields})


def rows_of(schema, rng, rows, low=0, high=None):
    return {c.name: rng.integers(low, high or c.domain.size, rows).astype(c.domain.dtype) for c in schema.columns}


def table_variations(real, other, schema, *, ways=(1, 2, 3), rng):
    return compare_tables(real, other, schema, choose_tables(schema, ways=ways, rng=rng))


@pytest.mark.parametrize("schema", [flags(4), wide(4)], ids=["few cells", "many cells"])
def test_a_table_is_at_distance_0_from_itself_in_another_order(schema):
    rng = np.random.default_rng(1)
    real = rows_of(schema, rng, 1000)
    order = rng.permutation(1000)
    twice = {name: np.tile(column[order], 2) for name, column in real.items()}

    found = table_variations(real, twice, schema, rng=rng)

    assert [each.ways for each in found] == [1, 2, 3]
    assert all((each.distances == 0).all() for each in found)


def test_missing_and_special_values_and_misfits_are_cells_of_their_own():
    field = {"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}}
    schema = Schema.from_dict({"fields": [field | {"special": [-1, 2]}]})
    values = schema.columns[0].domain.values
    real = {"x": np.array([values - 1, values, values + 1, values + 2])}

    for code in (values - 1, values, values + 1, values + 2):
        (found,) = table_variations(real, {"x": np.array([code])}, schema, ways=[1], rng=np.random.default_rng(0))
        assert found.maximum == 0.75


@pytest.mark.parametrize(
    ("domain", "groups"),
    [
        (Domain(256, 2, True, True, False), 259),
        (Domain(257, 2, True, True, False), 67),
        (Domain(257, 0, True, False, False), 258),
        (Domain(2**32, 0, False, True, True), 65),
    ],
    ids=["narrow", "wide", "unordered", "continuous"],
)
def test_the_cells_of_a_column_follow_from_its_domain(domain, groups):
    assert compared_cells(domain).groups == groups


def test_all_pairs_and_a_seeded_sample_of_triples_are_compared():
    schema = flags(20)

    one, two, three = choose_tables(schema, rng=np.random.default_rng(7))
    again = choose_tables(schema, rng=np.random.default_rng(7))
    other = choose_tables(schema, rng=np.random.default_rng(8))

    assert (len(one), len(set(two)), len(set(three))) == (20, 190, 128)
    assert again[2] == three
    assert other[2] != three
    places = {column.name: place for place, column in enumerate(schema.columns)}
    assert all(places[a] < places[b] < places[c] for a, b, c in three)


def test_every_triple_is_as_likely_as_any_other():
    rng = np.random.default_rng(9)
    schema = flags(6)

    chosen = [choose_tables(schema, ways=[3], triples=2, rng=rng)[0] for _ in range(2000)]

    counts = np.unique([" ".join(table) for tables in chosen for table in tables], return_counts=True)[1]
    assert len(counts) == math.comb(6, 3)
    # 200 each, binomial with standard deviation 13.4; 20 counts outside 5 of them: below 1e-5.
    assert np.abs(counts - 200).max() < 67


def test_the_worst_tables_are_named_in_order():
    distances = np.array([0.1, 0.4, 0.2, 0.4])
    found = Variation(ways=1, possible=4, tables=(("a",), ("b",), ("c",), ("d",)), distances=distances)

    assert found.worst(3) == ((("b",), 0.4), (("d",), 0.4), (("c",), 0.2))
    assert (found.mean, found.maximum) == (pytest.approx(0.275), 0.4)
    assert len(found.worst()) == 4


def test_a_table_without_a_row_is_refused():
    schema = flags(2)
    full, empty = rows_of(schema, np.random.default_rng(0), 3), rows_of(schema, np.random.default_rng(0), 0)

    with pytest.raises(ParameterError, match="the other table has no row"):
        table_variations(full, empty, schema, rng=np.random.default_rng(0))
    with pytest.raises(ParameterError, match="the real table has no row"):
        table_variations(empty, full, schema, rng=np.random.default_rng(0))


def test_what_is_no_table_of_the_schema_is_refused():
    schema = flags(2)
    rows = rows_of(schema, np.random.default_rng(0), 3)

    with pytest.raises(ParameterError, match='no codes of column "x1"'):
        table_variations(rows, {"x0": rows["x0"]}, schema, rng=np.random.default_rng(0))
    with pytest.raises(ParameterError, match="different lengths"):
        table_variations({**rows, "x1": rows["x1"][:2]}, rows, schema, rng=np.random.default_rng(0))


@pytest.mark.parametrize("settings", [{"ways": [0]}, {"ways": [True]}, {"ways": [1.0]}, {"triples": 0}])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ParameterError, match=f"{next(iter(settings))} must be .*whole number"):
        choose_tables(flags(4), **settings, rng=np.random.default_rng(0))


def test_a_table_with_too_many_cells_to_number_is_refused():
    schema = wide(8)
    rows = rows_of(schema, np.random.default_rng(0), 3)

    with pytest.raises(CapacityError, match="more than 2\\*\\*62 cells"):
        table_variations(rows, rows, schema, ways=[8], rng=np.random.default_rng(0))


def test_pairs_are_sampled_where_there_are_very_many() -> None:
    fields = [{"name": f"x{place}", "type": "boolean"} for place in range(130)]
    schema = Schema.from_dict({"fields": fields})

    (pairs,) = choose_tables(schema, ways=[2], rng=np.random.default_rng(1))
    (again,) = choose_tables(schema, ways=[2], rng=np.random.default_rng(2))

    assert len(set(pairs)) == 8192
    assert pairs != again
    assert (
        len(choose_tables(Schema.from_dict({"fields": fields[:128]}), ways=[2], rng=np.random.default_rng(1))[0])
        == 8128
    )


def test_a_bootstrap_keeps_rows_and_shuffled_columns_keep_columns():
    rng = np.random.default_rng(4)
    first = np.arange(1000)
    real = {"a": first, "b": first + 5}

    boot, shuffled = bootstrap_rows(real, rng), independent_columns(real, rng)

    assert (boot["b"] == boot["a"] + 5).all()
    # Distinct rows in a bootstrap of 1000: 632 in the mean, with standard deviation 10.
    assert abs(len(np.unique(boot["a"])) - 632) < 60
    assert (np.sort(shuffled["a"]) == first).all()
    # One row in a thousand fits together by chance: more than 20 has probability below 1e-17.
    assert np.count_nonzero(shuffled["b"] == shuffled["a"] + 5) < 20
