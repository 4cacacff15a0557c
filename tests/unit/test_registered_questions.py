"""A question is registered once: what is registered has all of its parts, and what lacks one is refused."""

import ast
import inspect
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from helpers.bits import SeededBits
from helpers.kept import Kept
from helpers.source_tree import PACKAGE, syntax
from lapwing.extras.audit.rechecks import RECHECKS
from lapwing.extras.audit.run import question_cases
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw, NoisyTable
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.questions import Answer, Question
from lapwing.kernel.questions.registered import KINDS, REGISTERED, answer_from_dict
from lapwing.kernel.room.room import ANSWERS, Room
from lapwing.mechanisms.shared.dry_run import zeros
from lapwing.release.runs.plan.effort import noisy_counts
from lapwing.release.shown import answers_in_one_frame
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.schemas import Schema

FOLDERS = PACKAGE / "kernel" / "questions"
OF_A_QUESTION = {name for name in vars(Question) if not name.startswith("_")} | set(Question.__annotations__)


@cache
def tried():
    """Return the kinds of question that the audit has cases of."""
    return {case.question for case in question_cases()}


def lacking(question, folder, *, answers=ANSWERS, rechecks=RECHECKS, cases=None):
    """Return the parts that a registered question does not have."""
    cases = tried() if cases is None else cases
    files = [name for name in ("question.py", "answer.py", "proof.md") if not (folder / name).is_file()]
    says = [name for name in sorted(OF_A_QUESTION) if name not in {*dir(question), *question.__annotations__}]
    tables = {"an answer": answers, "a recount": rechecks, "a black-box case": cases}
    return files + says + [part for part, kinds in tables.items() if question.kind not in kinds]


def folder_of(question):
    return Path(inspect.getfile(question)).parent


@pytest.mark.parametrize("question", REGISTERED, ids=KINDS)
def test_a_registered_question_has_every_part(question):
    assert lacking(question, folder_of(question)) == []
    assert question.kind == question.__name__


def test_every_folder_of_a_question_is_registered_and_nothing_else_is_answered_or_recounted():
    folders = {path.parent for path in FOLDERS.glob("*/question.py")}

    assert {folder_of(each) for each in REGISTERED} == folders
    assert {path.stem for path in (PACKAGE / "extras" / "audit" / "questions").glob("[a-z]*.py")} == {
        path.name for path in folders
    }
    assert set(KINDS) == set(ANSWERS) == set(RECHECKS) == tried()


@pytest.mark.parametrize("part", ["sensitivity", "parts", "check", "from_dict", "called", "cost"])
def test_a_question_without_a_part_is_refused(part):
    names = {name: getattr(MarginalCounts, name, None) for name in OF_A_QUESTION - {part}}
    planted = type("Planted", (), {**names, "kind": "MarginalCounts", "__annotations__": {}})

    assert lacking(planted, folder_of(MarginalCounts)) == [part]


@pytest.mark.parametrize("name", ["question.py", "answer.py", "proof.md"])
def test_a_question_without_a_file_is_refused(tmp_path, name):
    for path in folder_of(MarginalCounts).iterdir():
        if path.is_file() and path.name != name:
            (tmp_path / path.name).touch()

    assert lacking(MarginalCounts, tmp_path) == [name]


@pytest.mark.parametrize(
    ("part", "name"), [("an answer", "answers"), ("a recount", "rechecks"), ("a black-box case", "cases")]
)
def test_a_question_that_is_nowhere_answered_recounted_or_tried_is_refused(part, name):
    assert lacking(MarginalCounts, folder_of(MarginalCounts), **{name: {}}) == [part]


def test_the_closed_set_is_spelt_out_in_the_registration_and_where_it_is_answered_and_recounted_alone():
    files = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    listing = {
        str(path.relative_to(PACKAGE))
        for path, text in files.items()
        if sum(f'"{kind}"' in text or f"    {kind}: " in text or f" {kind},\n" in text for kind in KINDS) > 8
    }

    assert listing == {"kernel/questions/registered.py", "kernel/room/room.py", "extras/audit/rechecks.py"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_dry_run_answers_a_question_as_the_room_does(kind):
    case = next(iter(RECHECKS[kind].cases()))
    room = Room(
        case.sources[0], case.schema, case.terms, case.cost, bits=SeededBits(1), sink=Kept(), delta=Fraction(1, 2)
    )

    (answer,) = room.ask(case.asked)
    dry = zeros(case.asked, case.terms)

    assert type(dry) is type(answer)
    assert answer_from_dict(dry.to_dict()).to_dict() == dry.to_dict()


def test_an_answer_says_what_was_asked():
    assert {"question", "tables", "to_dict"} <= set(vars(Answer))


@dataclass(frozen=True)
class Unknown:
    """A question that no other file knows, with six numbers for its answer."""

    kind: ClassVar[str] = "Unknown"
    columns: tuple[str, ...] = ("a",)
    groupings: tuple[Grouping, ...] = ()
    shape: tuple[int, ...] = (2, 3)
    scale: int = 1
    cost: ClassVar[Budget] = Budget.pure(1)


def test_a_question_that_no_other_file_knows_is_planned_and_its_answer_shown():
    numbers, law = np.arange(6).reshape(2, 3), NoiseLaw("laplace", Fraction(2))
    table = NoisyTable(counts=numbers, noise=law, cost=Unknown().cost)
    of_tables = SimpleNamespace(question=Unknown(), tables=(table,))
    of_sums = NoisySums(question=Unknown(), values=numbers, noise=law)
    schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}]})

    shown = [answers_in_one_frame([answer], schema) for answer in (of_tables, of_sums)]

    assert noisy_counts(Unknown()) == 6
    for frame in shown:
        assert frame["cell"].to_list() == list("012345")
        assert frame["noisy_count"].to_list() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("question", REGISTERED, ids=KINDS)
def test_a_proof_note_names_every_engine_that_counts(question):
    text = (folder_of(question) / "proof.md").read_text(encoding="utf-8")
    files = {path.name for path in (PACKAGE / "rows").rglob("*.py") if defines_counting(path)}

    assert files <= set(ENGINES)
    assert [engine for engine in ENGINES.values() if engine not in text] == []


ENGINES = {
    "source.py": "NumPy",
    "linked.py": "NumPy",
    "duckdb_relations.py": "DuckDB",
    "spark_source.py": "Spark",
}


def defines_counting(path):
    """Tell whether a file has a class that counts tables of a source."""
    classes = (node for node in ast.walk(syntax(path)) if isinstance(node, ast.ClassDef))
    methods = [{each.name for each in node.body if isinstance(each, ast.FunctionDef)} for node in classes]
    return path.name != "counting.py" and any({"count", "count_keys", "texts"} <= each for each in methods)


# --------------------------------------------------------------------------------------------------- the trusted base


def code_lines(path):
    """Return how many lines of a file are no docstring, blank, import or comment."""
    lines = path.read_text(encoding="utf-8").splitlines()
    kept = {place for place, line in enumerate(lines, 1) if line.strip() and line.strip()[0] != "#"}
    for node in ast.walk(syntax(path)):
        is_text = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            kept -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(kept)


def reached(start):
    """Return the files of the package that some files import, themselves included."""
    found, waiting = set(), list(start)
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        imports = (node for node in ast.walk(syntax(path)) if isinstance(node, ast.ImportFrom))
        names = [(node.module or "").split(".") for node in imports]
        waiting += [PACKAGE.joinpath(*name[1:]).with_suffix(".py") for name in names if name[0] == "lapwing"]
    return found


def test_the_kernel_imports_of_the_rows_what_counts_guards_and_decodes_and_nothing_else():
    rows = {
        str(path.relative_to(PACKAGE / "rows"))
        for path in reached((PACKAGE / "kernel").rglob("*.py"))
        if "rows" in path.parts
    }

    assert rows == OF_ROWS


def test_the_trusted_base_is_at_most_6300_lines_of_code():
    trusted = [
        PACKAGE / "atomic.py",
        *(PACKAGE / "kernel").rglob("*.py"),
        *(PACKAGE / "rows" / name for name in OF_ROWS),
    ]

    assert 3000 < sum(map(code_lines, trusted)) <= 6300


OF_ROWS = {
    "compiled.py",
    "counting.py",
    "exact_tables.py",
    "guard.py",
    "threads.py",
    "out/decode.py",
}
