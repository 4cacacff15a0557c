"""The fingerprint of the code that runs: two copies of the package may bear one version and differ."""

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


# -- The version that certificates and transcripts name; a test compares it with pyproject.toml.


__all__ = ["VERSION", "code_fingerprint"]

VERSION = "0.1.0"
