"""Errors of linear statistics on a reduced space. A CSV file for each part, and a chart.

    OMP_NUM_THREADS=1 python bench/linear_statistics.py mu|points|tables|kappa [--quick] [--releases 5]

Errors are differences of shares over all cells of all two-way tables, misfits aside: ``noise`` of the noisy answers,
``model`` of the released density, ``rows`` of as many rows drawn as the table has; largest and mean, averaged over
releases, with the standard error of the model's mean. ``tv3``: mean total variation of three-way tables of rows drawn.
``certified``: the largest of the certified bounds. Add-remove neighbours.

``mu``: nltcs at three budgets for each law of the points. ``points``: nltcs at epsilon 1 with more and more points, for
each variant. ``tables``: nltcs and adult-pgm (columns in at most 32 groups, or value by value up to 64), likewise.
``kappa``: the Renyi condition number of nltcs with respect to each mu, by summation over its rows (private; here the
table is public), 30 % of epsilon for mu, mixed with a tenth of uniform points.

Solvers: max-entropy; highspy's interior points without crossover. Lines of ``simplex`` are of SciPy's HiGHS, which
Lapwing used without the extra ``lp`` until commit 909c7f25. CPU seconds are of the solver alone, gap included.
"""

import json
import time
from collections.abc import Iterator
from itertools import combinations, product
from unittest import mock

import numpy as np
import polars as pl
from adaptive import commit, machine
from charts import log_log
from metric_models import SHARED, arguments
from microaggregation import chances
from pmm import Line, write_lines
from png import write_png

from lapwing.api.synthesize import synthesize
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.vectors.linear_statistics import mechanism as mechanism_file
from lapwing.mechanisms.vectors.linear_statistics.mechanism import LinearStatistics
from lapwing.mechanisms.vectors.linear_statistics.points import one_way_groupings
from lapwing.mechanisms.vectors.linear_statistics.statistics import WorkloadQuestion, statistics_on, workload_questions
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation
from lapwing.release.release import Release
from lapwing.schema.schemas import Schema

MUS = ("microaggregation", "adaptive", "independent", "uniform")
VARIANTS = ("default", "paper")
EPSILONS = (0.1, 1.0, 10.0)
POINTS = (125, 250, 500, 1000, 2000, 4000, 8000, 16000)
SOLVING = ("max_entropy_density", "minimax_density", "best_error")
SHARE = 0.3
MANY = 2**20  # so many rows of a release that their shares are its law, nearly
MIXED = 0.1

Table = tuple[Schema, np.ndarray]


def table(name: str, rows: int | None = None) -> Table:
    """Return schema and codes of a benchmark table whose columns are whole numbers from 0 on."""
    schema = Schema.from_dict(json.loads((SHARED / name / "schema.json").read_text()))
    return schema, pl.read_parquet(SHARED / name / "data.parquet").to_numpy().astype(np.int64)[:rows]


def columns_of(schema: Schema, codes: np.ndarray) -> dict[str, np.ndarray]:
    """Return codes by name."""
    return {field.name: codes[:, place] for place, field in enumerate(schema.columns)}


class Solved:
    """The processor time of the last density that a mechanism asked for, and of the bound for its gap."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, solve):
        """Return a solver that leaves its time here."""

        def solver(*program):
            start = time.process_time()
            found = solve(*program)
            self.seconds += time.process_time() - start
            return found

        return solver


def released(frame: pl.DataFrame, schema: Schema, epsilon: float, settings: dict) -> tuple[Release, Solved]:
    """Return a release, and how its density was found."""
    solved = Solved()
    solvers = {name: solved.timed(getattr(mechanism_file, name)) for name in SOLVING}
    with mock.patch.multiple(mechanism_file, **solvers):
        return synthesize(frame, schema, epsilon=epsilon, mechanism=LinearStatistics(**settings)), solved


def workload_of(schema: Schema) -> tuple[WorkloadQuestion, ...]:
    """Return all tables of two columns."""
    return workload_questions(schema, (2, 32, 1), (), Budget.pure(1), Terms(relation="add-remove"))


def cell_shares(schema: Schema, codes: np.ndarray) -> np.ndarray:
    """Return the share of rows in each cell of the workload."""
    points = columns_of(schema, codes)
    return np.concatenate([statistics_on(each, points, schema).mean(axis=1) for each in workload_of(schema)])


def real_cells(schema: Schema) -> np.ndarray:
    """Tell which cells are not of misfits: those without the last group of a column, where no cell may be missing."""
    found = []
    for question in workload_of(schema):
        is_real = np.zeros(question.shape, dtype=bool)
        is_real[tuple(slice(-1) for _ in question.columns)] = True
        found.append(is_real.ravel())
    return np.concatenate(found)


def measured(data: Table, epsilon: float, settings: dict, releases: int) -> Line:
    """Return the mean figures of several releases."""
    schema, codes = data
    frame = pl.DataFrame(columns_of(schema, codes))
    real = real_cells(schema)
    true = cell_shares(schema, codes)[real]
    lines = []
    for _ in range(releases):
        release, solved = released(frame, schema, epsilon, settings)
        found = release.certified_errors()
        said = {each.code: each.value for each in release.certificate.accuracy}
        line = {"cells": float(true.size), "solve_cpu_s": solved.seconds, "fit": said["fit"], "gap": said["gap"]}
        line |= {"effective_points": said["effective_points"], "kappa_plug_in": said["spread_of_weights"]}
        drawn = cell_shares(schema, release.sample(len(codes), seed=1).to_numpy().astype(np.int64))
        for what, shares in (("noise", found["noisy"]), ("model", found["released"]), ("rows", drawn)):
            apart = np.abs(np.asarray(shares)[real] - true)
            line |= {f"{what}_max": apart.max(), f"{what}_mean": apart.mean()}
        lines.append(line | {"certified": found["largest_error"].max(), "tv3": three_way(release, schema, codes)})
    means: Line = {name: float(np.mean([line[name] for line in lines])) for name in lines[0]}
    if releases > 1:
        means["model_mean_se"] = float(np.std([line["model_mean"] for line in lines], ddof=1) / np.sqrt(releases))
    return means


def three_way(release: Release, schema: Schema, codes: np.ndarray) -> float:
    """Return the mean total variation of three-way tables, of groups as in the two-way ones, of rows drawn."""
    groupings = one_way_groupings(schema, 32)
    drawn = release.sample(len(codes), seed=2).to_numpy().astype(np.int64)
    names = [field.name for field in schema.columns]
    both = [
        [groupings[name].apply(each[:, place]).astype(np.int64) for place, name in enumerate(names)]
        for each in (codes, drawn)
    ]
    sizes, found = [groupings[name].groups for name in names], []
    for chosen in combinations(range(len(names)), 3):
        shape = tuple(sizes[place] for place in chosen)
        cells = [np.ravel_multi_index([each[place] for place in chosen], shape) for each in both]
        counts = [np.bincount(each, minlength=int(np.prod(shape))) / len(codes) for each in cells]
        found.append(np.abs(counts[0] - counts[1]).sum() / 2)
    return float(np.mean(found))


def by_mu(releases: int, *, is_quick: bool) -> Iterator[Line]:
    """Yield one line for each budget and law of the points."""
    data = table("nltcs", 2000 if is_quick else None)
    for epsilon, mu in product(EPSILONS[1:2] if is_quick else EPSILONS, MUS):
        settings = {"mu": mu, "variant": "default"}
        line: Line = {"table": "nltcs", "rows": len(data[1]), "epsilon": epsilon, "releases": releases} | settings
        yield line | measured(data, epsilon, settings, releases) | {"commit": commit(), "machine": machine()}


def by_points(releases: int, *, is_quick: bool) -> Iterator[Line]:
    """Yield one line for each number of points and variant."""
    data = table("nltcs", 2000 if is_quick else None)
    for points, variant in product(POINTS[1:3] if is_quick else POINTS, VARIANTS):
        settings = {"points": points, "variant": variant, "mu": "microaggregation"}
        line: Line = {"table": "nltcs", "rows": len(data[1]), "epsilon": 1.0, "releases": releases} | settings
        yield line | measured(data, 1.0, settings, releases) | {"commit": commit(), "machine": machine()}


def by_table(releases: int, *, is_quick: bool) -> Iterator[Line]:
    """Yield one line for each table, budget and variant."""
    for name in ("adult-pgm", "nltcs"):
        data = table(name, 2000 if is_quick else None)
        for epsilon, variant in product(EPSILONS[1:2] if is_quick else EPSILONS, VARIANTS):
            line: Line = {"table": name, "rows": len(data[1]), "epsilon": epsilon, "releases": releases}
            figures = measured(data, epsilon, {"variant": variant, "mu": "microaggregation"}, releases)
            yield line | {"variant": variant} | figures | {"commit": commit(), "machine": machine()}


def kappas(releases: int, *, is_quick: bool) -> Iterator[Line]:
    """Yield one line for each budget and law of the points."""
    schema, codes = table("nltcs", 2000 if is_quick else None)
    frame = pl.DataFrame(columns_of(schema, codes))
    distinct, counts = np.unique(codes, axis=0, return_counts=True)
    shares, uniform = counts / len(codes), 0.5 ** codes.shape[1]
    mechanisms = {
        "microaggregation": Microaggregation(),
        "adaptive": Adaptive(),
        "independent": Independent(),
        "uniform": None,
    }
    for epsilon, (mu, mechanism) in product(EPSILONS[1:2] if is_quick else EPSILONS, mechanisms.items()):
        found = []
        for _ in range(releases if mechanism else 1):
            law = np.full(len(distinct), uniform)
            if mechanism:
                release = synthesize(frame, schema, epsilon=SHARE * epsilon, mechanism=mechanism)
                law = (1 - MIXED) * law_of(release, distinct) + MIXED * uniform
            found.append(float((shares**2 / law).sum()))
        line: Line = {"table": "nltcs", "rows": len(codes), "epsilon": epsilon, "mu": mu, "releases": len(found)}
        line |= {"kappa_median": float(np.median(found)), "kappa_least": min(found), "kappa_most": max(found)}
        yield line | {"commit": commit(), "machine": machine()}


def law_of(release: Release, rows: np.ndarray) -> np.ndarray:
    """Return the probability of rows of Booleans under a released model, atom by atom; of particles, their share."""
    if release.certificate.mechanism == "Adaptive":
        powers = 2 ** np.arange(rows.shape[1])
        particles = release.sample(MANY, seed=1).to_numpy().astype(np.int64) @ powers
        return np.bincount(particles, minlength=2 ** rows.shape[1])[rows @ powers] / MANY
    laws, weights = release.model.laws, release.model.weights / release.model.weights.sum()
    ones = np.stack([chances(laws[field.name]) for field in release.schema.columns], axis=1)
    found = np.zeros(len(rows))
    for part in np.array_split(np.arange(len(weights)), max(1, len(weights) // 100)):
        chance = np.ones((len(part), len(rows)))
        for place in range(rows.shape[1]):
            one = ones[part, place][:, None]
            chance *= np.where(rows[:, place] == 1, one, 1 - one)
        found += (weights[part][:, None] * chance).sum(axis=0)
    return found


def main() -> None:
    """Measure, and draw."""
    chosen = arguments(__doc__, ["mu", "points", "tables", "kappa"])
    parts = {"mu": by_mu, "points": by_points, "tables": by_table, "kappa": kappas}
    lines: list[Line] = []

    def kept(measured_lines: Iterator[Line]) -> Iterator[Line]:
        for line in measured_lines:
            lines.append(line)
            yield line

    path = chosen.output / f"linear_statistics_{chosen.part}"
    write_lines(path.with_suffix(".csv"), kept(parts[chosen.part](chosen.releases or 5, is_quick=chosen.quick)))
    if chosen.part == "points":
        curves: dict[str, list[tuple[float, float]]] = {}
        for line in lines:
            curves.setdefault(str(line["variant"]), []).append((line["points"], line["model_mean"]))  # type: ignore[arg-type]
        picture = log_log("nltcs, epsilon 1: mean error of two-way cells", curves, ("points", "error"))
        write_png(path.with_suffix(".png"), picture)


if __name__ == "__main__":
    main()
