"""Write docs/peers.md from the two files of results, and nothing else: ``python bench/peers/page.py``."""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from bad_cases import ABOUT, CASES
from plan import OTHER_EPSILONS, SWEPT, TABLES, lines_of, planned

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "peers.md"
WORDS = Path(__file__).resolve().parent / "page_words.md"
FLOOR = "lapwing-independent"
MEASURES = {"tv1": "1-way", "tv2": "2-way", "tv3": "3-way", "auc": "AUC"}
ABOUT_TABLES = {
    "adult-pgm": "census, in private-pgm's own codes; AUC of `income>50K` on the fifth held back",
    "nltcs": "sixteen flags of disability; no target",
    "magic": "ten continuous numbers in 64 equal parts each, and a class, which is the target",
    "rhc-icu": "intensive care, small and wide: 23 flags and categories, 26 numbers; target `dth30`, which another "
    "column (`t3d30`) all but gives away",
}
TOOLS = ("lapwing", "smartnoise", "dpmm", "datasynthesizer", "mbi")

Line = dict[str, str]


def page() -> str:
    """Return the page."""
    fits = lines_of(RESULTS / "peers.csv")
    words = WORDS.read_text(encoding="utf-8")
    parts = {
        "FITS": all_tables(fits),
        "LOSES": "\n".join(losses(fits)) or "Nowhere in these runs.",
        "BAD": bad_inputs(lines_of(RESULTS / "peers_bad_input.csv")),
        "MISSING": missing(fits),
        "MADE": made(fits),
    }
    for name, text in parts.items():
        words = words.replace(f"<!-- {name} -->", text)
    return words


def all_tables(fits: list[Line]) -> str:
    """Return one table: a line for each peer and promise, a column for each table and epsilon, best pairs first."""
    places = [(table, "1") for table in TABLES] + [(SWEPT, epsilon) for epsilon in OTHER_EPSILONS]
    lines: dict[tuple[str, str], dict[tuple[str, str], Line]] = {}
    for line in fits:
        if line["run"] == "0":
            lines.setdefault((line["peer"], promise(line)), {})[line["table"], line["epsilon"]] = line
    first = {key: float(found.get(places[0], {}).get("tv2") or 9) for key, found in lines.items()}
    shown = sorted((key for key in lines if any(place in lines[key] for place in places)), key=lambda key: first[key])
    head = ["peer, promise", *(table if epsilon == "1" else f"{table}, ε = {epsilon}" for table, epsilon in places)]
    rows = [[f"`{peer}`, {kind}", *(scored(lines[peer, kind].get(place)) for place in places)] for peer, kind in shown]
    sizes = [f"- {table}: {size_of(fits, table)}: {ABOUT_TABLES[table]}." for table in TABLES]
    made_rows = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    made_rows.insert(1, "|" + "---|" * len(head))
    return "\n".join([*sizes, "", *made_rows])


def size_of(fits: list[Line], table: str) -> str:
    """Return the size of a table in words."""
    found = next((line for line in fits if line["table"] == table), None)
    return f"{int(found['rows']):,} rows, {found['columns']} columns" if found else ""


def scored(line: Line | None) -> str:
    """Return the error of pairs, the AUC where there is a target, and the CPU seconds of a fit."""
    if line is None or not line["tv2"]:
        return "" if line is None else line["status"]
    cpu = f"{float(line['fit_cpu_s'] or 0) + float(line['rows_cpu_s'] or 0):.1f} s{mark(line)}"
    auc = f"AUC {float(line['auc']):.3f}; " if line["auc"] else ""
    return f"{float(line['tv2']):.3f}; {auc}{cpu}"


def promise(line: Line) -> str:
    """Return the kind of promise."""
    return "(ε, δ)" if float(line["delta"]) else "ε"


def mark(line: Line) -> str:
    """Return the mark of another machine."""
    return " *" if "Intel" in line["machine"] else ""


def losses(fits: list[Line]) -> list[str]:
    """Return a line for each peer, or every column on its own, that beats Lapwing's default in some figure."""
    ours = {key_of(line): line for line in fits if line["peer"] == "lapwing-adaptive" and line["status"] == "done"}
    found: dict[str, list[str]] = {}
    for line in fits:
        own = ours.get(key_of(line))
        if own is None or line["peer"] == "lapwing-adaptive" or line["status"] != "done":
            continue
        better = [key for key in MEASURES if line[key] and is_better(key, float(line[key]), float(own[key]))]
        name = "every column on its own" if line["peer"] == FLOOR else f"`{line['peer']}`"
        for key in better:
            where = f"{line['table']} at {line['epsilon']} ({line[key]} for {own[key]})"
            found.setdefault(f"{name}, {promise(line)}, {MEASURES[key]}", []).append(where)
    return [f"- {name}: {', '.join(told)}." for name, told in found.items()]


def key_of(line: Line) -> tuple[str, ...]:
    """Return what two fits must share to be compared: rows, budget, promise."""
    return (line["table"], line["epsilon"], line["delta"], line["run"])


def is_better(measure: str, other: float, own: float) -> bool:
    """Say whether a figure is better than ours; of distances small ones are."""
    return other > own if measure == "auc" else other < own


def missing(fits: list[Line]) -> str:
    """Return what of the plan has no line."""
    had = {(line["peer"], *key_of(line)) for line in fits}
    left = [fit for fit in planned(1) if (fit.peer, fit.table, fit.epsilon, fit.delta, str(fit.run)) not in had]
    if not left:
        return "Nothing of the plan (`plan.py`) was left out."
    peers = dict.fromkeys(fit.peer for fit in left)
    told = [f"`{peer}` {sum(fit.peer == peer for fit in left)}" for peer in peers]
    return f"Fits of the plan (`bench/peers/plan.py`) that were not run: {', '.join(told)}."


def made(fits: list[Line]) -> str:
    """Return versions, machines and commits."""
    versions = dict.fromkeys((line["peer"].split("-")[0], line["version"]) for line in fits)
    machines = ", ".join(name + (" (marked \\*)" if "Intel" in name else "") for name in of(fits, "machine"))
    told = ", ".join(f"{name} {version}" for name, version in sorted(versions))
    return f"Versions: {told}. Machines: {machines}. Commits are in the files of results."


def of(lines: Iterable[Line], key: str) -> list[str]:
    """Return the different values of a column of results."""
    return list(dict.fromkeys(line[key] for line in lines))


def bad_inputs(lines: list[Line]) -> str:
    """Return the table of cases and tools."""
    answers = {(line["case"], line["tool"]): line for line in lines}
    head = ["| input | " + " | ".join(TOOLS) + " |", "|---|" + "---|" * len(TOOLS)]
    rows = [
        f"| {case}: {ABOUT[case]} | " + " | ".join(cell(answers.get((case, tool))) for tool in TOOLS) + " |"
        for case in CASES
    ]
    stamp = ", ".join(f"{tool} {v}" for tool, v in dict.fromkeys((line["tool"], line["version"]) for line in lines))
    dates = ", ".join(of(lines, "date"))
    return "\n".join([*head, *rows, "", f"Asked on {dates}: {stamp}."])


def cell(line: Line | None) -> str:
    """Return in a few words what a tool did."""
    if line is None:
        return "not asked"
    words: dict[str, Callable[[Line], str]] = {
        "rows": rows_in_words,
        "refuses": lambda _: "refuses",
        "error from below": lambda found: f"fails ({found['kind']})",
        "not offered": lambda _: "–",
    }
    told = words.get(line["outcome"], lambda found: found["outcome"])(line)
    return told + (" and **quotes a private value**" if line["quotes"] == "True" else "")


def rows_in_words(line: Line) -> str:
    """Return what is to be said of rows out."""
    if line["same_again"]:
        return "**the same rows again**" if line["same_again"] == "True" else "other rows"
    told = f"{line['rows_out']} rows"
    is_beyond = line["largest"] not in ("", "None", "nan") and float(line["largest"]) > 1000
    if line["holds"] == "True" or is_beyond:
        told += ", **private value or its size in them**"
    if line["sites"] == "1":
        told += ", **all of that one category**"
    if line["missing"] not in ("", "0"):
        told += ", some missing"
    return told + (", after a warning" if "PrivacyLeakage" in line["said"] else "")


def write_page() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def main() -> None:
    """Write the page, or print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", action="store_true", help="to the screen instead")
    if parser.parse_args().print:
        sys.stdout.buffer.write(page().encode())
    else:
        write_page()


if __name__ == "__main__":
    main()
