"""The fingerprint of the code: what it depends on, who names it, and what does without it."""

import hashlib
import json
import shutil
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from lapwing import version as installed
from lapwing.errors import BudgetError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger

PACKAGE = Path(lw.__file__).parent
TERMS = {"relation": "add-remove", "privacy_unit": "row"}
FLAGS = {"fields": [{"name": "flag", "type": "boolean", "constraints": {"required": True}}]}
ROWS = {"flag": [True, False] * 20}


@pytest.fixture
def copied(tmp_path):
    """Return a folder with three files of the package."""
    for name in ("errors.py", "noise/__init__.py", "noise/laplace.py"):
        target = tmp_path / "package" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PACKAGE / "errors.py", target)
    return tmp_path / "package"


def fingerprint(folder):
    installed._fingerprint.cache_clear()
    return installed._fingerprint(folder)


@pytest.fixture
def certificate():
    return lw.synthesize(pl.DataFrame(ROWS), FLAGS, epsilon=1).certificate


def test_it_is_the_digest_of_paths_lengths_and_bytes(copied):
    content = (PACKAGE / "errors.py").read_bytes()
    names = ["errors.py", "noise/__init__.py", "noise/laplace.py"]

    whole = b"".join(name.encode() + b"\0" + len(content).to_bytes(8, "big") + content for name in names)

    assert fingerprint(copied) == hashlib.sha256(whole).hexdigest()


@pytest.mark.parametrize("change", ["byte", "name", "new", "gone"])
def test_any_change_of_the_code_changes_it(copied, change):
    before = fingerprint(copied)
    laplace = copied / "noise" / "laplace.py"
    match change:
        case "byte":
            laplace.write_bytes(laplace.read_bytes() + b"#")
        case "name":
            laplace.rename(copied / "noise" / "laplacf.py")
        case "new":
            (copied / "more.py").write_bytes(b"")
        case "gone":
            laplace.unlink()

    assert fingerprint(copied) != before


def test_what_is_no_code_and_where_it_lies_does_not_change_it(copied, tmp_path):
    before = fingerprint(copied)
    (copied / "__pycache__").mkdir()
    (copied / "__pycache__" / "errors.cpython-311.pyc").write_bytes(b"x")
    (copied / "noise" / "laplace.proof.md").write_bytes(b"x")
    moved = copied.rename(tmp_path / "elsewhere")

    assert fingerprint(moved) == before


def test_certificate_and_ledger_name_what_the_version_command_shows(tmp_path, certificate):
    book = Ledger.create_or_open(tmp_path / "budget.db")
    book.init("flags", unit="pure", limit=1, **TERMS)
    paid = lw.synthesize(pl.DataFrame(ROWS), FLAGS, epsilon=1, ledger=tmp_path / "budget.db").certificate
    shown = lapwing("--version").out.split()[-1]

    debit = next(entry for entry in book.history("flags") if entry.kind == "debit")
    assert shown == certificate.code == paid.code == debit.details["description"]["code"]
    assert json.loads(certificate.to_json())["code"] == shown


@pytest.mark.parametrize("first", [{}, {"code": "a"}], ids=["debit of before", "other code"])
def test_mended_code_may_resume_a_release_and_the_first_entry_stays(tmp_path, first):
    book = Ledger.create_or_open(tmp_path / "budget.db")
    book.init("flags", unit="pure", limit=1, **TERMS)
    settings = {"mechanism": "Independent", "settings": "f"}
    paid = book.debit("flags", "release", Budget.pure("0.5"), **TERMS, description=settings | first)

    again = book.debit("flags", "release", Budget.pure("0.5"), **TERMS, description=settings | {"code": "b"})

    assert again == paid
    assert book.balance("flags").spent == Fraction(1, 2)
    with pytest.raises(BudgetError, match="was paid with another description already"):
        book.debit("flags", "release", Budget.pure("0.5"), **TERMS, description=settings | {"settings": "g"})
