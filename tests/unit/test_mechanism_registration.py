"""A mechanism is one folder and one line: what it says is heard everywhere, and what it does not say has a default."""

import ast
import importlib
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass

import pytest

import lapwing as lw
from helpers.source_tree import PACKAGE, python_files, syntax
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.registry import MECHANISMS, is_known
from lapwing.mechanisms.shared.base import Mechanism


def test_every_mechanism_of_the_tree_is_listed_under_its_name():
    files = {
        path.relative_to(PACKAGE.parent).with_suffix("") for path in (PACKAGE / "mechanisms").glob("**/mechanism.py")
    }
    derived = {
        each
        for file in files
        for each in vars(importlib.import_module(".".join(file.parts))).values()
        if isinstance(each, type) and issubclass(each, Mechanism) and each.__module__ == ".".join(file.parts)
    }

    assert [each.name.lower() for each in MECHANISMS.values()] == list(MECHANISMS)
    assert set(MECHANISMS.values()) == derived


@pytest.mark.parametrize("kind", MECHANISMS.values(), ids=lambda kind: kind.name)
def test_every_mechanism_says_itself_what_lists_reports_and_audits_show(kind):
    assert {"name", "summary", "report", "small", "run"} <= set(vars(kind))


@pytest.mark.parametrize("name", ["Coarse", "PMM", None])
def test_a_class_derived_from_a_mechanism_says_what_that_says_whatever_it_is_called(name):
    own = {} if name is None else {"name": name}
    derived = dataclass(frozen=True)(type("Coarse", (Independent,), own))

    assert derived().not_proved == Independent.not_proved
    assert not is_known(derived())
    assert is_known(Independent())


WHOLE = '''
"""FullHistogram: perturb every cell of the contingency table."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lapwing.errors import CapacityError
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.maths.arrays import project_to_simplex
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.model.laws import point_laws
from lapwing.model.model import Indexed, ReleasedModel
from lapwing.schema.groupings.grouping import identity


@dataclass(frozen=True, slots=True, kw_only=True)
class FullHistogram(Mechanism):
    """Count the rows with a twentieth of the budget, and every cell with the rest."""

    name: ClassVar[str] = "FullHistogram"

    max_cells: int = 10_000

    def run(self, curator, schema, budget, rng):
        """Return one atom for each cell with rows."""
        names = tuple(each.name for each in schema.columns)
        groupings = tuple(identity(each.domain) for each in schema.columns)
        cells = math.prod(each.groups for each in groupings)
        if cells > self.max_cells:
            raise CapacityError(f"{cells} cells are above max_cells={self.max_cells}; allow more", code="LW502")
        of_rows, of_cells = budget.split([1, 19])

        (rows,) = curator.ask(MarginalCounts(columns=(), groupings=(), cost=of_rows))
        (noisy,) = curator.ask(MarginalCounts(columns=names, groupings=groupings, cost=of_cells))

        counts = noisy.counts.astype(np.float64)
        for axis, each in enumerate(schema.columns):
            if not each.domain.missing:
                counts = np.delete(counts, -1, axis=axis)  # no synthetic row is invalid
        weights = project_to_simplex(counts, float(max(1, int(rows.counts))))
        full = np.flatnonzero(weights)
        laws = {
            name: Indexed(place.astype(np.uint16), point_laws(np.arange(size)))
            for name, place, size in zip(names, np.unravel_index(full, counts.shape), counts.shape, strict=True)
        }
        return ReleasedModel(weights=weights.ravel()[full], rows=max(1, int(rows.counts)), laws=laws)
'''
"""A mechanism that no other file knows: all but its name and its run are defaults."""

SAID = """
from dataclasses import dataclass
from typing import ClassVar

from lapwing.mechanisms.histogram.mechanism import FullHistogram
from lapwing.mechanisms.shared.base import Work
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.statements import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Invented(FullHistogram):
    name: ClassVar[str] = "Invented"
    caveat: ClassVar[str] = "columns_apart"
    report: ClassVar[str] = "made things up."
    not_proved: ClassVar[Statement] = Statement("own_words", None, {"text": "there are things that were made up"})

    def expected(self, schema, budget, terms, questions, rng):
        return (Statement("own", 0.5, {"label": "expected error", "text": "invented", "unit": ""}),)

    def notes(self, schema, questions):
        return (Notice("unrelated"),)

    def warnings(self, schema, answers, accuracy):
        return (Notice("few_rows", {"rows": len(answers)}),)

    def next_step(self, schema, one_way, rounds):
        return "inventing"

    def work(self, schema, budget, terms, questions, rows):
        return Work(seconds=1000.0, model_bytes=10**12, table_bytes=0)

    def statements(self, schema, terms, answers, model, rng):
        return (Statement("own", 0.25, {"label": "invented error", "text": "so large", "unit": "rows"}),)

    def assumptions(self):
        return (Notice("assumed_by_mechanism", {"text": "that this was invented"}),)
"""
"""The same, which says all that a mechanism can say."""

PROGRAM = """
import polars as pl
import pytest
import lapwing as lw
from lapwing.extras.audit.mechanism_pairs import settings_for, targets
from lapwing.extras.audit.replay import audit_pair
from lapwing.extras.evaluate.released.report import release_sections
from lapwing.kernel.budget.ledger import Ledger
from lapwing.model.certificate.notices import Notice
from lapwing.release.runs.watching import watch_releases
from lapwing.mechanisms.registry import MECHANISMS

DATA = pl.DataFrame({"a": [True] * 60 + [False] * 30, "b": ["x", "y", None] * 30})
SCHEMA = {
    "fields": [
        {"name": "a", "type": "boolean", "constraints": {"required": True}},
        {"name": "b", "type": "string", "categories": ["x", "y"]},
    ]
}
book = Ledger.create_or_open("budget.db")
book.init("d", unit="pure", limit=9, relation="add-remove", privacy_unit="row")
paid = {"ledger": "budget.db", "dataset": "d", "epsilon": 1}

# What its run refuses of public numbers is refused before the debit, and by the plan.
small = MECHANISMS["fullhistogram"](max_cells=2)
for refused in (
    lambda: lw.synthesize(DATA, SCHEMA, mechanism=small, **paid),
    lambda: lw.plan(SCHEMA, expected_rows=90, epsilon=1, mechanism=small),
):
    with pytest.raises(lw.CapacityError, match="cells are above max_cells=2"):
        refused()
assert book.balance("d").spent == 0

# Plan, costs, certificate, report, record, file: by its name alone.
release = lw.synthesize(DATA, SCHEMA, mechanism="fullhistogram", expected_rows=90, transcript="t.jsonl", **paid)
plan = lw.plan(SCHEMA, expected_rows=90, epsilon=1, mechanism="FullHistogram")
assert plan.lines == release.certificate.lines and len(plan.lines) == 3, plan.lines
assert plan.accuracy[0].value > 0 and "expected error" in repr(plan) and plan.text()
assert book.balance("d").spent == 1 == release.certificate.total.amount
assert release.certificate.mechanism == "FullHistogram" and release.certificate.text()
assert "FullHistogram made the model." in str(release_sections(release, release.accuracy())[0])
assert any("inside the cells" in each.text for each in release.accuracy().statements)
assert lw.resume("t.jsonl", DATA).sample(9, seed=1).equals(release.sample(9, seed=1))
release.save("m.lapwing")
assert lw.load("m.lapwing").certificate.settings == {"max_cells": 10_000}
for relation in ("add-remove", "replace-one"):
    settings = settings_for(MECHANISMS["fullhistogram"](), SCHEMA, relation, pure=relation == "add-remove")
    neighbour = DATA.slice(1) if relation == "add-remove" else pl.concat([DATA.slice(1), DATA.slice(0, 1)])
    assert audit_pair(DATA, neighbour, settings) == ()
assert "fullhistogram" in targets()

# What it says is heard everywhere.
steps = []
with watch_releases(lambda progress: steps.append(progress.step)):
    release = lw.synthesize(DATA, SCHEMA, mechanism="invented", **paid)
assert "inventing" in steps
certificate = release.certificate
assert ["that this was invented"] == [each.text for each in certificate.assumed]
assert {Notice("columns_apart"), Notice("few_rows", {"rows": 2})} <= set(certificate.warnings), certificate.warnings
assert "So large: 0.25." in [each.text for each in certificate.accuracy]
assert any("things that were made up" in each.text for each in release.accuracy().statements)
assert "Invented made things up." in str(release_sections(release, release.accuracy())[0])
plan = lw.plan(SCHEMA, expected_rows=9, epsilon=1, mechanism="Invented")
assert plan.effort.seconds > 1000 and plan.effort.memory_bytes > 10**12 and Notice("unrelated") in plan.notes
"""


def test_sixty_lines_and_one_more_in_the_registry_are_all_that_a_mechanism_needs(tmp_path):
    assert len(WHOLE.strip().splitlines()) <= 60
    copy = tmp_path / "src" / "lapwing"
    shutil.copytree(PACKAGE, copy)
    folder, registry = copy / "mechanisms" / "histogram", copy / "mechanisms" / "registry.py"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "mechanism.py").write_text(WHOLE.lstrip())
    (folder / "said.py").write_text(SAID.lstrip())
    text, table = registry.read_text(), "_PATHS: Final = {\n"
    assert table in text
    line = '    "fullhistogram": "lapwing.mechanisms.histogram.mechanism:FullHistogram",\n'
    said = '    "invented": "lapwing.mechanisms.histogram.said:Invented",\n'
    registry.write_text(text.replace(table, table + line + said))

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
    (tmp_path / "mechanisms" / "trees" / "kd_tree").mkdir(parents=True)
    (tmp_path / "runs.py").write_text("def f():\n    from lapwing.mechanisms.trees.kd_tree.mechanism import Grid\n")
    (tmp_path / "verbs.py").write_text("from lapwing.mechanisms.registry import kind_named\n")

    assert importers(tmp_path) == {"runs.py"}


def test_a_mechanism_without_a_run_is_refused_when_it_is_made():
    class Idle(lw.Mechanism):
        name = "Idle"

    with pytest.raises(TypeError, match="abstract method"):
        Idle()
