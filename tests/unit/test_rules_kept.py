"""No row out breaks a rule: every mechanism, however it is drawn, on decoded values."""

import warnings
from datetime import date

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.ruled_tables import TANGLED, TWO_VALUED, tangled_rows, violations
from lapwing.cli.commands.saved import support_text
from lapwing.errors import LapwingWarning, ParameterError
from lapwing.mechanisms.registry import MECHANISMS, Mechanism
from lapwing.model.files import SavedRelease
from lapwing.model.laws import uniform_law
from lapwing.model.model import LogLinear, ReleasedModel, Spans
from lapwing.model.sampling.given_rows import rows_given
from lapwing.release.runs.finishing import postprocess_model
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


def test_a_condition_that_rules_forbid_is_refused_with_the_rule_by_a_mixture():
    release, _ = released("independent", 1.0)

    with pytest.raises(lw.ParameterError, match="keeps the rule 'start < end'; ask for a wider condition"):
        release.sample(10, where={"start": "2020-03-30", "end": "2020-03-30"})


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


@pytest.mark.full
@pytest.mark.parametrize("epsilon", [0.001, 0.3, 3, 100])
@pytest.mark.parametrize("name", [name for name in MECHANISMS if name != "privatesampling"])
def test_a_row_out_never_breaks_a_rule_at_default_settings(name, epsilon):
    release, schema = released(name, epsilon, rows=600, mechanism=MECHANISMS[name]())

    assert violations(release.sample(50_000, seed=6), schema) == [0] * len(schema["rules"])


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
