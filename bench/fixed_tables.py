"""Errors of fixed tables: Tables beside one noise a table, and Adaptive with the same tables as its workload.

    python bench/fixed_tables.py [--runs 3] [--only NAME ...] [--commit C] [-o bench/results/fixed_tables.csv]

One CSV line per workload and budget (ε = 1; ε = 1 with δ = 1e-9). Errors are total variations of a table, half the sum
of absolute errors over the rows, means over the workload's tables and the runs (of Adaptive one run): ``published`` of
the published whole counts, ``estimates`` before they are rounded and made non-negative, ``textbook``, in expectation,
of one table after the other, each with an equal part of the budget and nothing done to its counts, ``adaptive`` of
Adaptive's model. ``coverage``: share of the published 95 % intervals that hold the true count. ``seconds``: CPU of a
release by Tables, counting included. The geography is invented: 1,000 places in 100 districts and 10 regions, 10,000
cells in the finest of its three tables, 10^6 rows. The output is internal: it compares with real rows.
"""

import argparse
import csv
import itertools
import sys
import time
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import lapwing as lw
from lapwing.kernel.noise_law import calibrate_noise, row_sensitivity
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.mechanisms.shared.tables.estimates import consistent_estimates, counted_table
from lapwing.model.sampling.marginals import marginal
from lapwing.rows.source import code_table

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[1] / "shared" / "data"
BUDGETS: tuple[dict[str, Any], ...] = ({"epsilon": 1}, {"epsilon": 1, "delta": "1e-9"})
AGES = {"age": [18, 30, 45, 65]}


def pairs(*names: str) -> list[object]:
    """Return all tables of two of these columns."""
    return [list(each) for each in itertools.combinations(names, 2)]


ADULT = ("workclass", "education", "marital_status", "race", "sex", "income")
ADL = ("eating", "dressing", "bathing", "using toilet", "laundry", "cooking", "traveling", "telephoning")
WORKLOADS: dict[str, tuple[str, list[Any]]] = {
    "adult, six tables": (
        "adult",
        [
            "sex",
            ["sex", "race"],
            ["age", "sex"],
            ["education", "occupation"],
            ["education", "income"],
            ["age", "income"],
        ],
    ),
    "adult, all pairs of six": ("adult", pairs(*ADULT)),
    "adult, one large table": ("adult", [["age", "education", "occupation"], ["age", "sex"], ["sex", "income"]]),
    "census-kdd, six tables": (
        "census-kdd",
        [
            ["age", "sex"],
            ["sex", "education"],
            ["race", "hispanic_origin", "sex"],
            {"columns": ["age", "education", "sex"], "groups": AGES},
            ["major_industry_code", "major_occupation_code"],
            "race",
        ],
    ),
    "nltcs, all pairs of eight": ("nltcs", pairs(*ADL)),
    "nltcs, all triples of eight": ("nltcs", [list(each) for each in itertools.combinations(ADL, 3)]),
    "nist-ma2019, by area": (
        "nist-ma2019",
        ["PUMA", *(["PUMA", name] for name in ("SEX", "MSP", "RAC1P", "EDU", "INDP_CAT", "PINCP_DECILE"))],
    ),
    "diabetes130, by age": (
        "diabetes130",
        ["age", *(["age", name] for name in ("race", "gender", "time_in_hospital", "medical_specialty"))],
    ),
    "bank-marketing, chain": (
        "bank-marketing",
        [
            ["job", "education"],
            ["education", "marital"],
            ["marital", "housing"],
            ["housing", "month"],
            ["month", "poutcome"],
        ],
    ),
    "eusilc, nested": (
        "eusilc",
        ["db040", ["db040", "rb090"], ["db040", "rb090", "pl030"], {"columns": ["db040", "age"], "groups": AGES}],
    ),
    "geography": (
        "",
        [
            {"columns": ["place", "sex", "age"], "groups": {"place": 1}},
            {"columns": ["place", "sex", "age"], "groups": {"place": 2}},
            ["place", "sex", "age"],
        ],
    ),
}


def main() -> None:
    """Measure every workload."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--commit", default="", help="of the code, for the first column")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "results" / "fixed_tables.csv")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for name, (table, named) in WORKLOADS.items():
        if chosen.only and name not in chosen.only:
            continue
        data, schema = read(table)
        for budget in BUDGETS:
            lines.append(
                {"commit": chosen.commit, "workload": name, **measured(data, schema, named, budget, chosen.runs)}
            )
            sys.stdout.write(f"{lines[-1]}\n")
            sys.stdout.flush()
    with chosen.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


def read(table: str) -> tuple[pl.DataFrame, lw.Schema]:
    """Return a shared table and its schema, or the geography."""
    if table:
        return pl.read_parquet(SHARED / table / "data.parquet"), lw.Schema.load(SHARED / table / "schema.json")
    rng = np.random.default_rng(0)
    places = np.array([f"{place:03d}" for place in range(1000)])
    fields = [
        {"name": "place", "type": "string", "categories": places.tolist(), "hierarchy": {"prefixes": [1, 2]}},
        {"name": "sex", "type": "string", "categories": ["f", "m"]},
        {"name": "age", "type": "string", "categories": ["0-17", "18-29", "30-44", "45-64", "65-"]},
    ]
    for field in fields:
        field["constraints"] = {"required": True}
    shares = rng.pareto(1.2, 1000) + 0.05
    drawn = {"place": rng.choice(places, 10**6, p=shares / shares.sum())}
    drawn |= {field["name"]: rng.choice(field["categories"], 10**6) for field in fields[1:]}
    return pl.DataFrame(drawn), lw.Schema.from_dict({"fields": fields})


def measured(
    data: pl.DataFrame, schema: lw.Schema, named: list[Any], budget: dict[str, Any], runs: int
) -> dict[str, object]:
    """Return the errors of one workload."""
    chunks = list(code_table(data, schema).chunks())
    codes = {field.name: np.concatenate([each[field.name] for each in chunks]) for field in schema.columns}
    found: dict[str, list[float]] = {name: [] for name in ("published", "estimates", "textbook", "coverage", "seconds")}
    for seed in range(runs):
        before = time.process_time()
        release = lw.synthesize(data, schema, mechanism=lw.Tables(named), seed=seed, **budget)
        found["seconds"].append(time.process_time() - before)
        answers = [each for each in release.noisy if isinstance(each, NoisyCounts)]
        true = [table_of(codes, answer) for answer in answers]
        frames = lw.tables(release)
        estimates = consistent_estimates([counted_table(each) for each in answers]).counts
        law = calibrate_noise(
            row_sensitivity("add-remove", release.certificate.max_rows),
            release.certificate.total * Fraction(1, len(answers)),
        )
        found["published"].append(error([released(release, each) for each in answers], true, data.height))
        found["estimates"].append(error(estimates, true, data.height))
        found["textbook"].append(float(np.mean([each.size * law.mean_absolute / 2 / data.height for each in true])))
        held = [covered(frame, each, schema, answer) for frame, each, answer in zip(frames, true, answers, strict=True)]
        found["coverage"].append(float(np.concatenate(held).mean()))
    columns = [tuple(each) if isinstance(each, list) else each for each in listed(named)]
    adaptive = lw.synthesize(data, schema, mechanism=lw.Adaptive(workload=columns), seed=0, **budget)
    return {
        "rows": data.height,
        "delta": budget.get("delta", "0"),
        "tables": len(answers),
        "cells": sum(each.size for each in true),
        **{name: f"{np.mean(values):.6g}" for name, values in found.items()},
        "adaptive": f"{error([released(adaptive, each) for each in answers], true, data.height):.6g}",
    }


def listed(named: list[Any]) -> list[Any]:
    """Return the columns of each table."""
    return [each["columns"] if isinstance(each, dict) else each for each in named]


def table_of(codes: dict[str, np.ndarray], answer: NoisyCounts) -> np.ndarray:
    """Return the true table of a question."""
    question, counts = answer.question, np.zeros(answer.question.shape)
    groups = [each.apply(codes[name]) for name, each in zip(question.columns, question.groupings, strict=True)]
    np.add.at(counts, tuple(groups), 1)
    return counts


def released(release: Any, answer: NoisyCounts) -> np.ndarray:
    """Return a table of a model."""
    return marginal(release.model, answer.question.columns, answer.question.groupings)


def error(found: Any, true: list[np.ndarray], rows: int) -> float:
    """Return the mean total variation of tables."""
    return float(np.mean([np.abs(one - two).sum() / 2 / rows for one, two in zip(found, true, strict=True)]))


def covered(frame: pl.DataFrame, true: np.ndarray, schema: lw.Schema, answer: NoisyCounts) -> np.ndarray:
    """Return which intervals hold the true count; misfits are in no frame."""
    fields = [schema.field(name) for name in answer.question.columns]
    inside = tuple(slice(size - (not field.domain.missing)) for field, size in zip(fields, true.shape, strict=True))
    counts = true[inside].ravel()
    return (frame["lower"].to_numpy() <= counts) & (counts <= frame["upper"].to_numpy())


if __name__ == "__main__":
    main()
