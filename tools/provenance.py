"""Build once more from a clone, compare, and write where the built files come from: ``make provenance``.

The statement is one of in-toto (version 1) with SLSA's predicate of provenance (version 1): the hash of each file, the
commit, what it was built with, and who built it. It is not signed: docs/procurement.md says how to.
"""

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each wheel and source archive of a folder, by name."""
    files = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def differences(stated: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """Return one sentence for each file that is not the same in both, or in one of them only."""
    names = sorted({*stated, *found})
    return [
        f"{name}: {stated.get(name)} is not {found.get(name)}" for name in names if stated.get(name) != found.get(name)
    ]


def statement(files: Mapping[str, str], *, commit: str, builder: str, epoch: str) -> dict[str, Any]:
    """Return the statement about built files.

    Parameters
    ----------
    files : mapping of str to str
        SHA-256 by name.
    commit : str
        Of git, whole.
    builder : str
        A URI that says who builds.
    epoch : str
        SOURCE_DATE_EPOCH.
    """
    source = {"uri": "git+.", "digest": {"gitCommit": commit}}
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in files.items()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:lapwing:make-package:1",
                "externalParameters": {"source": source},
                "internalParameters": {"SOURCE_DATE_EPOCH": epoch},
                "resolvedDependencies": [source, locked()],
            },
            "runDetails": {"builder": {"id": builder, "version": {"python": platform.python_version()}}},
        },
    }


def locked() -> dict[str, Any]:
    """Return the list of build tools, each of which it pins by hash."""
    place = "requirements/build.txt"
    return {"uri": place, "digest": {"sha256": hashlib.sha256((ROOT / place).read_bytes()).hexdigest()}}


def checked(path: Path) -> list[str]:
    """Return how the files beside a statement differ from what it says."""
    said = json.loads(path.read_text(encoding="utf-8"))
    return differences({each["name"]: each["digest"]["sha256"] for each in said["subject"]}, hashes(path.parent))


def git(*arguments: str) -> str:
    """Return what git says of this tree."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def built_again(commit: str) -> dict[str, str]:
    """Return the hashes of a build from a fresh clone, in another folder and with other permissions of files."""
    with tempfile.TemporaryDirectory() as folder:
        clone, out = Path(folder) / "clone", Path(folder) / "out"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True, umask=0o077)
        subprocess.run(["git", "checkout", "--quiet", commit], cwd=clone, check=True)
        command = [sys.executable, "-m", "build", "--quiet", "--no-isolation", "--outdir", str(out)]
        subprocess.run(command, cwd=clone, check=True, umask=0o077)
        return hashes(out)


def main() -> int:
    """Compare two builds and write the statement beside the first, or check one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="with the built files")
    parser.add_argument("--builder", default="urn:lapwing:builder:unnamed", help="a URI that says who builds")
    parser.add_argument("--check", action="store_true", help="compare the files with the statement that is there")
    asked = parser.parse_args()
    path = asked.folder / "provenance.intoto.json"
    if asked.check:
        wrong = checked(path)
    elif git("status", "--porcelain"):
        wrong = ["the tree has changes that no commit holds: commit them first"]
    else:
        commit, files = git("rev-parse", "HEAD"), hashes(asked.folder)
        wrong = differences(files, built_again(commit))
        said = statement(files, commit=commit, builder=asked.builder, epoch=os.environ["SOURCE_DATE_EPOCH"])
        if not wrong:
            path.write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")
    print("\n".join(wrong) or f"{path}: {'the files are those' if asked.check else 'two builds, one hash'}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
