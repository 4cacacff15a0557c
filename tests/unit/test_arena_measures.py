"""The arena's measures of tables whose figures are known."""

import numpy as np
import polars as pl
import pytest

from helpers.arena import codings, learning, measures
from lapwing.schema.schemas import Schema

BITS = {
    "fields": [
        {"name": name, "type": "integer", "categories": [0, 1], "constraints": {"required": True}} for name in "abc"
    ],
    "target": "c",
}
MIXED = {
    "fields": [
        {"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120, "required": True}},
        {"name": "place", "type": "string", "categories": [f"p{number}" for number in range(50)]},
        {"name": "ill", "type": "boolean", "constraints": {"required": True}},
    ],
    "target": "ill",
    "rules": [{"when": {"age": {"maximum": 17}}, "then": {"ill": False}}],
}
DISTANCES = [f"tv{ways}_{cells}" for ways in (1, 2, 3) for cells in ("wide", "narrow", "native")]


def mixed(rows, seed):
    rng = np.random.default_rng(seed)
    x, age = rng.random(rows), rng.integers(18, 100, rows)
    ill = (x + age / 100 + rng.normal(0, 0.2, rows)) > 1
    place = pl.Series([f"p{number}" for number in rng.integers(50, size=rows)])
    return pl.DataFrame({"x": x, "age": age, "place": place, "ill": ill})


def grid(copies, *columns):
    """Return so many copies of rows of bits."""
    return pl.DataFrame({name: np.tile(column, copies) for name, column in zip("abc", columns, strict=True)})


def test_a_copy_of_the_train_rows_has_no_error_and_is_found_out():
    train, held = mixed(800, 1), mixed(400, 2)

    found = measures.measured(train, held, train, MIXED)

    zero = [*DISTANCES, "mean_error", "sd_error", "pearson_error", "auc_trees_gap", "auc_linear_gap"]
    assert {name: found[name] for name in zero} == dict.fromkeys(zero, 0.0)
    assert found["nist_k3"] == 1000
    assert found["audit_advantage"] == 1
    assert found["broken_rules"] == found["misfits"] == 0
    assert min(found["auc_trees"], found["auc_linear"]) > 0.8


def test_fresh_rows_of_the_same_law_are_not_found_out():
    """All pass the chance level once in twenty at most; with these seeds they do not."""
    train, held = mixed(800, 1), mixed(400, 2)

    found = measures.measured(train, held, mixed(800, 3), MIXED)

    assert found["audit_advantage"] < found["audit_chance"] == pytest.approx(np.sqrt(np.log(20) / 2 * 1200 / 320_000))
    assert 0 < found["tv1_wide"] < found["tv2_wide"] < found["tv3_wide"] < 1
    assert found["tv2_wide"] < found["tv2_narrow"]


def test_uniform_bits_for_bits_that_agree_are_half_way_off():
    """Real: a = b, c free. Made: all free. Of the pairs one is off by a half, and so is the triple."""
    real = grid(100, [0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1])
    made = grid(50, [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 1, 1], [0, 1, 0, 1, 0, 1, 0, 1])

    found = measures.measured(real, real, made, BITS)

    for cells in ("wide", "narrow", "native"):
        tables = [found[f"tv{ways}_{cells}"] for ways in (1, 2, 3)]
        assert tables == [0, pytest.approx(1 / 6), 0.5]
    assert found["nist_k3"] == 500
    assert "mean_error" not in found


def test_a_table_without_a_common_cell_is_as_far_as_can_be():
    real, made = grid(100, [0, 0], [0, 0], [0, 1]), grid(100, [1, 1], [1, 1], [0, 1])

    found = measures.measured(real, real, made, BITS)

    assert found["tv1_wide"] == pytest.approx(2 / 3)
    assert found["tv3_wide"] == 1
    assert found["nist_k3"] == 0


@pytest.mark.parametrize(("target", "broken"), [([0, 1, 1, 0], 0.0), ([1, 0, 0, 1], 1.0), ([0, 0, 1, 1], 0.5)])
def test_broken_parities_are_counted(target, broken):
    real = grid(100, [0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0])
    made = grid(100, [0, 0, 1, 1], [0, 1, 0, 1], target)

    found = measures.measured(real, real, made, BITS | {"parity": ["a", "b"]})

    assert found["parity_broken"] == broken


def test_cells_outside_the_schema_are_counted_and_taken_as_missing():
    """Every other age is missing where it may not be, and every fourth place unknown: 3 in 16 cells."""
    train, held = mixed(400, 1), mixed(400, 2)
    made = train.with_columns(
        age=train["age"].set(pl.Series(np.arange(400) % 2 == 1), None),
        place=pl.Series(np.where(np.arange(400) % 4, train["place"], "elsewhere")),
    )

    found = measures.measured(train, held, made, MIXED)

    assert found["misfits"] == (1 / 2 + 1 / 4) / 4
    assert found["tv1_wide"] > 0.15


def test_rows_that_break_a_rule_are_counted():
    train = mixed(400, 1)
    made = pl.concat(
        [train.head(300), train.head(100).with_columns(age=pl.lit(3), ill=pl.lit(True))], how="vertical_relaxed"
    )

    found = measures.measured(train, mixed(400, 2), made, MIXED)

    assert found["broken_rules"] == 0.25
    assert found["broken_rules_train"] == 0


def test_a_column_without_a_regular_value_is_one_off():
    train, held = mixed(400, 1), mixed(400, 2)

    found = measures.measured(train, held, train.with_columns(x=pl.lit(None, dtype=pl.Float64)), MIXED)

    assert found["mean_error"] == found["sd_error"] == 0.5


def test_a_target_of_one_class_in_the_rows_out_teaches_nothing():
    train, held = mixed(400, 1), mixed(400, 2)

    found = measures.measured(train, held, train.with_columns(ill=pl.lit(True)), MIXED)

    assert found["auc_trees"] == found["auc_linear"] == 0.5
    assert found["auc_trees_gap"] > 0.2


def test_held_rows_of_one_class_have_no_area():
    train, held = mixed(400, 1), mixed(400, 2).with_columns(ill=pl.lit(True))

    assert not any(name.startswith("auc") for name in measures.measured(train, held, train, MIXED))


def test_two_classes_are_the_most_equal_halves_in_the_order_of_the_schema():
    schema = codings.schema_of(MIXED)
    ages = np.array([0, 0, 0, 5, 5, 9, 120], dtype=np.uint8)

    assert learning.class_cut({"age": ages}, schema.field("age")) == 5
    assert learning.class_cut({"ill": np.array([1, 1], dtype=np.uint8)}, schema.field("ill")) == 1


def test_rows_without_a_class_are_left_out():
    """Code 121 is no regular value of an age: missing, or a misfit."""
    codes = {"age": np.array([3, 121, 60, 5, 121], dtype=np.uint8), "ill": np.arange(5)}

    rows = learning._with_classes(codes, "age", 50, 121)

    assert {name: column.tolist() for name, column in rows.items()} == {"age": [0, 1, 0], "ill": [0, 2, 3]}


def test_a_target_that_nobody_named_is_the_last_of_two_frequent_categories():
    schema = Schema.from_dict({"fields": [*BITS["fields"], MIXED["fields"][0]]})
    rows = {"a": np.arange(100) % 2, "b": np.arange(100) % 3 % 2, "c": np.arange(100) // 99, "x": np.arange(100)}

    assert learning.target_of(rows, schema) == "b"
    rare = {name: np.arange(100) // 99 for name in "abc"}
    assert learning.target_of({**rows, **rare}, schema) == "x"


def test_no_rows_out_are_refused():
    train = mixed(40, 1)

    with pytest.raises(ValueError, match="there are no synthetic rows"):
        measures.measured(train, train, train.head(0), MIXED)


def test_a_figure_does_not_depend_on_what_was_measured_before():
    train, held, made = (mixed(400, seed) for seed in (1, 2, 3))

    first = measures.measured(train, held, made, MIXED)

    assert measures.measured(train, held, made, MIXED) == first
