"""Check the types of the examples in README and docs, as a user's editor would: ``make types``.

The Python blocks of a page that are run, joined as they are run, are checked by ``mypy --strict`` and by Pyrefly's
preset ``strict``, each with the installed package and without this project's settings. Beside the pages is one with
nothing but wrong calls: a checker that lets one of them pass sees no types.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from helpers.documents import marked_blocks
from helpers.source_tree import ROOT

PLANTED: Final = "planted"
WRONG: Final = (
    'lw.synthesize("rows.csv", "rows.schema.json", epsilon=[1])',
    'lw.load("adult.lapwing").sample("many")',
    'lw.plan("rows.schema.json", expected_rows=100, epsilon=1, mechanism=lw.Adaptiv())',
    "lw.PMM(levels=())",
    'lw.Schema.load("rows.schema.json").field(1)',
    'lw.synthesize(3, "rows.schema.json", epsilon=1)',
    'lw.synthesize("rows.csv", "rows.schema.json", epsilon=1, neighbours="add")',
    'lw.synthesize("rows.csv", 3, epsilon=1, mechanism="Adaptive")',
    'lw.synthesize("rows.csv", "rows.schema.json", epsilon=1, mechanism=3)',
    'lw.evaluate("rows.csv", "out.csv", "rows.schema.json", progress="bar")',
    'lw.Synthesizer("rows.schema.json", epsilom=1)',
    'lw.Synthesizer("rows.schema.json").fit(3)',
    'lw.Schema.load("rows.schema.json")["age"].maximun',
)
USER: Final = """
from typing import assert_type

import lapwing as lw
import polars as pl
from lapwing.typing import IntoFrame, MechanismLike, PathLike, Progress, SchemaLike


def released(rows: IntoFrame, schema: SchemaLike, ledger: PathLike, mechanism: MechanismLike = "PMM") -> lw.Release:
    def tell(step: Progress) -> None:
        print(f"{step.step}: {step.share:.0%}")

    return lw.synthesize(rows, schema, epsilon=1, mechanism=mechanism, ledger=ledger, progress=tell)


schema = lw.Schema.load("rows.schema.json") | {"age": {"maximum": 99}}
frame = pl.DataFrame({"age": [40]})
assert_type(schema, lw.Schema)
assert_type(schema.names, tuple[str, ...])
assert_type([name.upper() for name in schema], list[str])
for each in (frame, frame.lazy(), "rows.csv", ["a.parquet", "b.parquet"], lw.Query("select 1", "sqlite:///x.db")):
    released(each, schema, "l.db", lw.Adaptive(rounds=10))
synth = lw.Synthesizer(schema, epsilon=1.0, mechanism=lw.Independent()).fit(frame, frame["age"])
assert_type(synth, lw.Synthesizer)
assert_type(synth.set_params(seed=3).release_, lw.Release)
assert_type(lw.resume("t.jsonl", frame, progress=False), lw.Release)
bought = lw.evaluate(frame, "out.csv", schema, epsilon=1)
assert_type(bought.variations[0].mean, float)
lw.evaluate(frame, "out.csv", schema, by="age").summary()
"""
"""What a user may write beside the pages."""
_FOUND: Final = re.compile(r"^(?:ERROR )?(?:\S*/)?(\w+)\.py:(\d+):(?! note:).*\[([a-z-]+)\]$", re.MULTILINE)

_NONE: Final = "has a value for some kinds alone; the example knows which kind it has"
_UNTYPED: Final = "pandas and scikit-learn ship no types"
KNOWN: Final = {
    "accuracy": ({"operator", "unsupported-operation"}, f"a bound of an answer {_NONE}"),
    "gallery/census": ({"bad-argument-type", "import-untyped"}, _UNTYPED),
    "gallery/from-smartnoise-sdv": ({"import-untyped"}, _UNTYPED),
    "budget": ({"operator", "unsupported-operation"}, f"the accuracy of a plan {_NONE}"),
}
"""What stays in the examples: for each page the kinds of error, as mypy and Pyrefly call them, and why."""


class Fault(NamedTuple):
    """What a checker says of one line of a page."""

    page: str
    line: int
    code: str


def examples(root: Path = ROOT) -> dict[str, str]:
    """Return the Python of each page that shows some; README's is checked though it is not run."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    pages = {"README": re.findall(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)}
    for path in sorted((root / "docs").rglob("*.md")):
        marked = marked_blocks(path.read_text(encoding="utf-8"))
        name = path.relative_to(root / "docs").with_suffix("").as_posix()
        pages[name] = [code for language, code in marked if language == "python"]
    for path in sorted((root / "docs" / "gallery").glob("*.ipynb")):
        cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
        pages[f"gallery/{path.stem}"] = [
            code for cell in cells if not (code := "".join(cell["source"])).startswith("%%")
        ]
    return {page: "\n".join(parts) for page, parts in pages.items() if parts}


def faults(said: str, names: dict[str, str]) -> set[Fault]:
    """Return what a checker printed, by page; ``names`` says which page a file is of."""
    return {Fault(names[stem], int(line), code) for stem, line, code in _FOUND.findall(said)}


def checked(folder: Path) -> dict[str, str]:
    """Return what each checker prints about the files of a folder."""
    settings = folder / "pyrefly.toml"
    settings.write_text(
        f"preset = 'strict'\nproject-includes = ['*.py']\npython-interpreter-path = '{sys.executable}'\n"
    )
    files = sorted(path.name for path in folder.glob("*.py"))
    cache = ["--config-file", os.devnull, "--cache-dir", str(ROOT.joinpath(".mypy_cache", "examples"))]
    commands = {
        "mypy": [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--no-pretty", *cache, *files],
        "pyrefly": [
            *(str(Path(sys.executable).with_name("pyrefly")), "check", "--config", str(settings)),
            *("--output-format", "min-text", "--summary=none", "--color=never"),
        ],
    }
    done = {
        name: subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
        for name, command in commands.items()
    }
    return {name: each.stdout + each.stderr for name, each in done.items()}


def verdict(said: dict[str, str], names: dict[str, str], pages: dict[str, str]) -> list[str]:
    """Return what is wrong: errors in examples, planted ones that nobody saw, and exceptions that nothing needs."""
    found = {checker: faults(text, names) for checker, text in said.items()}
    wrong = []
    for checker, each in found.items():
        seen = {fault.line for fault in each if fault.page == PLANTED}
        wrong += [f"{checker} lets pass: {call}" for line, call in enumerate(WRONG, 2) if line not in seen]
    told = {fault for each in found.values() for fault in each if fault.page != PLANTED}
    for page, line, code in sorted(told):
        if code not in KNOWN.get(page, (set(), ""))[0]:
            wrong.append(f"{page}: {code}: {pages[page].splitlines()[line - 1].strip()}")
    needed = {(fault.page, fault.code) for fault in told}
    excepted = {(page, code) for page, (codes, _) in KNOWN.items() for code in codes}
    return wrong + [f"{page}: no checker says {code}; take it out of KNOWN" for page, code in sorted(excepted - needed)]


def main() -> int:
    """Check all pages, and say what is wrong."""
    pages = {**examples(), "user": USER, PLANTED: "\n".join(("import lapwing as lw", *WRONG))}
    names = {re.sub(r"\W", "_", page): page for page in pages}
    with tempfile.TemporaryDirectory() as folder:
        for name, page in names.items():
            (Path(folder) / f"{name}.py").write_text(pages[page], encoding="utf-8")
        said = checked(Path(folder))
    wrong = verdict(said, names, pages)
    print("\n".join(wrong) or f"The examples of {len(pages) - 1} pages have the types that they should.")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
