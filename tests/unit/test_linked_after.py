"""What comes after a release of linked tables: queries, noisy answers, the report, and what the certificate says."""

import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from helpers.linked_homes import AGE, KEY, KIND, ROOMS, tables
from lapwing.errors import CertificateWarning
from lapwing.model.certificate.notices import Notice

SCHEMA = {
    "tables": {
        "homes": {
            "primaryKey": "home",
            "fields": [KEY, {**ROOMS, "provenance": "assumed"}, {**KIND, "provenance": "assumed"}],
        },
        "people": {
            "foreignKeys": {"home": "homes"},
            "maxRows": 4,
            "order": "age",
            "fields": [
                KEY,
                {**AGE, "provenance": "assumed"},
                {"name": "job", "type": "string", "categories": ["yes", "no"], "provenance": "public"},
            ],
        },
    }
}
EVENTS = {**SCHEMA["tables"]["people"], "privacyUnit": {"field": "home", "maxRows": 4}}
EVENTS = {key: value for key, value in EVENTS.items() if key not in ("foreignKeys", "maxRows")}


@pytest.fixture(scope="module")
def release():
    homes, people = tables(300)
    job = pl.Series("job", ["sometimes", "yes", "no"] * people.height).head(people.height)  # of half the rows it ends
    people = people.with_columns(job)
    return lw.synthesize({"homes": homes, "people": people}, SCHEMA, epsilon=20, delta=1e-6, seed=1)


@pytest.fixture(scope="module")
def events():
    people = tables(300)[1].with_columns(job=pl.lit("yes"))
    return lw.synthesize(people, EVENTS, epsilon=20, delta=1e-6, seed=1)


@pytest.fixture(scope="module")
def folder(release, events, tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    release.save(place / "m.lapwing")
    release.tables["homes"].save(place / "one.lapwing")
    events.save(place / "e.lapwing")
    return place


VERBS = {
    "query": [["job"]],
    "accuracy": [],
    "support": [{"job": "yes"}],
    "replicates": [10],
    "plot": [],
}


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_about_one_table_says_how_to_ask_it_of_one(release, verb):
    with pytest.raises(lw.ParameterError, match=rf"release\.tables\['people'\]\.{verb}\(") as refused:
        getattr(release, verb)(*VERBS[verb])

    assert refused.value.code == "LW305"
    getattr(release.tables["people"], verb)(*VERBS[verb])


def test_answers_of_all_tables_stand_in_one_frame(release):
    counted = {name: part.answers.height for name, part in release.tables.items()}

    assert dict(release.answers.group_by("linked_table").len().iter_rows()) == counted
    (alone,) = release.tables["homes"].tables.values()
    assert alone is release.tables["homes"]


@pytest.mark.parametrize(
    ("model", "table", "said"),
    [
        ("m", [], "got none; give --table with one of homes, people"),
        ("m", ["--table", "pets"], 'got "pets"; give --table with one of homes, people'),
        ("one", ["--table", "homes"], 'the model has one table, got "homes"; leave --table out'),
    ],
)
def test_a_table_that_must_be_named_or_must_not_is_told(model, table, said, folder):
    refused = lapwing("query", folder / f"{model}.lapwing", "--column", "kind", *table)

    assert said in refused.error
    assert refused.code == "LW301"


def test_nothing_is_warned_of_once_more_as_a_row_before_or_above(release):
    paid = release.certificate

    assert paid.uncovered == (
        Notice("uncovered", {"fields": {"homes.kind": 2, "homes.rooms": None, "people.age": None}}),
    )
    assert [each.table for each in paid.warnings if each.fields.get("column") == "job"] == ["people"]
    assert any(each.fields.get("column") == "previous.job" for each in paid.parts["people"].warnings)
    assert paid.text().count("Warning:") == len(paid.warnings)
    assert len({*paid.warnings}) == len(paid.warnings)


def test_a_release_warns_of_what_its_certificate_does():
    homes, people = tables(40)
    with pytest.warns(CertificateWarning) as told:
        release = lw.synthesize(
            {"homes": homes, "people": people.with_columns(job=pl.lit("no"))}, SCHEMA, epsilon=1, seed=1
        )

    said = [str(each.message) for each in told]
    assert said[: len(release.certificate.warnings)] == [each.text for each in release.certificate.warnings]
    assert all(
        each.startswith(("homes: Verdict", "people: Verdict")) for each in said[len(release.certificate.warnings) :]
    )
