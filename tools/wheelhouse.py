"""Collect in ``dist/wheelhouse`` all that an installation without a network needs, each file checked by its hash.

``python tools/wheelhouse.py`` for the machine and Python that run it, ``--for windows --python 3.12`` for another one.
The folder also gets ``requirements.txt``, with the hash of every file, Lapwing's own wheel included. Standard library
and pip only.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "requirements"
MACOS = ("11_0", "12_0", "14_0")
MANYLINUX = ("manylinux2014", "manylinux_2_27", "manylinux_2_28")
# The tags of pip's --platform, and what markers see as `sys_platform`.
PLATFORMS = {
    "linux-x86_64": ([f"{each}_x86_64" for each in MANYLINUX], "linux"),
    "linux-aarch64": ([f"{each}_aarch64" for each in MANYLINUX], "linux"),
    "macos-arm64": ([f"macosx_{each}_arm64" for each in MACOS], "darwin"),
    "macos-x86_64": (["macosx_10_12_x86_64", "macosx_10_14_x86_64", "macosx_10_15_x86_64"], "darwin"),
    "windows": (["win_amd64"], "win32"),
    "windows-arm64": (["win_arm64"], "win32"),
}
T = TypeVar("T", str, tuple[int, ...])


class WheelhouseError(Exception):
    """The folder cannot be filled; the message says why."""


def applies(marker: str, python: str, system: str) -> bool:
    """Return whether a marker of the exported requirements holds; another kind than those that occur is refused."""
    if " or " in marker:
        return any(applies(each, python, system) for each in marker.split(" or "))
    found = re.fullmatch(r"(python_full_version|sys_platform) (<|>=|==|!=) '([\w.]+)'", marker.strip())
    if found is None:
        raise WheelhouseError(f"a marker of this kind is not known: {marker.strip()}")
    if found[1] == "sys_platform":
        return holds(system, found[2], found[3])
    return holds(numbers(python), found[2], numbers(found[3]))


def holds(left: T, how: str, right: T) -> bool:
    """Return whether a comparison holds."""
    tests = {"<": left < right, ">=": left >= right, "==": left == right, "!=": left != right}
    return tests[how]


def numbers(version: str) -> tuple[int, ...]:
    """Return the parts of a version."""
    return tuple(int(part) for part in version.split("."))


def chosen(text: str, python: str, system: str) -> str:
    """Return the requirements that apply to a Python and a system, without their markers."""
    kept = []
    for entry in re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ").splitlines():
        pin, *rest = entry.split("--hash")
        name, _, marker = pin.partition(";")
        if not marker.strip() or applies(marker, python, system):
            kept.append(" \\\n    --hash".join([name.strip(), *(each.strip() for each in rest)]))
    return "\n".join(filter(None, kept)) + "\n"


def pip(arguments: list[str], extra: dict[str, str] | None = None) -> None:
    """Run pip; when it fails, raise with what it printed."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | (extra or {}), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise WheelhouseError(f"pip {arguments[0]} failed:\n{done.stderr.strip()[-2000:]}")


def own_wheel(folder: Path) -> str:
    """Build Lapwing's wheel with the locked tools, and return the line that requires it."""
    with tempfile.TemporaryDirectory() as tools:
        checked = ["--quiet", "--require-hashes", "--only-binary", ":all:"]
        pip(["install", *checked, "-r", str(REQUIREMENTS / "build.txt"), "--target", tools])
        options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
        pip(["wheel", *options, str(ROOT)], {"PYTHONPATH": tools})
    (wheel,) = folder.glob("lapwing-*.whl")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return f"lapwing=={wheel.name.split('-')[1]} \\\n    --hash=sha256:{digest}\n"


def fill(folder: Path, requirements: str, python: str, platform: str | None) -> None:
    """Fill a new folder; what was there before is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tags, system = PLATFORMS[platform] if platform else ([], sys.platform)
    text = chosen((REQUIREMENTS / f"{requirements}.txt").read_text(encoding="utf-8"), python, system)
    listed = folder / "requirements.txt"
    listed.write_text(text, encoding="utf-8", newline="\n")

    elsewhere = [part for tag in tags for part in ("--platform", tag)]
    elsewhere += ["--implementation", "cp", "--python-version", python] if platform else []
    checked = ["--quiet", "--require-hashes", "--only-binary", ":all:", "--no-deps"]
    pip(["download", *checked, *elsewhere, "-r", str(listed), "--dest", str(folder)])
    listed.write_text(text + own_wheel(folder), encoding="utf-8", newline="\n")


def main() -> int:
    """Fill the folder that the command line describes."""
    here = ".".join(map(str, sys.version_info[:2]))
    parser = argparse.ArgumentParser(description="Collect the wheels of an installation without a network.")
    parser.add_argument("--requirements", choices=["run", "extras"], default="run", help="extras: all but spark")
    parser.add_argument("--for", dest="platform", choices=PLATFORMS, help="default: this machine")
    parser.add_argument("--python", default=here, metavar="3.N", help=f"with --for; default: {here}, which runs this")
    parser.add_argument("--folder", type=Path, default=ROOT / "dist" / "wheelhouse")
    told = parser.parse_args()
    try:
        fill(told.folder, told.requirements, told.python if told.platform else here, told.platform)
    except WheelhouseError as problem:
        print(f"wheelhouse: {problem}", file=sys.stderr)
        return 1
    files = list(told.folder.glob("*.whl"))
    print(f"{told.folder}: {len(files)} wheels, {sum(file.stat().st_size for file in files) / 1e6:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
