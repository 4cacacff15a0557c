"""What strata bring: ``python bench/strata.py [--only TABLE ...] [--epsilon 1 10] [--runs 2] [-o OUT.csv]``.

Each table is released at delta 1e-9 in three ways: as a whole, with ``strata``, and each stratum by itself at the whole
budget (``apart``: what ``certificate compose --disjoint`` adds up). ``pairs`` is the mean total variation of all tables
of two other columns inside a stratum, and the mean of that over all rows. The output is internal.
"""

import argparse
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from adaptive import commit
from no_schema import RESULTS, SHARED, Line, write_lines

import lapwing as lw
from lapwing.extras.evaluate.metrics.tables.variation import compare_tables
from lapwing.model.compared import choose_tables
from lapwing.rows.source import all_codes, code_table
from lapwing.schema.schemas import Schema

TABLES = {"adult": "sex", "bank-marketing": "y", "nist-ma2019": "PUMA"}
Parts = dict[tuple[object, ...], pl.DataFrame]
WAYS = ("whole", "strata", "apart")


def main() -> None:
    """Measure all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(TABLES))
    parser.add_argument("--epsilon", nargs="+", default=["1", "10"])
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "strata.csv")
    chosen = parser.parse_args()
    write_lines(chosen.output, lines(chosen.only, chosen.epsilon, chosen.runs))


def lines(tables: list[str], epsilons: list[str], runs: int) -> Iterator[Line]:
    """Yield one line per table, budget, way and run."""
    for name in tables:
        schema, by = Schema.load(SHARED / name / "schema.json"), TABLES[name]
        parts: Parts = pl.read_parquet(SHARED / name / "data.parquet").partition_by(by, as_dict=True)
        for epsilon, way, seed in product(epsilons, WAYS, range(1, runs + 1)):
            began = time.process_time()
            made = released(parts, schema, by, way, {"epsilon": epsilon, "delta": "1e-9", "seed": seed})
            seconds = time.process_time() - began
            errors = [pairs(part, made.get(key), schema, by) for key, part in parts.items()]
            sizes = [len(part) for part in parts.values()]
            yield {
                "table": name, "strata": by, "parts": len(parts), "rows": sum(sizes), "epsilon": epsilon, "way": way,
                "seed": seed, "pairs": float(np.average(errors, weights=sizes)), "cpu_s": round(seconds, 1),
                "commit": commit(),
            }  # fmt: skip


def released(parts: Parts, schema: Schema, by: str, way: str, asked: dict[str, Any]) -> Parts:
    """Return the synthetic rows of each stratum."""
    if way == "apart":
        return {key: lw.synthesize(part, schema, **asked).sample() for key, part in parts.items()}
    whole, mechanism = pl.concat(parts.values()), lw.Adaptive(strata=by if way == "strata" else None)
    return lw.synthesize(whole, schema, mechanism=mechanism, **asked).sample().partition_by(by, as_dict=True)


def pairs(real: pl.DataFrame, made: pl.DataFrame | None, schema: Schema, by: str) -> float:
    """Return the mean total variation of tables of two columns but that of strata; 1 where a stratum has no rows."""
    if made is None:
        return 1.0
    (tables,) = choose_tables(schema, ways=(2,), rng=np.random.default_rng(0))
    kept = [[each for each in tables if by not in each]]
    codes = [all_codes(code_table(frame, schema), schema) for frame in (real, made)]
    (two,) = compare_tables(*codes, schema, kept)
    return two.mean


if __name__ == "__main__":
    main()
