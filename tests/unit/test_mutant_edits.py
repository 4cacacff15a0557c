"""tools/mutant_edits.py: small changes of code, one at a time, and why some change nothing that matters."""

import ast
import csv
import importlib.util
import sys
from types import ModuleType

import pytest

from helpers.source_tree import PACKAGE, ROOT


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutant_edits", ROOT / "tools" / "mutant_edits.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


edits = loaded()


def test_a_module_that_no_test_has_loaded_yet_is_changed_too(tmp_path, monkeypatch):
    (tmp_path / "loaded_late.py").write_text("def late():\n    return 1\n")
    for folder in (ROOT / "tools", tmp_path):
        monkeypatch.syspath_prepend(str(folder))

    found = importlib.import_module("mutants").functions_of(["src/loaded_late.py"])

    assert [each.__name__ for each in found[str(tmp_path / "loaded_late.py")]] == ["late"]


def forms(source: str) -> set[str]:
    """Return what becomes of some code, each change by itself."""
    return {ast.unparse(edits.mutated(source, mutant)) for mutant in edits.mutants_of("file", source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", {"a <= b", "a >= b", "pass"}),
        ("x = a + 0.5", {"x = a - 0.5", "pass"}),
        ("x += a", {"x -= a", "pass"}),
        ("x = 7", {"x = 8", "x = 6", "pass"}),
        ("x = not a", {"x = a", "pass"}),
        ("x = a and b", {"x = a or b", "pass"}),
        ("x = True", {"x = False", "pass"}),
        ("x = a if b else c", {"x = a", "x = c", "pass"}),
        ("f(a, b, c)", {"f(b, a, c)", "pass"}),
        ("f(*a, b)", {"pass"}),
        ("f(key=a)", {"f()", "pass"}),
        ("min(a, b)", {"max(a, b)", "pass"}),
        ("np.zeros(a)", {"np.ones(a)", "pass"}),
        ("if a:\n    b", {"if True:\n    b", "if False:\n    b", "if a:\n    pass"}),
        ("while a:\n    break", {"while False:\n    break", "while a:\n    continue"}),
        ("def f():\n    return a", {"def f():\n    return 0"}),
        (
            "def f():\n    return a is b",
            {"def f():\n    return 0", "def f():\n    return 1", "def f():\n    return a is not b"},
        ),
    ],
)
def test_a_change_is_one_of_the_listed_slips(source: str, expected: set[str]) -> None:
    assert forms(source) == expected


@pytest.mark.parametrize(
    ("source", "slip"),
    [
        ("x = f(x)", "x = f(x) if (len(x) if hasattr(x, '__len__') else x) < 2000 else x"),
        ("x = a + b", "x = a + b if (len(a) if hasattr(a, '__len__') else a) < 2000 else a"),
        ("def f():\n    return g(a)", "def f():\n    return globals().setdefault('_kept_2', g(a))"),
        ("x = 'add-remove'", "x = 'replace-one'"),
        ("for i in range(n):\n    a", "for i in range(n)[:-1]:\n    a"),
        ("for each in rows:\n    a", "for each in list(rows)[:-1]:\n    a"),
        ("x = len(rows)", "x = len(rows) - 1"),
        ("x = isinstance(a, A | B)", "x = isinstance(a, A)"),
        ("x = isinstance(a, A | B)", "x = isinstance(a, B)"),
    ],
)
def test_slips_that_small_tests_miss_are_among_the_changes(source: str, slip: str) -> None:
    assert slip in forms(source)


@pytest.mark.parametrize(
    "source",
    [
        '"""Three is 3."""',
        "import os",
        "x: Annotated[int, 3]",
        "def f(x: Literal[3]) -> Literal[3]:\n    ...",
        "@cache(3)\ndef f():\n    ...",
        "assert a + b < 3",
        "for each in zip(a, strict=True):\n    ...",
    ],
)
def test_what_does_not_run_or_only_proves_is_left_alone(source: str) -> None:
    assert forms(source) == set()


def test_a_refusal_is_deleted_and_its_text_is_left_alone() -> None:
    assert forms("def f():\n    raise Error('at least', 3 + a)") == {"def f():\n    pass"}


def untrue_arguments(rows: list[dict[str, str]]) -> list[str]:
    """Return which arguments are about no change of the code as it is, stand there twice, or give no reason."""
    keys = [(row["file"], row["function"], row["before"], row["after"]) for row in rows]
    changes = set()
    for name in {row["file"] for row in rows}:
        for each in edits.mutants_of(name, (PACKAGE / name).read_text(encoding="utf-8")):
            changes |= {(name, each.function, each.before, after) for after in (each.after, "*")}
    return [
        f"{key}: {row['why']}"
        for row, key in zip(rows, keys, strict=True)
        if key not in changes or keys.count(key) > 1 or len(row["why"].split()) < 3
    ]


def test_every_argument_is_about_a_change_of_the_code_as_it_is() -> None:
    with (ROOT / "tests" / "architecture" / "mutants_argued.csv").open(encoding="utf-8", newline="") as file:
        assert untrue_arguments(list(csv.DictReader(file))) == []


@pytest.mark.parametrize(
    "changes",
    [{"before": "BLOCK_WORDS = 1 << 9"}, {"after": "BLOCK_WORDS = 9"}, {"why": "same"}, {"file": "errors.py"}],
)
def test_an_argument_about_other_code_or_without_a_reason_is_found(changes: dict[str, str]) -> None:
    block = "BLOCK_WORDS = (1 << 20) // WORD_BYTES"
    honest = {
        "file": "kernel/noise/bits.py",
        "function": "",
        "before": block,
        "after": "*",
        "why": "words come in blocks",
    }
    assert untrue_arguments([honest]) == []

    assert len(untrue_arguments([honest | changes])) == 1
    assert len(untrue_arguments([honest, honest])) == 2
