"""`Schema.learn` and `lapwing schema learn`: what they take and refuse, and what comes out."""

import json
import warnings
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers import make
from helpers.command import lapwing
from helpers.learn_runs import learn_settings
from lapwing.errors import LapwingError, ParameterError, SchemaError
from lapwing.kernel.terms import Terms
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.notices import Notice
from lapwing.release.runs.learned.running import outlook

LISTS = {"epsilon": 10**6, "delta": "1e-6"}
ROWS = 4000


TYPES = {"age": "integer", "pay": "number", "town": "string", "born": "date", "seen": "datetime"}
FIELDS = make.fields(TYPES, provenance="dp")
DRAFT = {"draft": True, "fields": FIELDS}


def table(rows=ROWS):
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 91, rows),
            "pay": np.round(rng.exponential(3000, rows), 2),
            "town": rng.choice(["Bern", "Uri", "Zug"], rows, p=[0.6, 0.3, 0.1]),
            "born": pl.Series(rng.integers(0, 20_000, rows)).cast(pl.Int32).cast(pl.Date),
            "seen": pl.Series(rng.integers(10**15, 10**15 + 10**14, rows)).cast(pl.Datetime("us")),
        }
    )


DATA = table()


def learned(data=DATA, schema=DRAFT, **settings):
    return lw.Schema.learn(data, schema, **(LISTS | settings))


def test_at_a_huge_budget_bounds_hold_all_rows_and_lists_all_texts():
    found = learned()

    assert not found.is_draft
    assert {each.provenance for each in found.columns} == {"dp"}
    for name in ("age", "pay"):
        low, high = DATA[name].min(), DATA[name].max()
        bounds = found.field(name)
        assert bounds.minimum <= low
        assert high <= bounds.maximum <= 1.2 * high
    assert found.field("born").minimum == DATA["born"].min().replace(day=1).isoformat()
    assert found.field("born").maximum >= DATA["born"].max().isoformat()
    assert found.field("town").categories == ("Bern", "Uri", "Zug", "(other)")
    assert found.field("town").unlisted == "(other)"


def test_a_half_that_is_known_is_kept_and_what_was_assumed_stays_assumed():
    fields = [
        make.field("age", "integer", constraints={"minimum": 21, "maximum": None}, provenance="public"),
        make.field("pay", "number", constraints={"minimum": 0, "maximum": None}, provenance="assumed"),
        make.field("town", ["Uri", "Zug", "Bern", "Chur"], provenance="assumed"),
    ]

    found = learned(schema={"draft": True, "fields": fields}, fields=["age", "pay", "town"], delta=None)

    assert (found.field("age").minimum, found.field("age").provenance) == (21, "dp")
    assert (found.field("pay").minimum, found.field("pay").provenance) == (0, "assumed")
    assert found.field("town").categories == ("Uri", "Zug", "Bern", "(other)")
    assert found.field("town").provenance == "assumed"


@pytest.mark.parametrize("kind", ["list", "file", "windows"])
def test_a_dictionary_needs_no_delta(tmp_path, kind):
    texts = ["Chur", "Bern", "Zug", "Uri"]
    path = tmp_path / "towns.txt"
    path.write_bytes(
        ("\ufeff" + "\r\n".join(texts) + "\r\n").encode() if kind == "windows" else "\n".join(texts).encode()
    )

    found = learned(fields=["town"], dictionaries={"town": texts if kind == "list" else path}, delta=None)

    assert set(found.field("town").categories) == {"Bern", "Uri", "Zug", "(other)"}


def test_people_with_many_rows_are_cut_and_the_noise_is_for_all_their_rows(tmp_path):
    unit = {"field": "person", "maxRows": 2}
    draft = {"draft": True, "privacyUnit": unit, "fields": [make.field("person", "id"), *FIELDS]}
    people = DATA.with_columns(person=pl.Series(np.arange(ROWS) // 4))

    found = learned(people, draft, certificate=tmp_path / "c.json", epsilon=1)

    written = Certificate.from_dict(json.loads((tmp_path / "c.json").read_text()))
    assert (written.privacy_unit, written.max_rows, found.purchases[-1].privacy_unit) == ("person:2", 2, "person:2")
    assert {line.sensitivity.l1 for line in written.lines} == {2}
    assert "Rows out" not in written.text()
    assert "person" not in found.purchases[-1].fields


def test_half_of_delta_goes_to_lists_beside_epsilon_and_all_of_it_beside_rho():
    whole = learn_settings(DRAFT, budget={"epsilon": 1, "delta": "1e-6"})
    split = learn_settings(DRAFT, budget={"rho": "0.1", "delta": "1e-6"})
    none = learn_settings(DRAFT, budget={"epsilon": 1, "delta": "1e-6"}, fields=["age"])

    assert (whole.selection_delta, whole.request.delta) == (Fraction(1, 2 * 10**6), Fraction(1, 10**6))
    assert (split.selection_delta, split.request.budget.rho) == (Fraction(1, 10**6), Fraction(1, 10))
    assert none.selection_delta == 0
    assert none.request.budget.rho > whole.request.budget.rho


@pytest.mark.parametrize("budget", [{"epsilon": 2}, {"epsilon": 2, "delta": "1e-6"}, {"rho": "0.2", "delta": "1e-6"}])
def test_the_certificate_says_what_was_spent_and_stays_within_what_was_asked(tmp_path, budget):
    names = ["age", "pay"] if "delta" not in budget else None

    lw.Schema.learn(DATA, DRAFT, **budget, fields=names, certificate=tmp_path / "c.json")

    written = Certificate.from_dict(json.loads((tmp_path / "c.json").read_text()))
    pairs = dict(written.epsilons)
    assert (written.mechanism, written.released_rows) == ("domain", 0)
    assert "stands for" not in written.text()
    if "delta" not in budget:
        assert (written.total.epsilon, written.delta, pairs) == (2, 0, {})
    elif "epsilon" in budget:
        assert written.delta == Fraction(1, 2 * 10**6)
        assert pairs[Fraction(1, 10**6)] <= 2
        assert "Of each delta, 5e-07 is for lists of texts." in written.text()
    else:
        assert written.delta == Fraction(1, 10**6)
        assert all(delta > written.delta for delta in pairs)
    assert len(written.accuracy) == len(names or FIELDS)


def test_what_is_found_is_foretold_from_noise_alone():
    lines = outlook(learn_settings(DRAFT, budget={"epsilon": 1, "delta": "1e-6"}), Terms(relation="add-remove"))
    twice = outlook(learn_settings(DRAFT, budget={"epsilon": 2, "delta": "1e-6"}), Terms(relation="add-remove"))

    assert any(line.code == "ends_unseen" and "age" in line.fields["fields"] for line in lines)
    assert any(line.code == "list_needs" and line.text.endswith("listed, in town") for line in lines)
    rows = [[line.fields["rows"] for line in each] for each in (lines, twice)]
    assert all(one > other > 0 for one, other in zip(*rows, strict=True))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": None}, "exactly one of epsilon and rho"),
        ({"rho": 1}, "exactly one of epsilon and rho"),
        ({"delta": None}, "needs a delta"),
        ({"delta": 0}, "needs a delta"),
        ({"delta": 1}, "below 1"),
        ({"delta": "x"}, "delta must be a finite number"),
        ({"epsilon": None, "rho": 1, "fields": ["age"]}, "leave delta out"),
        ({"fields": ["agee"]}, 'did you mean "age"'),
        ({"fields": []}, "leave it out for all that are blank"),
        ({"fields": 3}, "must be a list of names"),
        ({"fields": [3]}, "must be a list of names"),
        ({"fields": ["who"]}, "an identifier has no bounds"),
        ({"fields": ["flag"]}, "a boolean is true or false"),
        ({"quantile": -1}, "quantile must be"),
        ({"quantile": 0.25}, "quantile must be"),
        ({"quantile": "many"}, "quantile must be"),
        ({"neighbours": "swap"}, "neighbours must be one of"),
        ({"dictionaries": ["Bern"]}, "a mapping"),
        ({"dictionaries": {"twon": ["Bern"]}}, 'did you mean "town"'),
        ({"dictionaries": {"age": ["1"]}}, "is for a string field"),
        ({"dictionaries": {"who": ["1"]}}, "is for a string field"),
        ({"dictionaries": {"kind": ["a"]}}, "has categories already"),
        ({"dictionaries": {"town": ["Bern"]}, "fields": ["age"]}, "name it in fields"),
        ({"dictionaries": {"town": []}}, "the category list is empty"),
        ({"dictionaries": {"town": [1, 2]}}, "a list of texts"),
        ({"dictionaries": {"town": 7}}, "a list of texts"),
        ({"dictionaries": {"town": "/no/such/file"}}, "does not exist"),
        ({"dictionaries": {"town": "/dev"}}, "cannot be read: Is a directory"),
        ({"certificate": 3}, "certificate must be a path"),
        ({"dataset": "d"}, "give the ledger too"),
    ],
)
def test_a_wrong_argument_is_one_sentence(settings, words):
    more = [
        {"name": "who", "type": "string", "role": "identifier"},
        {"name": "flag", "type": "boolean"},
        {"name": "kind", "type": "string", "categories": ["a"]},
    ]
    with pytest.raises(LapwingError, match=words) as failure:
        learned(schema={"draft": True, "fields": [*FIELDS, *more]}, **settings)

    assert "\n" not in str(failure.value)


@pytest.mark.parametrize("names", [None, ["who"]])
def test_the_field_that_names_the_units_is_not_learned(names):
    fields = make.fields({"who": "integer", "age": "integer"}, provenance="dp")
    draft = {"draft": True, "privacyUnit": {"field": "who", "maxRows": 2}, "fields": fields}

    with pytest.raises(ParameterError, match="it names the privacy units"):
        learned(schema=draft, fields=names, delta=None)


def test_a_dictionary_that_is_no_text_or_too_large_is_refused(tmp_path, monkeypatch):
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\xff")
    (tmp_path / "large.txt").write_text("Bern\n" * 100)
    monkeypatch.setattr("lapwing.schema.typed.MAX_BYTES", 100)

    for name, words in (("bytes.txt", "not UTF-8"), ("large.txt", "larger than 64 MiB")):
        with pytest.raises(ParameterError, match=words):
            learned(dictionaries={"town": tmp_path / name})


# -------------------------------------------------------------------- drafts, open questions, and what is said of them


FEW = pl.DataFrame({"age": [20, 60] * 500, "town": ["Rome", "Oslo"] * 500, "left": [True, False] * 500})
AGE, TOWN = FIELDS[0], FIELDS[2]
LEFT = make.field("left", bool, provenance="public")


def learned_few(*fields, **settings):
    return lw.Schema.learn(FEW, {"fields": list(fields)}, epsilon=100, **settings)


@pytest.mark.parametrize("fields", [None, ["age"]], ids=["blank", "named"])
def test_a_field_that_only_a_program_has_looked_at_is_not_learned(fields):
    with pytest.raises(ParameterError, match='field "age": its provenance is still drafted; check its type'):
        learned_few({**AGE, "provenance": "drafted"}, LEFT, fields=fields)


def test_a_draft_that_nobody_has_edited_leads_to_no_release():
    drafted = lw.Schema.draft(FEW)

    with pytest.raises(ParameterError, match="still drafted"):
        lw.Schema.learn(FEW, drafted, epsilon=1, delta=1e-6)
    with pytest.raises(SchemaError, match="draft"):
        lw.synthesize(FEW, drafted, epsilon=1)


def test_a_drafted_field_beside_learned_ones_keeps_the_result_a_draft():
    found = learned_few(AGE, {**LEFT, "provenance": "drafted"})

    assert found.is_draft
    with pytest.raises(SchemaError, match="draft"):
        lw.synthesize(FEW, found, epsilon=1)


QUESTIONS = ["whose rows are protected together", "whether ages are whole"]


def test_open_questions_are_answered_before_anything_is_learned_or_released(tmp_path):
    known = {**AGE, "constraints": {"minimum": 0, "maximum": 99}, "provenance": "public"}
    with pytest.raises(
        SchemaError, match=r"an open question: whose rows are protected together \(and 1 more\); answer"
    ):
        lw.Schema.learn(FEW, {"fields": [AGE], "questions": QUESTIONS}, epsilon=1)
    with pytest.raises(SchemaError, match="open question"):
        lw.synthesize(FEW, {"fields": [known], "questions": QUESTIONS[:1]}, epsilon=1)

    schema = lw.Schema.load_draft({"fields": [known], "questions": QUESTIONS})
    schema.save(tmp_path / "s.json")

    assert schema.is_draft
    assert lw.Schema.load_draft(tmp_path / "s.json").questions == tuple(QUESTIONS)
    assert not lw.Schema.load({"fields": [known], "questions": []}).is_draft


@pytest.mark.parametrize(
    ("field", "settings"),
    [(TOWN, {"dictionaries": {"town": ["Rome", "Oslo"]}}), ({**AGE, "special": [60]}, {})],
    ids=["dictionary", "special"],
)
def test_what_rests_on_lists_that_are_assumed_stays_assumed(field, settings):
    assumed = learned_few({**field, "provenance": "assumed"}, **settings)
    bought = learned_few(field, **settings)

    assert assumed.fields[0].provenance == "assumed"
    assert bought.fields[0].provenance == "dp"


def test_what_was_not_found_is_a_warning_in_python_and_no_filter_loses_what_is_paid_for():
    with pytest.warns(lw.LapwingWarning, match="field 'age': the noise hides where its values lie"):
        found = lw.Schema.learn(FEW, {"fields": [AGE]}, epsilon="1e-6")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = lw.Schema.learn(FEW, {"fields": [AGE]}, epsilon="1e-6")

    assert found.is_draft
    assert len(again.purchases) == 1


@pytest.fixture
def files(place):
    return make.files(place, {"t.csv": FEW, "s.json": {"fields": [AGE, LEFT]}})


def learn(*more, table="t.csv"):
    return lapwing("schema", "learn", table, "--schema", "s.json", "-o", "l", *more)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("budget", "says"),
    [
        ("--epsilon 100", "--epsilon E -o OUT.parquet`"),
        ("--rho 100", "--rho R -o OUT.parquet`"),
        ("--epsilon 100 --delta 1e-6", "--epsilon E --delta D -o OUT.parquet`"),
        ("--rho 100 --neighbours replace-one", "--rho R --neighbours replace-one -o OUT.parquet`"),
    ],
)
def test_the_next_command_goes_on_in_the_same_terms(budget, says):
    assert f"Next: `lapwing synthesize t.csv --schema l {says}" in learn(*budget.split()).out


@pytest.mark.usefixtures("files")
def test_what_a_quantile_leaves_out_is_told_before_anything_is_spent():
    assert "rows, and 0.01 of all rows, at each end, of age." in learn("--epsilon", "100", "--quantile", "0.01").err


@pytest.mark.parametrize("epsilon", ["100", "0.000001"])
def test_nothing_hidden_in_a_name_reaches_the_screen(place, epsilon):
    name = "red\x1b[31m"
    make.files(place, {"t.parquet": FEW.rename({"age": name}), "s.json": {"fields": [{**AGE, "name": name}]}})

    said = learn("--epsilon", epsilon, table="t.parquet")

    assert said.status == 0
    assert "\x1b" not in said.out + said.err


PAID = {"fields": ["age"], "notion": "pure", "amount": "1/10", "relation": "add-remove", "privacyUnit": "row"}
PAID |= {"release": "r", "lapwing": "0.1"}


def test_what_was_bought_under_another_promise_is_a_warning_of_every_release():
    known = {**AGE, "constraints": {"minimum": 0, "maximum": 99}}
    schema = {"fields": [known, {**TOWN, "role": "identifier"}], "purchases": [PAID]}
    alike = lw.synthesize(FEW, schema, epsilon=1).certificate.warnings

    units = {**schema, "privacyUnit": {"field": "town", "maxRows": 3}}
    other = lw.synthesize(FEW, units, epsilon=1).certificate.warnings

    assert not any(each.code == "other_terms" for each in alike)
    assert Notice("other_terms", {"fields": ("age",), "unit": "row", "relation": "add-remove"}) in other


@pytest.mark.parametrize(("provenance", "is_said"), [("public", True), ("assumed", False)])
def test_lists_are_said_to_be_public_only_where_their_owner_says_so(tmp_path, monkeypatch, provenance, is_said):
    monkeypatch.chdir(tmp_path)
    DATA.write_parquet("t.parquet")
    field = make.field("age", "integer", constraints={"minimum": 21, "maximum": None}, provenance=provenance)
    (tmp_path / "draft.json").write_text(json.dumps({"draft": True, "fields": [field]}))

    assert lapwing("schema learn", "t.parquet", "--schema", "draft.json", "--epsilon", "5", "-o", "s.json").status == 0

    assert ("lists_public" in (tmp_path / "s.json.certificate.json").read_text()) == is_said


def test_the_certificate_of_what_was_learned_names_its_schema(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    DATA.write_parquet("t.parquet")
    (tmp_path / "draft.json").write_text(json.dumps({"draft": True, "fields": make.fields({"age": "integer"})}))
    told = lapwing("schema learn", "t.parquet", "--schema", "draft.json", "--epsilon", "5", "-o", "s.json")
    assert told.status == 0

    verify = ("certificate", "verify", "s.json.certificate.json")
    assert lapwing(*verify, "s.json", "--schema", "s.json").status == 0
    (tmp_path / "s.json").write_text("{}")
    assert lapwing(*verify, "s.json").status == 1
