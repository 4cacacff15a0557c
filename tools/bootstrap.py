"""Make an environment of this project with nothing but Python: ``python3 tools/bootstrap.py run|test|dev|...``.

The environment ``.venv-<name>`` gets exactly what ``requirements/<name>.txt`` lists,
checked by hash, from the index that this machine is configured for, and this project itself, editable. Nothing is
done when the environment is up to date.

Standard library only. Any ``python3`` since 3.6 may start this file, also one inside an environment: it looks for
Python 3.11 or newer outside of all environments and executes itself again under that, so the syntax here stays that of
3.6.
"""

import argparse
import configparser
import glob
import hashlib
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Callable, Dict, Tuple

ROOT = Path(__file__).resolve().parents[1]
OLDEST = (3, 11)
REQUIREMENTS = ROOT / "requirements"
PROBE = "import sys; print('%d.%d' % sys.version_info[:2])"
# Settings that would send what is installed elsewhere than into the environment.
# Packages that no index has a wheel of; all others come ready to use.
BUILT_HERE = ("pyspark",)
MISLEADING = ("PIP_PREFIX", "PIP_TARGET", "PIP_ROOT", "PIP_PYTHON", "PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__")
Way = Callable[[str, Dict[str, str]], None]


class BootstrapError(Exception):
    """The environment cannot be made; the message says what to do."""


def install(name: str, *target: str) -> "list[str]":
    """Return the pip command that installs ``requirements/<name>.txt`` and nothing else."""
    requirements = str(REQUIREMENTS / f"{name}.txt")
    # Where pip chose what to build a source archive with, no hash would cover these tools.
    built = ["--no-build-isolation", *(part for each in BUILT_HERE for part in ("--no-binary", each))]
    options = ["--quiet", "--require-hashes", "--only-binary", ":all:", *built, "-r", requirements]
    # The files list everything. Those of oracles may leave out what their tool can do without, such as PyTorch.
    alone = ["--no-deps"] if name.startswith("oracle-") else []
    return ["-m", "pip", *target, "install", *alone, *options]


# ------------------------------------------------------------------------------------------------ finding a Python


def candidates(path: str) -> "list[str]":
    """Return the interpreters on ``path`` by name, newest first after plain ``python3``; some may be broken."""
    names = ["python3"] + [f"python3.{minor}" for minor in range(19, OLDEST[1] - 1, -1)] + ["python"]
    folders = [folder for folder in path.split(os.pathsep) if folder]
    found = [shutil.which(name, path=folder) for name in names for folder in folders]
    versions = os.path.join(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")), "versions", "3.*", "bin")
    found += sorted(glob.glob(os.path.join(versions, "python3")), reverse=True)
    return list(dict.fromkeys(name for name in found if name and not is_ours(name)))


def is_ours(python: str) -> bool:
    """Return whether an interpreter lives in an environment of this project, which may be about to be replaced."""
    # The link to the interpreter itself is not followed: it leads out of the environment.
    place = Path(os.path.realpath(os.path.dirname(python)))
    return place.parent.parent == ROOT and place.parent.name.startswith(".venv-")


def version_of(python: str) -> "tuple[int, ...]":
    """Return the version that ``python`` reports, or ``()`` when it does not run (a shim without a version, say)."""
    try:
        done = subprocess.run(
            [python, "-I", "-c", PROBE],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    match = re.match(rb"(\d+)\.(\d+)\s*$", done.stdout)
    return tuple(int(part) for part in match.groups()) if match and done.returncode == 0 else ()


def find_python(path: str) -> str:
    """Return the first interpreter on ``path`` that runs and is new enough."""
    for python in candidates(path):
        if version_of(python) >= OLDEST:
            return python
    raise BootstrapError(
        "Python {}.{} or newer is needed and none was found on PATH; ".format(*OLDEST)
        + "install one, or name it: make PYTHON=/path/to/python3"
    )


def base_python() -> str:
    """Return the interpreter that the running one was made from; itself, where it is in no environment."""
    if sys.prefix == sys.base_prefix:
        return sys.executable
    beside = os.path.join(sys.base_prefix, "bin", "python{}.{}".format(*sys.version_info))
    for python in (getattr(sys, "_base_executable", ""), os.path.realpath(sys.executable), beside):
        if python and not is_ours(python) and version_of(python) >= OLDEST:
            return str(python)
    return find_python(os.environ.get("PATH", os.defpath))


# ------------------------------------------------------------------------------------------- pip where there is none


def pip_settings(environ: "dict[str, str]") -> "dict[str, str]":
    """Return pip's own settings as pip reads them: files from the widest to the narrowest, then the environment."""
    config_home = environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    files = ["/etc/xdg/pip/pip.conf", "/etc/pip.conf", "~/.pip/pip.conf", os.path.join(config_home, "pip", "pip.conf")]
    files.append(environ.get("PIP_CONFIG_FILE", ""))
    parser = configparser.RawConfigParser()
    if environ.get("PIP_CONFIG_FILE") != os.devnull:
        parser.read([os.path.expanduser(name) for name in files if name], encoding="utf-8")

    settings = {}  # type: dict[str, str]
    for section in ("global", "install"):
        if parser.has_section(section):
            settings.update((key.replace("_", "-"), value) for key, value in parser.items(section))
    for key, value in environ.items():
        if key.startswith("PIP_") and value:
            settings[key[4:].lower().replace("_", "-")] = value
    return settings


def locked_pip() -> "tuple[str, str, str]":
    """Return the index, the file name and the sha256 of the pip wheel in ``uv.lock``."""
    lock = (ROOT / "uv.lock").read_text(encoding="utf-8")
    entry = lock.split('[[package]]\nname = "pip"\n', 1)[1].split("[[package]]", 1)[0]
    index = re.search(r'registry = "([^"]+)"', entry)
    wheel = re.search(r'url = "[^"]*/([^"/]+\.whl)", hash = "sha256:([0-9a-f]{64})"', entry)
    if not index or not wheel:
        raise BootstrapError("uv.lock holds no pip wheel; run make lock")
    return index.group(1), wheel.group(1), wheel.group(2)


def fetch(url: str, certificates: "str | None") -> bytes:
    """Return what is at ``url``."""
    context = None
    if url.startswith("https:"):
        context = ssl.create_default_context(cafile=certificates)
    with urllib.request.urlopen(url, timeout=60, context=context) as answer:
        return bytes(answer.read())


def wheel_address(index: str, name: str, certificates: "str | None") -> str:
    """Return the address of the wheel ``name`` of pip in a simple index."""
    page = index.rstrip("/") + "/pip/"
    # A folder as an index is read by its own index.html; a server finds that by itself.
    listing = fetch(page + "index.html" if page.startswith("file:") else page, certificates).decode("utf-8")
    for address in re.findall(r'href\s*=\s*["\']([^"\']+)', listing):
        if urllib.parse.unquote(address.split("#")[0]).endswith("/" + name) or address.split("#")[0] == name:
            return str(urllib.parse.urljoin(page, address.replace("&amp;", "&"))).split("#")[0]
    raise BootstrapError(f"{name} is not there")


def fetch_pip(folder: str, settings: "dict[str, str]", locked: "tuple[str, str, str]") -> str:
    """Save the locked pip wheel in ``folder``, from the configured index, and return its path."""
    index, name, digest = locked
    indexes = [settings.get("index-url", index), *settings.get("extra-index-url", "").split()]
    problems = []
    for address in indexes:
        try:
            wheel = fetch(wheel_address(address, name, settings.get("cert")), settings.get("cert"))
        except (OSError, ValueError, BootstrapError) as problem:
            problems.append(str(problem))
            continue
        if hashlib.sha256(wheel).hexdigest() == digest:
            path = os.path.join(folder, name)
            Path(path).write_bytes(wheel)
            return path
        problems.append(f"{name} has another hash than the lock")
    raise BootstrapError(f"pip is missing and could not be fetched ({'; '.join(problems)})")


def ensurepip(python: str, environ: "dict[str, str]") -> None:
    """Install the pip that comes with Python."""
    call([python, "-I", "-m", "ensurepip", "--default-pip"], environ)
    # Python 3.11 brings setuptools along; the environment holds what the lock lists.
    call([python, "-I", "-m", "pip", "uninstall", "--quiet", "--yes", "setuptools"], environ)


def base_pip(python: str, environ: "dict[str, str]") -> None:
    """Install pip through the pip of the interpreter that the environment was made from."""
    call([sys.executable, "-I", *install("pip", "--python", python)], environ)


def wheel_pip(python: str, environ: "dict[str, str]") -> None:
    """Install pip from its own wheel, fetched by the standard library."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = fetch_pip(folder, pip_settings(environ), locked_pip())
        call([python, os.path.join(wheel, "pip"), "install", "--quiet", "--no-index", "--no-deps", wheel], environ)


def install_pip(
    python: str, environ: "dict[str, str]", ways: Tuple[Way, ...] = (ensurepip, base_pip, wheel_pip)
) -> None:
    """Bring pip into a fresh environment in the first of ``ways`` that works."""
    problems = []
    for way in ways:
        try:
            way(python, environ)
            return
        except BootstrapError as problem:
            problems.append(str(problem))
    raise BootstrapError("pip cannot be installed:\n" + "\n".join(problems))


# ---------------------------------------------------------------------------------------------- making environments


def call(command: "list[str]", environ: "dict[str, str]") -> None:
    """Run ``command`` silently; when it fails, raise with what it printed."""
    done = subprocess.run(
        command,
        check=False,
        env=environ,
        cwd=str(ROOT),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode != 0:
        printed = done.stdout.decode("utf-8", "replace").strip()
        raise BootstrapError(f"{' '.join(command)} failed:\n{printed}")


def install_environ(environ: "dict[str, str]") -> "dict[str, str]":
    """Return ``environ`` for pip: its indexes and certificates stay, what leads out of the environment goes."""
    kept = {key: value for key, value in environ.items() if key not in MISLEADING}
    # PIP_USER=0 also overrides `user = true` in a configuration file.
    kept.update(PIP_USER="0", PIP_REQUIRE_VIRTUALENV="0", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1")
    return kept


def environments() -> "list[str]":
    """Return the names of all environments: one for each requirements file that is not a means to that end."""
    return sorted({path.stem for path in REQUIREMENTS.glob("*.txt")} - {"build", "pip"})


def fingerprint(name: str, version: "tuple[int, ...]") -> str:
    """Return a hash of everything that the environment ``name`` is made from; ``version`` is that of its Python."""
    import tomllib  # Python 3.11 has it, and this runs under no other

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    package = [settings["build-system"], settings["project"], settings["tool"]["hatch"]]
    digest = hashlib.sha256(json.dumps([version, str(ROOT), package]).encode("utf-8"))
    for requirements in (name, "build"):
        digest.update((REQUIREMENTS / f"{requirements}.txt").read_bytes())
    return digest.hexdigest()


def install_all(name: str, python: str, environ: "dict[str, str]") -> None:
    """Install the requirements and this project, editable, with the locked build tools kept out of the environment."""
    with tempfile.TemporaryDirectory() as tools:
        call([python, "-I", *install("build"), "--target", tools], environ)
        # Not -I: build backends are found through PYTHONPATH.
        building = dict(environ, PYTHONPATH=tools)
        # What the build tools bring along would otherwise count as installed already.
        call([python, *install(name), "--ignore-installed"], building)
        options = ["--quiet", "--no-deps", "--no-build-isolation", "--editable", str(ROOT)]
        call([python, "-m", "pip", "install", *options], building)


def make_environment(name: str, environ: "dict[str, str]") -> str:
    """Make the environment ``name`` unless it is up to date, and say which of the two was the case."""
    folder = ROOT / (".venv-" + name)
    python, stamp = str(folder / "bin" / "python"), folder / "made-from"
    # Its own version counts, not that of the Python that started this: packages of 3.11 are lost on 3.12.
    version = version_of(python)
    if version and stamp.is_file() and stamp.read_text(encoding="utf-8") == fingerprint(name, version):
        return f"{folder.name} is up to date"

    print(f"making {folder.name} from requirements/{name}.txt", flush=True)
    shutil.rmtree(str(folder), ignore_errors=True)
    call([sys.executable, "-I", "-m", "venv", "--without-pip", str(folder)], environ)
    install_pip(python, environ)
    install_all(name, python, environ)
    stamp.write_text(fingerprint(name, version_of(python)), encoding="utf-8")
    return f"{folder.name} is ready"


def main() -> int:
    """Make the environment that the command line names."""
    parser = argparse.ArgumentParser(description="Make an environment of this project.")
    parser.add_argument("name", choices=environments())
    name = parser.parse_args().name
    try:
        is_old = sys.version_info[:2] < OLDEST
        python = find_python(os.environ.get("PATH", os.defpath)) if is_old else base_python()
        environ = install_environ(dict(os.environ))
        if python != sys.executable:
            # Making an environment removes what was there, and with it perhaps the interpreter that runs this.
            return subprocess.call([python, str(Path(__file__).resolve()), name], env=environ)
        print(make_environment(name, environ), flush=True)
    except BootstrapError as problem:
        print(f"bootstrap: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
