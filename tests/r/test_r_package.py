"""The R package in r/: `R CMD build`, which runs its vignette, and `R CMD check`, which runs its tests and examples."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from helpers.source_tree import ROOT

SOURCE = ROOT / "r"
NEEDED = ("haven", "jsonlite", "knitr", "reticulate", "rmarkdown", "testthat", "tibble")
# Not in Debian; nothing of it is needed where no Arrow table is given.
MAY_BE_MISSING = "Package suggested but not available for checking: ‘arrow’"
# A virtual environment is that of its base; a Python without a shared library cannot run inside R.
PYTHON_LIBRARY = Path(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "none.so")


pytestmark = pytest.mark.needs("R")


def missing() -> str:
    """Return what this machine lacks for a check of the package, or nothing."""
    if shutil.which("R") is None:
        return "R is not installed"
    asked = f"cat(setdiff(c{NEEDED!r}, rownames(installed.packages())))"
    found = subprocess.run(["Rscript", "--vanilla", "-e", asked], capture_output=True, text=True, check=True).stdout
    if found:
        return f"R lacks {found}"
    is_shared = sysconfig.get_config_var("Py_ENABLE_SHARED") == 1 and PYTHON_LIBRARY.is_file()
    return "" if is_shared else f"Python has no shared library {PYTHON_LIBRARY}"


def run_r(folder: Path, *words: str) -> str:
    env = {
        **os.environ,
        "LAPWING_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(folder),
        "LC_ALL": "C.UTF-8",
        "_R_CHECK_FORCE_SUGGESTS_": "false",
    }
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(["R", "CMD", *words], cwd=folder, env=env, check=False, **pipes)
    logs = [] if done.returncode == 0 else sorted(folder.rglob("*.Rout.fail"))
    assert done.returncode == 0, "\n".join([done.stdout, *(log.read_text(errors="replace") for log in logs)])
    return done.stdout


def test_the_r_package_passes_its_check(tmp_path: Path) -> None:
    lacking = missing()
    if lacking:
        pytest.skip(lacking)
    before = sorted(SOURCE.rglob("*"))

    run_r(tmp_path, "build", str(SOURCE))
    (archive,) = tmp_path.glob("lapwing_*.tar.gz")
    # The vignette was run just now.
    said = run_r(tmp_path, "check", "--no-manual", "--no-vignettes", archive.name)

    (status,) = re.findall(r"^Status: (.*)$", said, flags=re.MULTILINE)
    assert status == "OK" or (status == "1 NOTE" and MAY_BE_MISSING in said), said
    assert re.search(r"Running ‘testthat.R’.*\n? OK", said), said
    assert sorted(SOURCE.rglob("*")) == before


def test_the_version_and_licence_are_those_of_the_python_package() -> None:
    about = dict(re.findall(r"^(\w+): (.*)$", (SOURCE / "DESCRIPTION").read_text(encoding="utf-8"), flags=re.MULTILINE))
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

    assert f'\nversion = "{about["Version"]}"\n' in pyproject
    assert '\nlicense = "Apache-2.0"\n' in pyproject
    assert about["License"] == "Apache License (== 2.0)"


def test_every_exported_function_has_a_page() -> None:
    exported = re.findall(r"^export\((\w+)\)$", (SOURCE / "NAMESPACE").read_text(encoding="utf-8"), flags=re.MULTILINE)
    pages = "".join(path.read_text(encoding="utf-8") for path in (SOURCE / "man").glob("*.Rd"))

    assert len(exported) > 10
    assert [name for name in exported if f"\\alias{{{name}}}" not in pages] == []
