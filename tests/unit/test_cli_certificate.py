"""`lapwing certificate`: what stands on a certificate, and whether the files beside it are those that it names."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from helpers.command import lapwing
from helpers.small_people import synthesize, write_people
from lapwing.model.certificate.certificate import Certificate

CERTIFICATE = "out.csv.certificate.json"
FAST = ("--mechanism", "independent")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with a release that says who made it."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        write_people()
        people = ("--prepared-by", "Ada", "--approved-by", "the board")
        assert synthesize("--model", "m.lapwing", *people, *FAST, out="out.csv").status == 0
    return folder


@pytest.fixture
def place(made, tmp_path, monkeypatch):
    """Work in a copy of it."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verified(*files, certificate=CERTIFICATE):
    return lapwing("certificate", "verify", certificate, *files)


def test_a_certificate_says_when_of_what_by_whom_and_with_which_files(place):
    said = lapwing("certificate", "show", CERTIFICATE).out
    issued = Certificate.from_dict(json.loads(Path(CERTIFICATE).read_text())).issued

    assert said.startswith("Protected: ")
    assert [each.target.name for each in issued.files] == ["out.csv", "m.lapwing"]
    for each in (issued.at[:10], issued.schema[:12], *(each.sha256 for each in issued.files)):
        assert each in said
    assert "Prepared by: Ada.\nApproved by: the board.\n" in said
    assert verified("out.csv", "m.lapwing").out == f"2 of 2 files are those that were written with {CERTIFICATE}\n"


def _edit(path, change):
    values = json.loads(Path(path).read_text())
    change(values)
    Path(path).write_text(json.dumps(values))


TAMPERED = {
    "a row is changed": lambda: Path("out.csv").write_text(Path("out.csv").read_text().replace("\n", "\nx", 1)),
    "a row is added": lambda: Path("out.csv").write_text(Path("out.csv").read_text() + "1\n"),
    "rows are dropped": lambda: Path("out.csv").write_text("".join(Path("out.csv").read_text().splitlines(True)[:-1])),
    "rows are sorted": lambda: pl.read_csv("out.csv").reverse().write_csv("out.csv"),
    "the model is cut": lambda: Path("m.lapwing").write_bytes(Path("m.lapwing").read_bytes()[:-1]),
    "the rows stand for the model": lambda: Path("m.lapwing").write_bytes(Path("out.csv").read_bytes()),
    "a hash is no hash": lambda: _edit(CERTIFICATE, lambda all_: all_["issued"]["files"][0].update(sha256="0")),
    "a hash is another": lambda: _edit(CERTIFICATE, lambda all_: all_["issued"]["files"][1].update(sha256="0" * 64)),
    "a cost is lowered": lambda: _edit(CERTIFICATE, lambda all_: all_["costs"].pop()),
    "the files are not named": lambda: _edit(CERTIFICATE, lambda all_: all_.update(issued=None)),
}


@pytest.mark.parametrize("tamper", TAMPERED.values(), ids=TAMPERED)
def test_a_set_that_was_tampered_with_is_refused(tamper, place):
    tamper()

    assert verified("out.csv", "m.lapwing").status == 1


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["out.csv"], "m.lapwing: the certificate names it, and it was not given"),
        (["out.csv", "m.lapwing", "data.parquet"], "names no file data.parquet"),
        (["out.csv", "out.csv", "m.lapwing"], "or it was given twice"),
        (["out.csv", "gone.lapwing"], "gone.lapwing"),
    ],
)
def test_a_set_that_is_not_whole_is_refused(files, said, place):
    found = verified(*files)

    assert found.status == 1
    assert said in found.err


def test_a_folder_of_rows_is_named_file_by_file(place):
    (place / "rows").mkdir()
    assert synthesize(*FAST, out="rows/").status == 0
    issued = Certificate.from_dict(json.loads(Path("rows.certificate.json").read_text())).issued

    assert all(each.target.as_posix().startswith("rows/") for each in issued.files)
    assert verified("rows", certificate="rows.certificate.json").status == 0
    next(iter(Path("rows").iterdir())).unlink()
    assert verified("rows", certificate="rows.certificate.json").status == 1


def test_a_certificate_of_before_is_read_and_names_no_files(place):
    _edit(CERTIFICATE, lambda values: values.pop("issued"))

    assert lapwing("certificate", "show", CERTIFICATE).status == 0
    assert "names no files" in verified("out.csv").err
