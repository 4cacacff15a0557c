"""A password in an address is in no file, sentence, log or `repr`, whatever the command does with it."""

import copy
import json
import logging
import re
import traceback
from pathlib import Path

import pytest

import lapwing as lw
from helpers import databases
from helpers.command import lapwing
from lapwing.cli.outputs import resuming
from lapwing.release.targets import read_targets
from lapwing.rows.entry import source_of

SCHEMA = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 9, "required": True}},
        {"name": "town", "type": "string", "categories": ["a", "b"], "constraints": {"required": True}},
    ]
}
SQL = "SELECT i % 10 AS age, 'a' AS town FROM generate_series(1, 200) AS t (i)"
SIGNED = f"https://me:{databases.PASSWORD}@127.0.0.1:9/rows.parquet?X-Signature={databases.PASSWORD}"


@pytest.fixture(scope="module")
def server():
    with databases.postgres() as url:
        yield url


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    blank = {"name": "age", "type": "integer", "provenance": "dp"}
    (tmp_path / "blank.json").write_text(json.dumps({"fields": [blank, SCHEMA["fields"][1]], "draft": True}))
    return tmp_path


def secret_in(folder, *said):
    """Return where the password stands: files with their names, and texts."""
    secret = databases.PASSWORD
    files = [path for path in folder.rglob("*") if secret in path.name or has(path, secret.encode())]
    return files + [text for text in said if secret in text]


def has(path, secret):
    return path.is_file() and secret in path.read_bytes()


def test_the_search_finds_what_it_looks_for(folder):
    (folder / "leak.json").write_text(databases.PASSWORD)

    assert secret_in(folder, f"x{databases.PASSWORD}") == [folder / "leak.json", f"x{databases.PASSWORD}"]


def test_no_output_of_a_command_holds_the_password(server, folder, caplog):
    given = ("--sql", SQL, "--db", server)
    said = [
        lapwing(*words)
        for words in (
            ("ledger", "init", "people", "--unit", "pure", "--limit", "9", "--neighbours", "add-remove",
             "--privacy-unit", "row", "--ledger", "L"),
            ("schema", "draft", *given, "-o", "d.json"),
            ("schema", "check", "s.json", *given),
            ("schema", "learn", *given, "--schema", "blank.json", "--epsilon", "1", "-o", "learned.json"),
            ("synthesize", *given, "--schema", "s.json", "--epsilon", "1", "-o", "out.parquet", "--transcript", "t",
             "--ledger", "L", "--model", "m.lapwing"),
            ("resume", "t", *given, "-o", "again.parquet"),
            ("evaluate", "out.parquet", *given, "--schema", "s.json", "--json", "figures.json"),
            ("anonymize", *given, "--schema", "s.json", "--min-group-size", "5", "-o", "groups.csv"),
        )
    ]  # fmt: skip

    assert [each.status for each in said] == [0] * len(said)
    assert len(list(folder.iterdir())) > 10
    assert secret_in(folder, *[each.out + each.err for each in said], caplog.text) == []


@pytest.mark.parametrize(
    ("sql", "change"),
    [
        ("SELECT nothing", lambda url: url),
        ("SELECT 1 AS age", lambda url: url),
        (SQL, lambda url: re.sub("owner:", "nobody:", url)),
        (SQL, lambda url: url + "/nowhere"),
        (SQL, lambda url: url + "&sslmode=none"),
        (SQL, lambda url: url.replace("postgresql", "mysql")),
        (f"SELECT '{databases.PASSWORD}'::int AS age, 'a' AS town", lambda url: url),
    ],
)
def test_no_refusal_holds_the_password_or_a_cell(server, folder, sql, change, caplog):
    said = lapwing("synthesize", "--sql", sql, "--db", change(server), "--schema", "s.json", "--epsilon", "1",
                   "-o", "out.csv")  # fmt: skip

    assert said.status == 1
    assert said.error
    assert secret_in(folder, said.err, caplog.text) == []


def slow(address):
    """Ask it in the full suite alone: Polars takes ten seconds until it gives up, and ends in the same sentence."""
    return pytest.param(address, marks=pytest.mark.full)


@pytest.mark.parametrize(
    "place", [SIGNED, f"postgresql://me:{databases.PASSWORD}@host/people", slow(SIGNED[:-20] + ".csv")]
)
def test_no_sentence_about_an_address_of_rows_holds_what_is_secret(folder, place, monkeypatch, caplog):
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("POLARS_CLOUD_MAX_RETRIES", "0")
    said = lapwing("synthesize", place, "--schema", "s.json", "--epsilon", "1", "-o", "out.csv")

    assert said.status == 1
    assert said.error
    assert secret_in(folder, said.err, caplog.text) == []


def test_a_query_shows_neither_address_nor_sql(server):
    query = lw.Query(f"SELECT '{databases.PASSWORD}'::int AS age, 'a' AS town", server)
    with pytest.raises(lw.DataError) as caught:
        lw.synthesize(query, SCHEMA, epsilon=1)
    shown = [
        repr(query),
        str(query),
        f"{query}",
        repr(copy.copy(query)),
        "".join(traceback.format_exception(caught.value)),
    ]

    assert [text for text in shown if databases.PASSWORD in text] == []
    assert repr(query) == "Query of a postgresql database"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (lw.Query(SQL, SIGNED.replace("https", "postgresql")), "--sql QUERY --db URL"),
        (SIGNED, "DATA"),
        ("a.csv", "a.csv"),
    ],
)
def test_the_command_that_would_finish_a_release_names_a_query_by_words(table, words):
    targets = read_targets("out.csv", None, None, no_certificate=False)

    line = resuming([source_of(table)], targets)(Path("t"), False)

    assert line == f"`lapwing resume t {words} -o out.csv`"
