"""lw.Schema.learn: what it takes and refuses, what comes out, on small tables and on whole ones."""

import json
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.learn_runs import learn_settings
from lapwing.errors import LapwingError, ParameterError
from lapwing.kernel.terms import Terms
from lapwing.model.certificate.certificate import Certificate
from lapwing.release.runs.learned.running import outlook

LISTS = {"epsilon": 10**6, "delta": "1e-6"}
ROWS = 4000


def field(name, kind, **more):
    return {"name": name, "type": kind, "provenance": "dp"} | more


FIELDS = [
    field("age", "integer"),
    field("pay", "number"),
    field("town", "string"),
    field("born", "date"),
    field("seen", "datetime"),
]
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
        field("age", "integer", constraints={"minimum": 21, "maximum": None}, provenance="public"),
        field("pay", "number", constraints={"minimum": 0, "maximum": None}, provenance="assumed"),
        field("town", "string", categories=["Uri", "Zug", "Bern", "Chur"], provenance="assumed"),
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
    person = {"name": "person", "type": "integer", "role": "identifier"}
    draft = {"draft": True, "privacyUnit": {"field": "person", "maxRows": 2}, "fields": [person, *FIELDS]}
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
        ({"dictionaries": {"town": "/"}}, "cannot be read: Is a directory"),
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
    fields = [field("who", "integer"), field("age", "integer")]
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
