"""What the audits see of planted bugs, from the figures: ``python bench/audit_power_tables.py``.

Reads ``audit_power.csv``, ``audit_black_box.csv``, ``tight_audit.csv``, ``recorded_play.csv`` and ``mutants.csv`` in
``bench/results`` and prints Markdown.
"""

import csv
import math
import statistics
from collections import defaultdict
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
RARE = 0.04


def rows_of(name: str):
    """Return the lines of a file of figures."""
    with (RESULTS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table(heads: list[str], lines: list[list[object]]):
    """Print a Markdown table."""
    for line in [heads, ["---"] * len(heads), *lines]:
        print("| " + " | ".join(map(str, line)) + " |")
    print()


def grouped(rows: list[dict[str, str]], *names: str):
    """Return rows by what they have in some columns, in their order."""
    found = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in names)].append(row)
    return found


def replay_tables():
    """Print what record and replay sees, by file and for the bugs that are hardest to see."""
    rows = rows_of("audit_power.csv")
    lines = []
    for (file,), bugs in grouped(rows, "file").items():
        shares = [float(bug["share"]) for bug in bugs if bug["share"]]
        firsts = [int(bug["first_flag"]) for bug in bugs if bug["first_flag"]]
        counts = [len(bugs), len(firsts), sum(first == 1 for first in firsts), max(firsts)]
        lines.append([file.removeprefix("planted_"), *counts, f"{statistics.median(shares):.2f}", f"{min(shares):.2f}"])
    table(["tests", "bugs", "flagged", "by the first pair", "most pairs needed", "median share", "least share"], lines)
    rare = sorted(
        (row for row in rows if row["share"] and float(row["share"]) <= RARE), key=lambda row: float(row["share"])
    )
    heads = ["bug", "share of pairs", "first flag", "pairs"]
    table(heads, [[f"`{row['bug']}`", row["share"], row["first_flag"], row["pairs"]] for row in rare])


def black_box_table():
    """Print what runs certify of planted bugs in questions, where the fewest runs do not see them."""
    rows = rows_of("audit_black_box.csv")
    runs = sorted({int(row["runs"]) for row in rows})
    lines = []
    for key, same in grouped(rows, "question", "label", "relation", "max_rows", "notion", "bug").items():
        question, _, relation, max_rows, notion, bug = key
        found = {int(row["runs"]): row for row in same}
        if found[runs[0]]["is_seen"] == "True":
            continue
        bounds = [bound_of(found.get(number)) for number in runs]
        lines.append([question, f"{relation}, {max_rows}", notion, f"`{bug}`", same[0]["claim"], *bounds])
    table(["question", "neighbours", "notion", "bug", "claim", *[f"{number:,} runs" for number in runs]], lines)


def bound_of(row: dict[str, str] | None):
    """Return what was certified: bold where it is above the claim, nothing where so many runs were not needed."""
    if row is None:
        return ""
    return f"**{row['certified']}**" if row["is_seen"] == "True" else row["certified"]


def tight_table():
    """Print what is certified of whole releases."""
    lines = []
    for row in rows_of("tight_audit.csv"):
        claim = ("ε" if row["notion"] == "pure" else "μ") + f" {float(row['claimed']):.3f}"
        notion = "pure" if row["notion"] == "pure" else f"zCDP, δ {float(row['delta']):.0e}".replace("e-0", "e-")
        bounds = [f"{float(row[name]):.3f}" for name in ("certified_answers", "certified_model")]
        share = f"{float(row['exact_share']):.0%}".replace("%", " %")
        lines.append([row["mechanism"], notion, claim, share, *bounds, f"{int(row['runs']):,}", row["seconds"]])
    heads = ["mechanism", "ε = 1", "claim", "exact loss", "answers show", "model shows", "runs on each", "CPU s"]
    table(heads, lines)


def recorded_table():
    """Print the largest epsilon that record and play finds."""
    lines = []
    for (mechanism,), rows in grouped(rows_of("recorded_play.csv"), "mechanism").items():
        kinds = grouped(rows, "relation", "delta").values()
        lines.append([mechanism, *(f"{max(float(row['epsilon']) for row in same):.3f}" for same in kinds)])
    heads = [f"{relation}, {kind}" for relation in ("add-remove", "replace-one") for kind in ("pure", "zCDP")]
    table(["mechanism", *heads], lines)


def mutant_table():
    """Print how many mutants of each package were decided, at first and now."""
    rows = rows_of("mutants.csv")
    lines = []
    for (package,), mutants in [*sorted(grouped(rows, "package").items()), (("all",), rows)]:
        before, now = (
            {verdict: len(found) for (verdict,), found in grouped(mutants, name).items()} for name in ("first", "now")
        )
        noticed = [each.get("killed", 0) + each.get("timeout", 0) for each in (before, now)]
        argued = now.get("argued", 0)
        shares = [noticed[0] / len(mutants), noticed[1] / (len(mutants) - argued)]
        lines.append(
            [package, len(mutants), noticed[0], noticed[1], argued, len(mutants) - noticed[1] - argued]
            + [str(math.floor(100 * share)) for share in shares]
        )
    table(["package", "mutants", "noticed first", "noticed now", "argued", "lived", "first, %", "now, %"], lines)


if __name__ == "__main__":
    replay_tables()
    black_box_table()
    tight_table()
    recorded_table()
    mutant_table()
