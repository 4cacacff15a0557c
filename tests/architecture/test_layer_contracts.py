"""Each import contract holds on the tree, and is broken by what it is there to stop."""

import os
import shutil
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from helpers.source_tree import PACKAGE, ROOT, copied_package, planted

STORE = "lapwing.extras.office.stores.postgres"
LINT = "from importlinter.cli import lint_imports_command as lint; lint()"
# From the top of ARCHITECTURE's list to its end.
LAYERS = (
    ("extras",),
    ("cli",),
    ("api",),
    ("present",),
    ("release",),
    ("mechanisms", "anonymous"),
    ("model",),
    ("kernel", "engine"),
    ("rows",),
    ("schema",),
    ("theorems",),
    ("maths",),
)
OF_ROWS = (
    "cells",
    "codec",
    "formats",
    "files",
    "entry",
    "relations",
    "frames",
    "source",
    "counting",
    "units",
    "linked",
)
OF_THE_KERNEL = ("noise.bits", "questions.tree_counts.answer", "room.room", "room.opening")


def run_lint_imports(root: Path, *contracts: str) -> tuple[int, str]:
    """Check the contracts of ``root`` on the package in ``root/src``; return the exit status and what was printed."""
    chosen = [word for contract in contracts for word in ("--contract", contract)]
    done = subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache", "--no-logo", "--config", str(root / "pyproject.toml"), *chosen],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "COLUMNS": "400", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copied package, with the contracts' file above it."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return copied_package(tmp_path)


def test_the_tree_keeps_every_contract() -> None:
    status, printed = run_lint_imports(ROOT)

    assert status == 0, printed


def test_every_layer_is_stopped_from_importing_the_layer_above(copy: Path) -> None:
    pairs = [(lower[0], upper[0]) for upper, lower in pairwise(LAYERS)]
    for lower, upper in pairs:
        planted(copy, f"{lower}/planted.py", f"import lapwing.{upper}\n")
    with (copy / "errors.py").open("a") as errors:
        errors.write("\nimport lapwing.maths\n")

    status, printed = run_lint_imports(copy.parents[1], "layers")

    assert status == 1
    for lower, upper in [*pairs, ("errors", "maths")]:
        assert f"lapwing.{lower} is not allowed to import lapwing.{upper}:" in printed


@pytest.mark.parametrize("siblings", [layer for layer in LAYERS if len(layer) > 1])
def test_packages_of_one_layer_are_stopped_from_importing_each_other(copy: Path, siblings: tuple[str, ...]) -> None:
    ring = list(zip(siblings, siblings[1:] + siblings[:1], strict=True))
    for importer, imported in ring:
        planted(copy, f"{importer}/planted.py", f"import lapwing.{imported}\n")

    status, printed = run_lint_imports(copy.parents[1], "layers")

    assert status == 1
    for importer, imported in ring:
        assert f"lapwing.{importer} is not allowed to import lapwing.{imported}:" in printed


@pytest.mark.parametrize(
    ("contract", "path", "imported", "named"),
    [
        ("layers", "utilities/__init__.py", "os", "utilities"),
        ("stores", "release/runs/planted.py", STORE, f"lapwing.release.runs.planted -> {STORE} "),
        *(
            ("kernel", "kernel/room/planted.py", library, "lapwing.kernel.room.planted")
            for library in ("scipy.stats", "polars", "adbc_driver_postgresql")
        ),
    ],
)
def test_what_no_list_names_is_refused(copy: Path, contract: str, path: str, imported: str, named: str) -> None:
    planted(copy, path, f"import {imported}\n")

    status, printed = run_lint_imports(copy.parents[1], contract)

    assert status == 1
    assert named in printed


def test_a_cycle_inside_a_package_is_refused(copy: Path) -> None:
    planted(copy, "maths/first.py", "import lapwing.maths.second\n")
    planted(copy, "maths/second.py", "import lapwing.maths.first\n")

    status, printed = run_lint_imports(copy.parents[1], "acyclic")

    assert status == 1
    assert "lapwing.maths" in printed


def test_the_room_and_the_secret_bits_open_to_few(copy: Path) -> None:
    plants = [(importer, inner) for importer in ("cli", "mechanisms", "model", "theorems") for inner in OF_THE_KERNEL]
    for number, (importer, inner) in enumerate(plants):
        planted(copy, f"{importer}/planted{number}.py", f"import lapwing.kernel.{inner}\n")

    status, printed = run_lint_imports(copy.parents[1], "room")

    assert status == 1
    for number, (importer, inner) in enumerate(plants):
        assert f"lapwing.{importer}.planted{number} -> lapwing.kernel.{inner} " in printed


@pytest.mark.parametrize(
    "source",
    ["mechanisms", "theorems", "model", "maths", "engine", "extras/evaluate/metrics", "extras/evaluate/report"],
)
def test_what_works_on_released_things_cannot_reach_rows_through_another_module(copy: Path, source: str) -> None:
    names = [f"rows.{name}" for name in OF_ROWS] + [f"kernel.{name}" for name in OF_THE_KERNEL]
    names += ["extras.evaluate.internal.schemas", "anonymous.table"]
    for number, name in enumerate(names):
        planted(copy, f"rows/out/planted_link{number}.py", f"import lapwing.{name}\n")
        planted(copy, f"{source}/planted{number}.py", f"import lapwing.rows.out.planted_link{number}\n")

    status, printed = run_lint_imports(copy.parents[1], "rows")

    assert status == 1
    for number, name in enumerate(names):
        assert f"lapwing.rows.out.planted_link{number} -> lapwing.{name} " in printed


def test_synthesize_cannot_reach_the_internal_comparisons(copy: Path) -> None:
    planted(
        copy,
        "release/runs/planted.py",
        "import lapwing.extras.evaluate.internal.schemas\nimport lapwing.anonymous.table\n",
    )
    with (copy / "api" / "synthesize.py").open("a") as synthesize:
        synthesize.write("\nimport lapwing.release.runs.planted\n")

    status, printed = run_lint_imports(copy.parents[1], "synthesize")

    assert status == 1
    assert "lapwing.release.runs.planted -> lapwing.extras.evaluate.internal.schemas " in printed
    assert "lapwing.release.runs.planted -> lapwing.anonymous.table " in printed


@pytest.mark.parametrize(
    ("contract", "importer", "imported"),
    [
        ("mechanisms", "trees.pmm", "independent"),
        ("mechanisms", "newcomer", "independent"),
        ("mechanisms", "shared", "independent"),
        ("mechanisms", "independent", "registry"),
        ("trees", "trees.pmm", "trees.kd_tree"),
        ("vectors", "vectors.newcomer", "vectors.microaggregation"),
    ],
)
def test_mechanisms_are_independent_of_each_other(copy: Path, contract: str, importer: str, imported: str) -> None:
    target = imported if imported == "registry" else f"{imported}.mechanism"
    folder = f"mechanisms/{importer.replace('.', '/')}"
    (copy / folder).mkdir(exist_ok=True)
    (copy / folder / "__init__.py").touch()
    planted(copy, f"{folder}/planted.py", f"import lapwing.mechanisms.{target}\n")

    status, printed = run_lint_imports(copy.parents[1], contract)

    assert status == 1
    assert f"lapwing.mechanisms.{importer}.planted -> lapwing.mechanisms.{target} " in printed


def test_the_planted_layers_are_those_of_the_tree() -> None:
    built = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name[0] not in "_."}

    assert built - {"examples"} == {name for layer in LAYERS for name in layer}


def test_each_module_of_rows_is_out_of_reach_or_reads_none() -> None:
    # These work on what they are handed. A new reader, in neither list, would be open to every mechanism.
    harmless = {"cache", "compiled", "exact_tables", "given", "guard", "kinds", "layouts", "spelling", "threads"}
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    (forbidden,) = (each["forbidden_modules"] for each in tools["importlinter"]["contracts"] if each["id"] == "rows")
    modules = {path.stem for path in (PACKAGE / "rows").glob("*.py")} - {"__init__"}

    assert modules == harmless | {name.removeprefix("lapwing.rows.") for name in forbidden if ".rows." in name}
