"""Texts of files that a stranger wrote reach no terminal as commands: every command, every file, every text in it."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from helpers.command import lapwing
from helpers.source_tree import ROOT
from lapwing.cli.main import execute
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger

EVIL = "x\x1b]0;owned\x07\x9b31m\x7f\u202e\u2066\u2028\u2029\r\nFORGED"
"""Sets a title and a colour of the terminal, turns text around, and begins lines."""
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
NAME, NUMBER = EVIL, f"n{EVIL}"
SCHEMA = {
    "title": EVIL,
    "description": EVIL,
    "fields": [
        {
            "name": NAME,
            "type": "string",
            "title": EVIL,
            "description": EVIL,
            "categories": [EVIL, "b"],
            "missingValues": [f"?{EVIL}"],
            "provenance": "public",
        },
        {"name": NUMBER, "type": "integer", "constraints": {"minimum": 0, "maximum": 3}, "provenance": "public"},
        {"name": "k", "type": "boolean"},
    ],
    "rules": [{"never": {NAME: EVIL, NUMBER: 3}}],
}
HOME = {"name": f"h{EVIL}", "type": "integer", "role": "identifier"}
LINKED = {
    "tables": {
        f"p{EVIL}": {"primaryKey": HOME["name"], "fields": [HOME, SCHEMA["fields"][0]]},
        f"c{EVIL}": {"foreignKeys": {HOME["name"]: f"p{EVIL}"}, "maxRows": 3, "fields": [HOME, SCHEMA["fields"][1]]},
    }
}
TERMS = {"relation": "add-remove", "privacy_unit": "row"}
TABLE, RELEASE = ("t.parquet", "--schema", "s.json"), ("--epsilon", "3")
LINES = {
    "start": (),
    "studio": (),
    "demo": (),
    "mechanisms": (),
    "explain": (EVIL,),
    "schema draft": ("t.csv", "-o", "d.json"),
    "schema check": ("s.json", "t.csv"),
    "schema convert": ("foreign.json", "-o", "converted.json"),
    "schema learn": (
        "t.parquet",
        "--schema",
        "d2.json",
        "--fields",
        NAME,
        *RELEASE,
        "--delta",
        "1e-6",
        "-o",
        "learned.json",
    ),
    "ledger init": (EVIL, "--unit", "pure", "--limit", "1", "--neighbours", "add-remove", "--privacy-unit", EVIL),
    "ledger show": (EVIL, "--ledger", "b.db"),
    "ledger history": ("d", "--ledger", "b.db"),
    "ledger limit": (EVIL, "9", "--ledger", "b.db"),
    "ledger verify": ("--ledger", "b.db", "--hash", EVIL),
    "plan": ("--schema", "s.json", "--expected-rows", "60", *RELEASE),
    "synthesize": (*TABLE, *RELEASE, "-o", "again.csv", "--transcript", "again.jsonl"),
    "resume": ("t.jsonl", "t.parquet", "-o", "resumed.csv"),
    "certificate show": ("--details", "o.csv.certificate.json"),
    "tables": (*TABLE, *RELEASE, "--tables", "named.json", "-o", "named"),
    "certificate compose": ("o.csv.certificate.json",),
    "certificate sign": ("o.csv.certificate.json", "--key", "none"),
    "certificate verify": ("o.csv.certificate.json", "o.csv", "m.lapwing", "--schema", "s.json"),
    "sample": ("m.lapwing", "--rows", "5", "--where", f"{NAME}={EVIL}", "-o", "some.csv"),
    "query": ("m.lapwing", "--column", NAME, "--column", NUMBER),
    "answers": ("m.lapwing", "-o", "answers"),
    "report": ("m.lapwing", "-o", "report.html"),
    "evaluate": ("t.parquet", "o.csv", "--schema", "s.json", "--details"),
    "anonymize": (*TABLE, "--min-group-size", "3", "-o", "groups.csv"),
    "audit": (EVIL,),
}
"""A line of each command; the folder has a table, schema, model, certificate, transcript and ledger of such texts."""
REFUSED = {"explain", "ledger init", "ledger show", "ledger limit", "ledger verify", "certificate sign", "audit"}


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        names = [EVIL, "b", "b"] * 19 + [EVIL, "b", "zz"]  # one misfit: too few for a release to end
        rows = pl.DataFrame({NAME: names, NUMBER: [0, 1, 2] * 20, "k": [True, False, True] * 20})
        rows.write_parquet("t.parquet")
        rows.write_csv("t.csv")
        Path("named.json").write_text(json.dumps([[NAME, NUMBER], NUMBER]), encoding="utf-8")
        draft = {"draft": True, "fields": [{"name": NAME, "type": "string", "provenance": "dp"}]}
        columns = [{"name": NAME, "type": "string", "title": EVIL}, {"name": NUMBER, "type": "integer"}]
        foreign = {"resources": [{"name": "t", "path": "t.csv", "schema": {"fields": columns}}]}
        for name, held in (("s", SCHEMA), ("l", LINKED), ("d2", draft), ("foreign", foreign)):
            (folder / f"{name}.json").write_text(json.dumps(held))
        pl.DataFrame({HOME["name"]: range(20), NAME: [EVIL, "b"] * 10}).write_parquet("p.parquet")
        pl.DataFrame({HOME["name"]: range(20), NUMBER: [1, 2] * 10}).write_parquet("c.parquet")
        book = Ledger.create_or_open("b.db")
        book.init("d", unit="pure", limit=9, notes={"population": EVIL}, **TERMS)
        book.debit("d", "r", Budget.pure(1), description={"mechanism": EVIL, "settings": EVIL}, **TERMS)
        made = ("-o", "o.csv", "--model", "m.lapwing", "--transcript", "t.jsonl")
        assert execute(["synthesize", *TABLE, *RELEASE, *made]) == 0
    return folder


def shown(*words):
    said = lapwing(*words)
    hidden = HIDDEN.findall(said.out) + HIDDEN.findall(said.err)
    assert hidden == [], (words, said.out + said.err)
    return said


def test_every_command_has_a_line():
    pages = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    found = re.findall(r"^#+ `?lapwing ([a-z ]+)`?$", pages, re.MULTILINE)
    assert {*found} - {"schema", "ledger"} == set(LINES)


@pytest.mark.parametrize("command", [name for name, line in LINES.items() if line])
def test_nothing_of_a_file_reaches_the_terminal_as_a_command(scene, command, monkeypatch):
    monkeypatch.chdir(scene)

    said = shown(*command.split(), *LINES[command])

    assert said.status == 0 or command in REFUSED, said.err
    assert "LW901" not in said.err


def test_nothing_of_linked_tables_does(scene, monkeypatch):
    monkeypatch.chdir(scene)
    rest = ("--mechanism", "independent", "--into", "linked")

    said = shown("synthesize", "p.parquet", "c.parquet", "--schema", "l.json", *RELEASE, *rest)

    assert said.status == 0, said.err


def leaves(tree, path=()):
    """Return the places of all texts in a JSON document."""
    if isinstance(tree, str):
        return [path]
    parts = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [leaf for key, part in parts for leaf in leaves(part, (*path, key))]


def replaced(tree, path):
    if not path:
        return EVIL
    parts = dict(tree) if isinstance(tree, dict) else list(tree)
    parts[path[0]] = replaced(parts[path[0]], path[1:])
    return parts


def test_no_text_of_a_certificate_reaches_the_terminal_as_a_command(scene, monkeypatch):
    monkeypatch.chdir(scene)
    found = json.loads((scene / "o.csv.certificate.json").read_text())
    places = leaves(found)

    for place in places:
        (scene / "evil.json").write_text(json.dumps(replaced(found, place)))
        shown("certificate", "show", "--details", "evil.json")
        shown("certificate", "verify", "evil.json", "o.csv", "m.lapwing")

    assert len(places) > 20


def test_no_text_of_a_transcript_or_policy_reaches_the_terminal_as_a_command(scene, monkeypatch):
    monkeypatch.chdir(scene)
    header, *answers = (scene / "t.jsonl").read_text().splitlines()
    for place in leaves(json.loads(header)):
        text = json.dumps(replaced(json.loads(header), place))
        (scene / "evil.jsonl").write_text("\n".join([text, *answers]) + "\n")
        shown("resume", "evil.jsonl", "t.parquet", "-o", "x.csv")
    for line in (f"ask = {json.dumps(EVIL)}\nneighbours = ['replace-one']", f"{json.dumps(EVIL)} = 1", EVIL):
        (scene / "p.toml").write_text(line)
        shown("--policy", "p.toml", "synthesize", *TABLE, *RELEASE, "-o", "x.csv")


def test_a_pattern_of_signers_is_told_as_one(scene, monkeypatch):
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not there")
    monkeypatch.chdir(scene)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "id"], check=True)
    key = (scene / "id.pub").read_text()
    assert lapwing("certificate", "sign", "o.csv.certificate.json", "--key", "id").status == 0

    signers = {}
    for principals in ("alice", "!alice,*", "*@x.org", "x\x1b]0;owned\x07", "bob,!alice"):
        (scene / "signers").write_text(f'"{principals}" {key}')
        said = shown("certificate", "verify", "o.csv.certificate.json", "o.csv", "m.lapwing", "--key", "signers")
        signers[principals] = said.out.splitlines()[-1]

    assert signers["alice"] == "signed by alice"
    assert signers["bob,!alice"] == "signed by bob"
    assert signers["!alice,*"] == 'signed by a key that signers lists for "!alice,*"'
    assert signers["*@x.org"] == 'signed by a key that signers lists for "*@x.org"'
