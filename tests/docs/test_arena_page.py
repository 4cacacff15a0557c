"""docs/arena.md is what its command writes from the results, and README says the same figures."""

import csv
import subprocess
import sys
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).resolve().parents[2]


def test_the_arena_page_is_what_its_command_writes() -> None:
    """A figure changed by hand, or results without a new page, are noticed."""
    command = [sys.executable, str(ROOT / "bench" / "arena" / "page.py"), "--print"]

    written = subprocess.run(command, check=True, capture_output=True, timeout=60).stdout.decode()

    files = (ROOT / "docs" / "arena.md", ROOT / "docs" / "img" / "arena.svg")
    assert written == "".join(file.read_text(encoding="utf-8") for file in files), (
        "docs/arena.md and its picture are written by a command: python bench/arena/page.py"
    )


def test_readme_quotes_the_figures_of_the_arena() -> None:
    """The lines of the table "How good it is" are means of cells of arena.csv."""
    with (ROOT / "bench" / "results" / "arena.csv").open(newline="") as file:
        lines = [line for line in csv.DictReader(file) if is_quoted(line)]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    for name, rival in QUOTED.items():
        runs = [line for line in lines if line["rival"] == rival]
        means = {key: fmean(float(line[key]) for line in runs) for key in (*SCORES, "cpu_s")}
        scores = " | ".join(f"{means[key]:.3f}" for key in SCORES)
        assert len(runs) == 3
        assert f"| {name} | {scores} | {means['cpu_s']:.0f} |" in readme


SCORES = ("tv2_narrow", "tv3_narrow", "auc_trees")
QUOTED = {
    "Lapwing, by default": "lapwing",
    "AIM, all pairs": "mbi-aim2",
    "PrivSyn": "privsyn",
    "MST": "mbi-mst",
    "independent columns (baseline)": "independent",
}


def is_quoted(line: dict[str, str]) -> bool:
    """Say whether a line is of README's table and budget."""
    return (line["table"], line["form"], line["epsilon"], line["delta"]) == ("adult-pgm", "codes", "1", "1e-9")
