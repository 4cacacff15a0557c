"""Priors: the error of all pairs with a good, a biased and a wrong prior, over that without one.

    python bench/priors.py [--only PAIR ...] [--epsilon .03 .1 .3 1] [--runs 3] [-o bench/results/priors_runs.csv]
    python bench/priors.py trees [--only PAIR ...] [--mechanism KDTree PMM] [--runs 10]
    python bench/priors.py summary [-o bench/results/priors_trees.csv]

A line is added as soon as a run is done; a run that is there is not repeated. It compares with real rows: internal.
``trees``: the distance of KDTree and PMM (`priors_trees.distance`). Their questions are the same with a prior, so that
the noisy answers of one release are fitted with each of the priors.
"""

import argparse
import csv
import subprocess
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import priors_trees
from adaptive_worker import coded

import lapwing as lw
from lapwing.extras.evaluate.metrics.tables.variation import compare_tables
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.room.curator import ReplayCurator
from lapwing.kernel.terms import Terms
from lapwing.model.compared import choose_tables
from lapwing.release.runs.public_rows import with_priors
from lapwing.schema.schemas import Schema

HERE = Path(__file__).resolve().parent
SHARED = HERE.parents[1] / "shared" / "data"
PAIRS = {
    "adult halves": ("adult", None),
    "nltcs halves": ("nltcs", None),
    "rhc-icu halves": ("rhc-icu", None),
    "census-kdd years": ("census-kdd", "year"),
    "nist-ma2019 regions": ("nist-ma2019", "PUMA"),
}
"""The table, and the column whose values tell the two tables apart, which is left out; None: halves at random."""

PRIORS = ("none", "good", "released", "biased", "uniform", "reversed")
"""The other half; a release of it at ε = 1; of it mostly rows with large values of one column; made-up rows of no
relation; the other half with each column's codes in reverse."""

TREES = {"KDTree": list(priors_trees.PAIRS), "PMM": list(priors_trees.PAIRS)[:5]}
TREE_PRIORS = ("good", "released", "reversed", "uniform")
TREE_COLUMNS = ["pair", "mechanism", "epsilon", "prior", "run", "rows", "distance", "commit"]

DELTA = "1e-9"
COLUMNS = ["pair", "epsilon", "prior", "run", "rows", "tv1", "tv2", "tv3", "cpu_s", "commit"]


def tables_of(pair: str) -> tuple[Schema, pl.DataFrame, pl.DataFrame]:
    """Return the schema, the private table and the one that somebody else has published."""
    name, column = PAIRS[pair]
    schema = Schema.load(SHARED / name / "schema.json")
    frame = pl.read_parquet(SHARED / name / "data.parquet")
    if column is None:
        order = np.random.default_rng(0).permutation(frame.height)
        private, other = np.array_split(order, 2)
        return schema, frame[np.sort(private)], frame[np.sort(other)]
    first, second = frame[column].value_counts(sort=True)[column].head(2)
    schema = schema.select([each for each in schema.names if each != column])
    private, other = (frame.filter(pl.col(column) == value).drop(column) for value in (first, second))
    return schema, private, other


def prior_of(kind: str, schema: Schema, other: pl.DataFrame, run: int) -> object:
    """Return a prior of a kind."""
    rng = np.random.default_rng(run)
    if kind in ("none", "good"):
        return other if kind == "good" else None
    if kind == "released":
        return lw.synthesize(other, schema, epsilon=1, delta=DELTA, seed=100 + run)
    codes = coded(other, schema)
    last = schema.columns[-1]
    if kind == "biased":
        place = np.argsort(np.argsort(codes[last.name] + rng.random(other.height))) / other.height
        return other.filter(pl.Series(rng.random(other.height) < place**3))
    turned = {}
    for field in schema.columns:
        values, found = field.domain.values, codes[field.name].astype(np.int64)
        turned[field.name] = (
            rng.integers(0, values, other.height)
            if kind == "uniform"
            else np.where(found < values, values - 1 - found, found)
        )
    from lapwing.rows.out.decode import decode

    return decode(turned, schema)


def main() -> None:
    """Run what is not there yet, or sum it up."""
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="?", choices=["runs", "trees", "summary"], default="runs")
    parser.add_argument("--only", nargs="*", default=[*PAIRS, *priors_trees.PAIRS])
    parser.add_argument("--mechanism", nargs="*", default=list(TREES))
    parser.add_argument("--epsilon", nargs="*", type=float, default=[0.03, 0.1, 0.3, 1.0])
    parser.add_argument("--priors", nargs="*", default=list(PRIORS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    options.output = options.output or HERE / "results" / f"priors_{options.part.replace('summary', 'runs')}.csv"
    warnings.simplefilter("ignore")
    if options.part == "runs":
        for pair in [each for each in options.only if each in PAIRS]:
            measure(pair, options)
    if options.part == "trees":
        for name in options.mechanism:
            for pair in [each for each in options.only if each in TREES[name]]:
                measure_tree(pair, name, options)
    summary(options.output)


def measure(pair: str, options: argparse.Namespace) -> None:
    """Add the runs of one pair of tables."""
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True)
    lines = list(csv.DictReader(options.output.open())) if options.output.exists() else []
    there = {(each["pair"], float(each["epsilon"]), each["prior"], int(each["run"])) for each in lines}
    schema, private, other = tables_of(pair)
    real = coded(private, schema)
    tables = choose_tables(schema, rng=np.random.default_rng(0))
    for run in range(options.runs):
        for kind in options.priors:
            wanted = [each for each in options.epsilon if (pair, each, kind, run) not in there]
            prior = prior_of(kind, schema, other, run) if wanted else None
            for epsilon in wanted:
                clock = time.process_time()
                release = lw.synthesize(private, schema, epsilon=epsilon, delta=DELTA, seed=run, prior=prior)
                seconds = time.process_time() - clock
                found = compare_tables(real, coded(release.sample(seed=run), schema), schema, tables)
                errors = {f"tv{each.ways}": round(each.mean, 5) for each in found}
                line = {"pair": pair, "epsilon": epsilon, "prior": kind, "run": run, "rows": private.height}
                add(options.output, line | errors | {"cpu_s": round(seconds, 1), "commit": commit.stdout.strip()})


def measure_tree(pair: str, name: str, options: argparse.Namespace) -> None:
    """Add the runs of one pair of tables and one mechanism."""
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True)
    lines = list(csv.DictReader(options.output.open())) if options.output.exists() else []
    there = {(each["pair"], each["mechanism"], float(each["epsilon"]), int(each["run"])) for each in lines}
    schema, private, other = priors_trees.PAIRS[pair]()
    real, mechanism = coded(private, schema), getattr(lw, name)()
    terms = Terms(relation="add-remove", rows=None, expected_rows=private.height)
    settings = {"mechanism": mechanism, "expected_rows": private.height}
    for run in range(options.runs):
        told = {kind: prior_of(kind, schema, other, run) for kind in TREE_PRIORS if kind != "released"}
        told["released"] = lw.synthesize(other, schema, epsilon=1, **settings)
        read = {kind: with_priors(mechanism, schema, told[kind]) for kind in TREE_PRIORS}
        for epsilon in [each for each in options.epsilon if (pair, name, each, run) not in there]:
            release = lw.synthesize(private, schema, epsilon=epsilon, seed=run, **settings)
            for kind, settled in {"none": mechanism, **read}.items():
                budget, rng = Budget.pure(str(epsilon)), np.random.default_rng(run)
                model = settled.run(ReplayCurator(terms, release.noisy), schema, budget, rng)
                line = {"pair": pair, "mechanism": name, "epsilon": epsilon, "prior": kind, "run": run}
                found = f"{priors_trees.distance(model, schema, real):.6f}"
                more = {"rows": private.height, "distance": found, "commit": commit.stdout.strip()}
                add(options.output, line | more, TREE_COLUMNS)


def add(path: Path, line: dict[str, object], columns: list[str] = COLUMNS) -> None:
    """Add a line, and the heading before the first."""
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, columns)
        if is_new:
            writer.writeheader()
        writer.writerow(line)
    print(line, flush=True)


def summary(path: Path) -> None:
    """Print the ratios of the error to that without a prior, and their geometric means."""
    found = defaultdict(list)
    for each in csv.DictReader(path.open()):
        key = each.get("mechanism", "Adaptive"), each["pair"], float(each["epsilon"]), each["prior"]
        found[key].append(float(each.get("distance") or each["tv2"]))
    means = {key: float(np.mean(values)) for key, values in found.items()}
    ratios = defaultdict(dict)
    for (name, pair, epsilon, kind), mean in means.items():
        if kind != "none":
            ratios[name, kind, epsilon][pair] = mean / means[name, pair, epsilon, "none"]
    for (name, kind, epsilon), each in sorted(ratios.items()):
        shown = ", ".join(f"{pair} {ratio:.2f}" for pair, ratio in each.items())
        print(f"{name}, {kind} at {epsilon}: {np.exp(np.mean(np.log(list(each.values())))):.3f} ({shown})")


if __name__ == "__main__":
    main()
