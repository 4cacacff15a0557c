"""One run of one mechanism on one table, in a process of its own: fit, rows, time, memory, then the score.

    python bench/adaptive_worker.py '{"table": "adult-pgm", "method": "adaptive", "epsilon": 1, "delta": 1e-9, "run": 0,
        "settings": {}}'

`adaptive.py` starts it. It prints one JSON line. It compares with real rows: its output is internal.
"""

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from splits import train_test

import lapwing as lw
from lapwing.extras.evaluate.metrics.metric import bootstrap_rows
from lapwing.extras.evaluate.metrics.prediction.downstream import trained_auc
from lapwing.extras.evaluate.metrics.tables.variation import compare_tables
from lapwing.mechanisms.adaptive import budget as costs
from lapwing.mechanisms.adaptive import rounds
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.model import rows as sampling
from lapwing.model.compared import choose_tables
from lapwing.release.release import Release
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
HELD_BACK = ("adult-pgm",)
"""Tables that are fitted on four fifths of their rows and tested on the rest."""

MOST_TRAINED = 30_000  # rows that a model of the label is trained on, and tested on where no rows are held back
SPREAD = 1.5

Job = dict[str, Any]
Codes = dict[str, np.ndarray]


def main() -> None:
    """Run the job that the command line gives."""
    warnings.simplefilter("ignore")
    job = json.loads(sys.argv[1])
    folder = Path(job.get("folder") or SHARED / job["table"])
    schema = Schema.load(folder / "schema.json")
    patch(job.get("patches", []))
    measured, frame = fitted(job, folder, schema) if job["method"] != "bootstrap" else ({}, None)
    real, held = parts(job, folder, schema)
    other = bootstrap_rows(real, np.random.default_rng(job["run"])) if frame is None else coded(frame, schema)
    if frame is not None:
        measured |= spreads(pl.read_parquet(folder / "data.parquet"), frame)
    sys.stdout.write(json.dumps(measured | scored(job, schema, real, held, other)) + "\n")


def patch(names: list[str]) -> None:
    """Switch parts off that have no setting, in this process only."""
    if "as many tables in each round" in names:
        rounds.next_tables = lambda tables, *_: tables
    if "not all pairs at once" in names:
        costs.MOST_PAIRS_AT_ONCE = 0
    if "systematic rows" in names:
        sampling.chosen_rows = lambda *_: None


def fitted(job: Job, folder: Path, schema: Schema) -> tuple[dict[str, Any], pl.DataFrame]:
    """Release and draw rows; return time, memory and size, and the rows."""
    data: Path | pl.DataFrame = folder / "data.parquet"
    if job["table"] in HELD_BACK and not job.get("folder"):
        frame = pl.read_parquet(data)
        data = frame[train_test(frame.height)[0].tolist()]
    begin = peak_mb()
    settings = {key: tuple(value) if isinstance(value, list) else value for key, value in job["settings"].items()}
    mechanism = Adaptive(**settings) if job["method"] == "adaptive" else Independent()
    budget = {"epsilon": job["epsilon"]} | ({"delta": job["delta"]} if job["delta"] else {})
    clock, wall = time.process_time(), time.perf_counter()
    release: Release = lw.synthesize(data, schema, mechanism=mechanism, seed=job["run"], **budget)
    after = time.process_time()
    rows = pl.concat(list(release.frames()))
    done = time.process_time()
    return {
        "fit_cpu_s": after - clock,
        "rows_cpu_s": done - after,
        "cpu_s": done - clock,
        "wall_s": time.perf_counter() - wall,
        "peak_mb": peak_mb(),
        "start_mb": begin,
        "answers": len(release.answers),
        "atoms": release.model.atoms,
        "rows_out": rows.height,
    }, rows


def peak_mb() -> float:
    """Return the most memory that this process has used so far; unlike ru_maxrss without what its parent used."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def parts(job: Job, folder: Path, schema: Schema) -> tuple[Codes, Codes]:
    """Return the codes of the rows that were fitted, and of those held back (none for most tables)."""
    real = coded(folder / "data.parquet", schema)
    rows = len(next(iter(real.values())))
    if job["table"] not in HELD_BACK or job.get("folder"):
        return real, {name: codes[:0] for name, codes in real.items()}
    train, test = train_test(rows)
    return {n: codes[train] for n, codes in real.items()}, {n: codes[test] for n, codes in real.items()}


def coded(data: object, schema: Schema) -> Codes:
    """Return all rows as codes."""
    chunks = list(code_table(data, schema).chunks())
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def scored(job: Job, schema: Schema, real: Codes, held: Codes, other: Codes) -> dict[str, Any]:
    """Return mean total variation of columns, pairs and triples, and the AUC where rows are held back."""
    first = next(iter(other))
    if not len(other[first]):
        return {"status": "no rows"}
    tables = list(choose_tables(schema, rng=np.random.default_rng(0)))
    most = job.get("most_pairs")
    if most and len(tables) > 1 and len(tables[1]) > most:
        chosen = np.sort(np.random.default_rng(0).choice(len(tables[1]), most, replace=False))
        tables[1] = tuple(tables[1][place] for place in chosen)
    found: dict[str, Any] = {f"tv{each.ways}": each.mean for each in compare_tables(real, other, schema, tables)}
    target = None if job.get("folder") else json.loads((SHARED / job["table"] / "facts.json").read_text()).get("target")
    if target and job["method"] != "bootstrap":
        tested = held if len(held[first]) else sampled(real)
        found["auc"] = trained_auc(sampled(other), tested, schema, target, np.random.default_rng(0))
    return found | {"status": "done", "rows": len(real[first]), "columns": len(real)}


def sampled(codes: Codes) -> Codes:
    """Return at most `MOST_TRAINED` rows."""
    rows = len(next(iter(codes.values())))
    kept = np.sort(np.random.default_rng(0).permutation(rows)[:MOST_TRAINED])
    return {name: each[kept] for name, each in codes.items()}


def spreads(real: pl.DataFrame, other: pl.DataFrame) -> dict[str, int]:
    """Return how many columns of numbers there are, and how many of them have a standard deviation that is far off."""
    names = [name for name, kind in other.schema.items() if kind.is_numeric() and real.schema[name].is_numeric()]
    both = [(real[name].drop_nans().std() or 0.0, other[name].std() or 0.0) for name in names]
    both = [pair for pair in both if pair[0]]
    is_off = [not 1 / SPREAD <= found / true <= SPREAD for true, found in both]
    return {"numbers": len(both), "sd_off": sum(is_off)}


if __name__ == "__main__":
    main()
