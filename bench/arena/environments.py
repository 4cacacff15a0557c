"""Where a rival runs: an environment made from its lock, this interpreter, or a checkout's own."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from arena.field import Rival

LOCKS = Path(__file__).resolve().parent / "locks"


class Unready(Exception):
    """A rival cannot be started here; the message is the reason that its cells show."""


def interpreter(rival: Rival, checkouts: Mapping[str, Path]) -> Path:
    """Return the Python of a rival's environment, after bringing it to its lock file.

    Parameters
    ----------
    rival : Rival
        What is to run.
    checkouts : mapping of str to Path
        Folders of repositories that were given.

    Raises
    ------
    Unready
        Where a checkout was not given or has no environment, or the registry's environment cannot be made.
    """
    if rival.checkout:
        return _of_checkout(rival.checkout, checkouts)
    return _of_lock(rival.environment) if rival.environment else Path(sys.executable)


def checkout_commit(rival: Rival, checkouts: Mapping[str, Path]) -> str:
    """Return the commit of a rival's checkout; empty where it needs none or the folder is no repository."""
    folder = checkouts.get(rival.checkout)
    if folder is None:
        return ""
    command = ["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"]
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()


def _of_checkout(name: str, checkouts: Mapping[str, Path]) -> Path:
    """Return the Python of a checkout's own environment."""
    if name not in checkouts:
        raise Unready(f"no checkout given (--checkout {name}=PATH)")
    python = checkouts[name] / ".venv" / "bin" / "python"
    if not python.exists():
        raise Unready(f"the checkout has no environment at .venv with {name}'s requirements and pyarrow")
    return python


def _of_lock(name: str) -> Path:
    """Bring an environment to its lock file."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    place = cache / "lapwing-arena" / name
    settings = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")}
    command = ["uv", "sync", "--quiet", "--locked", "--project", str(LOCKS / name)]
    try:
        made = subprocess.run(
            command, check=False, capture_output=True, text=True, env=settings | {"UV_PROJECT_ENVIRONMENT": str(place)}
        )
    except FileNotFoundError:
        raise Unready("not installed: uv is not on the path") from None
    if made.returncode:
        raise Unready(f"not installed: {last_line(made.stderr)}")
    return place / "bin" / "python"


def last_line(text: str) -> str:
    """Return the last line that says something, shortened."""
    lines = [line.strip() for line in text.splitlines() if re.search("[A-Za-z]{3}", line)]
    return (lines[-1] if lines else "it said nothing")[:200]
