"""The fingerprint of the code that runs, and how it was installed: two copies may bear one version and differ."""

import sys
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def code_fingerprint() -> str:
    """Return the SHA-256 of the package's code, worked out once a process, when it is first asked for.

    Returns 64 hexadecimal digits. For each ``*.py`` file, in the order of their paths inside the package: the path with
    ``/``, a zero byte, the length of the file as 8 bytes, its bytes.

    It is of the files as installed, and no proof of what ran: whoever can change the code can change this too.

    >>> len(code_fingerprint())
    64
    """
    return _fingerprint(_PACKAGE)


@cache
def _fingerprint(package: Path) -> str:
    """Return the fingerprint of the code below a folder."""
    import hashlib  # noqa: PLC0415 - `import lapwing` takes no time

    found = hashlib.sha256()
    paths = {path.relative_to(package).as_posix(): path for path in package.rglob("*.py")}
    for name, path in sorted(paths.items()):
        content = path.read_bytes()
        found.update(name.encode() + b"\0" + len(content).to_bytes(8, "big") + content)
    return found.hexdigest()


# -- How this copy was installed, for those who miss an extra.


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this copy of Lapwing, by the tool that installed it."""
    import shutil  # noqa: PLC0415 - `import lapwing` takes no time
    import sysconfig  # noqa: PLC0415

    place, program = Path(sys.prefix), Path(sys.executable)
    if (place / "uv-receipt.toml").is_file():
        tool = "uv tool install"
    elif (place / "pipx_metadata.json").is_file():
        tool = "pipx install --force"
    elif not (Path(sysconfig.get_path("purelib")) / "pip").is_dir():
        tool = f"uv pip install --python {program}"
    else:
        found = shutil.which("pip")  # on the path another environment's may come first
        is_own = found is not None and Path(found).parent == program.parent
        tool = "pip install" if is_own else f"{program} -m pip install"
    return f"{tool} {_source(extra)}"


def _source(extra: str) -> str:
    """Return what to install: the package by its name, or from the folder or address that it came from."""
    import json  # noqa: PLC0415
    from urllib.parse import urlsplit  # noqa: PLC0415
    from urllib.request import url2pathname  # noqa: PLC0415

    # What importlib.metadata reads: installers write where a package came from unless it was an index.
    abouts = (each for place in sys.path for each in Path(place).glob("lapwing-*.dist-info"))
    about = next(abouts, _PACKAGE) / "direct_url.json"
    origin = json.loads(about.read_text(encoding="utf-8")) if about.is_file() else {}
    url, vcs = origin.get("url", ""), origin.get("vcs_info", {}).get("vcs")
    if not url:
        return f'"lapwing[{extra}]"'
    if not url.startswith("file:"):
        return f'"lapwing[{extra}] @ {vcs + "+" if vcs else ""}{url}"'
    editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
    return f'{editable}"{url2pathname(urlsplit(url).path)}[{extra}]"'


# -- The version that certificates and transcripts name; a test compares it with pyproject.toml.


__all__ = ["VERSION", "code_fingerprint", "install_command"]

VERSION = "0.1.0"
