"""All tables of what scale costs, from the CSV files of `scale_summary.py`; docs/scale.md has what decides."""

import csv
from collections.abc import Callable, Iterable
from pathlib import Path

Line = dict[str, str]

GOAL_ROWS = 10**10
NAMES = {"cpu_s": "CPU s", "peak_mb": "peak MB", "open_s": "open", "read_s": "read", "count_s": "count"}
NAMES |= {"noise_s": "noise", "fit_s": "fit", "draw_s": "draw", "write_s": "write"}
STAGES = {
    "pass": "open, and the first pass",
    "shuffle": "cut units to three rows, and a pass",
    "stream": "stream codes",
}
STAGES |= {"rows": "rows out"}


def print_tables(results: Path) -> None:
    """Print each table in Markdown, under its name."""
    for name, table in TABLES.items():
        print(f"{name}:", "", *table(results), "", sep="\n")


def read(path: Path) -> list[Line]:
    """Return the lines of a file, none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def markdown(head: list[str], body: Iterable[list[str]]) -> list[str]:
    """Return the lines of a table."""
    first, *rest = [f"| {' | '.join(row)} |" for row in (head, *body)]
    return [first, "|" + "---|" * len(head), *rest]


def brief(text: str, digits: int = 3) -> str:
    """Return a number as people read it; nothing for none."""
    if not text:
        return ""
    value = float(text)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.{digits}g}"


def power(text: str) -> str:
    """Return a number of rows as a power of ten."""
    digits = str(int(text)).rstrip("0")
    zeros = len(str(int(text))) - len(digits)
    return f"10^{zeros}" if digits == "1" else text


def limited(results: Path) -> list[str]:
    """Return the runs that have a limit."""
    lines = [line for line in read(results / "scale.csv") if line.get("limits")]
    head = ["run", "limit", "CPU s", "before", "peak MB", "before", "missed", "commit"]
    body = [
        [
            named(line),
            line["limits"],
            brief(line["cpu_s"]),
            brief(line.get("cpu_s_57ba5ec", "")),
            brief(line["peak_mb"]),
            brief(line.get("peak_mb_57ba5ec", "")),
            line["missed"],
            line["commit"],
        ]
        for line in lines
    ]
    return markdown(head, body)


def named(line: Line) -> str:
    """Return what a run did, in words."""
    if line["action"] == "release":
        return f"{line['mechanism']}, {power(line['rows'])} x {line['columns']}"
    if line["action"] == "evaluate":
        return f"evaluation, {power(line['rows'])} x {line['columns']}"
    return f"{power(line['rows_out'])} rows of {line['mechanism']}, {line['columns']} columns, to a {line['to']}"


def stages_of(results: Path, action: str, wanted: Callable[[Line], bool]) -> list[str]:
    """Return the stages of some runs."""
    lines = [line for line in read(results / "scale.csv") if line["action"] == action and wanted(line)]
    names = [name for name in ("cpu_s", *list(NAMES)[2:], "peak_mb") if any(line[name] for line in lines)]
    lines.sort(key=lambda line: (line["mechanism"], int(line["columns"]), int(line["rows"]), int(line["rows_out"])))
    more = ["passes", "commit"] if action == "release" else ["commit"]
    head = ["run", *(NAMES[name] for name in names), *more]
    return markdown(
        head, ([named(line), *(brief(line[n], 2) for n in names), *(line[n] for n in more)] for line in lines)
    )


def by_rows(results: Path) -> list[str]:
    """Return releases by rows."""
    return stages_of(results, "release", lambda line: line["columns"] in {"5", "15"})


def by_columns(results: Path) -> list[str]:
    """Return releases of Adaptive by columns."""
    return stages_of(results, "release", lambda line: line["rows"] != "10000000" and line["mechanism"] == "Adaptive")


def rows_out(results: Path) -> list[str]:
    """Return rows drawn."""
    return stages_of(results, "sample", lambda _: True)


def exponents(results: Path) -> list[str]:
    """Return growth exponents of CPU, peak and the larger stages."""
    lines = [line for line in read(results / "scale_exponents.csv") if line["measured"] in NAMES]
    lines = [line for line in lines if float(line["largest"]) >= 0.3]
    head = ["series", "grows", "sizes", "measured", "exponent", "between the largest two", "a million more"]
    body = (
        [
            line["series"],
            line["grows"],
            line["sizes"],
            NAMES[line["measured"]],
            f"{float(line['exponent']):.2f}",
            f"{float(line['last_exponent']):.2f}",
            brief(line["per_million_more"], 2) if line["grows"] != "columns" else "",
        ]
        for line in lines
    )
    return markdown(head, body)


def overhead(results: Path) -> list[str]:
    """Return ratios to an engine's own count."""
    lines = [line for line in read(results / "scale_overhead.csv") if line["part"] == "overhead"]
    head = [
        "engine",
        "rows",
        "columns",
        "tables",
        "its CPU s",
        "ours",
        "ratio",
        "by cells",
        "next pass",
        "missed",
        "commit",
    ]
    names = ("engine_cpu_s", "ours_cpu_s", "ratio", "values_ratio", "again_ratio")
    body = (
        [line["engine"], power(line["rows"]), line["columns"], line["case"]]
        + [brief(line[name], 2) for name in names]
        + [line["missed"], line["commit"]]
        for line in lines
    )
    return markdown(head, body)


def per_row(results: Path) -> dict[tuple[str, str, str], float]:
    """Return CPU seconds for each row more, by engine, case and measurement, between 10**6 and 10**7 rows."""
    lines = [line for line in read(results / "scale_overhead.csv") if line["part"] == "stages"]
    by_key = {(line["engine"], line["case"], line["rows"]): line for line in lines}
    found = {}
    for (engine, case, rows), line in by_key.items():
        less = by_key.get((engine, case, str(int(rows) // 10)))
        for name in ("ours_cpu_s", "again_cpu_s", "shuffle_mb"):
            if less is not None and line[name] and less[name]:
                found[engine, case, name] = (float(line[name]) - float(less[name])) / (0.9 * int(rows))
    return found


def stages(results: Path) -> list[str]:
    """Return what stages take on engines, and how much each row adds."""
    lines = [line for line in read(results / "scale_overhead.csv") if line["part"] == "stages"]
    more = per_row(results)
    head = [
        "engine",
        "stage",
        "rows",
        "CPU s",
        "next pass",
        "shuffled MB",
        "microseconds per row more",
        "next pass",
        "commit",
    ]
    body = []
    for line in lines:
        key = (line["engine"], line["case"])
        is_largest = line["rows"] == "10000000"
        slopes = [more.get((*key, name)) if is_largest else None for name in ("ours_cpu_s", "again_cpu_s")]
        shown = [brief(line[name], 2) for name in ("ours_cpu_s", "again_cpu_s", "shuffle_mb")]
        told = ["" if slope is None else f"{slope * 1e6:.2g}" for slope in slopes]
        body.append([line["engine"], STAGES[line["case"]], power(line["rows"]), *shown, *told, line["commit"]])
    return markdown(head, body)


def plan(results: Path) -> list[str]:
    """Return core hours and shuffled gigabytes for ten billion rows of five columns, where both sizes were measured."""
    more = per_row(results)
    head = ["engine", "stage", "core hours for 10^10 rows", "shuffled GB"]
    body = []
    for (engine, case, name), slope in more.items():
        if name == "shuffle_mb":
            continue
        label = STAGES[case] if name == "ours_cpu_s" else f"each later pass after: {STAGES[case]}"
        moved = more.get((engine, case, "shuffle_mb")) if name == "ours_cpu_s" else None
        moved_gb = "" if moved is None else f"{moved * GOAL_ROWS / 1e3:.2g}"
        body.append([engine, label, f"{slope * GOAL_ROWS / 3600:.2g}", moved_gb])
    return markdown(head, body)


TABLES: dict[str, Callable[[Path], list[str]]] = {
    "limits": limited,
    "rows": by_rows,
    "columns": by_columns,
    "rows-out": rows_out,
    "exponents": exponents,
    "overhead": overhead,
    "stages": stages,
    "plan": plan,
}
