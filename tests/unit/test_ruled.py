"""Models held to rules: what changes, by how much, and what stays as it was."""

import numpy as np
import pytest

from helpers.ruled_tables import TANGLED
from lapwing.model.laws import Laws, laws_from_probabilities
from lapwing.model.model import Bernoulli, Indexed, ReleasedModel, Spans, narrow
from lapwing.model.sampling.fixed import KnownTuples, fixed_map, pin_columns, points
from lapwing.model.sampling.keeping import kept_components, restore_rows, rule_components
from lapwing.model.sampling.marginals import marginal
from lapwing.model.sampling.repair import Pool, repair_rows
from lapwing.model.sampling.ruled import enforce_rules, moved_in_cells
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

FLAGS = [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in ("child", "work", "other")]
DIGITS = [
    {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": most, "required": True}}
    for name, most in (("a", 9), ("b", 9), ("c", 18))
]


def independent(schema: Schema, laws: dict[str, list[float]], rows: int = 1000) -> ReleasedModel:
    """Return one atom with these laws on the first codes of each column."""
    own = {
        name: Indexed(
            np.zeros(1, dtype=np.uint8),
            laws_from_probabilities(np.arange(len(law)), np.arange(1, len(law) + 1), np.array(law)),
        )
        for name, law in laws.items()
    }
    return ReleasedModel(weights=np.ones(1), rows=rows, laws=own)


def shares(model: ReleasedModel, schema: Schema, name: str) -> np.ndarray:
    """Return the one-way law of a column."""
    return marginal(model, [name], [identity(schema.field(name).domain)]) / model.rows


def test_of_a_row_that_breaks_a_rule_the_last_column_gives_way():
    schema = Schema.from_dict({"fields": FLAGS, "rules": [{"never": {"child": True, "work": True}}]})
    model = independent(schema, {"child": [0.75, 0.25], "work": [0.5, 0.5], "other": [0.9, 0.1]})

    found = enforce_rules(model, schema, np.random.default_rng(1))

    for name in ("child", "other"):
        assert shares(found.model, schema, name) == pytest.approx(shares(model, schema, name), abs=1e-9)
    assert shares(found.model, schema, "work")[1] == pytest.approx(0.375, abs=0.01)
    assert found.by_rule == pytest.approx((0.125,), abs=0.01)
    assert found.moved == pytest.approx(0.125, abs=0.01)


def test_the_effect_gives_way_and_the_cause_stays():
    schema = Schema.from_dict(
        {"fields": FLAGS, "rules": [{"when": {"child": True}, "then": {"work": False}}]},
    )
    model = independent(schema, {"child": [0.25, 0.75], "work": [0.25, 0.75], "other": [0.9, 0.1]})

    found = enforce_rules(model, schema, np.random.default_rng(1)).model

    assert shares(found, schema, "child")[1] == pytest.approx(0.75, abs=1e-9)
    assert shares(found, schema, "work")[1] == pytest.approx(0.1875, abs=0.01)  # of those who are no child


def test_columns_outside_rules_keep_their_laws_and_their_weights():
    schema = Schema.load(TANGLED)
    rng = np.random.default_rng(4)
    laws = {}
    for field in schema.columns:
        edges = np.unique(np.concatenate(([0], rng.integers(1, field.domain.values, 5), [field.domain.values])))
        table = laws_from_probabilities(edges[:-1], edges[1:], rng.dirichlet(np.ones(edges.size - 1), size=7))
        laws[field.name] = Indexed(narrow(rng.integers(0, 7, 40)), table)
    model = ReleasedModel(weights=rng.random(40), rows=500, laws=laws)

    found = enforce_rules(model, schema, np.random.default_rng(2)).model

    assert shares(found, schema, "free") == pytest.approx(shares(model, schema, "free"), abs=1e-12)
    assert found.weights.sum() == pytest.approx(model.weights.sum())
    codes = points(found, list(laws)[:-1])
    (one, two) = rule_components(schema)
    for component in (one, two):
        assert not component.fixed(codes, found.weights).broken(codes).any()


def test_a_sum_is_added_up_and_its_terms_stay():
    schema = Schema.from_dict({"fields": DIGITS, "rules": [{"sum": ["a", "b"], "equals": "c"}]})
    model = independent(schema, {"a": [0.1] * 10, "b": [0.05, 0.95], "c": [0.5, 0.5]})

    found = enforce_rules(model, schema, np.random.default_rng(1)).model

    codes = points(found, ["a", "b", "c"])
    assert (codes["a"] + codes["b"] == codes["c"]).all()
    for name in ("a", "b"):
        assert shares(found, schema, name) == pytest.approx(shares(model, schema, name), abs=1e-9)


def test_a_model_that_keeps_the_rules_is_left_alone():
    schema = Schema.from_dict({"fields": FLAGS, "rules": [{"never": {"child": True, "work": True}}]})
    model = independent(schema, {"child": [0.75, 0.25], "work": [0.5, 0.5], "other": [0.9, 0.1]})
    first = enforce_rules(model, schema, np.random.default_rng(1)).model

    again = enforce_rules(first, schema, np.random.default_rng(9))

    assert again.moved == 0
    assert again.by_rule == (0.0,)
    assert again.model.atoms == first.atoms
    assert (again.model.laws["work"].starts == first.laws["work"].starts).all()


def test_a_model_of_broken_rows_only_takes_a_row_that_keeps_the_rules():
    rules = [{"sum": ["a", "b"], "equals": "c"}, {"never": {"a": {"minimum": 1}}}, {"never": {"b": {"maximum": 8}}}]
    schema = Schema.from_dict({"fields": DIGITS, "rules": rules})
    model = independent(schema, {"a": [0.0, 1.0], "b": [1.0], "c": [1.0]})

    found = enforce_rules(model, schema, np.random.default_rng(1))

    assert {name: set(codes.tolist()) for name, codes in points(found.model, ["a", "b", "c"]).items()} == {
        "a": {0},
        "b": {9},
        "c": {9},
    }
    assert found.moved == 1


def test_more_than_half_of_a_determinant_settles_its_value():
    codes = {"town": np.array([0, 0, 0, 1, 1, 2]), "county": np.array([4, 4, 7, 7, 7, 4])}

    found = fixed_map(("town",), "county", codes, np.ones(6), one_to_one=False)

    assert found.value({"town": np.array([0, 1, 2, 3])}).tolist() == [4, 7, 4, -1]


def test_determinants_about_which_a_model_says_nothing_share_the_values_out():
    town, county = np.meshgrid(np.arange(8), np.arange(4))
    codes = {"town": town.reshape(-1), "county": county.reshape(-1)}

    found = fixed_map(("town",), "county", codes, np.ones(32), one_to_one=False)

    # The commonest alone would send all towns to one county.
    assert np.bincount(found.values).tolist() == [2, 2, 2, 2]


def test_a_determinant_of_many_rare_numbers_takes_their_median():
    # Two towns, each with a hundred fine values, most of them near 200 and near 900.
    value = np.concatenate([np.arange(150, 240), np.arange(980, 990), np.arange(5, 15), np.arange(850, 940)])
    codes = {"town": np.repeat([0, 1], 100), "density": value}

    found = fixed_map(("town",), "density", codes, np.ones(200), one_to_one=False, is_ordered=True)

    assert found.values.tolist() == [199, 889]


def test_columns_that_determine_each_other_are_matched_one_to_one():
    codes = {"name": np.array([0, 0, 1, 1, 2]), "number": np.array([0, 1, 0, 1, 0])}

    found = fixed_map(("name",), "number", codes, np.array([5.0, 1, 4, 2, 1]), one_to_one=True)

    assert found.values[:2].tolist() == [0, 1]


def test_tuples_are_known_exactly():
    rng = np.random.default_rng(5)
    seen, asked = rng.integers(0, 6, (4, 200)), rng.integers(0, 7, (4, 2000))

    numbers = KnownTuples.of(list(seen)).find(list(asked))

    known = set(map(tuple, seen.T.tolist()))
    assert [each >= 0 for each in numbers.tolist()] == [tuple(row) in known for row in asked.T.tolist()]
    assert len(
        {(number, tuple(row)) for number, row in zip(numbers, asked.T.tolist(), strict=True) if number >= 0}
    ) == (len(set(numbers[numbers >= 0].tolist())))


def test_fixed_columns_stay_when_rows_are_repaired():
    schema = Schema.from_dict({"fields": DIGITS, "rules": [{"sum": ["a", "b"], "equals": "c"}]})
    (component,) = rule_components(schema)
    rng = np.random.default_rng(6)
    codes = {"a": rng.integers(0, 10, 500), "b": rng.integers(0, 10, 500), "c": rng.integers(0, 19, 500)}
    pool = Pool({name: np.zeros(0, dtype=np.int64) for name in codes}, np.zeros(0))

    found, is_lost = repair_rows(component, codes, pool, rng, fixed={"a", "c"})

    assert (found["a"] == codes["a"]).all()
    assert (found["c"] == codes["c"]).all()
    can = (codes["c"] >= codes["a"]) & (codes["c"] - codes["a"] <= 9)
    assert (is_lost == ~can).all()
    assert (found["b"][can] == (codes["c"] - codes["a"])[can]).all()


def test_a_model_that_was_not_ruled_holds_rows_to_nothing():
    schema = Schema.from_dict({"fields": FLAGS, "rules": [{"never": {"child": True, "work": True}}]})
    model = independent(schema, {"child": [0.75, 0.25], "work": [0.5, 0.5], "other": [0.9, 0.1]})

    assert kept_components(model, schema) == ()
    assert len(kept_components(enforce_rules(model, schema, np.random.default_rng(1)).model, schema)) == 1


def test_a_row_that_was_moved_takes_maps_from_causes_to_effects():
    limits = {"required": True, "minimum": 0, "maximum": 9}
    fields = [{"name": name, "type": "integer", "constraints": limits} for name in "abc"]
    rules = [{"determines": ["b"], "column": "c"}, {"determines": ["a"], "column": "b"}]
    (component,) = rule_components(Schema.from_dict({"fields": fields, "rules": rules}))
    atoms = {"a": np.array([0, 1]), "b": np.array([4, 5]), "c": np.array([7, 8])}
    codes = {"a": np.array([1]), "b": np.array([4]), "c": np.array([7])}

    restore_rows(
        (component.fixed(atoms, np.ones(2), is_settled=True),), codes, {name: atoms[name][:1] for name in "abc"}
    )

    assert {name: values.tolist() for name, values in codes.items()} == {"a": [1], "b": [5], "c": [8]}


# -- Codes that a rule of one column forbids move inside the cell in which they were counted.


SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "time", "type": "integer", "constraints": {"minimum": 0, "maximum": 299, "required": True}},
            {"name": "flag", "type": "boolean"},
        ],
        "rules": [
            {"never": {"time": [{"minimum": 60, "maximum": 99}, {"minimum": 160, "maximum": 199}]}},
            {"never": {"time": {"minimum": 50, "maximum": 55}}},
        ],
    }
)
CELLS = np.array([0, 40, 58, 90, 100, 300])


def _model() -> ReleasedModel:
    laws = Laws(np.array([0, 5]), CELLS[:-1], CELLS[1:], np.full(5, 0.2))
    index = Indexed(np.zeros(1, dtype=np.uint8), laws)
    return ReleasedModel(weights=np.ones(1), rows=10, laws={"time": index, "flag": index})


def test_a_forbidden_code_takes_an_allowed_one_of_its_cell_with_even_chances():
    codes = {"time": np.repeat([50, 70, 180], 20_000)}

    moved = moved_in_cells(_model(), SCHEMA, codes, np.random.default_rng(1))["time"].reshape(3, -1)

    expected = ([*range(40, 50), 56, 57], [58, 59], [*range(100, 160), *range(200, 300)])
    for found, codes_of_cell in zip(moved, expected, strict=True):
        assert np.unique(found).tolist() == codes_of_cell
        counts = np.bincount(found)[codes_of_cell]
        assert abs(counts - counts.mean()).max() <= 6 * counts.mean() ** 0.5


def test_allowed_codes_and_those_of_forbidden_cells_stay():
    codes = {"time": np.array([0, 59, 95, 100, 299], dtype=np.uint16), "flag": np.array([1, 0, 2, 1, 0])}

    moved = moved_in_cells(_model(), SCHEMA, codes, np.random.default_rng(1))

    assert moved["time"].tolist() == codes["time"].tolist()
    assert moved["time"].dtype == np.uint16
    assert moved["flag"] is codes["flag"]


# -- Columns turned into points: the same mixture, one code of each column per atom.


FEW = laws_from_probabilities(
    np.array([0, 2, 3]), np.array([2, 3, 9]), np.array([[4.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 2.0]])
)


def mixture() -> ReleasedModel:
    """Return three atoms with weight and one without."""
    return ReleasedModel(
        weights=np.array([0.5, 3.0, 0.0, 1.5]),
        rows=50,
        laws={
            "kind": Indexed(narrow(np.array([0, 1, 2, 2])), FEW),
            "age": Spans(np.array([0, 10, 20, 30], dtype=np.uint8), np.array([10, 20, 30, 31], dtype=np.uint8)),
            "flag": Bernoulli(np.array([0.0, 0.25, 1.0, 1.0])),
            "other": Bernoulli(np.array([0.1, 0.2, 0.3, 0.4])),
        },
    )


def test_each_atom_holds_one_code_and_weights_are_shared():
    found = pin_columns(mixture(), ["kind", "age", "flag"], np.random.default_rng(1), least=1000)

    codes = points(found, ["kind", "age", "flag"])
    tens = np.searchsorted([10, 30], codes["age"], side="right")
    assert 990 <= found.atoms <= 1000
    assert np.bincount(tens, found.weights) == pytest.approx([0.5, 3.0, 1.5])
    assert (found.laws["other"].p == np.array([0.1, 0.2, 0.4])[tens]).all()


def test_codes_follow_the_law_of_their_atom():
    found = pin_columns(mixture(), ["kind", "flag"], np.random.default_rng(2), least=5000)

    codes = points(found, ["kind", "flag"])
    kinds = np.bincount(codes["kind"], found.weights, minlength=9) / found.weights.sum()
    law = {0: [0.4, 0.4, 0.2, *[0.0] * 6], 1: [0.0] * 3 + [1 / 6] * 6, 2: [0.125, 0.125, 0.25, *[1 / 12] * 6]}
    expected = 0.1 * np.array(law[0]) + 0.6 * np.array(law[1]) + 0.3 * np.array(law[2])
    assert kinds == pytest.approx(expected, abs=0.002)  # strata: independent draws would be off by 0.02
    assert codes["flag"] @ found.weights == pytest.approx(3.0 * 0.25 + 1.5, abs=0.01)


def test_points_are_never_split():
    first = pin_columns(mixture(), ["kind", "age"], np.random.default_rng(3), least=100)

    again = pin_columns(first, ["age", "kind"], np.random.default_rng(4), least=10_000)

    assert again.atoms == first.atoms
    assert (again.weights == first.weights).all()
    for name, codes in points(first, ["kind", "age"]).items():
        assert (points(again, [name])[name] == codes).all()
