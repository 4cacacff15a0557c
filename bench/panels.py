"""People over time and siblings: what a release keeps of the rows of one person, against simpler ways.

    python bench/panels.py [--only TABLE ...] [--methods METHOD ...] [--epsilon 1 3 10] [--runs 1]
    python bench/panels.py table

Methods: ``flattened``: a row for each unit, with the columns of its first row, its second, ...; ``flattened-sorted``:
with the order's cells sorted among the rows of a unit; ``independent``: rows by themselves, a unit's put together from
rows that say how many they are; ``linked``: two tables without an order; ``sequence``: the table of events with its
order, or two tables with it. ``bootstrap`` and ``dealt`` are no releases: real units drawn with replacement, and real
rows dealt out at random. All releases have δ = 1e-9 and the same unit.

A line is added as soon as a figure is there, and a run that is there is not repeated. It compares with real rows:
internal.
"""

import argparse
import csv
import itertools
import subprocess
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
from panel_tables import TABLES, PanelTable

import lapwing as lw
from lapwing.extras.evaluate.internal.panels import compare_panel_tables
from lapwing.extras.evaluate.metrics.metric import BOOTSTRAP, INDEPENDENT, SYNTHETIC
from lapwing.schema.schemas import Schema

RESULTS = Path(__file__).resolve().parent / "results" / "panels.csv"
DELTA = "1e-9"
COLUMNS = ["table", "method", "epsilon", "run", "figure", "value", "seconds", "commit"]
Pair = tuple[pl.DataFrame, pl.DataFrame]


def key_field(panel: PanelTable) -> dict[str, object]:
    """Return the field of the key."""
    kind = "string" if panel.parents[panel.key].dtype == pl.String else "integer"
    return {"name": panel.key, "type": kind, "role": "identifier", "constraints": {"required": True}}


def optional(field: Mapping[str, object], name: str) -> dict[str, object]:
    """Return a field under another name that may be missing."""
    constraints = {key: value for key, value in field.get("constraints", {}).items() if key != "required"}
    return dict(field) | {"name": name, "constraints": constraints}


def flattened(panel: PanelTable, epsilon: float, seed: int) -> Pair:
    """Release one row for each unit; a cell that should be there and is missing is drawn from the column's others."""
    by = panel.rows.sort(panel.key, panel.by, descending=[False, panel.descending], maintain_order=True)
    names = [field["name"] for field in panel.events]
    place = pl.int_range(pl.len()).over(panel.key)
    at = [
        by.filter(place == step).select(panel.key, pl.col(names).name.suffix(f".{step + 1}"))
        for step in range(panel.most)
    ]
    flat = panel.parents.join(by.group_by(panel.key).len("rows"), on=panel.key, how="left")
    flat = flat.with_columns(pl.col("rows").fill_null(0).clip(0, panel.most))
    for step in at:
        flat = flat.join(step, on=panel.key, how="left")
    steps = [optional(field, f"{field['name']}.{step + 1}") for step in range(panel.most) for field in panel.events]
    rows = {"name": "rows", "type": "integer", "constraints": {"minimum": 0, "maximum": panel.most, "required": True}}
    release = lw.synthesize(
        flat, {"fields": [*panel.units, rows, *steps]}, epsilon=epsilon, delta=DELTA, mechanism="Adaptive", seed=seed
    )
    made = release.sample(panel.parents.height, seed=seed).with_row_index(panel.key)
    rng = np.random.default_rng(seed)
    parts = []
    for step in range(panel.most):
        part = made.filter(pl.col("rows") > step).select(
            panel.key, *(pl.col(f"{name}.{step + 1}").alias(name) for name in names)
        )
        parts.append(
            part.with_columns(filled(part[field["name"]], rng) for field in panel.events if is_required(field))
        )
    return made.select(panel.key, *(field["name"] for field in panel.units)), pl.concat(parts)


def flattened_sorted(panel: PanelTable, epsilon: float, seed: int) -> Pair:
    """Release one row for each unit, and sort the order's cells of a unit among its rows.

    Without that, sorting rows by these cells undoes much of what was kept of successive rows.
    """
    parents, rows = flattened(panel, epsilon, seed)
    order = pl.col(panel.by).sort(descending=panel.descending, nulls_last=True).over(panel.key)
    return parents, rows.sort(panel.key, maintain_order=True).with_columns(order)


def is_required(field: Mapping[str, object]) -> bool:
    """Return whether a field is never missing."""
    return bool(field.get("constraints", {}).get("required"))


def filled(column: pl.Series, rng: np.random.Generator) -> pl.Series:
    """Return a column with each missing cell drawn from the others."""
    there = column.drop_nulls()
    gone = column.is_null().arg_true()
    if not len(there) or not len(gone):
        return column
    drawn = there.gather(rng.integers(len(there), size=len(gone)))
    return (
        pl.select(pl.when(column.is_null()).then(column.clone().scatter(gone, drawn)).otherwise(column))
        .to_series()
        .alias(column.name)
    )


def independent(panel: PanelTable, epsilon: float, seed: int) -> Pair:
    """Release the rows with their unit's columns and number of rows; k rows that say k make a unit."""
    counts = panel.rows.group_by(panel.key).len("rows").with_columns(pl.col("rows").clip(1, panel.most).cast(pl.Int64))
    joined = panel.rows.join(panel.parents, on=panel.key).join(counts, on=panel.key)
    rows = {"name": "rows", "type": "integer", "constraints": {"minimum": 1, "maximum": panel.most, "required": True}}
    schema = {
        "fields": [key_field(panel), *panel.units, *panel.events, rows],
        "privacyUnit": {"field": panel.key, "maxRows": panel.most},
    }
    release = lw.synthesize(joined, schema, epsilon=epsilon, delta=DELTA, mechanism="Adaptive", seed=seed)
    made = release.sample(min(joined.height, panel.parents.height * panel.most), seed=seed)
    made = made.with_columns(place=pl.int_range(pl.len()).over("rows"))
    made = made.with_columns(
        unit=pl.struct("rows", place=pl.col("place") // pl.col("rows")).rank("dense").cast(pl.Int64)
    )
    made = made.drop("place", panel.key, strict=False).rename({"unit": panel.key})
    parents = (
        made.group_by(panel.key, maintain_order=True)
        .first()
        .select(panel.key, *(field["name"] for field in panel.units))
    )
    return parents, made.select(panel.key, *(field["name"] for field in panel.events))


ALL = {"name": "all", "type": "string", "categories": ["x"], "constraints": {"required": True}}


def linked(panel: PanelTable, epsilon: float, seed: int) -> Pair:
    """Release two linked tables as they are without an order; a column of one value where units have none."""
    parents = panel.parents if panel.units else panel.parents.with_columns(all=pl.lit("x"))
    schema = {
        "parent": {"fields": [key_field(panel), *(panel.units or [ALL])]},
        "child": {"fields": [key_field(panel), *panel.events]},
        "key": panel.key, "maxChildren": panel.most,
    }  # fmt: skip
    half = dict.fromkeys(("parent", "child"), "1/2")
    release = lw.synthesize((parents, panel.rows), schema, epsilon=epsilon, delta=DELTA, seed=seed, shares=half)
    return tuple(release.sample(panel.parents.height))


def sequence(panel: PanelTable, epsilon: float, seed: int) -> Pair:
    """Release the events with their order: one table of them, or two where units have columns."""
    order = {"by": panel.by, "descending": panel.descending}
    if not panel.units:
        schema = {
            "fields": [key_field(panel), *panel.events],
            "privacyUnit": {"field": panel.key, "maxRows": panel.most}, "order": order,
        }  # fmt: skip
        release = lw.synthesize(panel.rows, schema, epsilon=epsilon, delta=DELTA, seed=seed)
        made = release.sample(panel.parents.height)
        return made.select(panel.key).unique(maintain_order=True), made
    first, second = panel.names
    events = {"foreignKeys": {panel.key: first}, "maxRows": panel.most, "order": order}
    schema = {
        "tables": {
            first: {"primaryKey": panel.key, "fields": [key_field(panel), *panel.units]},
            second: events | {"fields": [key_field(panel), *panel.events]},
        }
    }
    release = lw.synthesize({first: panel.parents, second: panel.rows}, schema, epsilon=epsilon, delta=DELTA, seed=seed)
    made = release.sample(panel.parents.height)
    return made[first], made[second]


METHODS: Mapping[str, Callable[[PanelTable, float, int], Pair]] = {
    "flattened": flattened,
    "flattened-sorted": flattened_sorted,
    "independent": independent,
    "linked": linked,
    "sequence": sequence,
}


def figures(panel: PanelTable, made: Pair, run: int) -> dict[str, dict[str, float]]:
    """Return the figures of a release and of both references, by name."""
    schema = Schema.from_dict({"fields": [key_field(panel), *panel.events]})
    parents, rows = made
    found = compare_panel_tables(
        panel.rows, rows, schema, unit=panel.key, order=panel.by, descending=panel.descending,
        totals=(panel.parents.height, max(parents.height, rows[panel.key].n_unique())), rng=np.random.default_rng(run),
    ).value  # fmt: skip
    said = {
        name: {each.metric.key: each.values[name].value for each in found.figures}
        for name in (SYNTHETIC, BOOTSTRAP, INDEPENDENT)
    }
    said[SYNTHETIC] |= pairs_of(panel, made) | own_figures(panel, *made)
    return said


def own_figures(panel: PanelTable, parents: pl.DataFrame, rows: pl.DataFrame) -> Mapping[str, float]:
    """Return the figures that the panel's law is about."""
    joined = rows.join(parents, on=panel.key).with_columns(unit=pl.col(panel.key))
    return panel.figures(joined.sort("unit", panel.by, descending=[False, panel.descending], maintain_order=True))


def pairs_of(panel: PanelTable, made: Pair) -> dict[str, float]:
    """Return how far pairs of a unit's and an event's column are, and after the events are dealt out at random."""
    real, drawn = (rows.join(parents, on=panel.key) for parents, rows in ((panel.parents, panel.rows), made))
    found: dict[str, list[float]] = defaultdict(list)
    for unit, event in itertools.product(panel.units, panel.events):
        names = [unit["name"], event["name"]]
        like, table = (cut(each, real, names) for each in (real, drawn))
        found["pairs"].append(variation(table, like))
        found["pairs, dealt"].append(variation(table.with_columns(pl.col(names[1]).shuffle(seed=1)), like))
    return {name: float(np.mean(each)) for name, each in found.items()}


def cut(table: pl.DataFrame, like: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Return columns in groups: numbers and times by sixths of the real rows, zero by itself."""
    found = []
    for name in names:
        numbers = like[name].to_physical()
        if not numbers.dtype.is_numeric() or numbers.n_unique() <= 12:
            found.append(table[name].cast(pl.String))
            continue
        reals = numbers.cast(pl.Float64).drop_nulls()
        ends = sorted({reals.quantile(part / 6) for part in range(1, 6)} | {0.0})
        cells = table[name].to_physical().cast(pl.Float64)
        found.append(
            cells.cut(ends).cast(pl.String).zip_with((cells != 0).fill_null(True), pl.Series(["0"])).alias(name)
        )
    return table.select(found)


def variation(one: pl.DataFrame, other: pl.DataFrame) -> float:
    """Return the total variation between the tables of all columns."""
    shares = [table.group_by(table.columns).len().with_columns(pl.col("len") / table.height) for table in (one, other)]
    both = shares[0].join(shares[1], on=one.columns, how="full", coalesce=True, nulls_equal=True)
    return 0.5 * float((both["len"].fill_null(0) - both["len_right"].fill_null(0)).abs().sum())


def measure(options: argparse.Namespace) -> None:
    """Run what is not there yet."""
    for table in options.only:
        panel = TABLES[table]()
        for run, epsilon, method in itertools.product(range(options.runs), options.epsilon, options.methods):
            key = (table, method, f"{epsilon:g}", str(run))
            done = {tuple(each[name] for name in COLUMNS[:4]) for each in lines(options.output)}
            if key in done:
                continue
            start = time.process_time()
            made = METHODS[method](panel, epsilon, run)
            seconds = time.process_time() - start
            said = figures(panel, made, run)
            note(options.output, key, said[SYNTHETIC], seconds)
            if (table, "real", "", "0") not in done:
                note(options.output, (table, "real", "", "0"), own_figures(panel, panel.parents, panel.rows), 0)
                note(options.output, (table, "bootstrap", "", "0"), said[BOOTSTRAP], 0)
                note(options.output, (table, "dealt", "", "0"), said[INDEPENDENT], 0)


def note(path: Path, key: tuple[str, ...], said: Mapping[str, float], seconds: float) -> None:
    """Add the lines of one run."""
    is_new = not path.exists()
    whose = dict(zip(COLUMNS, key, strict=False)) | {"seconds": f"{seconds:.1f}", "commit": commit()}
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if is_new:
            writer.writeheader()
        numbers = {name: value for name, value in said.items() if not np.isnan(value)}
        writer.writerows(whose | {"figure": name, "value": f"{value:.5g}"} for name, value in numbers.items())
    print(*key, f"{seconds:.0f} s", {name: round(value, 3) for name, value in said.items()}, flush=True)


def commit() -> str:
    """Return the commit that is checked out."""
    command = ["git", "rev-parse", "--short=10", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=RESULTS.parent).stdout.strip()


def lines(path: Path) -> list[dict[str, str]]:
    """Return the lines that are there."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


Means = dict[tuple[str, str], dict[str, float]]
"""The mean figures of runs, by ε and method."""


def tables(path: Path) -> None:
    """Print a Markdown table for each panel: means of runs, and figures over those of flattening."""
    found: dict[tuple[str, str, str, str], list[float]] = defaultdict(list)
    for each in lines(path):
        found[each["table"], each["epsilon"], each["method"], each["figure"]].append(float(each["value"]))
    for table in dict.fromkeys(key[0] for key in found):
        means: Means = defaultdict(dict)
        for (name, epsilon, method, figure), values in found.items():
            if name == table:
                means[epsilon, method][figure] = float(np.mean(values))
        print_table(table, means)


def print_table(table: str, means: Means) -> None:
    """Print the table of one panel."""
    names = list(dict.fromkeys(name for said in means.values() for name in said))
    print(f"\n{table}\n\n| ε | method | {' | '.join(names)} |\n|---|---|{'---|' * len(names)}")
    for (epsilon, method), said in sorted(means.items(), key=lambda each: float(each[0][0] or 99)):
        cells = [f"{said[name]:.3g}" if name in said else "" for name in names]
        print(f"| {epsilon or '–'} | {method} | {' | '.join(cells)} |")
    for epsilon, other in itertools.product(sorted({each for each, _ in means if each}, key=float), METHODS):
        ours, theirs = (means.get((epsilon, each), {}) for each in ("sequence", other))
        names = [name for name in ("transitions", "next_states", "triples", "trajectories") if name in ours and theirs]
        if names and other != "sequence":
            ratios = (f"{name} {ours[name] / theirs[name]:.2f}" for name in names)
            print(f"\nε = {epsilon}, sequence over {other}: {', '.join(ratios)}")


def main() -> None:
    """Run what is not there yet, or print it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="?", choices=["runs", "table"], default="runs")
    parser.add_argument("--only", nargs="*", default=list(TABLES))
    parser.add_argument("--epsilon", nargs="*", type=float, default=[1.0, 3.0, 10.0])
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.part == "runs":
        measure(options)
    else:
        tables(options.output)


if __name__ == "__main__":
    main()
