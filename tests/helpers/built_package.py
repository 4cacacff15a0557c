"""Compare the files in the built wheel and source archive with what git has: ``make package``."""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

from helpers.source_tree import ROOT


def expected_in_wheel(tracked: Iterable[str], wheel: dict) -> set[str]:
    """Return what the wheel should hold beside its own metadata."""
    (package,) = wheel["packages"]
    above = f"{Path(package).parent.as_posix()}/"
    shared = {f"data/{place}" for place in wheel["shared-data"].values()}
    return {name.removeprefix(above) for name in tracked if name.startswith(f"{package}/")} | shared


def expected_in_sdist(tracked: Iterable[str], named: Iterable[str]) -> set[str]:
    """Return what the source archive should hold beside its own metadata."""
    tops = {*named, "pyproject.toml", ".gitignore"}  # hatchling adds these two
    return {name for name in tracked if name.partition("/")[0] in tops}


def in_wheel(path: Path) -> set[str]:
    """Return the files of a wheel without those of its metadata, shared ones under ``data/``."""
    parts = [name.partition("/") for name in zipfile.ZipFile(path).namelist()]
    inside = {f"{top}/{rest}" for top, _, rest in parts if not top.endswith((".dist-info", ".data"))}
    return inside | {rest for top, _, rest in parts if top.endswith(".data")}


def in_sdist(path: Path) -> set[str]:
    """Return the files of a source archive without its metadata."""
    with tarfile.open(path) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    return names - {"PKG-INFO"}


def differences(what: str, expected: set[str], built: set[str]) -> list[str]:
    """Return what is missing and what nobody asked for."""
    missing = [f"{what} lacks {name}" for name in sorted(expected - built)]
    return missing + [f"{what} has {name}, which is not in git" for name in sorted(built - expected)]


def main(folder: Path) -> int:
    """Check the newest wheel and source archive of a folder."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tracked = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    targets = settings["tool"]["hatch"]["build"]["targets"]
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    wrong = differences("the wheel", expected_in_wheel(tracked, targets["wheel"]), in_wheel(wheel))
    named = expected_in_sdist(tracked, targets["sdist"]["only-include"])
    wrong += differences("the source archive", named, in_sdist(sdist))
    sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e6:.2f} MB" for path in (wheel, sdist))
    print("\n".join(wrong) or f"Both hold what git has of them: {sizes}")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
