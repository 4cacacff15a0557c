"""What comes after a release of linked tables: queries, noisy answers, the report, and what the certificate says."""

import json

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
ONE = {"fields": [ROOMS]}
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


ASKED = {
    "query": (lambda part: part.query(["job"]), "people", "person"),
    "query above": (lambda part: part.query(["kind", "job"], groups=2), "people", None),
    "query of the first": (lambda part: part.query("kind"), "homes", None),
    "accuracy": (lambda part: part.accuracy(["job"]), "people", "events"),
    "accuracy of a count": (lambda part: part.accuracy(where={"job": "yes"}), "people", "events"),
    "accuracy at a confidence": (lambda part: part.accuracy("job", 0.9), "people", "events"),
    "support": (lambda part: part.support({"job": "yes"}), "people", "events"),
    "plot": (lambda part: part.plot("job"), "people", "events"),
}
"""Verbs that name columns, and which table they are asked of: of several, and of events."""


def shown(found):
    return found.to_dicts() if isinstance(found, pl.DataFrame) else str(getattr(found, "to_dict", lambda: found)())


@pytest.mark.parametrize("verb", ASKED)
def test_a_verb_that_names_columns_is_asked_of_the_table_that_has_them(release, events, verb):
    ask, several, of_events = ASKED[verb]

    assert shown(ask(release)) == shown(ask(release.tables[several]))
    if of_events is not None:
        assert shown(ask(events)) == shown(ask(events.tables["events"]))


REFUSED = {
    "accuracy": (lambda one: one.accuracy(), "name columns, or call"),
    "accuracy of a text": (lambda one: one.accuracy(where="job == 'yes'"), "name columns, or call"),
    "plot": (lambda one: one.plot(), "name columns, or call"),
    "query of no column": (lambda one: one.query([]), "name columns, or call"),
    "query of strangers": (lambda one: one.query(["job", "income"]), "no table has the columns"),
    "replicates": (lambda one: one.replicates(10), "belong to no rows of another"),
    "certified_errors": (lambda one: one.certified_errors(), "workload of one table"),
    "rows": (lambda one: one.rows(3), "are drawn together"),
    "to_croissant": (lambda one: one.to_croissant("c.json", rows="r.csv"), "about rows of one table"),
    "impute": (lambda one: one.impute("n.csv"), "gaps are filled table by table"),
    "model": (lambda one: one.model, "a model of its own"),
    "noisy": (lambda one: one.noisy, "answers of its own"),
    "kind": (lambda one: one.kind, "its own kind"),
    "layout": (lambda one: one.layout, "its own layout"),
    "covariance": (lw.covariance, "answers of its own"),
    "a prior": (lambda one: lw.synthesize("n.csv", ONE, epsilon=1, mechanism="PMM", prior=one), "a model of its own"),
}
WORKS = {
    "query": lambda one: one.query(["job"]),
    "accuracy": lambda one: one.accuracy(["job"]),
    "support": lambda one: one.support({"job": "yes"}),
    "plot": lambda one: one.plot("job"),
    "tables": lambda one: one.tables,
    "answers": lambda one: one.answers,
    "answer_tables": lambda one: one.answer_tables(),
    "certificate": lambda one: one.certificate.text(),
    "schema": lambda one: one.schema.tables,
    "linked": lambda one: one.schema.linked is one.linked or None,
    "parts": lambda one: [*one.parts],
    "layouts": lambda one: [*one.layouts],
    "of_one": lambda one: [type(one).of_one(part).tables for part in one.parts.values()],
    "seed": lambda one: one.seed,
    "sample": lambda one: one.sample(3),
    "frames": lambda one: list(one.frames(3)),
    "write": lambda one: one.write(f"rows{len(one.tables)}.d/", 3),
    "save": lambda one: one.save("one.lapwing"),
    "to_html": lambda one: one.to_html("one.html"),
}
"""What both have: of one table, and of several."""


def test_each_verb_of_one_table_works_for_several_or_is_refused_with_a_reason():
    verbs = {name for name in dir(lw.Release) if not name.startswith("_")}

    assert verbs - WORKS.keys() - REFUSED.keys() == set()


@pytest.mark.parametrize("verb", WORKS)
def test_a_verb_that_works_for_one_table_works_for_several(release, verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    of_one, of_several = (WORKS[verb](each) for each in (release.tables["people"], release))

    assert (of_one is None) == (of_several is None)


@pytest.mark.parametrize("verb", REFUSED)
def test_what_only_one_table_has_is_refused_of_several_with_the_reason(release, verb):
    ask, why = REFUSED[verb]

    with pytest.raises(lw.ParameterError, match=why) as refused:
        ask(release)

    assert refused.value.code in ("LW252", "LW330")


@pytest.mark.parametrize("name", ["model", "noisy", "kind", "layout"])
def test_what_only_a_table_by_itself_has_is_not_there_and_says_where_it_is(release, name):
    assert not hasattr(release, name)
    assert hasattr(release.tables["people"], name)
    with pytest.raises(lw.ParameterError, match=r"take release\.tables\['people'\]\.") as refused:
        getattr(release, name)
    assert refused.value.code == "LW252"


def test_a_table_of_several_is_one_file(release, tmp_path):
    with pytest.raises(lw.ParameterError, match="takes no rows_per_file"):
        release.write(tmp_path / "all", rows_per_file=2**19)
    assert not (tmp_path / "all").exists()


def test_one_table_answers_what_several_refuse(release):
    one = release.tables["people"]

    assert one.accuracy().statements
    assert one.plot() is not None
    assert len(one.replicates(4, rows=20, seed=1)) == 4


def test_a_column_that_two_tables_have_is_asked_of_neither():
    schema = {name: {**table, "fields": [*table["fields"], KIND]} for name, table in SCHEMA["tables"].items()}
    schema["homes"]["fields"].pop()
    linked = lw.Schema.load({"tables": schema}).linked

    with pytest.raises(lw.ParameterError, match='"kind" is a column of homes and of people') as refused:
        linked.home_of(["kind"], "query")

    assert refused.value.code == "LW330"
    assert linked.home_of(["age", "homes.kind"], "query") == "people"
    assert linked.home_of(["rooms", "people"], "query") == "homes"


# ------------------------------------------------------------------------------ settings: each works, or says why not


def total(*columns, **settings):
    cells = [["flat", 100], ["house", 200]]
    return {"columns": columns, "cells": cells, "source": "register", "provenance": "public", **settings}


@pytest.mark.parametrize("as_what", ["mapping", "file", "list"])
def test_a_public_total_goes_to_the_table_that_has_its_columns(as_what, tmp_path):
    frames, given = dict(zip(("homes", "people"), tables(300), strict=True)), total("kind")
    frames["people"] = frames["people"].with_columns(job=pl.lit("yes"))
    if as_what == "file":
        (tmp_path / "t.json").write_text(json.dumps(given))
    asked = {"mapping": given, "file": tmp_path / "t.json", "list": [given]}[as_what]

    release = lw.synthesize(frames, SCHEMA, rho=1, seed=1, mechanism="Independent", public_tables=asked)

    homes, _ = release.sample()
    assert dict(homes.group_by("kind").len().iter_rows()) == {"flat": 100, "house": 200}
    release.save(tmp_path / "m.lapwing")
    held = lw.load(tmp_path / "m.lapwing").schema.linked.coded["homes"].public_tables
    assert [each.total for each in held] == [300]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (total("income"), 'no table has the columns "income" together'),
        ({**total("kind", "job"), "cells": [["flat", "yes", 5]]}, 'no table has the columns "kind", "job" together'),
        ({**total("job"), "cells": [["yes", 5], ["no", 5], [None, 0]]}, "people: the public table of job is exact"),
    ],
    ids=["of none", "of two together", "exact of people"],
)
def test_a_public_total_that_no_table_can_hold_is_refused_before_a_row_is_read(given, said):
    with pytest.raises(lw.LapwingError, match=said):
        lw.synthesize({"homes": "nothing.csv", "people": "nothing.csv"}, SCHEMA, epsilon=1, public_tables=given)


def test_a_public_total_of_persons_stays_theirs_in_files_and_when_their_events_are_resumed(tmp_path):
    described = {**EVENTS, "constant": ["job"]}
    yes_or_no = {**total("job"), "cells": [["yes", 300], ["no", 100], [None, 0]]}
    written = lw.Schema.load({**described, "publicTables": [yes_or_no]})
    people = tables(300)[1].with_columns(job=pl.lit("yes"))
    asked = {"rho": 1, "seed": 1, "mechanism": "Independent", "transcript": tmp_path / "run.jsonl"}

    release = lw.synthesize(people, described, **asked, public_tables=yes_or_no)

    assert release.schema == written == lw.Schema.from_dict(written.to_dict())
    assert [len(each.public_tables) for each in written.linked.coded.values()] == [1, 0]
    assert lw.resume(tmp_path / "run.jsonl", people).sample().equals(release.sample())
    release.save(tmp_path / "m.lapwing")
    assert lw.load(tmp_path / "m.lapwing").schema == written
    persons = release.sample().unique("home").group_by("job").len()
    assert dict(persons.iter_rows())["yes"] > 2 * dict(persons.iter_rows())["no"]


WHY_NOT = {
    "neighbours": ("replace-one", "a key may have no row"),
    "misfits": (0.2, "go on under no mended schema"),
    "prior": ("m.lapwing", "a prior is rows of one table"),
    "memory": ("1 GB", "put together in memory"),
}


@pytest.mark.parametrize("schema", [SCHEMA, EVENTS], ids=["several", "events"])
@pytest.mark.parametrize("name", WHY_NOT)
def test_a_setting_of_one_table_is_refused_of_several_with_the_reason(name, schema):
    value, why = WHY_NOT[name]

    with pytest.raises(lw.ParameterError, match=why) as refused:
        lw.synthesize("nothing.csv", schema, epsilon=1, **{name: value})

    assert refused.value.code == "LW252"


def test_a_plan_of_several_tables_is_held_to_a_limit_of_memory():
    asked = {"expected_rows": {"homes": 1000, "people": 2000}, "epsilon": 1}

    assert lw.plan(SCHEMA, **asked, memory="8 GB").parts.keys() == {"homes", "people"}
    with pytest.raises(lw.CapacityError, match="above the limit"):
        lw.plan(SCHEMA, **asked, memory="10 MB")


def test_answers_of_all_tables_stand_in_one_frame(release):
    counted = {name: part.answers.height for name, part in release.tables.items()}

    assert dict(release.answers.group_by("linked_table").len().iter_rows()) == counted
    homes = release.tables["homes"]
    assert homes.tables == {"": homes}


@pytest.mark.parametrize(
    ("model", "table", "said"),
    [
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

    assert tuple(each for each in paid.warnings if not each.table) == (
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
