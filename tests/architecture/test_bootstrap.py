"""tools/bootstrap.py on machines that lack things; the whole of it runs in .ci/run, from nothing."""

import ast
import hashlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from helpers.source_tree import ROOT

SCRIPT = ROOT / "tools" / "bootstrap.py"


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bootstrap", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


bootstrap = loaded()


def program(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def no_pyenv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "no pyenv"))


def test_any_python_since_3_6_can_read_the_script() -> None:
    tree = ast.parse(SCRIPT.read_text(), feature_version=(3, 6))

    annotations = [node for node in ast.walk(tree) if isinstance(node, ast.arg | ast.FunctionDef)]
    evaluated = [each.annotation if isinstance(each, ast.arg) else each.returns for each in annotations]
    subscripted = [each.value for each in evaluated if isinstance(each, ast.Subscript)]
    # What is evaluated when the function is made must exist in 3.6; the rest is quoted.
    assert all(each is None or isinstance(each, ast.Name | ast.Constant | ast.Subscript) for each in evaluated)
    assert {each.id for each in subscripted if isinstance(each, ast.Name)} <= {"Callable", "Dict", "Tuple"}


@pytest.mark.usefixtures("no_pyenv")
def test_a_broken_shim_and_an_old_python_are_passed_over(tmp_path: Path) -> None:
    program(tmp_path / "shims", "python3", "echo 'pyenv: python3: command not found' >&2; exit 127")
    program(tmp_path / "old", "python3", "echo 3.9")
    program(tmp_path / "odd", "python3.13", "echo nonsense")
    good = program(tmp_path / "a good one", "python3.12", f'exec "{sys.executable}" "$@"')
    path = os.pathsep.join(str(tmp_path / name) for name in ("shims", "old", "odd", "a good one"))

    assert bootstrap.find_python(path) == str(good)


def test_a_newer_python_beside_the_shims_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = program(tmp_path / "versions" / "3.13.0" / "bin", "python3", f'exec "{sys.executable}" "$@"')
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))

    assert bootstrap.find_python("") == str(good)


@pytest.mark.usefixtures("no_pyenv")
def test_no_python_at_all_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(bootstrap.BootstrapError, match=r"Python 3\.11 or newer is needed and none was found on PATH"):
        bootstrap.find_python(str(tmp_path))


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Make a clone with the environment ``.venv-run``; its bootstrap only says which interpreter would make another."""
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "run.txt").touch()
    (tmp_path / "tools").mkdir()
    told = "def make_environment(name, environ):\n    return sys.executable\n\n\n"
    text = SCRIPT.read_text()
    assert text.count("\nif __name__ ==") == 1
    (tmp_path / "tools" / "bootstrap.py").write_text(text.replace("\nif __name__ ==", f"\n{told}if __name__ =="))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / ".venv-run")], check=True)
    return tmp_path


def test_an_environment_is_never_made_by_an_interpreter_inside_one(clone: Path) -> None:
    inside = clone / ".venv-run" / "bin" / "python3"
    path = f"{inside.parent}{os.pathsep}{os.environ['PATH']}"

    done = subprocess.run(
        [str(inside), "tools/bootstrap.py", "run"],
        cwd=clone,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )

    maker = Path(done.stdout.strip())
    assert maker.is_file()
    assert clone not in maker.parents
    assert sys.prefix == sys.base_prefix or Path(sys.prefix) not in maker.parents


@pytest.mark.usefixtures("no_pyenv")
def test_environments_of_the_project_are_passed_over_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    program(tmp_path / ".venv-run" / "bin", "python3", f'exec "{sys.executable}" "$@"')
    other = program(tmp_path / "other" / "bin", "python3", f'exec "{sys.executable}" "$@"')

    found = bootstrap.find_python(f"{tmp_path}/.venv-run/bin{os.pathsep}{tmp_path}/other/bin")

    assert found == str(other)


def test_an_environment_stays_when_another_python_starts_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / ".venv-run" / "bin", "python", "echo 3.99")
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    stamp = tmp_path / ".venv-run" / "made-from"
    stamp.write_text(bootstrap.fingerprint("run", (3, 99)))

    said = bootstrap.make_environment("run", {})

    assert said == ".venv-run is up to date"
    assert stamp.read_text() != bootstrap.fingerprint("run", (3, 98))


def test_settings_come_from_pips_files_and_the_environment_wins(tmp_path: Path) -> None:
    config = tmp_path / "pip.conf"
    config.write_text("[global]\nindex-url = file:///one\ncert = /some/where.pem\n[install]\nindex-url = file:///two\n")
    environ = {"PIP_CONFIG_FILE": str(config), "XDG_CONFIG_HOME": str(tmp_path)}

    from_file = bootstrap.pip_settings(environ)
    from_both = bootstrap.pip_settings({**environ, "PIP_INDEX_URL": "file:///three"})

    assert (from_file["index-url"], from_file["cert"]) == ("file:///two", "/some/where.pem")
    assert from_both["index-url"] == "file:///three"


def test_the_project_is_installed_from_locked_build_tools_and_pip_is_locked() -> None:
    index, name, digest = bootstrap.locked_pip()

    assert index.startswith("https:")
    assert name.startswith("pip-")
    assert f"sha256:{digest}" in (ROOT / "requirements" / "pip.txt").read_text()


def simple_index(folder: Path, wheel: bytes) -> str:
    (folder / "pip").mkdir(parents=True)
    (folder / "pip" / "index.html").write_text('<a href="pip-1-none.whl#sha256=0">pip</a> <a href="other.whl">o</a>')
    (folder / "pip" / "pip-1-none.whl").write_bytes(wheel)
    return folder.as_uri()


def test_pip_is_fetched_from_the_configured_index(tmp_path: Path) -> None:
    empty, full = simple_index(tmp_path / "empty", b"another"), simple_index(tmp_path / "full one", b"the wheel")
    locked = ("file:///nowhere", "pip-1-none.whl", hashlib.sha256(b"the wheel").hexdigest())

    path = bootstrap.fetch_pip(str(tmp_path), {"index-url": empty, "extra-index-url": full}, locked)

    assert Path(path).read_bytes() == b"the wheel"


def test_a_wheel_with_another_hash_is_refused(tmp_path: Path) -> None:
    index = simple_index(tmp_path / "index", b"something else")
    locked = (index, "pip-1-none.whl", hashlib.sha256(b"the wheel").hexdigest())

    with pytest.raises(bootstrap.BootstrapError, match="another hash than the lock"):
        bootstrap.fetch_pip(str(tmp_path), {}, locked)


def test_the_next_way_to_get_pip_is_taken_when_one_fails() -> None:
    taken = []

    def failing(python: str, environ: dict[str, str]) -> None:
        raise bootstrap.BootstrapError("No module named ensurepip")

    def working(python: str, environ: dict[str, str]) -> None:
        taken.append(python)

    bootstrap.install_pip("python", {}, (failing, working))

    assert taken == ["python"]
    with pytest.raises(bootstrap.BootstrapError, match="No module named ensurepip"):
        bootstrap.install_pip("python", {}, (failing,))


def test_settings_that_lead_out_of_the_environment_are_dropped() -> None:
    environ = {"PIP_INDEX_URL": "file:///mine", "PIP_TARGET": "/else", "PIP_USER": "1", "PYTHONPATH": "/junk"}

    kept = bootstrap.install_environ(environ)

    assert kept["PIP_INDEX_URL"] == "file:///mine"
    assert kept["PIP_USER"] == "0"
    assert {"PIP_TARGET", "PYTHONPATH"}.isdisjoint(kept)


def test_an_environment_is_made_again_when_what_it_is_made_from_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "requirements").mkdir()
    for name in ("pyproject.toml", "requirements/run.txt", "requirements/test.txt", "requirements/build.txt"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    monkeypatch.setattr(bootstrap, "REQUIREMENTS", tmp_path / "requirements")
    before = bootstrap.fingerprint("run", bootstrap.OLDEST)

    def after(name: str, old: str, new: str) -> str:
        original = (tmp_path / name).read_text()
        (tmp_path / name).write_text(original.replace(old, new))
        changed = bootstrap.fingerprint("run", bootstrap.OLDEST)
        (tmp_path / name).write_text(original)
        return str(changed)

    assert after("requirements/run.txt", "numpy==", "numpy==9.") != before
    assert after("pyproject.toml", "lapwing.cli.main:run", "lapwing.cli.main:other") != before
    assert after("pyproject.toml", "line-length = 120", "line-length = 100") == before
    assert after("requirements/test.txt", "pytest==", "pytest==9.") == before


def test_what_fails_says_what_it_printed() -> None:
    with pytest.raises(bootstrap.BootstrapError, match="out of order"):
        bootstrap.call([sys.executable, "-c", "raise SystemExit('out of order')"], dict(os.environ))


def test_the_script_names_no_host() -> None:
    text = SCRIPT.read_text()

    assert "://" not in text
