"""Draw the house: what each folder holds, who imports whom, and what the trusted base is, measured from the source.

    python tools/house.py [SRC] [--folder mechanisms/adaptive] [--trusted]

For each folder below SRC (default ``src/lapwing``): entries, files, lines, of these code and docstrings, its largest
file, the folders that it imports and those that import it. ``--folder`` lists the files of one folder, with
who uses each; ``--trusted`` lists every module that is reached by imports from the kernel, with its lines of code: what
an auditor reads. The last line sums up: files, lines, arrows between folders, files that one other file alone uses.
"""

import argparse
import ast
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KERNEL = "kernel"


@dataclass(slots=True)
class Module:
    """One file: its name below the package, its lines, and the modules that it imports when it is loaded."""

    name: str
    lines: int
    code: int
    docstrings: int
    imports: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=set)

    @property
    def folder(self) -> str:
        """The folder that it is in; empty at the root."""
        return self.name.rpartition("/")[0]


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", type=Path, default=ROOT / "src" / "lapwing")
    parser.add_argument("--folder")
    parser.add_argument("--trusted", action="store_true")
    chosen = parser.parse_args()
    modules = read(chosen.source)
    if chosen.trusted:
        lines = trusted(modules)
    elif chosen.folder:
        lines = files(modules, chosen.folder.strip("/"))
    else:
        lines = folders(modules)
    sys.stdout.write("\n".join(lines) + "\n")


def read(source: Path) -> dict[str, Module]:
    """Return every module of a package, by its path below it without ending."""
    trees = {
        path.relative_to(source).with_suffix("").as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(source.rglob("*.py"))
    }
    texts = {name: (source / f"{name}.py").read_text(encoding="utf-8").splitlines() for name in trees}
    modules = {name: _measured(name, trees[name], texts[name]) for name in trees}
    arrows = {(name, target) for name in trees for node in ast.walk(trees[name]) for target in _targets(node, modules)}
    for name, target in arrows:
        if target != name:
            modules[name].imports.add(target)
            modules[target].users.add(name)
    return modules


def folders(modules: dict[str, Module]) -> list[str]:
    """Return a table of all folders, and the sums."""
    inside = defaultdict(list)
    for module in modules.values():
        inside[module.folder].append(module)
    arrows = {(one.folder, modules[two].folder) for one in modules.values() for two in one.imports}
    arrows = {(one, two) for one, two in arrows if one != two}
    heads = ("folder", "entries", "files", "lines", "code", "docstrings", "largest", "imports", "imported by")
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * 8]
    for folder, members in sorted(inside.items()):
        below = {name.removeprefix(folder + "/").split("/")[0] for name in inside if name.startswith(folder + "/")}
        sums = [
            sum(each.lines for each in members),
            sum(each.code for each in members),
            sum(each.docstrings for each in members),
        ]
        largest = max(each.lines for each in members)
        ends = sum(one == folder for one, _ in arrows), sum(two == folder for _, two in arrows)
        figures = [len(members) + len(below if folder else {}), len(members), *sums, largest, *ends]
        lines.append(f"| {folder or '.'} | " + " | ".join(f"{each:,}" for each in figures) + " |")
    lonely = sum(len(each.users) == 1 for each in modules.values())
    total = sum(each.lines for each in modules.values())
    lines += [
        "",
        f"{len(modules)} files, {total:,} lines, {len(arrows)} arrows between {len(inside)} folders, "
        f"{lonely} files that one other file alone uses",
    ]
    return lines


def files(modules: dict[str, Module], folder: str) -> list[str]:
    """Return a table of the files of one folder, and of those below it."""
    lines = ["| file | lines | code | imports | used by |", "|---|---:|---:|---:|---|"]
    for module in modules.values():
        if module.folder == folder or module.folder.startswith(folder + "/"):
            users = sorted(module.users)
            shown = ", ".join(users) if len(users) < 4 else f"{len(users)} files"
            lines.append(f"| {module.name} | {module.lines} | {module.code} | {len(module.imports)} | {shown} |")
    return lines


def trusted(modules: dict[str, Module]) -> list[str]:
    """Return what the kernel reaches by imports: every file that can break its promise."""
    waiting, found = [name for name in modules if name.split("/")[0] == KERNEL], set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += modules[name].imports
    lines = [f"{name}: {modules[name].code}" for name in sorted(found)]
    return [*lines, f"{len(found)} files, {sum(modules[name].code for name in found):,} lines of code"]


def _targets(node: ast.AST, modules: dict[str, Module]) -> list[str]:
    """Return the modules of the package that a statement imports."""
    match node:
        case ast.ImportFrom(module=str() as module, names=names) if module.split(".")[0] == "lapwing":
            base = "/".join(module.split(".")[1:])
            inner = [f"{base}/{alias.name}".strip("/") for alias in names]
            return [name if name in modules else base for name in inner if name in modules or base in modules]
        case ast.Import(names=names):
            paths = ["/".join(alias.name.split(".")[1:]) for alias in names if alias.name.startswith("lapwing.")]
            return [path for path in paths if path in modules]
    return []


def _measured(name: str, tree: ast.Module, text: list[str]) -> Module:
    """Count the lines of a file."""
    explained = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            first = node.body[0]
            explained |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    code = sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in explained
        for number, line in enumerate(text, 1)
    )
    return Module(name, len(text), code, len(explained))


if __name__ == "__main__":
    main()
