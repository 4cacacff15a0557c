"""Rules that a released model keeps: in its rows, in its atoms, and within a fit."""

import warnings
from dataclasses import replace
from datetime import date

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.log_linear import exact_law, model_at
from helpers.ruled_tables import TANGLED, TWO_VALUED, tangled_rows, violations
from helpers.saved import save, small_saved
from lapwing.cli.commands.saved import support_text
from lapwing.errors import LapwingError, LapwingWarning, ParameterError
from lapwing.mechanisms.registry import MECHANISMS, Mechanism
from lapwing.model.files import SavedRelease, load_release
from lapwing.model.laws import Laws, laws_from_probabilities, uniform_law
from lapwing.model.model import Bernoulli, Indexed, LogLinear, ReleasedModel, Spans, narrow
from lapwing.model.rows import sample_codes
from lapwing.model.sampling import grouped
from lapwing.model.sampling.conditions import condition_model
from lapwing.model.sampling.fixed import KnownTuples, fixed_map, pin_columns, points
from lapwing.model.sampling.given_rows import rows_given
from lapwing.model.sampling.keeping import kept_components, restore_rows, rule_components
from lapwing.model.sampling.marginals import marginal
from lapwing.model.sampling.repair import Pool, repair_rows
from lapwing.model.sampling.ruled import enforce_rules, moved_in_cells
from lapwing.release.runs.finishing import postprocess_model
from lapwing.schema.groupings.grouping import identity, interval_grouping
from lapwing.schema.schemas import Schema

FEW_ORDERED = ("cat", "big", "a", "job")
BUDGETS = (0.05, 5)


def narrowed(schema: dict, names: tuple[str, ...]) -> dict:
    """Return a schema of some columns, with the rules that name no other."""
    named = {"determines": ("determines", "column"), "order": ("order",), "allowed": ("allowed",)}

    def fits(rule: dict) -> bool:
        keys = next((parts for key, parts in named.items() if key in rule), None)
        own = [name for key in keys or () for name in np.atleast_1d(rule[key])]
        return keys is not None and set(own) <= set(names)

    return {
        "fields": [field for field in schema["fields"] if field["name"] in names],
        "rules": [rule for rule in schema["rules"] if fits(rule)],
    }


def two_valued_rows(rows: int) -> pl.DataFrame:
    """Return rows that keep the rules of `TWO_VALUED`."""
    is_a = [i % 3 > 0 for i in range(rows)]
    return pl.DataFrame(
        {"kind": ["a" if each else "b" for each in is_a], "flag": [True] * rows, "mark": is_a},
    )


def released(name: str, epsilon: float, rows: int = 300, mechanism: Mechanism | None = None) -> tuple[lw.Release, dict]:
    """Return a release of a mechanism, at its small settings unless others are given, and its schema."""
    mechanism = mechanism or MECHANISMS[name].small()
    schema, data = TANGLED, tangled_rows(rows)
    if name in ("psmm", "grid"):  # a cell for each combination
        schema, data = narrowed(TANGLED, FEW_ORDERED), data.select(FEW_ORDERED)
    elif name == "privatesampling":
        schema, data = TWO_VALUED, two_valued_rows(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LapwingWarning)
        release = lw.synthesize(
            data,
            schema,
            epsilon=epsilon,
            mechanism=mechanism,
            neighbours=mechanism.relations[0],
            seed=3,
        )
    return release, schema


@pytest.mark.parametrize("epsilon", BUDGETS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_row_out_never_breaks_a_rule(name, epsilon):
    release, schema = released(name, epsilon)

    none = [0] * len(schema["rules"])
    chunks = [release.sample(1), release.sample(1000), *release.frames(3 * release.model.atoms // 2, seed=5)]
    for frame in chunks:
        assert violations(frame, schema) == none
    # Dependencies hold across samples too: the map is the release's.
    assert violations(pl.concat(chunks), schema) == none
    assert [rule.text for rule in release.certificate.rules] == [rule.text for rule in release.schema.rules]


@pytest.fixture(scope="module")
def adaptive() -> lw.Release:
    return released("adaptive", 2.0, rows=1500)[0]


WHERES = [
    {"cat": "a"},
    {"age": lw.between(5, 9)},
    {"age": 3, "job": False, "free": 17},
    {"c": [13, 14], "start": "2020-03-30"},
    {"start": "2020-03-30", "end": "2020-03-31"},
]


@pytest.mark.parametrize("where", WHERES, ids=["-".join(where) for where in WHERES])
def test_a_row_given_a_condition_keeps_the_rules_and_the_map(adaptive, where):
    frame = adaptive.sample(3000, seed=4, where=where)

    assert violations(pl.concat([frame, adaptive.sample(2000, seed=1)]), TANGLED) == [0] * 8


FORBIDDEN = {
    "implication": ({"age": 3, "job": True}, "'when age is at most 14, job is false and pay is missing'"),
    "order": ({"start": "2020-03-30", "end": "2020-03-30"}, "keeps the rule 'start < end'"),
    "sum": ({"a": 1, "b": 2, "c": 4, "age": 80}, "keeps the rules 'a <= b'; 'a + b = c'; 'when"),
    "two rules": ({"a": 9, "b": [3, 9], "c": 12}, "keeps the rules 'a <= b'; 'a + b = c'; 'when"),
    "fixed": ({"a": 9, "c": 18}, "has fixed of the rules 'cat determines big'; 'big determines a'; ask"),
}


@pytest.mark.parametrize("case", FORBIDDEN)
def test_a_condition_that_rules_forbid_is_refused_with_the_rule_and_has_no_support(adaptive, case):
    where, named = FORBIDDEN[case]

    with pytest.raises(lw.ParameterError) as error:
        adaptive.sample(10, where=where)

    assert named in str(error.value)
    assert str(error.value).endswith("; ask for a wider condition")
    assert adaptive.support(where).drawn == "nothing"


def test_no_determinant_appears_that_the_model_has_not_seen(adaptive):
    seen = adaptive.sample(adaptive.model.atoms).select("cat", "big").unique()

    more = adaptive.sample(4 * adaptive.model.atoms, seed=8).select("cat", "big").unique()

    assert more.join(seen, on=["cat", "big"], how="anti", nulls_equal=True).is_empty()


def test_replicates_keep_the_rules():
    release, _ = released("independent", 1.0, rows=200)

    for frame in release.replicates(4, rows=150, seed=1).frames():
        assert violations(frame, TANGLED) == [0] * 8


def test_a_number_without_resolution_that_is_determined_is_shown_as_one_number():
    fields = [
        {"name": "area", "type": "string", "categories": ["n", "s", "w"]},
        {"name": "density", "type": "number", "constraints": {"minimum": 0, "maximum": 1e5}},
    ]
    schema = {"fields": fields, "rules": [{"determines": ["area"], "column": "density"}]}
    data = pl.DataFrame({"area": ["n", "s", "w"] * 40, "density": [10.5, 2000.25, 99.0] * 40})
    release = lw.synthesize(data, schema, epsilon=5, mechanism="adaptive", seed=1)

    frame = pl.concat([release.sample(300, seed=1), release.sample(5000, seed=2)])

    assert violations(frame, schema) == [0]
    assert frame["density"].n_unique() <= 4
    # No two cells of it are equal beforehand, which says nothing about how well the mechanism did.
    (moved,) = [each for each in release.certificate.accuracy if each.code == "moved_by_endless_rules"]
    assert moved.value < 0.1
    assert "density is not counted" in moved.text
    assert [line for line in map(str, release.certificate.warnings) if "rule" in line] == [
        "rule 'area determines density': density has no resolution, so no two of its values are equal in the "
        'model, and which value goes with which is a guess; give it a resolution, or list "values" that are public'
    ]


def test_a_certificate_says_that_a_map_is_a_guess_and_names_no_mechanism():
    few = [f"c{place}" for place in range(50)]
    fields = [{"name": name, "type": "string", "categories": few} for name in ("code", "group")]
    rules = [{"determines": ["code"], "column": "group"}]
    data = pl.DataFrame({"code": few * 4, "group": [few[(place * 7) % 50] for place in range(50)] * 4})
    guessed = lw.synthesize(data, {"fields": fields, "rules": rules}, epsilon=0.5, mechanism="independent", seed=1)
    rules[0]["values"] = [[few[place], few[(place * 7) % 50]] for place in range(50)]
    listed = lw.synthesize(data, {"fields": fields, "rules": rules}, epsilon=0.5, mechanism="independent", seed=1)

    said, not_said = (
        [each.fields["rule"] for each in release.certificate.warnings if each.code == "map_guessed"]
        for release in (guessed, listed)
    )

    assert (said, not_said) == (["code determines group"], [])
    (much,) = [each for each in guessed.certificate.warnings if each.code == "rules_moved"]
    assert much.fields["rule"] == "code determines group"
    assert "adaptive" not in "".join(each.text for each in guessed.certificate.warnings)


@pytest.mark.parametrize(("broke", "warned"), [(0.019, 0), (0.02, 1), (0.2, 1)])
def test_a_guessed_map_is_said_from_two_hundredths_of_the_weight_on(broke, warned):
    fields = [{"name": name, "type": "string", "categories": ["a", "b"]} for name in ("code", "group")]
    schema = lw.Schema.load({"fields": fields, "rules": [{"determines": ["code"], "column": "group"}]})
    laws = {"code": Spans(np.array([0, 0]), np.array([1, 1])), "group": Spans(np.array([0, 1]), np.array([1, 2]))}
    model = ReleasedModel(weights=np.array([1 - broke, broke]), rows=100, laws=laws)

    assert len(postprocess_model(model, schema, 1).warnings) == warned


def test_a_checker_that_bites():
    broken = tangled_rows(50).with_columns(c=pl.col("c") + 1)

    assert violations(broken, TANGLED)[3] == 50
    assert violations(tangled_rows(50), TANGLED) == [0] * 8


# -- Rules in rows for condition rows: kept by what is not given, refused where what is given breaks them.
@pytest.fixture(scope="module")
def tangled():
    return lw.synthesize(tangled_rows(400), TANGLED, epsilon=20, mechanism="independent", seed=1)


@pytest.mark.filterwarnings("ignore::lapwing.errors.LapwingWarning")
@pytest.mark.parametrize("given", [("cat", "age"), ("c", "end"), ("big", "free")], ids="-".join)
def test_rows_for_conditions_never_break_a_rule(tangled, given):
    own = tangled.sample(200, seed=2).select(given)

    rows = tangled.sample(where=own, seed=3)

    assert violations(rows, TANGLED) == [0] * len(TANGLED["rules"])
    assert rows.select(given).equals(own)


@pytest.mark.filterwarnings("ignore::lapwing.errors.LapwingWarning")
def test_where_no_atom_matches_the_columns_that_are_not_given_give_way(tangled):
    own = pl.DataFrame({"pay": np.linspace(300.0, 700.0, 200), "start": tangled.sample(200, seed=2)["start"]})
    schema = Schema.from_dict({"fields": TANGLED["fields"]})
    loose = lw.Release.of_one(SavedRelease(schema, tangled.model, tangled.certificate, ()))

    rows = tangled.sample(where=own, seed=3)

    assert violations(rows, TANGLED) == [0] * len(TANGLED["rules"])
    assert rows.select("pay", "start").equals(own)
    assert sum(violations(loose.sample(where=own, seed=3), TANGLED)) > 0


def test_sweeps_that_break_a_rule_are_taken_back():
    limits = {"required": True, "minimum": 0, "maximum": 9}
    fields = [{"name": name, "type": "integer", "constraints": limits} for name in ("low", "high", "free")]
    schema = Schema.from_dict({"fields": fields, "rules": [{"order": ["low", "high"]}]})
    low, high = np.triu_indices(10)
    laws = {"low": Spans(low, low + 1), "high": Spans(high, high + 1), "free": Spans(low, low + 1)}
    base = {field.name: uniform_law(field.domain) for field in schema.columns}
    part = LogLinear(tables=(), groupings=(), thetas=(), base=base)
    model = ReleasedModel(weights=np.ones(low.size), rows=50, laws=laws, log_linear=part)
    pairs = np.stack((np.repeat(np.arange(10), 10), np.tile(np.arange(10), 10)))
    given = {"low": np.tile(pairs[0], 10), "free": np.tile(pairs[1], 10)}

    codes = rows_given(model, schema, given, np.random.default_rng(1)).codes

    assert (codes["low"] <= codes["high"]).all()
    assert all(np.array_equal(codes[name], each) for name, each in given.items())
    assert len(set(codes["free"].tolist())) == 10


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"age": 9, "job": True}, "condition row 2 breaks the rule 'when age is at most 14, job is"),
        ({"a": 9, "b": 8}, "condition row 2 breaks the rule 'a <= b'"),
        ({"start": date(2020, 3, 1), "end": date(2020, 2, 1)}, "condition row 2 breaks the rule 'start < end'"),
        ({"b": 20, "c": 3}, "condition row 2: what it gives on b, c goes with no row that keeps the rules"),
    ],
)
def test_a_condition_that_breaks_a_rule_is_refused_by_name_and_number(tangled, row, says):
    with pytest.raises(ParameterError) as error:
        tangled.sample(where=[{"free": 1}, row])

    assert says in str(error.value)


def test_support_says_which_condition_rows_are_refused(tangled):
    rows = [
        {"a": 9, "b": 8},
        {"free": 3, "age": 9, "job": False},
        {"b": 20, "c": 3},
        {"b": 20, "c": 23},
        {"b": 2, "c": 1},
        {"start": date(2020, 3, 1), "end": date(2020, 2, 1)},
    ]

    found = tangled.support(rows)

    refused = [how == "nothing" for how in found["drawn"]]
    assert refused == [True, False, True, False, True, True]
    for row, is_refused in zip(rows, refused, strict=True):
        if is_refused:
            with pytest.raises(ParameterError, match="condition row 1"):
                tangled.sample(where=[row])
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LapwingWarning)
                assert tangled.sample(where=[row]).height == 1
    assert support_text(found).endswith(", 4 refused")


def test_numbers_of_one_cell_are_refused_with_the_reason():
    fields = [{"name": name, "type": "number", "constraints": {"minimum": 0, "maximum": 1}} for name in ("x", "y")]
    data = pl.DataFrame({"x": [0.25] * 50, "y": [0.75] * 50})
    schema = {"fields": fields, "rules": [{"order": ["x", "y"]}]}
    release = lw.synthesize(data, schema, epsilon=20, mechanism="independent", seed=1)

    with pytest.raises(ParameterError, match=r"'x <= y' \(numbers of x and y, without a resolution, are in no order"):
        release.sample(where=pl.DataFrame({"x": [0.4], "y": [0.4]}))


def test_the_same_seed_gives_the_same_model_and_a_resumed_run_the_same_rows(tmp_path):
    transcript = tmp_path / "t.jsonl"
    data = tangled_rows(200)
    release = lw.synthesize(data, TANGLED, epsilon=1, mechanism="independent", seed=5, transcript=transcript)

    resumed = lw.resume(transcript, data)

    assert resumed.sample(700).equals(release.sample(700))
    assert resumed.certificate.rules == release.certificate.rules


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


FIELDS = [
    {"name": name, "type": "integer", "constraints": {"required": True, "minimum": 0, "maximum": most}}
    for name, most in (("b", 3), ("a", 5), ("c", 1))
]
SETTLED_SCHEMA = Schema.from_dict({"fields": FIELDS})
ATOMS = 40_000


def settled_released(free=(0, 1)) -> ReleasedModel:
    """Return a model whose columns depend on each other as its atoms show, and its theta does not yet."""
    rng = np.random.default_rng(3)
    b = rng.choice(4, ATOMS, p=[0.4, 0.3, 0.2, 0.1])
    a = np.where(rng.random(ATOMS) < 0.6, b, rng.integers(0, 6, ATOMS))
    c = (a >= 3) ^ (rng.random(ATOMS) < 0.2)
    domains = {field.name: field.domain for field in SETTLED_SCHEMA.columns}
    whole = {name: identity(domain) for name, domain in domains.items()}
    half = interval_grouping(domains["a"], [3])
    part = LogLinear(
        tables=(("a", "b"), ("c", "a"), ("b",)),
        groupings=((whole["a"], whole["b"]), (whole["c"], half), (whole["b"],)),
        thetas=tuple(
            np.zeros([each.groups for each in each_table])
            for each_table in ((whole["a"], whole["b"]), (whole["c"], half), (whole["b"],))
        ),
        base={name: uniform_law(domain) for name, domain in domains.items()},
    )
    model = model_at(SETTLED_SCHEMA, part, np.stack([b, a, c], axis=1))
    return replace(model, log_linear=replace(part, free=free, atoms=model.laws if free else {}))


def tables(law):
    """Return the tables of b and a, and of a's halves and c."""
    law = law[:4, :6, :2]
    return law.sum(axis=2), law.reshape(4, 2, 3, 2).sum(axis=(0, 2))


def test_free_theta_is_fitted_to_all_atoms_and_the_rest_stays_as_it_is() -> None:
    model = settled_released(free=(0, 1))
    part = model.log_linear

    found = grouped.settle_theta(part)

    codes = {name: law.index.astype(int) for name, law in model.laws.items()}
    joint = np.zeros((4, 6, 2))
    np.add.at(joint, (codes["b"], codes["a"], codes["c"]), 1 / ATOMS)
    for got, wanted in zip(tables(exact_law(SETTLED_SCHEMA, found)), tables(joint), strict=True):
        assert np.abs(got - wanted).sum() / 2 < 0.02
    assert np.abs(tables(exact_law(SETTLED_SCHEMA, part))[0] - tables(joint)[0]).sum() / 2 > 0.3
    assert found.free == ()
    assert not found.thetas[2].any()
    assert grouped.settle_theta(part) is found
    assert grouped.settle_theta(found) is found


def test_rows_of_a_condition_follow_theta_of_all_atoms() -> None:
    model = settled_released()

    found = condition_model(model, SETTLED_SCHEMA, {"b": 3}).model

    for cut_theta, theta in zip(found.log_linear.thetas, grouped.settle_theta(model.log_linear).thetas, strict=True):
        np.testing.assert_array_equal(cut_theta, theta)


def test_a_file_keeps_which_theta_is_free(tmp_path) -> None:
    model = settled_released()
    saved = replace(small_saved(), schema=SETTLED_SCHEMA, model=model, answers=())
    save(saved, tmp_path / "free.lapwing")

    found = load_release(tmp_path / "free.lapwing").model

    assert found.log_linear.free == (0, 1)
    for got, wanted in zip(
        grouped.settle_theta(found.log_linear).thetas, grouped.settle_theta(model.log_linear).thetas, strict=True
    ):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(("rows", "times"), [(1000, 0), (ATOMS, 0), (ATOMS + 1, 1)])
def test_no_theta_is_fitted_before_rows_beyond_the_atoms_are_drawn(monkeypatch, rows, times) -> None:
    asked, honest = [], grouped.explaining_theta
    monkeypatch.setattr(grouped, "explaining_theta", lambda *given: asked.append(1) or honest(*given))

    list(sample_codes(settled_released(), SETTLED_SCHEMA, rows, np.random.default_rng(1)))

    assert len(asked) == times


@pytest.mark.parametrize("changes", [{"free": (3,)}, {"free": (-1,)}, {"atoms": {}}, {"free": ()}])
def test_a_part_whose_free_tables_or_atoms_do_not_fit_is_refused(changes) -> None:
    part = settled_released().log_linear

    with pytest.raises(LapwingError, match="free table"):
        replace(part, **changes)


def test_atoms_of_different_numbers_are_refused() -> None:
    part = settled_released().log_linear
    law = part.atoms["c"]

    with pytest.raises(LapwingError, match="equally many atoms"):
        replace(part, atoms={**part.atoms, "c": replace(law, index=law.index[1:])})
