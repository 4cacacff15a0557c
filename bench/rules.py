"""What rules cost and buy on five real tables: ``python bench/rules.py error``, ``conditions`` and ``totals``.

    python bench/rules.py error|conditions|totals [--only NAME ...] [--epsilon 1] [--runs 1] [-o OUT.csv]

The rules and public tables of each table stand in ``bench/rules``; the public tables count the rows of the published
files themselves, in the place of an official total. The mechanism is the default one.

``error``: one release without rules and one with them, with (ε, 1e-9) and with ε alone. ``broken`` counts rows that
break a rule, of the real table and of the rows out, decoded and read again. ``tv1``, ``tv2`` and ``tv3`` are the mean
total variations of all one-way, all two-way and 128 three-way tables; ``touched`` those of the tables with a column
that a rule speaks of (one-way) or two columns of one rule. ``moved`` is the share of the model's weight that the rules
changed after the mechanism's run.

``conditions``: one row out for each of so many real rows, with the columns ``given`` kept: mean total variation of the
tables of the given columns and one other, of these rows and of what the model says given the same conditions
(``rows_model``), of these rows and the real ones (``rows_real``), of the model and the real rows (``model_real``), and
of as many real rows drawn anew (``floor``). The model's law is that of a million rows without conditions.

``totals``: the largest difference of a count of a public table held exactly, of as many rows as it counts: with rules
and without, and of a release that does not know it. The output is internal: it is computed from real rows.
"""

import argparse
import csv
import itertools
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import lapwing as lw
from lapwing.extras.evaluate.metrics.declared import compare_declared
from lapwing.extras.evaluate.metrics.metric import bootstrap_rows
from lapwing.extras.evaluate.metrics.tables.variation import compare_tables
from lapwing.model.compared import choose_tables, compared_cells
from lapwing.release.release import Release
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RULES = Path(__file__).parent / "rules"
RESULTS = Path(__file__).parent / "results"
TABLES = ("mimic-demo-admissions", "nist-ma2019", "eusilc", "census-kdd", "nycflights13")
GIVEN = {
    "mimic-demo-admissions": ("admission_type", "gender"),
    "nist-ma2019": ("AGEP", "SEX"),
    "eusilc": ("db040", "rb090"),
    "census-kdd": ("education", "sex"),
    "nycflights13": ("origin", "month"),
}
DELTA = "1e-9"
MOST_CONDITIONS = 20_000
MODEL_ROWS = 1_000_000

Line = dict[str, object]
Codes = dict[str, np.ndarray]


def main() -> None:
    """Run one of the three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("error", "conditions", "totals"))
    parser.add_argument("--only", nargs="*", default=TABLES)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args()
    lines = {"error": errors, "conditions": conditions, "totals": totals}[chosen.what]
    write_lines(
        chosen.output or RESULTS / f"rules_{chosen.what}.csv", lines(chosen.only, chosen.epsilon, range(chosen.runs))
    )


def errors(tables: list[str], epsilon: str, runs: range) -> Iterator[Line]:
    """Yield error, violations and seconds, without rules and with them."""
    for name, delta, is_ruled, run in itertools.product(tables, (DELTA, None), (False, True), runs):
        ruled = schema_of(name, "rules")
        release, seconds = released(name, ruled if is_ruled else schema_of(name), epsilon, delta, run)
        clock = time.process_time()
        rows = pl.concat(list(release.frames()))
        drawn = time.process_time() - clock
        real, out = coded(data_of(name), ruled), coded(rows, ruled)
        declared = compare_declared({"real": real, "out": out}, ruled)
        yield {
            "table": name,
            "epsilon": epsilon,
            "delta": delta or "",
            "rules": len(ruled.rules) if is_ruled else 0,
            "run": run,
            "real_rows": data_of(name).height,
            "rows": rows.height,
            "atoms": release.model.atoms,
            "real_broken": declared.broken["real"],
            "broken": declared.broken["out"],
            "moved": moved(release),
            **variations(ruled, real, out),
            "fit_cpu_s": seconds,
            "rows_cpu_s": drawn,
        }


def conditions(tables: list[str], epsilon: str, runs: range) -> Iterator[Line]:
    """Yield how far rows for condition rows are from the model and from the real rows, given the same conditions."""
    for name, run in itertools.product(tables, runs):
        schema = schema_of(name, "rules")
        release, _ = released(name, schema, epsilon, DELTA, run)
        data = data_of(name)
        if data.height > MOST_CONDITIONS:
            data = data.sample(MOST_CONDITIONS, seed=run)
        given = data.select(GIVEN[name])
        clock = time.process_time()
        rows = release.sample(where=given)
        seconds = time.process_time() - clock
        out, real = coded(rows, schema), coded(data, schema)
        kept = rows.select(GIVEN[name]).equals(given)
        free = coded(pl.concat(list(release.frames(MODEL_ROWS))), schema)
        declared = compare_declared({"out": out}, schema)
        yield {
            "table": name,
            "given": " x ".join(GIVEN[name]),
            "run": run,
            "conditions": given.height,
            "kept": kept,
            "broken": declared.broken["out"],
            **conditional(schema, GIVEN[name], real, out, free),
            "cpu_s": seconds,
        }


def totals(tables: list[str], epsilon: str, runs: range) -> Iterator[Line]:
    """Yield the largest difference of a count of a public table, with and without it."""
    for name, (rules, public), run in itertools.product(tables, itertools.product((False, True), repeat=2), runs):
        knows = schema_of(name, "rules", "publicTables")
        parts = [part for part, is_used in (("rules", rules), ("publicTables", public)) if is_used]
        release, seconds = released(name, schema_of(name, *parts), epsilon, DELTA, run)
        (table,) = knows.public_tables
        clock = time.process_time()
        rows = release.sample(table.total)
        drawn = time.process_time() - clock
        real, out = coded(data_of(name), knows), coded(rows, knows)
        declared = compare_declared({"out": out}, knows)
        found = {tuple(row[:-1]): row[-1] for row in rows.group_by(list(table.columns)).len().iter_rows()}
        off = max(abs(found.get(tuple(cell[:-1]), 0) - cell[-1]) for cell in table.cells)
        yield {
            "table": name,
            "columns": " x ".join(table.columns),
            "cells": len(table.cells),
            "total": table.total,
            "rules": rules,
            "public": public,
            "run": run,
            "largest_difference": off,
            "broken": declared.broken["out"],
            **{key: value for key, value in variations(knows, real, out).items() if "touched" not in key},
            "fit_cpu_s": seconds,
            "rows_cpu_s": drawn,
        }


def schema_of(name: str, *parts: str) -> Schema:
    """Return the schema of a table, with the declared rules or public tables of that name."""
    told = json.loads((RULES / f"{name}.json").read_text())
    mapping = json.loads((SHARED / name / "schema.json").read_text())
    more = told.get("fields", {})
    fields = [field | more.get(field["name"], {}) for field in mapping["fields"]]
    return Schema.from_dict(mapping | {"fields": fields} | {part: told[part] for part in parts})


def data_of(name: str) -> pl.DataFrame:
    """Return the rows of a table."""
    return pl.read_parquet(SHARED / name / "data.parquet")


def released(name: str, schema: Schema, epsilon: str, delta: str | None, run: int) -> tuple[Release, float]:
    """Return a release, and the CPU seconds that it took."""
    budget = {"epsilon": epsilon} | ({"delta": delta} if delta else {})
    clock = time.process_time()
    release = lw.synthesize(data_of(name), schema, seed=run, **budget)
    return release, time.process_time() - clock


def moved(release: Release) -> object:
    """Return the share of the model's weight that rules changed after the mechanism's run; nothing without rules."""
    return next(
        (
            each.value
            for each in release.certificate.accuracy
            if each.code in ("moved_by_rules", "moved_by_endless_rules")
        ),
        "",
    )


def coded(data: pl.DataFrame, schema: Schema) -> Codes:
    """Return all rows as codes, whatever the privacy unit."""
    mapping = {key: value for key, value in schema.to_dict().items() if key != "privacyUnit"}
    chunks = list(code_table(data, Schema.from_dict(mapping)).chunks())
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def variations(schema: Schema, real: Codes, other: Codes) -> dict[str, float]:
    """Return mean total variations of tables of columns, and of those that rules speak of."""
    tied = [set(rule.columns) for rule in schema.rules]
    found = {}
    chosen = choose_tables(schema, triples=128, rng=np.random.default_rng(0))
    for each in compare_tables(real, other, schema, chosen):
        is_touched = np.array(
            [any(len(own & set(table)) >= min(each.ways, 2) for own in tied) for table in each.tables]
        )
        found[f"tv{each.ways}"] = each.mean
        found[f"tv{each.ways}_touched"] = float(each.distances[is_touched].mean()) if is_touched.any() else float("nan")
    return found


def conditional(schema: Schema, given: tuple[str, ...], real: Codes, out: Codes, free: Codes) -> dict[str, float]:
    """Return mean total variations, over the other columns, of tables of the given columns and one other."""
    cells = {column.name: compared_cells(column.domain) for column in schema.columns}
    sizes = {column.name: column.domain.size for column in schema.columns}

    def groups(codes: Codes) -> np.ndarray:
        return np.ravel_multi_index([codes[name].astype(np.int64) for name in given], [sizes[name] for name in given])

    keys, place = np.unique(groups(real), return_inverse=True)
    share = np.bincount(place) / len(place)
    anew = bootstrap_rows(real, np.random.default_rng(0))
    others = [name for name in cells if name not in given]
    found = dict.fromkeys(("rows_model", "rows_real", "model_real", "floor"), 0.0)
    for name in others:
        laws = {
            what: law(groups(codes), cells[name].apply(codes[name]), keys, cells[name].groups)
            for what, codes in (("real", real), ("rows", out), ("model", free), ("anew", anew))
        }
        # Of groups that the model's rows do not have at all nothing can be said.
        is_there = laws["model"].sum(axis=1) > 0
        for what, pair in (
            ("rows_model", ("rows", "model")),
            ("rows_real", ("rows", "real")),
            ("model_real", ("model", "real")),
            ("floor", ("anew", "real")),
        ):
            distance = abs(laws[pair[0]] - laws[pair[1]]).sum(axis=1) / 2
            found[what] += float(distance[is_there] @ share[is_there] / share[is_there].sum()) / len(others)
    return found


def law(groups: np.ndarray, values: np.ndarray, keys: np.ndarray, cells: int) -> np.ndarray:
    """Return the law of one column in each group: ndarray of float64, shape (groups, cells)."""
    place = np.minimum(np.searchsorted(keys, groups), len(keys) - 1)
    is_known = keys[place] == groups
    counts = np.bincount(
        place[is_known] * cells + values[is_known].astype(np.int64), minlength=len(keys) * cells
    ).reshape(len(keys), cells)
    return np.asarray(counts / np.maximum(1, counts.sum(axis=1, keepdims=True)))


def write_lines(path: Path, lines: Iterator[Line]) -> None:
    """Write lines as they come, and show them."""
    with path.open("w", newline="") as file:
        writer: Any = None
        for line in lines:
            shown = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in line.items()}
            if writer is None:
                writer = csv.DictWriter(file, list(shown))
                writer.writeheader()
            writer.writerow(shown)
            file.flush()
            sys.stdout.write(", ".join(f"{key} {value}" for key, value in shown.items()) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
