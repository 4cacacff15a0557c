"""Means, spreads, ratios and pictures from the runs that `adaptive.py` wrote."""

import csv
import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from charts import dots, log_log
from png import write_png

Line = dict[str, object]
GROUP = ("table", "method", "variant", "epsilon", "delta")
MEASURED = ("tv1", "tv2", "tv3", "auc", "cpu_s", "fit_cpu_s", "rows_cpu_s", "peak_mb", "rows_out", "answers")
WORSE = 1.05
"""A table on which Adaptive's error is more than so many times that of independent columns is marked."""

TARGETS = {
    ("1", "1e-09"): {"tv2": 0.042, "tv3": 0.089, "auc": 0.905, "cpu_s": 15, "peak_mb": 1024},
    ("0.1", "1e-09"): {"tv2": 0.12, "tv3": 0.20},
    ("10", "1e-09"): {"tv2": 0.021, "tv3": 0.062},
    ("1", ""): {"tv2": 0.055, "tv3": 0.107},
}
"""For adult-pgm, by ε and δ."""


def summarise(part: str, lines: list[Line], folder: Path) -> None:
    """Write ``adaptive_PART.csv`` and pictures: newest commit that a group of runs has.

    Parameters
    ----------
    part : str
        One of accuracy, tables, ablations, scaling.
    lines : list of dict
        The runs, in the order in which they were made.
    folder : Path
        Where to.
    """
    means = [averaged(group) for group in groups(lines).values()]
    finish = {"accuracy": with_targets, "tables": with_ratios, "ablations": with_changes, "scaling": with_exponents}
    means = finish[part](means)
    names = list(dict.fromkeys(name for line in means for name in line))
    with (folder / f"adaptive_{part}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows({key: f"{v:.4g}" if isinstance(v, float) else v for key, v in line.items()} for line in means)
    draw(part, means, folder)


def groups(lines: list[Line]) -> dict[tuple, list[Line]]:
    """Return the runs with the same settings, those of the last commit among them."""
    found: dict[tuple, list[Line]] = {}
    for line in lines:
        found.setdefault(tuple(line[key] for key in GROUP), []).append(line)
    return {key: [line for line in group if line["commit"] == group[-1]["commit"]] for key, group in found.items()}


def averaged(group: list[Line]) -> Line:
    """Return mean and standard deviation of the runs that were done; how many, and how others ended."""
    done = [line for line in group if line["status"] == "done"]
    line: Line = {key: group[0][key] for key in GROUP}
    line |= {"rows": done[0]["rows"], "columns": done[0]["columns"]} if done else {}
    line |= {"runs": len(done), "other_ends": "; ".join(str(each["status"]) for each in group if each not in done)}
    for name in MEASURED:
        values = [float(each[name]) for each in done if each[name]]  # type: ignore[arg-type]
        if values:
            line[name] = float(np.mean(values))
            line[f"{name}_sd"] = float(np.std(values, ddof=1)) if len(values) > 1 else ""
    return line | {"commit": group[-1]["commit"], "machine": group[-1]["machine"]}


def with_targets(means: list[Line]) -> list[Line]:
    """Add what was asked for, and what was missed."""
    for line in means:
        wanted = TARGETS.get((str(line["epsilon"]), str(line["delta"])), {}) if line["method"] == "adaptive" else {}
        found = {key: (line[key], goal) for key, goal in wanted.items() if key in line}
        missed = [key for key, (is_, goal) in found.items() if (is_ < goal if key == "auc" else is_ > goal)]  # type: ignore[operator]
        line |= {"target": " ".join(f"{key} {goal:g}" for key, goal in wanted.items()), "missed": " ".join(missed)}
    return means


def with_ratios(means: list[Line]) -> list[Line]:
    """Add the ratio to independent columns at the same budget, a mark where it is too large, and geometric means."""
    by_key = {(line["table"], line["method"], line["epsilon"]): line for line in means}
    ratios: dict[object, dict[str, list[float]]] = {}
    for line in means:
        other = by_key.get((line["table"], "independent", line["epsilon"]), {})
        if line["method"] != "adaptive" or "tv1" not in line or "tv1" not in other:
            continue
        for name in ("tv1", "tv2", "tv3"):
            line[f"{name}_ratio"] = line[name] / other[name]  # type: ignore[operator]
            ratios.setdefault(line["epsilon"], {}).setdefault(name, []).append(line[f"{name}_ratio"])  # type: ignore[arg-type]
        line["worse"] = " ".join(name for name in ("tv1", "tv2", "tv3") if line[f"{name}_ratio"] > WORSE)  # type: ignore[operator]
    for epsilon, found in ratios.items():
        total: Line = {"table": "geometric mean", "method": "adaptive", "epsilon": epsilon, "runs": len(found["tv2"])}
        means.append(total | {f"{name}_ratio": math.exp(np.mean(np.log(values))) for name, values in found.items()})
    return means


def with_changes(means: list[Line]) -> list[Line]:
    """Add the ratio to the default settings on the same table."""
    default = {line["table"]: line for line in means if line["variant"] == "default"}
    for line in means:
        base = default.get(line["table"], {})
        line |= {
            f"{name}_to_default": line[name] / base[name]  # type: ignore[operator]
            for name in ("tv1", "tv2", "tv3", "cpu_s")
            if name in line and name in base
        }
    names = list(dict.fromkeys(line["variant"] for line in means))
    for name in names:
        found = [line for line in means if line["variant"] == name and "tv2_to_default" in line]
        if found:
            total: Line = {"table": "geometric mean", "variant": name, "runs": len(found)}
            for key in ("tv1_to_default", "tv2_to_default", "tv3_to_default", "cpu_s_to_default"):
                total[key] = math.exp(np.mean([math.log(line[key]) for line in found]))  # type: ignore[arg-type]
            means.append(total)
    return means


def curves(means: list[Line], name: str) -> dict[str, list[tuple[float, float]]]:
    """Return the points of growing rows (14 columns) and of growing columns (10**5 rows)."""
    chosen = [line for line in means if line["method"] == "adaptive" and name in line]
    found = [(float(str(line["rows"])), float(str(line["columns"])), float(str(line[name]))) for line in chosen]
    return {
        "rows": sorted((rows, value) for rows, columns, value in found if columns == 14),
        "columns": sorted((columns, value) for rows, columns, value in found if rows == 10**5 and columns > 14),
    }


def with_exponents(means: list[Line]) -> list[Line]:
    """Add least-squares slopes of time and memory on two logarithmic axes, over all sizes and over the largest two."""
    slopes: list[Line] = []
    for name in ("cpu_s", "fit_cpu_s", "rows_cpu_s", "peak_mb"):
        for axis, points in curves(means, name).items():
            if len(points) > 1:
                x, y = np.log(np.array(points)).T
                slope = float(np.polyfit(x, y, 1)[0])
                last = float((y[-1] - y[-2]) / (x[-1] - x[-2]))
                slopes.append({"table": f"exponent of {name} in {axis}", name: slope, f"{name}_last": last})
    return means + slopes


def draw(part: str, means: list[Line], folder: Path) -> None:
    """Draw the pictures of a part."""
    if part == "scaling":
        for axis in ("rows", "columns"):
            found = {name: curves(means, name)[axis] for name in ("fit_cpu_s", "rows_cpu_s", "peak_mb")}
            if all(found.values()):
                picture = log_log(f"Adaptive: CPU seconds and MB by {axis}", found, (axis, "s, MB"))
                write_png(folder / f"adaptive_scaling_{axis}.png", picture)
        return
    for ways in (2, 3):
        chart = {"accuracy": by_budget, "tables": by_table, "ablations": by_variant}[part](means, f"tv{ways}")
        title = f"{part}: mean total variation of {'pairs' if ways == 2 else 'triples'}"
        if part == "ablations":
            title += ", ratio to the default"
        write_png(folder / f"adaptive_{part}_{ways}way.png", dots(title, chart))


def _value(line: Line, name: str) -> tuple[float, float]:
    return float(line[name]), float(line.get(f"{name}_sd") or 0)  # type: ignore[arg-type]


def _methods(lines: Iterable[Line], name: str) -> dict[str, tuple[float, float]]:
    """Return the values of the three methods, in a fixed order."""
    found = {str(line["method"]): _value(line, name) for line in lines if name in line}
    return {method: found[method] for method in ("adaptive", "independent", "bootstrap") if method in found}


def by_budget(means: list[Line], name: str) -> list[tuple[str, dict[str, tuple[float, float]]]]:
    """Return a line for each budget; the floor is the same in all."""
    floor = [line for line in means if line["method"] == "bootstrap"]
    budgets = dict.fromkeys((line["epsilon"], line["delta"]) for line in means)
    chart = []
    for epsilon, delta in sorted(budgets, key=lambda each: (not each[1], float(str(each[0])))):
        chosen = [line for line in means if (line["epsilon"], line["delta"]) == (epsilon, delta)]
        label = f"epsilon {epsilon}, {f'delta {delta}' if delta else 'pure'}"
        chart.append((label, _methods([*chosen, *floor], name)))
    return chart


def by_table(means: list[Line], name: str) -> list[tuple[str, dict[str, tuple[float, float]]]]:
    """Return a line for each table, under a heading for each ε."""
    chart: list[tuple[str, dict[str, tuple[float, float]]]] = []
    tables = dict.fromkeys(str(line["table"]) for line in means if line["table"] != "geometric mean")
    floor = {line["table"]: line for line in means if line["method"] == "bootstrap"}
    for epsilon in sorted({str(line["epsilon"]) for line in means}, key=float):
        chart.append((f"epsilon {epsilon}, delta 1e-9", {}))
        for table in tables:
            chosen = [line for line in means if line["table"] == table and str(line["epsilon"]) == epsilon]
            series = _methods([*chosen, *([floor[table]] if table in floor else [])], name)
            chart += [(f"  {table}", series)] if series else []
    return chart


def by_variant(means: list[Line], name: str) -> list[tuple[str, dict[str, tuple[float, float]]]]:
    """Return a line for each variant, with one series for each table."""
    key = f"{name}_to_default"
    variants = dict.fromkeys(str(line["variant"]) for line in means)
    chart = []
    for variant in variants:
        found = {str(line["table"]): _value(line, key) for line in means if line["variant"] == variant and key in line}
        chart.append((variant, found))
    return chart
