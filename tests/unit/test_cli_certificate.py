"""`lapwing certificate`: what stands on a certificate, and whether the files beside it are those that it names."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from helpers import make
from helpers.command import lapwing
from helpers.linked_homes import SCHEMA as HOMES
from helpers.linked_homes import tables
from helpers.small_people import synthesize, write_people
from lapwing.model.certificate.certificate import Certificate
from lapwing.present.certificates import composed_text
from lapwing.schema.schemas import Schema

CERTIFICATE = "out.csv.certificate.json"
SIGNATURE = f"{CERTIFICATE}.sig"

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH")


def make_key(name):
    """Make a key pair."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name], check=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with a release that says who made it, signed by `ada`, and another release beside it."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        write_people()
        assert synthesize("--model", "m.lapwing", "--prepared-by", "Ada", "--approved-by", "the board").status == 0
        assert synthesize("--model", "m2.lapwing", out="other.csv").status == 0
        make_key("ada")
        make_key("eve")
        assert lapwing("certificate sign", CERTIFICATE, "--key", "ada").status == 0
    return folder


@pytest.fixture
def place(made, place):
    """Work in a copy of it."""
    shutil.copytree(made, place, dirs_exist_ok=True)
    return place


def verified(*files, certificate=CERTIFICATE):
    return lapwing("certificate", "verify", certificate, *files)


def signed(*more):
    return verified("out.csv", "m.lapwing", "--key", "ada.pub", *more)


def test_files_schema_and_signature_are_checked(place):
    said = signed("--schema", "s.json")

    assert said.out.splitlines() == [
        f"2 of 2 files are those that were written with {CERTIFICATE}, at epsilon 2",
        "m.lapwing holds the same certificate",
        f"SHA-256 of {CERTIFICATE}: {hashlib.sha256(Path(CERTIFICATE).read_bytes()).hexdigest()}",
        "s.json is its schema",
        "signed by ada.pub",
    ]


def test_who_has_the_rows_alone_checks_these_and_is_told_what_was_not_checked(place):
    done = verified("out.csv")

    assert done.status == 0
    assert done.out.splitlines()[:2] == [
        f"1 of 2 files are those that were written with {CERTIFICATE}, at epsilon 2",
        "not checked: m.lapwing: the certificate names it, and it was not given",
    ]


def edit(change, path=CERTIFICATE):
    """Change the values of a certificate."""
    values = json.loads(Path(path).read_text())
    change(values)
    Path(path).write_text(json.dumps(values))


def edited(**changes):
    """Return what changes keys of a part of the certificate: `total`, `issued`, or a number among its files."""

    def change(values):
        for part, keys in changes.items():
            (values["issued"]["files"][int(part[4:])] if part.startswith("file") else values[part]).update(keys)

    return lambda: edit(change)


def halve(values):
    """Let a certificate say half of its cost, and twice the noise: its sums agree."""
    costs = [(line["cost"], line["noise"]) for line in values["costs"]]
    amounts = [values["total"], values["requested"]["epsilon"], *(cost for cost, _ in costs)]
    for amount, factor in [*((each, Fraction(1, 2)) for each in amounts), *((noise, 2) for _, noise in costs)]:
        amount["exact"] = str(Fraction(amount["exact"]) * factor)


def change_a_byte():
    content = bytearray(Path("out.csv").read_bytes())
    content[-2] ^= 1
    Path("out.csv").write_bytes(content)


def other_schema():
    Path("s.json").write_text(Path("s.json").read_text().replace('"maximum": 99', '"maximum": 98'))


def cut_rows():
    lines = Path("out.csv").read_text().splitlines(keepends=True)
    Path("out.csv").write_text("".join(lines[:-7]))


OTHER = "it is not the file that was written with the certificate"
ANOTHER = f"{SIGNATURE} is a signature of another file than this certificate; ask the signer for both"
WRONG = f"{CERTIFICATE} cannot be read (it is no certificate, or its sums are wrong); give the certificate that lies "
WRONG += "beside the rows"
BOTH = ("out.csv", "m.lapwing")
NAMED = "the certificate names no file {0}, or it was given twice".format
SIGNED = (*BOTH, "--key", "ada.pub")
NONE = f"{SIGNATURE} is no signature by ada.pub; ask the signer for both"
NOT_SSH = "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n"
TAMPERED = {
    "a byte of a row": (change_a_byte, BOTH, f"out.csv: {OTHER}"),
    "rows cut": (cut_rows, BOTH, f"out.csv: {OTHER} ("),
    "rows sorted": (lambda: pl.read_csv("out.csv").reverse().write_csv("out.csv"), BOTH, f"out.csv: {OTHER}"),
    "model swapped": (lambda: shutil.copy("m2.lapwing", "m.lapwing"), BOTH, f"m.lapwing: {OTHER}"),
    "one too many": (list, [*BOTH, "other.csv"], f"other.csv: {NAMED('other.csv')}"),
    "given twice": (list, ["out.csv", *BOTH], f"out.csv: {NAMED('out.csv')}"),
    "renamed": (
        lambda: Path("out.csv").rename("n.csv"),
        ["n.csv", "m.lapwing"],
        "n.csv: the certificate calls this file",
    ),
    "total lowered": (edited(total={"exact": "1"}), BOTH, WRONG),
    "cost left out": (lambda: edit(lambda all_: all_["costs"].pop()), BOTH, WRONG),
    "hash is none": (edited(file0={"sha256": "0"}), BOTH, WRONG),
    "rows below 0": (edited(file0={"rows": -1}), BOTH, WRONG),
    "hash changed": (edited(file1={"sha256": "0" * 64}), BOTH, f"m.lapwing: {OTHER}"),
    "other schema": (other_schema, [*BOTH, "--schema", "s.json"], "s.json: it is not the schema of the release"),
    "epsilon halved, signed": (lambda: edit(halve), SIGNED, ANOTHER),
    "date changed, signed": (edited(issued={"at": "2020-01-01T00:00:00Z"}), SIGNED, ANOTHER),
    "signed by another": (lambda: lapwing("certificate sign", CERTIFICATE, "--key", "eve"), SIGNED, NONE),
    "signature of nothing": (lambda: Path(SIGNATURE).write_text(NOT_SSH), SIGNED, NONE),
    "no signature": (
        lambda: Path(SIGNATURE).unlink(),
        SIGNED,
        f"{SIGNATURE} cannot be read (there is no such file); give",
    ),
}


@pytest.mark.parametrize(("tamper", "files", "said"), TAMPERED.values(), ids=TAMPERED)
def test_each_tampered_set_is_refused_in_a_sentence(tamper, files, said, place):
    tamper()

    found = verified(*files)

    assert found.error.startswith(said), found.error
    assert found.code == ("LW602" if "cannot be read" in said else "LW622")


def test_a_forger_who_keeps_the_sums_is_found_by_the_model_file_and_the_signature(place):
    edit(halve)

    assert "Promise: epsilon 1 protects" in lapwing("certificate show", CERTIFICATE).out
    assert "m.lapwing: the certificate inside says something else" in verified("out.csv", "m.lapwing").error
    assert signed().error == ANOTHER


def test_every_edit_of_a_certificate_is_found_by_the_model_file(place):
    kept = json.loads(Path(CERTIFICATE).read_text())
    later = ("issued", "written_rows", "seed")
    edits = [{**kept, "more": 1}, *({**kept, key: None} for key in kept if key not in later and kept[key] is not None)]
    edits += [{**kept, "settings": {**kept["settings"], "more": 1}}, {**kept, "warnings": []}]
    edits += [{key: value for key, value in kept.items() if key != gone} for gone in kept if gone not in later]

    for each in edits:
        Path(CERTIFICATE).write_text(json.dumps(each))
        assert verified(*BOTH).status == 1, each

    Path(CERTIFICATE).write_text(json.dumps(kept))
    assert verified(*BOTH).status == 0
    assert len(edits) > 20


def test_the_schema_that_a_certificate_names_is_the_one_in_the_model_file(place):
    Path("other.json").write_text(json.dumps({"fields": [{"name": "flag", "type": "boolean"}]}))
    edit(lambda all_: all_["issued"].update(schema=Schema.load("other.json").fingerprint))

    assert verified("out.csv", "--schema", "other.json").status == 0  # nothing here tells
    assert verified(*BOTH, "--schema", "other.json").error.startswith("m.lapwing: the schema inside is not the one")


def test_a_model_file_in_a_folder_is_compared_as_well(place):
    Path("models").mkdir()
    Path("m.lapwing").rename("models/m.lapwing")
    edit(lambda all_: all_["issued"]["files"][-1].update(name="models/m.lapwing"))

    assert "models/m.lapwing holds the same certificate" in verified("out.csv", "models").out
    edit(halve)
    assert verified("out.csv", "models").error.startswith("models/m.lapwing: the certificate inside says")


def test_a_signature_is_openssh_s_both_ways(place):
    allowed = f"ada@example.org {Path('ada.pub').read_text()}"
    Path("allowed").write_text(f"# who may sign\neve@example.org {Path('eve.pub').read_text()}{allowed}")
    check = ["ssh-keygen", "-Y", "verify", "-f", "allowed", "-I", "ada@example.org", "-n", "file", "-s", SIGNATURE]

    with open(CERTIFICATE, "rb") as file:
        subprocess.run(check, stdin=file, check=True)
    assert verified("out.csv", "m.lapwing", "--key", "allowed").out.endswith("signed by ada@example.org\n")

    subprocess.run(["ssh-keygen", "-Y", "sign", "-f", "eve", "-n", "file", "other.csv.certificate.json"], check=True)
    theirs = ("--signature", "other.csv.certificate.json.sig", "--key", "eve.pub")
    assert verified("other.csv", "m2.lapwing", *theirs, certificate="other.csv.certificate.json").status == 0
    assert signed(*theirs[:2]).error == f"{theirs[1]} is no signature by ada.pub; ask the signer for both"


def test_a_signature_for_another_purpose_is_none(place):
    Path(SIGNATURE).unlink()
    subprocess.run(["ssh-keygen", "-Y", "sign", "-f", "ada", "-n", "git", CERTIFICATE], check=True)

    assert signed().code == "LW622"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (("sign", CERTIFICATE, "--key", "ada.pub.gone"), "LW602"),
        (("sign", CERTIFICATE, "--key", "s.json"), "LW602"),
        (("sign", "s.json", "--key", "ada"), "LW602"),
        (("verify", CERTIFICATE, *BOTH, "--key", "ada"), "LW622"),
    ],
)
def test_what_cannot_be_signed_checked_or_written_is_refused(more, code, place):
    assert lapwing("certificate", *more).code == code


def test_without_openssh_one_sentence_says_so(place, monkeypatch):
    monkeypatch.setenv("PATH", str(place))

    found = signed()

    assert found.error == "signatures are made by ssh-keygen, which is not installed; install OpenSSH"
    assert found.code == "LW701"


def test_a_folder_of_rows_is_named_file_by_file(place):
    (place / "rows").mkdir()
    assert synthesize(out="rows/").status == 0
    issued = Certificate.from_dict(json.loads(Path("rows.certificate.json").read_text())).issued

    assert all(each.target.as_posix().startswith("rows/") for each in issued.files)
    assert [each.rows for each in issued.files] == [pl.read_parquet(each.target).height for each in issued.files]
    assert verified("rows", certificate="rows.certificate.json").status == 0
    assert verified(str(next(iter(Path("rows").iterdir()))), certificate="rows.certificate.json").status == 0
    next(iter(Path("rows").iterdir())).unlink()
    assert "it is missing from its folder" in verified("rows", certificate="rows.certificate.json").err
    Path("rows.certificate.json").rename("c.json")
    for given in ("rows", "."):
        os.chdir(place / "rows" if given == "." else place)
        shutil.rmtree(place / "rows")
        (place / "rows").mkdir()
        os.chdir(place / "rows" if given == "." else place)
        assert verified(given, certificate=str(place / "c.json")).status == 1
    os.chdir(place)
    (place / "link").symlink_to("rows")
    assert verified("link", certificate="c.json").status == 1


def test_two_files_of_one_name_are_told_apart_by_what_is_in_them(place):
    edit(lambda all_: [each.update(name="x") for each in all_["issued"]["files"]])
    for folder, file in zip("ab", ("m.lapwing", "out.csv"), strict=True):
        Path(folder).mkdir()
        shutil.copy(file, f"{folder}/x")

    assert verified("a/x", "b/x").status == 0
    shutil.copy("s.json", "a/x")
    assert verified("a/x", "b/x").status == 1


def test_a_certificate_that_was_not_written_with_files_names_none(place):
    edit(lambda all_: all_.update(issued=None))

    assert lapwing("certificate show", CERTIFICATE).status == 0
    assert lapwing("certificate", "show", "--details", CERTIFICATE).status == 0
    assert "names no files" in verified("out.csv", "m.lapwing").err


def test_linked_releases_are_checked_alike(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    homes, people = tables(60)
    make.files(tmp_path, {"homes.csv": homes, "people.csv": people, "homes.json": HOMES})
    made = "synthesize homes.csv people.csv --schema homes.json --epsilon 1 --delta 1e-6 --model m.lapwing"
    assert lapwing(f"{made} -o h.csv -o p.parquet --prepared-by Ada").status == 0
    files, certificate = ("h.csv", "p.parquet", "m.lapwing"), "h.csv.certificate.json"
    heights = pl.read_csv("h.csv").height, pl.read_parquet("p.parquet").height

    said = lapwing("certificate", "show", certificate).out
    assert said.startswith(("parent: Verdict: ", "Verdict: "))
    assert f"\nRelease: {heights[0]} synthetic rows of parent and {heights[1]} synthetic rows of child by " in said
    assert "\nPromise: epsilon 1 at delta 1e-06 protects all rows that share one value of home: " in said
    assert f"\nFile: p.parquet, {heights[1]} rows, " in said
    assert "\nPrepared by: Ada.\n" in said
    assert len(set(said.splitlines())) == said.count("\n") <= 16
    assert "File: m.lapwing, " in lapwing("certificate", "show", "--details", certificate).out
    assert verified(*files, "--schema", "homes.json", certificate=certificate).status == 0
    rows_only = verified(*files[:2], certificate=certificate)
    assert rows_only.status == 0
    assert rows_only.out.startswith("2 of 3 files are those that were written with ")
    assert rows_only.out.splitlines()[1] == "not checked: m.lapwing: the certificate names it, and it was not given"
    written = Path(certificate).read_text()
    edit(lambda all_: all_["parts"]["child"].update(accuracy=[]), certificate)
    assert verified(*files, certificate=certificate).error.startswith("m.lapwing: the certificate inside")
    Path(certificate).write_text(written)
    pl.read_parquet("p.parquet").with_columns(added=1).write_parquet("p.parquet")
    assert verified(*files, certificate=certificate).error.startswith(f"p.parquet: {OTHER}")


@pytest.mark.parametrize(
    ("key", "value"),
    [("at", "2026-1-2T1:2:3Z"), ("at", "soon"), ("schema", "x")],
)
def test_a_certificate_that_lapwing_never_writes_is_refused_in_one_line(place, key, value):
    told = json.loads(Path(CERTIFICATE).read_text())
    Path(CERTIFICATE).write_text(json.dumps(told | {"issued": told["issued"] | {key: value}}))

    found = lapwing("certificate show", CERTIFICATE)
    assert found.status == 1
    assert found.err.count("\n") == 1
    assert "[LW602]" in found.err


@pytest.mark.parametrize("words", ["show --details", "compose", "compose --disjoint out.csv.kept.json"])
def test_amounts_of_a_size_that_no_release_has_are_refused(place, words):
    shutil.copy(CERTIFICATE, "out.csv.kept.json")
    told = json.loads(Path(CERTIFICATE).read_text())
    huge = 10**400
    for line in told["costs"]:
        line["cost"]["exact"] = str(huge)
    for amount in (told["total"], told["requested"]["epsilon"]):
        amount["exact"] = str(huge * len(told["costs"]))
    Path(CERTIFICATE).write_text(json.dumps(told))

    said = lapwing("certificate", *words.split(), CERTIFICATE)

    assert said.error.endswith("holds amounts that no release can have; give one that Lapwing wrote")
    assert said.code == "LW602"


def test_names_of_files_clear_no_screen(place):
    name = "\x1b[2J\n2 of 2 files.json"
    Path(name).write_text("{}")

    said = lapwing("certificate", "verify", name, "out.csv")
    assert "\x1b" not in said.err
    assert said.err.count("\n") == 1


def test_releases_are_added_up_in_sentences_and_for_machines_as_json(place):
    told, plain = (
        lapwing("certificate compose", CERTIFICATE, "other.csv.certificate.json", *j) for j in ((), ("--json",))
    )

    assert told.out.startswith("2 releases together: epsilon ")
    assert len(told.out.splitlines()) == 3
    assert json.loads(plain.out)["epsilons"]


@pytest.mark.parametrize("is_disjoint", [False, True])
def test_what_lists_of_texts_took_is_a_sentence_of_its_own_in_the_sum(tmp_path, is_disjoint):
    Schema.learn(
        pl.DataFrame({"town": ["Bern", "Uri"] * 300}),
        {"fields": [{"name": "town", "type": "string", "provenance": "dp"}], "draft": True},
        epsilon=1,
        delta="1e-6",
        certificate=tmp_path / "c.json",
    )
    learned = Certificate.from_dict(json.loads((tmp_path / "c.json").read_text()))
    told = composed_text(learned.compose(disjoint=is_disjoint), 1).splitlines()[0]

    assert re.fullmatch(r"1 release .*: rho [0-9.]+\d\. Of each delta, \S+ is for lists of texts\.", told), told


def test_a_report_to_a_place_that_is_no_page_is_refused_by_what_was_said(place):
    assert 'got "."' in lapwing("report", "m.lapwing", "-o", ".").err


@pytest.mark.parametrize(
    ("words", "is_about"),
    [
        (("certificate", "verify", CERTIFICATE), "'FILES': files that were written with it"),
        (("resume",), "'T': the transcript that"),
        (("plan", "--schema", "s.json"), "'--expected-rows': your public guess of the number of rows"),
    ],
)
def test_what_is_left_out_is_said_with_what_it_is(place, words, is_about):
    assert is_about in lapwing(*words).err
