"""Write the bill of materials and the page on dependencies, from ``uv.lock`` and ``tools/licences.toml``.

``python tools/sbom.py`` writes them; both are functions of these files and of ``pyproject.toml``, so that a test can
compare them. Standard library only.
"""

import json
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SBOM = "docs/procurement/lapwing.cdx.json"
PAGE = "docs/procurement.md"


class SbomError(Exception):
    """The files cannot be written; the message says why."""


@dataclass(frozen=True, slots=True)
class Component:
    """One package of the lock that Lapwing runs with, and what needs it."""

    locked: dict[str, Any]
    licence: str
    why: str
    needed_by: tuple[str, ...]
    marker: str

    @property
    def name(self) -> str:
        """Its name on the index."""
        return str(self.locked["name"])

    @property
    def version(self) -> str:
        """Its exact version."""
        return str(self.locked["version"])

    @property
    def ref(self) -> str:
        """What it is called within the bill: its package URL."""
        return f"pkg:pypi/{self.name}@{self.version}"


def read(name: str) -> dict[str, Any]:
    """Return the content of a TOML file of the project."""
    return tomllib.loads((ROOT / name).read_text(encoding="utf-8"))


def matching(lock: dict[str, Any], need: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the packages of the lock that a dependency may be: several where versions differ by marker."""
    found = [package for package in lock["package"] if package["name"] == need["name"]]
    return [package for package in found if need.get("version", package["version"]) == package["version"]]


def needs_of(package: dict[str, Any], extras: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return what a package needs, with some of its extras."""
    optional = package.get("optional-dependencies", {})
    return [*package.get("dependencies", []), *(need for extra in extras for need in optional.get(extra, []))]


def closure(lock: dict[str, Any], extras: tuple[str, ...]) -> dict[tuple[str, str], set[str]]:
    """Return each package that Lapwing with these extras needs, as name and version, and the names of what needs it."""
    (project,) = matching(lock, {"name": "lapwing"})
    found: dict[tuple[str, str], set[str]] = {}
    wanted = [("lapwing", need) for need in needs_of(project, extras)]
    done: set[tuple[str, str, tuple[str, ...]]] = set()
    while wanted:
        by, need = wanted.pop()
        for package in matching(lock, need):
            key, more = (package["name"], package["version"]), tuple(need.get("extra", ()))
            found.setdefault(key, set()).add(by)
            if (*key, more) not in done:
                done.add((*key, more))
                wanted += [(package["name"], each) for each in needs_of(package, more)]
    return found


def extras_of(lock: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of all extras but ``all``, which is the others together."""
    (project,) = matching(lock, {"name": "lapwing"})
    return tuple(sorted(set(project["optional-dependencies"]) - {"all"}))


def components(
    lock: dict[str, Any], licences: dict[str, Any], found: dict[tuple[str, str], set[str]]
) -> list[Component]:
    """Return what was found in the order of names, with what a person has noted about each."""
    made = []
    for name, version in sorted(found):
        if name not in licences:
            raise SbomError(f"{name} has no licence in tools/licences.toml: read it, and write it there")
        (package,) = matching(lock, {"name": name, "version": version})
        about, by = licences[name], tuple(sorted(found[name, version]))
        made.append(Component(package, about["licence"], about.get("why", ""), by, marker_of(lock, name, version)))
    return made


def marker_of(lock: dict[str, Any], name: str, version: str) -> str:
    """Return the condition under which what runs needs this version, where there is one and all agree on it."""
    parents = {parent for parent, _ in closure(lock, extras_of(lock))} | {"lapwing"}
    needs = [each for package in lock["package"] if package["name"] in parents for each in needs_of(package, ())]
    same = [each for each in needs if each["name"] == name and each.get("version", version) == version]
    markers = {each.get("marker", "") for each in same}
    return markers.pop() if len(markers) == 1 else ""


def bill(lock: dict[str, Any], licences: dict[str, Any], project: dict[str, Any]) -> dict[str, Any]:
    """Return the bill of materials, in CycloneDX 1.5, with neither date nor random number: same lock, same bill.

    Components of the plain installation are ``required``, those that only extras need ``optional``.
    """
    required = closure(lock, ())
    everything = closure(lock, extras_of(lock))
    listed = components(lock, licences, everything)
    root = f"pkg:pypi/lapwing@{project['version']}"
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": root,
                "name": "lapwing",
                "version": project["version"],
                "licenses": [{"expression": project["license"]}],
                "purl": root,
            }
        },
        "components": [entry(each, is_required=(each.name, each.version) in required) for each in listed],
        "dependencies": [{"ref": root, "dependsOn": dependents("lapwing", listed)}]
        + [{"ref": each.ref, "dependsOn": dependents(each.name, listed)} for each in listed],
    }


def dependents(name: str, listed: list[Component]) -> list[str]:
    """Return the references of what a package needs."""
    return [each.ref for each in listed if name in each.needed_by]


def entry(component: Component, *, is_required: bool) -> dict[str, Any]:
    """Return one component of the bill, with every file that it may be installed from."""
    files = [*component.locked.get("wheels", []), *filter(None, [component.locked.get("sdist")])]
    marker = [{"name": "lapwing:marker", "value": component.marker}] if component.marker else []
    return {
        "type": "library",
        "bom-ref": component.ref,
        "name": component.name,
        "version": component.version,
        "scope": "required" if is_required else "optional",
        "licenses": [{"expression": component.licence}],
        "purl": component.ref,
        "externalReferences": [
            {
                "type": "distribution",
                "url": file["url"],
                "hashes": [{"alg": "SHA-256", "content": file["hash"].removeprefix("sha256:")}],
            }
            for file in files
        ],
        **({"properties": marker} if marker else {}),
    }


def listing(listed: list[Component]) -> str:
    """Return the packages for the page, by licence; what is not needed by another says what it is for.

    Their versions are in the lock and the bill.
    """
    by_licence: dict[str, dict[str, str]] = {}
    for each in listed:
        shown = each.name + (f" ({each.why})" if each.why else "")
        by_licence.setdefault(each.licence, {})[shown] = ""
    return "\n".join(f"- **{licence}**: {', '.join(shown)}" for licence, shown in sorted(by_licence.items()))


def page(text: str, lock: dict[str, Any], licences: dict[str, Any]) -> str:
    """Return the page with its lists made anew: only what stands between the lines that name it."""
    required = closure(lock, ())
    optional = {key: by for key, by in closure(lock, extras_of(lock)).items() if key not in required}
    for name, found in {"required": required, "optional": optional}.items():
        begin, end = f"<!-- {name}: written by make sbom -->\n", f"<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = before + begin + "\n" + listing(components(lock, licences, found)) + "\n\n" + end + rest.split(end)[1]
    return text


def made() -> dict[str, str]:
    """Return the text of each file that this writes, by its path."""
    lock, licences, project = read("uv.lock"), read("tools/licences.toml"), read("pyproject.toml")["project"]
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    return {
        SBOM: json.dumps(bill(lock, licences, project), indent=1) + "\n",
        PAGE: page(text, lock, licences),
    }


def main() -> int:
    """Write both files."""
    try:
        for name, text in made().items():
            (ROOT / name).write_text(text, encoding="utf-8", newline="\n")
            print(f"written: {name}")
    except SbomError as problem:
        print(f"sbom: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
