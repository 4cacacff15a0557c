"""Fold the fragments of changelog.d/ into CHANGELOG.md: ``python tools/changelog.py 0.2.0 2027-01-31``."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADINGS = {"privacy": "Privacy", "added": "Added", "changed": "Changed", "fixed": "Fixed", "removed": "Removed"}
"""Kinds of fragments, in the order in which they are shown: what touches a guarantee comes first."""


def fragments(folder: Path) -> "dict[str, list[Path]]":
    """Return the fragments of each kind, in the order of their names; a file of no kind is refused."""
    found: dict[str, list[Path]] = {kind: [] for kind in HEADINGS}
    for path in sorted(folder.glob("*.md")):
        kind = path.name.split(".")[-2]
        if path.name == "README.md":
            continue
        if kind not in found:
            raise SystemExit(f"{path.name} has no kind; name it NAME.KIND.md, KIND one of {', '.join(HEADINGS)}")
        found[kind].append(path)
    return found


def section(version: str, date: str, folder: Path) -> str:
    """Return what CHANGELOG.md says of a version."""
    parts = [f"## {version} ({date})"]
    for kind, paths in fragments(folder).items():
        if paths:
            texts = [" ".join(path.read_text(encoding="utf-8").split()) for path in paths]
            parts += [f"### {HEADINGS[kind]}", "\n".join(f"- {text}" for text in texts)]
    return "\n\n".join(parts) + "\n"


def fold(version: str, date: str, root: Path = ROOT) -> int:
    """Write the section above the older ones, delete its fragments, and return how many there were."""
    changelog, folder = root / "CHANGELOG.md", root / "changelog.d"
    text = changelog.read_text(encoding="utf-8")
    if not re.fullmatch(r"\d+\.\d+\.\d+", version) or f"\n## {version} " in text:
        raise SystemExit(f"version must be new and of the form 1.2.3, got {version}")
    done = [path for paths in fragments(folder).values() for path in paths]
    head, mark, older = text.partition("\n## ")
    changelog.write_text(f"{head.rstrip()}\n\n{section(version, date, folder)}{mark}{older}", encoding="utf-8")
    for path in done:
        path.unlink()
    return len(done)


if __name__ == "__main__":
    print(f"{fold(sys.argv[1], sys.argv[2])} fragments are in CHANGELOG.md now")
