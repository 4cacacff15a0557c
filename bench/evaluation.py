"""How long an evaluation of two generated tables takes, and how much memory: ``python bench/evaluation.py``.

Columns in turn: a number of 2^32 cells, a whole number with missing cells, a category with 2 to 40 values, a Boolean.
All depend on one hidden number. The second table is made in the same way with a little more noise.
"""

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import lapwing as lw
from lapwing.runs.progress import watched


def generated(rows: int, columns: int, noise: float, seed: int) -> tuple[pl.DataFrame, dict]:
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=rows)
    data, fields = {}, []
    for place in range(columns):
        name, signal = f"c{place}", hidden * np.cos(place) + noise * rng.normal(size=rows)
        match place % 4:
            case 0:
                data[name] = np.tanh(signal / 3)
                fields.append({"name": name, "type": "number", "constraints": {"minimum": -1, "maximum": 1}})
            case 1:
                whole = np.clip(100 + 30 * signal, 0, 200).astype(int)
                data[name] = pl.Series(whole).set(pl.Series(rng.random(rows) < 0.1), None)
                fields.append({"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 200}})
            case 2:
                values = 2 + place % 39
                labels = np.array([f"v{value}" for value in range(values)])
                data[name] = labels[(np.clip(signal / 6 + 0.5, 0, 0.999) * values).astype(int)]
                fields.append({"name": name, "type": "string", "constraints": {"enum": labels.tolist()}})
            case _:
                data[name] = signal > 0.5
                fields.append({"name": name, "type": "boolean"})
    return pl.DataFrame(data), {"fields": fields}


def write(path: Path, rows: int, columns: int, noise: float, seed: int) -> None:
    generated(rows, columns, noise, seed)[0].write_parquet(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--target", default="c3")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{name}.parquet") for name in ("real", "synthetic")]
        for path, noise, seed in zip(paths, (1.0, 1.3), (1, 2), strict=True):
            # A process of its own, so that its memory is not counted.
            writer = multiprocessing.get_context("spawn").Process(
                target=write, args=(path, arguments.rows, arguments.columns, noise, seed)
            )
            writer.start()
            writer.join()
        schema = generated(10, arguments.columns, 1.0, 1)[1]
        wall, processor = time.perf_counter(), time.process_time()
        by = ("c2",) if arguments.columns > 2 else ()
        with watched(lambda step: print(f"{time.process_time() - processor:7.1f} s  {step.step}")):
            found = lw.evaluate(*paths, schema, target=arguments.target or None, by=by)
        print(
            json.dumps(
                {
                    "rows": arguments.rows,
                    "columns": arguments.columns,
                    "wall_seconds": round(time.perf_counter() - wall, 1),
                    "processor_seconds": round(time.process_time() - processor, 1),
                    "peak_gigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
                }
            )
        )
        found.to_dict()


if __name__ == "__main__":
    main()
