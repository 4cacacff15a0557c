"""The lock file and the requirements exported from it, read with the standard library alone."""

import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# requirements/<name>.txt holds what the project needs, then these groups or extras of pyproject.toml.
EXPORTS = {
    "run": ("", ()),
    "test": ("", ("test",)),
    "dev": ("", ("dev",)),
    "build": (None, ("build",)),
    "pip": (None, ("pip",)),
    "extras": ("", ("connect", "duckdb", "evaluate", "lp", "names", "office", "studio")),
}


@dataclass(frozen=True, slots=True)
class Requirement:
    """One exact version, and the hashes of the files that it may come from."""

    name: str
    version: str
    hashes: frozenset[str]


def exported(text: str) -> set[Requirement]:
    """Read a requirements file; every line must pin a version and give hashes."""
    joined = re.sub(r"^\s*#.*\n?", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    found = set()
    for line in filter(None, map(str.strip, joined.splitlines())):
        pin = re.match(r"([a-z0-9-]+)==(\S+)", line)
        hashes = frozenset(re.findall(r"--hash=(sha256:[0-9a-f]{64})", line))
        if not pin or not hashes:
            raise AssertionError(f"no exact version with hashes: {line[:80]}")
        found.add(Requirement(pin[1], pin[2], hashes))
    return found


def locked(lock: dict[str, Any], name: str) -> set[Requirement]:
    """Follow the lock from the project to everything that ``requirements/<name>.txt`` must hold."""
    packages = defaultdict(list)
    for package in lock["package"]:
        packages[package["name"]].append(package)
    (project,) = packages["lapwing"]

    base, groups = EXPORTS[name]
    wanted = [] if base is None else list(project["dependencies"])
    named = project["optional-dependencies"] | project["dev-dependencies"]
    wanted += [need for group in groups for need in named[group]]
    seen: dict[tuple[str, str], Requirement] = {}
    while wanted:
        need = wanted.pop()
        for package in packages[need["name"]]:
            key = (package["name"], package["version"])
            if need.get("version", package["version"]) == package["version"] and key not in seen:
                seen[key] = Requirement(*key, _hashes(package))
                wanted += package.get("dependencies", [])
                wanted += [more for extra in need.get("extra", []) for more in package["optional-dependencies"][extra]]
    return set(seen.values())


def _hashes(package: dict[str, Any]) -> frozenset[str]:
    files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
    return frozenset(file["hash"] for file in files)


def declared(pyproject: dict[str, Any]) -> dict[str, set[str]]:
    """Return what ``pyproject.toml`` asks for, per group and extra; ``""`` is the project itself."""
    project, groups = pyproject["project"], pyproject["dependency-groups"]
    return {
        "": {_written(need) for need in project["dependencies"]},
        **{
            f"extra == '{extra}'": {_written(need) for need in needs}
            for extra, needs in project["optional-dependencies"].items()
        },
        **{group: _members(groups, group) for group in groups},
    }


def _members(groups: dict[str, list[Any]], name: str) -> set[str]:
    plain = {_written(need) for need in groups[name] if isinstance(need, str)}
    included = [need["include-group"] for need in groups[name] if not isinstance(need, str)]
    return plain.union(*(_members(groups, group) for group in included))


def _written(need: str) -> str:
    return need.replace(" ", "")


def remembered(lock: dict[str, Any]) -> dict[str, set[str]]:
    """Return what the lock was made for, in the form of ``declared``."""
    (project,) = [package for package in lock["package"] if package["name"] == "lapwing"]
    metadata = project["metadata"]
    needed = defaultdict(set)
    for need in metadata["requires-dist"]:
        needed[need.get("marker", "")].add(_asked(need))
    return {**needed, **{group: {_asked(need) for need in needs} for group, needs in metadata["requires-dev"].items()}}


def _asked(need: dict[str, Any]) -> str:
    extras = f"[{','.join(need['extras'])}]" if "extras" in need else ""
    return str(need["name"] + extras + need.get("specifier", ""))


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file."""
    return tomllib.loads(path.read_text(encoding="utf-8"))
