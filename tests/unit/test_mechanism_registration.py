"""A mechanism is one folder and its registration: what it lacks is refused, and what it says is heard everywhere."""

import ast
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass, fields

import pytest

from helpers.source_tree import PACKAGE, python_files, syntax
from lapwing.mechanisms.independent.mechanism import REGISTRATION, Independent
from lapwing.mechanisms.registry import REGISTRATIONS, is_known
from lapwing.mechanisms.registry import registration_of as registration_of_object
from lapwing.mechanisms.shared.registration import REQUIRED, Registered, Registration, checked


def registration_of(kind):
    return Registration(
        **{each.name: getattr(REGISTRATION, each.name) for each in fields(Registration)} | {"kind": kind}
    )


def invented(*bases, without=()):
    """Return a mechanism with all that it must have, but some of it."""
    own = {name: vars(Independent)[name] for name in REQUIRED if name not in without}
    return type("Invented", bases, own | {"name": "Invented"} if "name" not in without else own)


def test_a_mechanism_with_all_that_it_must_have_is_registered():
    found = registration_of(invented())

    assert checked(found, "invented") is found


def test_every_folder_is_listed_under_the_name_of_its_mechanism():
    folders = {path.parent.name for path in (PACKAGE / "mechanisms").glob("**/mechanism.py")}

    assert {name: each.name.lower() for name, each in REGISTRATIONS.items()} == {name: name for name in REGISTRATIONS}
    assert set(REGISTRATIONS) == {folder.replace("_", "") for folder in folders}


@pytest.mark.parametrize("bases", [(), (Registered,)], ids=["no base", "stubs of the protocol"])
@pytest.mark.parametrize("lacking", REQUIRED)
def test_a_mechanism_that_lacks_something_is_refused(bases, lacking):
    with pytest.raises(TypeError, match=rf"Invented cannot be registered: it lacks {lacking}$"):
        checked(registration_of(invented(*bases, without=(lacking,))), "invented")


def test_check_statements_certified_and_assumptions_are_among_what_a_mechanism_must_have():
    assert {"check", "plan", "statements", "certified", "assumptions", "caveat", "summary", "small"} <= set(REQUIRED)


@pytest.mark.parametrize(
    "lacking", ["page", "report", "not_proved", "one_row_per_unit", "two_valued", "takes_priors", "warnings"]
)
def test_a_registration_that_lacks_something_is_refused(lacking):
    said = {each.name: getattr(REGISTRATION, each.name) for each in fields(Registration) if each.name != lacking}

    with pytest.raises(TypeError, match=lacking):
        Registration(**said)


def test_a_mechanism_of_another_name_than_its_entry_is_refused():
    with pytest.raises(TypeError, match="it is Independent, and listed as twin"):
        checked(registration_of(dataclass(frozen=True)(type("Twin", (Independent,), {}))), "twin")


@pytest.mark.parametrize("name", ["Coarse", "PMM", None])
def test_a_class_derived_from_a_mechanism_is_known_as_that_whatever_it_is_called(name):
    own = {} if name is None else {"name": name}
    derived = dataclass(frozen=True)(type("Coarse", (Independent,), own))

    assert registration_of_object(derived()) is REGISTRATION
    assert not is_known(derived())
    assert is_known(Independent())


FOLDER = '''
"""A mechanism that no other file knows."""

from dataclasses import dataclass
from typing import ClassVar

from lapwing.errors import ParameterError
from lapwing.mechanisms.shared.one_way import one_way_questions, product_model
from lapwing.mechanisms.shared.one_way import one_way_grouping
from lapwing.mechanisms.shared.registration import Registration, Work, nothing_certified
from lapwing.model.certificate.certificate import Statement
from lapwing.model.certificate.cost_lines import Planned
from lapwing.model.certificate.notices import Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class Invented:
    name: ClassVar[str] = "Invented"
    summary: ClassVar[str] = "counts, by hearsay"
    relations: ClassVar[tuple[str, ...]] = ("add-remove",)
    caveat: ClassVar[str] = "columns_apart"
    groups: int = 4

    certified = nothing_certified

    @classmethod
    def small(cls):
        return cls()

    def questions(self, schema, budget):
        return one_way_questions(schema, self.groupings(schema), budget)

    def groupings(self, schema):
        return {each.name: one_way_grouping(each, self.groups) for each in schema.columns}

    def run(self, curator, schema, budget, rng):
        return product_model(curator, schema, self.groupings(schema), budget)

    def plan(self, schema, budget, terms, rng):
        stated = (Statement("own", 0.5, {"label": "expected error", "text": "invented", "unit": ""}),)
        return Planned(questions=self.questions(schema, budget), accuracy=stated, notes=(Notice("unrelated"),))

    def check(self, schema, budget, terms):
        if "x" in [each.name for each in schema.columns]:
            raise ParameterError("a column x is too much", code="LW316")

    def statements(self, schema, terms, answers, model, rng):
        return (Statement("own", 0.25, {"label": "invented error", "text": "so large", "unit": "rows"}),)

    def assumptions(self):
        return (Notice("assumed_by_mechanism", {"text": "that this was invented"}),)


REGISTRATION = Registration(
    kind=Invented,
    page="docs/invented.md",
    report="made things up.",
    not_proved=Statement("own_words", None, {"text": "nothing is known of things that were made up"}),
    one_row_per_unit=False,
    two_valued=False,
    takes_priors=False,
    warnings=lambda schema, answers, accuracy: (Notice("few_rows", {"rows": len(answers)}),),
    next_step=lambda schema, one_way, rounds: "inventing",
    work=lambda mechanism, asked: Work(seconds=1000.0, model_bytes=10**12, table_bytes=0),
)
'''

PROGRAM = """
import polars as pl
import lapwing as lw
from lapwing.extras.audit.mechanism_pairs import targets
from lapwing.kernel.budget.ledger import Ledger
from lapwing.model.certificate.notices import Notice
from lapwing.extras.evaluate.released.report import release_sections
from lapwing.release.runs.watching import watched

def schema_of(name):
    return {"fields": [{"name": each, "type": "boolean"} for each in (name, "b")]}

book = Ledger.create_or_open("budget.db")
book.init("d", unit="pure", limit=9, relation="add-remove", privacy_unit="row")
paid = {"ledger": "budget.db", "dataset": "d", "epsilon": 1, "mechanism": "invented"}
try:
    lw.synthesize(pl.DataFrame({"x": [True] * 9, "b": [False] * 9}), schema_of("x"), **paid)
    raise SystemExit("check was not called")
except lw.ParameterError as error:
    assert "too much" in str(error), error
assert book.balance("d").spent == 0

steps = []
with watched(lambda progress: steps.append(progress.step)):
    release = lw.synthesize(pl.DataFrame({"a": [True] * 9, "b": [False] * 9}), schema_of("a"), **paid)
assert "inventing" in steps
assert book.balance("d").spent == 1
certificate = release.certificate
assert certificate.mechanism == "Invented", certificate
assert ["that this was invented"] == [each.text for each in certificate.assumed]
assert {Notice("columns_apart"), Notice("few_rows", {"rows": 2})} <= set(certificate.warnings), certificate.warnings
assert "So large: 0.25." in [each.text for each in certificate.accuracy]
assert any("things that were made up" in each.text for each in release.accuracy().statements)
sections = release_sections(release, release.accuracy())
assert "Invented made things up." in str(sections[0])
plan = lw.plan(schema_of("a"), expected_rows=9, epsilon=1, mechanism="Invented")
assert plan.effort.seconds > 1000 and plan.effort.memory_bytes > 10**12 and Notice("unrelated") in plan.notes
assert "invented" in targets()
release.save("m.lapwing")
assert lw.load("m.lapwing").certificate.settings == {"groups": 4}
"""


def test_one_folder_and_its_entry_in_the_registry_are_all_that_a_mechanism_needs(tmp_path):
    copy = tmp_path / "src" / "lapwing"
    shutil.copytree(PACKAGE, copy)
    folder, registry = copy / "mechanisms" / "invented", copy / "mechanisms" / "registry.py"
    folder.mkdir()
    (folder / "__init__.py").write_text('"""Invented."""\n')
    (folder / "mechanism.py").write_text(FOLDER.lstrip())
    load = "def _invented():\n    from lapwing.mechanisms.invented.mechanism import REGISTRATION as found\n"
    load += "    return found\n\n\n"
    text, entry = registry.read_text(), '    "adaptive": _adaptive,\n'
    assert entry in text
    registry.write_text(
        text.replace(entry, f'{entry}"invented": _invented,\n').replace("_LOADS:", f"{load}\n\n_LOADS:")
    )

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "src"), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def importers(package):
    """Return the files outside of the mechanisms that import one of them: they know it otherwise than registered."""
    folders = {path.name for path in (package / "mechanisms").iterdir() if path.is_dir()} - {"shared", "__pycache__"}
    known = {f"lapwing.mechanisms.{name}" for name in folders}
    return {
        str(path.relative_to(package))
        for path in python_files(package)
        if path.relative_to(package).parts[0] != "mechanisms"
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.ImportFrom) and ".".join((node.module or "").split(".")[:3]) in known
    }


def test_no_file_knows_a_mechanism_but_the_public_names_and_the_audits_that_choose_some():
    assert importers(PACKAGE) == {"__init__.py", "extras/audit/linked_pairs.py", "extras/audit/mechanism_pairs.py"}


def test_a_file_that_asks_for_a_kind_of_mechanism_is_named(tmp_path):
    (tmp_path / "mechanisms" / "trees" / "grid").mkdir(parents=True)
    (tmp_path / "runs.py").write_text("def f():\n    from lapwing.mechanisms.trees.grid.mechanism import Grid\n")
    (tmp_path / "verbs.py").write_text("from lapwing.mechanisms.registry import registration_of\n")

    assert importers(tmp_path) == {"runs.py"}
