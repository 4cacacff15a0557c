"""Ratios, growth exponents, limits and pictures from the runs that `scale.py` made."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from charts import log_log
from png import write_png

BASELINE = "57ba5ec"
"""The commit before issue 13's work."""

Line = dict[str, object]
KEY = ("action", "mechanism", "rows", "columns", "rows_out", "to")
ENGINE_KEY = ("part", "engine", "case", "rows", "columns")
MEASURED = ("cpu_s", "wall_s", "peak_mb")
STAGES = ("open_s", "read_s", "count_s", "noise_s", "fit_s", "draw_s", "write_s")
SHOWN = (*MEASURED, "passes", "read_mb", *STAGES)
SERIES = {
    "PMM, 5 columns": ("release", "PMM", "rows", {"columns": "5"}),
    "Adaptive, 15 columns": ("release", "Adaptive", "rows", {"columns": "15"}),
    "Independent, 15 columns": ("release", "Independent", "rows", {"columns": "15"}),
    "Adaptive, 20000 rows": ("release", "Adaptive", "columns", {"rows": "20000"}),
    "Adaptive, 100000 rows": ("release", "Adaptive", "columns", {"rows": "100000"}),
    "Adaptive, 1000000 rows": ("release", "Adaptive", "columns", {"rows": "1000000"}),
    "rows of PMM, 5 columns": ("sample", "PMM", "rows_out", {"columns": "5", "to": "file"}),
    "rows of Adaptive, 15 columns": ("sample", "Adaptive", "rows_out", {"columns": "15", "to": "file"}),
    "1000000 rows of Adaptive": ("sample", "Adaptive", "columns", {"rows_out": "1000000", "to": "file"}),
}
"""Action, mechanism, what grows, and what stays the same."""

LIMITS = {
    ("release", "PMM", "100000000", "5", "1000", ""): (60, 1.5 * 1024),
    ("release", "Adaptive", "10000000", "15", "1000", ""): (180, 3 * 1024),
    ("release", "Adaptive", "1000000", "100", "1000", ""): (600, 4 * 1024),
    ("sample", "PMM", "1000000", "5", "100000000", "file"): (120, 1024),
    ("sample", "PMM", "1000000", "5", "100000000", "folder"): (120, 1024),
    ("sample", "Adaptive", "1000000", "15", "100000000", "file"): (120, 1024),
    ("sample", "Adaptive", "1000000", "15", "100000000", "folder"): (120, 1024),
    ("evaluate", "", "1000000", "50", "1000000", "file"): (60, 4 * 1024),
    ("evaluate", "", "10000000", "20", "10000000", "file"): (60, 4 * 1024),
}
"""CPU seconds and MB that issues 13 and 37 allow."""

MOST_OVERHEAD = 3.0
PICTURES = {
    "scale-rows.png": ("Releases: CPU seconds by rows", "release", "rows", ("cpu_s",)),
}
"""Title, action, what grows, and what is measured."""


def summarise(folder: Path, pictures: Path) -> None:
    """Write ``scale.csv``, ``scale_exponents.csv``, ``scale_overhead.csv`` and pictures: the newest of each run."""
    runs = done(read(folder / "scale_runs.csv"))
    newest = {key: lines[-1] for key, lines in grouped(runs, KEY).items()}
    write(folder / "scale.csv", [compared(lines) for lines in grouped(runs, KEY).values()])
    write(folder / "scale_exponents.csv", [line for name in SERIES for line in exponents(name, newest.values())])
    engines = done(read(folder / "scale_engines.csv"))
    if engines:
        write(folder / "scale_overhead.csv", [judged(lines[-1]) for lines in grouped(engines, ENGINE_KEY).values()])
    for file, (title, action, grows, names) in PICTURES.items():
        curves = {
            f"{series} {name[:-2]}" if len(names) > 1 else series: points
            for series, chosen in SERIES.items()
            if (chosen[0], chosen[2]) == (action, grows)
            for name in names
            if len(points := points_of(series, newest.values(), name)) > 1
        }
        if curves:
            axes = (grows.replace("_", " "), "MB" if "peak_mb" in names else "s")
            write_png(pictures / file, log_log(title, curves, axes))


def read(path: Path) -> list[Line]:
    """Return the lines of a file, none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, lines: Sequence[Line]) -> None:
    """Write lines, with all the names that any of them has."""
    names = list(dict.fromkeys(name for line in lines for name in line))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows({key: f"{v:.4g}" if isinstance(v, float) else v for key, v in line.items()} for line in lines)


def done(lines: Iterable[Line]) -> list[Line]:
    """Return the runs that were done."""
    return [line for line in lines if line["status"] == "done"]


def grouped(lines: Iterable[Line], key: Sequence[str]) -> dict[tuple[str, ...], list[Line]]:
    """Return runs of the same kind together, in the order in which they were made."""
    found: dict[tuple[str, ...], list[Line]] = {}
    for line in lines:
        found.setdefault(tuple(str(line[name]) for name in key), []).append(line)
    return found


def compared(lines: list[Line]) -> Line:
    """Return the newest of the same runs, with the baseline's seconds and MB, ratios, limits and what was missed."""
    last, first = lines[-1], next((line for line in lines if line["commit"] == BASELINE), None)
    found = {name: last[name] for name in (*KEY, *SHOWN)}
    if first is not None and first is not last:
        for name in MEASURED:
            found[f"{name}_{BASELINE}"] = first[name]
            found[f"{name}_ratio"] = number(last, name) / number(first, name)
    limits = LIMITS.get(tuple(str(last[name]) for name in KEY))
    if limits is not None:
        pairs = zip(("cpu_s", "peak_mb"), limits, strict=True)
        found |= {"limits": f"{limits[0]} s, {limits[1]:g} MB"}
        found["missed"] = " ".join(name for name, most in pairs if number(last, name) > most)
    return found | {name: last[name] for name in ("commit", "load", "machine")}


def number(line: Line, name: str) -> float:
    """Return a number of a line, 0 where there is none."""
    return float(str(line[name] or 0))


def points_of(series: str, lines: Iterable[Line], name: str) -> list[tuple[float, float]]:
    """Return the points of a series, in growing order; those of 0 are left out."""
    action, mechanism, axis, fixed = SERIES[series]
    wanted = {"action": action, "mechanism": mechanism} | fixed
    chosen = [line for line in lines if all(str(line[key]) == value for key, value in wanted.items())]
    return sorted((number(line, axis), number(line, name)) for line in chosen if number(line, name) > 0)


def exponents(series: str, lines: Iterable[Line]) -> list[Line]:
    """Return slopes on two logarithmic axes, over all sizes and between the largest two, and the cost of more."""
    found: list[Line] = []
    kept = list(lines)
    for name in (*MEASURED, *STAGES):
        points = points_of(series, kept, name)
        if len(points) > 1:
            x, y = np.log(np.array(points)).T
            slope, last = float(np.polyfit(x, y, 1)[0]), float((y[-1] - y[-2]) / (x[-1] - x[-2]))
            sizes = f"{points[0][0]:g} to {points[-1][0]:g}"
            line: Line = {"series": series, "measured": name, "grows": SERIES[series][2], "sizes": sizes}
            line |= {"exponent": slope, "last_exponent": last, "largest": points[-1][1]}
            (less, low), (more, high) = points[-2:]
            found.append(line | {"per_million_more": (high - low) / (more - less) * 1e6})
    return found


def judged(line: Line) -> Line:
    """Return a run on an engine, marked where it takes more than three times the engine's own CPU."""
    is_judged = line["part"] == "overhead" and str(line["engine"]).partition("-")[0] in {"polars", "duckdb"}
    return line | {"missed": "ratio" if is_judged and number(line, "ratio") > MOST_OVERHEAD else ""}
