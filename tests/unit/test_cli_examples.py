"""The examples at the end of each command's help run as they stand, in a folder with the files that they name.

Those of `demo` and `audit` run in `test_cli_release` and `test_cli_audit`.
"""

import contextlib
import io
import json
import random
import shlex
import signal
import sqlite3
import subprocess
import sys
import urllib.request

import polars as pl
import pyreadstat
import pytest

from helpers.command import lapwing
from helpers.linked_homes import SCHEMA, tables
from lapwing.cli import examples

FIELDS = [
    {"name": "id", "type": "integer", "role": "identifier"},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}},
    {"name": "weight", "type": "number", "constraints": {"minimum": 0, "maximum": 250}},
    {"name": "sex", "type": "string", "categories": ["f", "m"]},
    {"name": "smokes", "type": "boolean"},
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Make the files that examples name."""
    folder, rng = tmp_path_factory.mktemp("clinic"), random.Random(1)
    rows = 300
    patients = pl.DataFrame(
        {
            "id": range(rows),
            "age": rng.choices(range(18, 90), k=rows),
            "weight": [round(rng.gauss(75, 9), 1) for _ in range(rows)],
            "sex": rng.choices("fm", k=rows),
            "smokes": rng.choices([True, False], k=rows),
        }
    )
    patients.write_csv(folder / "patients.csv")
    with contextlib.closing(sqlite3.connect(folder / "clinic.db")) as connection, connection:
        connection.execute("CREATE TABLE patients (id, age, weight, sex, smokes)")
        connection.executemany("INSERT INTO patients VALUES (?, ?, ?, ?, ?)", patients.rows())
    (folder / "patients.schema.json").write_text(json.dumps({"fields": FIELDS}))
    pyreadstat.write_sav(patients.select("age").to_pandas(), folder / "study.sav")
    for name, table in zip(("homes.csv", "people.csv"), tables(60), strict=True):
        table.write_csv(folder / name)
    (folder / "homes.json").write_text(json.dumps(SCHEMA))
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "id_ed25519"], check=True)
    return folder


def closed_again(words):
    """Start a studio, open its first page, end it as Ctrl-C does, and return its last line."""
    command = [sys.executable, "-c", "from lapwing.cli.main import run; run()", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as studio:
        address = studio.stdout.readline().strip()
        try:
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            browser.open(address, timeout=30).close()
            with browser.open(address.partition("?")[0], timeout=30) as page:
                assert b"patients.csv" in page.read()
        finally:
            studio.send_signal(signal.SIGINT)
        assert studio.wait(60) == 0
        return studio.stderr.read().splitlines()[-1]


def test_every_example_runs_in_their_order(place, monkeypatch):
    monkeypatch.chdir(place)
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    monkeypatch.setenv("BROWSER", "true")  # which opens nothing
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    elsewhere = ("lapwing demo", "lapwing audit independent --runs 300")
    for command in examples._EXAMPLES:
        shown = lapwing(*command.split(), "--help").out
        lines = [line.strip() for line in shown.splitlines() if line.startswith("    lapwing ")]
        assert lines, command
        assert shown.endswith(f"    {lines[-1]}\n")
        for line in lines:
            if line in elsewhere:
                continue
            if command == "studio":
                assert closed_again(shlex.split(line)[1:]) == "lapwing: The studio is closed."
                continue
            said = lapwing(*shlex.split(line)[1:])
            if command == "start":  # it asks, and nobody answers
                assert (said.status, "$ lapwing schema" in said.err) == (130, True), said
            else:
                assert said.status == 0, (line, said.err)
        if command == "schema draft":
            draft = json.loads((place / "draft.json").read_text())
            for field in draft["fields"]:
                field["provenance"] = "dp"
            draft["fields"][0] = FIELDS[0]
            (place / "draft.json").write_text(json.dumps(draft))
