"""What is done with linked tables after and around a release: verbs, model files, commands, evaluations."""

import contextlib
import json
import re
import shlex
import sqlite3
import zipfile
from pathlib import Path

import jsonschema
import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers import make
from helpers.command import lapwing
from helpers.evaluations import METRICS
from helpers.linked_homes import AGE, KEY, KIND, ROOMS, released, tables
from helpers.linked_homes import SCHEMA as TWO
from lapwing.errors import CertificateWarning
from lapwing.kernel.room.room import Room
from lapwing.model.certificate.notices import Notice
from lapwing.release.targets import certificate_target

JOB = make.field("job", ["yes", "no"], provenance="public")
SCHEMA = {
    "tables": {
        "homes": {
            "primaryKey": "home",
            "fields": [KEY, *({**each, "provenance": "assumed"} for each in (ROOMS, KIND))],
        },
        "people": {
            "foreignKeys": {"home": "homes"},
            "maxRows": 4,
            "order": "age",
            "fields": [KEY, {**AGE, "provenance": "assumed"}, JOB],
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
        each.startswith(("homes: quality", "people: quality")) for each in said[len(release.certificate.warnings) :]
    )


# ------------------------------------------------------------------------------------------------ model files and rows


@pytest.fixture(scope="module")
def two():
    return released(epsilon=1)


def test_one_door_loads_linked_tables_and_one(two, tmp_path):
    two.save(tmp_path / "linked.lapwing")
    two.tables["parent"].save(tmp_path / "one.lapwing")

    linked, one = lw.load(tmp_path / "linked.lapwing"), lw.load(tmp_path / "one.lapwing")

    assert linked.certificate.to_dict() == two.certificate.to_dict()
    assert one.certificate.to_dict() == two.tables["parent"].certificate.to_dict()
    assert (list(linked.tables), list(one.tables)) == (["parent", "child"], [""])


def rewritten(path, name, change):
    """Change one document of a model file."""
    with zipfile.ZipFile(path) as archive:
        contents = {each.filename: archive.read(each) for each in archive.infolist()}
    contents[name] = json.dumps(change(json.loads(contents[name]))).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in contents.items():
            archive.writestr(each, content)


def of_other_tables(change):
    """Return a change of the tables that a certificate says it is of."""
    return lambda tree: {**tree, "linked": {**tree["linked"], "tables": change(tree["linked"]["tables"])}}


CHANGES = {
    "tables are a path": ("certificate.json", lambda tree: {**tree, "linked": "/etc/passwd"}),
    "public tables are a file": (
        "certificate.json",
        of_other_tables(
            lambda tables: {**tables, "x": {"public": "keys.csv", "primaryKey": "home", "fields": [KEY, ROOMS]}}
        ),
    ),
    "another count": (
        "certificate.json",
        of_other_tables(lambda tables: {**tables, "child": {**tables["child"], "count": "others"}}),
    ),
    "more children": (
        "certificate.json",
        of_other_tables(lambda tables: {**tables, "child": {**tables["child"], "maxRows": 5}}),
    ),
    "a part that cost more": (
        "certificate.json",
        lambda tree: {**tree, "parts": {**tree["parts"], "parent": tree["parts"]["child"]}},
    ),
    "a part is missing": ("certificate.json", lambda tree: {**tree, "parts": {"parent": tree["parts"]["parent"]}}),
    "a model is missing": ("model.json", lambda tree: tree[:1]),
    "answers are missing": ("answers.json", lambda tree: tree[1:]),
    "models exchanged": ("model.json", lambda tree: tree[::-1]),
    "rows are no numbers": ("certificate.json", lambda tree: {**tree, "written_rows": {"parent": "many"}}),
    "the schema is another": (
        "schema.json",
        lambda tree: {"tables": {**tree["tables"], "child": {**tree["tables"]["child"], "maxRows": 5}}},
    ),
    "the schema is of one table": ("schema.json", lambda tree: tree["tables"]["parent"]),
    "another kind": ("manifest.json", lambda tree: {**tree, "kind": "lapwing linked release"}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_model_file_whose_parts_do_not_belong_together_is_refused(what, two, place):
    make.files(place, {"keys.csv": "home,rooms\n1,2\n"})
    two.save("m.lapwing")
    rewritten("m.lapwing", *CHANGES[what])

    with pytest.raises(lw.DataError, match="not a Lapwing model file") as refused:
        lw.load("m.lapwing")

    assert "passwd" not in str(refused.value)


def test_a_model_of_one_table_whose_schema_is_of_several_is_refused_and_one_of_several_is_no_prior(two, tmp_path):
    two.tables["parent"].save(tmp_path / "one.lapwing")
    rewritten(tmp_path / "one.lapwing", "schema.json", lambda _: two.schema.to_dict())
    two.save(tmp_path / "all.lapwing")

    with pytest.raises(lw.DataError, match="not a Lapwing model file"):
        lw.load(tmp_path / "one.lapwing")
    for name in ("one", "all"):
        asked = {"epsilon": 1, "mechanism": "PMM", "prior": tmp_path / f"{name}.lapwing"}
        with pytest.raises(lw.DataError, match="this takes a release of one table") as refused:
            lw.synthesize(tables(9)[0], {"fields": [KEY, ROOMS]}, **asked)
        assert refused.value.code == "LW603"


def files(place, homes):
    """Write homes and people, and the schema of both."""
    return make.files(place, dict(zip(("homes.parquet", "people.csv"), tables(homes), strict=True)) | {"L.json": TWO})


LINK = "synthesize homes.parquet people.csv --schema L.json -o P.parquet -o C.csv"


def test_the_command_writes_both_tables_model_and_certificate(place):
    files(place, 100)

    said = lapwing(f"{LINK} --details --epsilon 9 --rows 40 --seed 3 --model M.lapwing")

    drawn, people = pl.read_parquet("P.parquet"), pl.read_csv("C.csv")
    told = json.loads((place / "P.parquet.certificate.json").read_text())
    assert (said.status, said.out) == (0, "")
    assert "Not kept: how a row depends on rows other than the one before it" in said.err
    written = {name: part["written_rows"] for name, part in told["parts"].items()}
    assert written == {"parent": drawn.height, "child": people.height} == {"parent": 40, "child": people.height}
    assert drawn.equals(lw.load("M.lapwing").sample(40, seed=3)[0])


def test_the_command_takes_a_query_for_each_table_and_remembers_the_look_at_both(place, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    files(place, 60)
    with contextlib.closing(sqlite3.connect("homes.db")) as connection, connection:
        for name, table in zip(("homes", "people"), tables(60), strict=True):
            connection.execute(f"CREATE TABLE {name} ({', '.join(table.columns)})")
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * table.width)})", table.rows())
    given = ["--sql", "select * from homes", "--sql", "select * from people", "--db", f"sqlite:///{place}/homes.db"]
    rest = ["--schema", "L.json", "--epsilon", "9", "-o", "P.csv", "-o", "C.csv"]

    before, look = lapwing("synthesize", *given, *rest), lapwing("schema", "check", "L.json", *given)
    after = lapwing("synthesize", *given, *rest)

    assert (before.status, look.status, after.status) == (0, 0, 0), before.err + look.err + after.err
    assert "L.json --sql QUERY --sql QUERY --db URL` shows which values are invalid" in before.err
    assert "Not looked at yet" not in after.err
    assert pl.read_csv("P.csv").height > 0
    one = lapwing("synthesize", *given[2:], *rest)
    assert "the schema is of 2 tables, parent, child, got 1; give one for each" in one.error


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_paid_release_whose_rows_cannot_be_written_says_how_to_go_on(is_recorded, place, monkeypatch):
    files(place, 50)
    ledger = make.ledger("b.db", 1, dataset="d", unit="zcdp", privacy_unit="home:4")
    paying = ["--quiet", "--rho", "1/9", "--mechanism", "independent", *(["--ledger", "b.db"] if is_recorded else [])]

    with monkeypatch.context() as patch:
        patch.setattr("lapwing.rows.out.databases.write_rows", full)
        said = lapwing(LINK, *paying).error

    assert "no space left" in said
    if not is_recorded:
        assert "running again spends again" in said
        return
    paid = ledger.balance("d").spent
    line = shlex.split(re.search(r"`(.+)` finishes free", said)[1])
    assert lapwing(*line[1:]).status == 0
    assert (place / "P.parquet").exists()
    assert ledger.balance("d").spent == paid > 0


def full(*_, **__):
    raise lw.DataError("no space left")


def test_the_certificate_of_rows_in_this_folder_stands_beside_it(tmp_path, monkeypatch):
    (tmp_path / "out" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "out" / "below")

    places = [certificate_target(Path(each), None, no_certificate=False) for each in (".", "..", "new")]

    assert [each and each.resolve() for each in places] == [
        tmp_path / "out" / "below.certificate.json",
        tmp_path / "out.certificate.json",
        tmp_path / "out" / "below" / "new.certificate.json",
    ]


# ------------------------------------------------------------------------------------------------------------ commands


WHO, HOME = make.fields({"who": "id", "home": "id"})
SEX, DAY = make.fields({"sex": ["f", "m"], "day": (1, 40)}, required=True)
STAYS = {
    "name": "stays",
    "privacyUnit": {"field": "who", "maxRows": 4},
    "order": "day",
    "constant": ["sex"],
    "fields": [WHO, DAY, SEX],
}
HOMES = {
    "tables": {
        "homes": {"primaryKey": "home", "fields": [HOME, ROOMS]},
        "people": {"foreignKeys": {"home": "homes"}, "maxRows": 3, "fields": [HOME, SEX]},
    }
}
BUDGET = ("--epsilon", 20, "--mechanism", "Independent", "--seed", 1, "--quiet")
PAID = "the answers are kept"


@pytest.fixture
def clinic(place):
    """Work in a folder with events, homes and the people in them."""
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(300), rng.integers(1, 5, 300))
    sex = np.array(["f", "m"])[np.where(rng.random(300) < 0.8, 0, 1)]
    contents = {
        "stays.csv": pl.DataFrame({"who": who, "day": rng.integers(1, 41, who.size), "sex": sex[who]}),
        "homes.csv": pl.DataFrame({"home": np.arange(300), "rooms": rng.integers(1, 10, 300)}),
        "people.csv": pl.DataFrame({"home": who[who < 200], "sex": sex[who[who < 200]]}),
        "stays.json": STAYS,
        "homes.json": HOMES,
    }
    return make.files(place, contents)


def done(*arguments):
    said = lapwing(*arguments)
    assert said.status == 0, said.err
    return said


def broken_once(monkeypatch, after):
    """Let the room fail once, after some answers."""
    whole, asked = Room.ask, []

    def ask(self, *questions):
        asked.append(questions)
        if len(asked) == after:
            raise KeyboardInterrupt
        return whole(self, *questions)

    monkeypatch.setattr(Room, "ask", ask)


def test_events_are_one_table_in_and_one_out_and_their_model_draws_persons_like_a_condition(clinic):
    done("synthesize", "stays.csv", "--schema", "stays.json", *BUDGET, "-o", "rows.parquet", "--model", "m.lapwing")
    drawn, told = pl.read_parquet("rows.parquet"), json.loads((clinic / "rows.parquet.certificate.json").read_text())

    done("sample", "m.lapwing", "--rows", 50, "--where", "sex=m", "--where", "stays.rows=2..3", "-o", "some.csv")
    some = pl.read_csv("some.csv")

    assert drawn.columns == ["who", "day", "sex"]
    assert told["written_rows"] == told["parts"]["stays"]["written_rows"] == drawn.height
    assert done("certificate", "verify", "rows.parquet.certificate.json", "rows.parquet", "m.lapwing")
    assert drawn.select((pl.col("day").diff().over("who") < 0).sum()).item() == 0
    assert set(some["sex"]) == {"m"}
    assert set(some.group_by("who").len()["len"]) == {2, 3}
    assert some["who"].n_unique() == 50


def test_an_interrupted_release_of_events_is_resumed_and_gives_the_same_rows(clinic, monkeypatch):
    synthesize = ["synthesize", "stays.csv", "--schema", "stays.json", *BUDGET]
    with monkeypatch.context() as patched:
        broken_once(patched, after=2)
        said = lapwing(*synthesize, "--transcript", "t.jsonl", "-o", "a.csv")
    assert (said.status, PAID in said.error, (clinic / "a.csv").exists()) == (130, True, False)

    done("resume", "t.jsonl", "stays.csv", "-o", "b.csv", "--quiet")
    done(*synthesize, "--transcript", "t.jsonl", "-o", "c.csv")

    assert (clinic / "b.csv").read_bytes() == (clinic / "c.csv").read_bytes()


def test_a_plan_of_linked_tables_has_a_part_for_each_and_says_which_number_is_missing(clinic):
    plan = ["plan", "--schema", "homes.json", "--epsilon", 2, "--expected-rows", "homes=300"]

    said = done(*plan, "--expected-rows", "people=600", "--share", "homes=1/4", "--share", "people=3/4")
    found = lw.plan("homes.json", expected_rows={"homes": 300, "people": 600}, rho=1)
    first, *lines_of_people = found.parts["people"].lines
    rest = found.parts["people"].total.amount - first.cost.amount
    alone = lw.plan(lw.Schema.load(HOMES).linked.coded["people"], expected_rows=600, rho=rest)

    lines = [line.split() for line in said.out.splitlines()]
    assert ["homes", "25.0%", "ε", "=", "0.5", "300"] in [line[:6] for line in lines]
    assert first.question == "MisfitRows"
    assert tuple(lines_of_people) == alone.lines
    assert sum(found.shares.values()) == 1
    events = done(
        "plan", "--schema", "stays.json", "--epsilon", 2, "--expected-rows", "stays=700", "--expected-rows", "who=300"
    )
    assert "at most 4 of stays" in events.out


def test_a_transcript_or_model_by_another_hand_names_no_file_as_a_public_table(clinic):
    schema = {"tables": {**HOMES["tables"], "towns": {"public": "stays.csv", "primaryKey": "who", "fields": [WHO]}}}

    with pytest.raises(lw.SchemaError, match="must be a list of rows"):
        lw.Schema.from_dict(schema)


# --------------------------------------------------------------------------------------------------------- evaluations


COMPARED = {
    "tables": {
        "homes": {"primaryKey": "home", "fields": [KEY, ROOMS, KIND]},
        "people": {"foreignKeys": {"home": "homes"}, "maxRows": 2, "fields": [KEY, AGE]},
    }
}
STATES = {
    "privacyUnit": {"field": "home", "maxRows": 2},
    "order": "age",
    "fields": [KEY, AGE, make.field("state", ["well", "ill"])],
}


def figures(found):
    return {each.metric.key: {name: value.value for name, value in each.values.items()} for each in found.metrics}


def by_name(homes=300):
    return dict(zip(("homes", "people"), tables(homes), strict=True))


def test_persons_who_lost_their_homes_are_at_a_distance_and_their_own_columns_are_not():
    real = by_name()
    people = real["people"].with_columns(pl.col("age").shuffle(seed=1))

    found = lw.evaluate(real, real | {"people": people}, COMPARED)

    same = lw.evaluate(real, real, COMPARED)
    homes, lost, kept = (each.findings for each in (found.parts["homes"], found.parts["people"], same.parts["people"]))
    assert [each.mean for each in homes.tables["synthetic"]] == [0, 0, 0]
    assert [each.mean > 0.1 for each in lost.tables["synthetic"]] == [False, True, True]
    assert [each.mean for each in kept.tables["synthetic"]] == [0, 0, 0]
    # Ages are of the old in flats and of the young in houses: shuffled, two of one home do not know of each other.
    assert figures(lost)["transitions"]["synthetic"] > 2 * figures(kept)["transitions"]["synthetic"]
    assert figures(kept)["siblings"]["synthetic"] == 0
    # Up to 4 persons of a home are compared, though 2 are used.
    assert kept.rows == real["people"].height
    assert figures(lost)["rows_per_unit"] == {"synthetic": 0, "bootstrap": pytest.approx(0, abs=0.1), "independent": 0}


def test_homes_without_persons_count_among_the_numbers_of_rows():
    real = by_name(100)
    half = real["people"].filter(pl.col("home") >= 50)

    found = lw.evaluate(real, real | {"people": half}, COMPARED).parts["people"].findings

    assert figures(found)["rows_per_unit"]["synthetic"] == 0.5


def test_events_are_one_evaluation_with_their_gaps_and_transitions():
    rng = np.random.default_rng(1)
    state = rng.random(300) < 0.5
    rows = pl.DataFrame(
        {
            "home": np.repeat(np.arange(300), 3),
            "age": np.tile([10, 20, 40], 300),
            "state": np.where(np.repeat(state, 3), "ill", "well"),
        }
    )
    closer = rows.with_columns(age=pl.col("age") // 10, state=pl.col("state").shuffle(seed=1))

    found = lw.evaluate(rows, closer, STATES, target="state", by="state")

    said = figures(found.findings)
    assert (said["gaps"]["synthetic"], said["gaps"]["bootstrap"], said["rows_per_unit"]["synthetic"]) == (1, 0, 0)
    # Whoever is ill stays so; shuffled, half of those who follow differ.
    assert said["next_states"]["synthetic"] == pytest.approx(0.5, abs=0.1)
    assert found.findings.panel.agreement["real"] == {"state": 1}
    assert (found.findings.downstream.target, len(found.findings.subgroups)) == ("state", 2)
    jsonschema.Draft202012Validator(METRICS).validate(json.loads(json.dumps(found.to_dict(), allow_nan=False)))
    assert "Rows that belong together" in found.html()


def test_the_command_takes_folders_and_writes_a_part_for_each_table(place):
    real, found = by_name(200), by_name(150)
    make.files(
        place, {f"{folder}/{name}.csv": of[name] for folder, of in (("real", real), ("made", found)) for name in of}
    )
    make.files(place, {"db.json": COMPARED})

    said = lapwing("evaluate real made --schema db.json --json e.json -o e.html --target kind --details")

    assert said.status == 0, said.err
    assert said.out.startswith("internal - do not publish\n\nhomes\n=====\n")
    assert "rows of one parent agree in" in said.out
    whole = json.loads((place / "e.json").read_text())
    for each in whole["tables"].values():
        jsonschema.Draft202012Validator(METRICS).validate({"notice": whole["notice"], **each})
    assert [each["downstream"] is None for each in whole["tables"].values()] == [False, True]
    assert whole["tables"]["people"]["rows"] == {
        "real": real["people"].height,
        "synthetic": found["people"].height,
        "sampled": None,
    }
    page = (place / "e.html").read_text()
    assert "people: Rows that belong together" in page
    assert "homes: Rows that belong together" not in page


@pytest.mark.parametrize(
    ("settings", "code", "said"),
    [
        ({"epsilon": 1}, "LW317", "compared internally alone"),
        ({"target": "wage"}, "LW304", 'got "wage"; they are homes: rooms, kind, people; people: age, rooms, kind'),
        ({"by": ["age", "wage"]}, "LW304", 'by must be columns of one table, got "age", "wage"'),
    ],
)
def test_what_cannot_be_compared_is_refused(settings, code, said):
    with pytest.raises(lw.ParameterError, match=said) as refused:
        lw.evaluate(by_name(20), by_name(20), COMPARED, **settings)

    assert refused.value.code == code


def test_a_table_without_rows_is_named():
    real = by_name(20)

    with pytest.raises(lw.DataError, match="the synthetic table people has no row"):
        lw.evaluate(real, real | {"people": real["people"].clear()}, COMPARED)
