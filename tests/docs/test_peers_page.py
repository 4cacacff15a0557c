"""docs/peers.md is what its command writes from the results, and README says the same figures."""

import csv
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_on_peers_is_what_its_command_writes() -> None:
    """A figure changed by hand, or results without a new page, are noticed."""
    command = [sys.executable, str(ROOT / "bench" / "peers" / "page.py"), "--print"]

    written = subprocess.run(command, check=True, capture_output=True, timeout=60).stdout.decode()

    assert written == (ROOT / "docs" / "peers.md").read_text(encoding="utf-8"), (
        "docs/peers.md is written by a command: python bench/peers/page.py"
    )


def test_readme_quotes_the_figures_of_peers() -> None:
    """AIM and MST in the table "How good it is" are the lines of peers.csv."""
    with (ROOT / "bench" / "results" / "peers.csv").open(newline="") as file:
        lines = {(line["peer"], line["table"], line["epsilon"]): line for line in csv.DictReader(file)}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    for name, peer in (("AIM", "mbi-aim"), ("MST", "mbi-mst")):
        line = lines[peer, "adult-pgm", "1"]
        scores = " | ".join(f"{float(line[key]):.3f}" for key in ("tv2", "tv3", "auc"))
        assert f"| {name} (1 run) | {scores} |" in readme
