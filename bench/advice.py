"""Which mechanism is closest where: two maps by W1, two tables of Booleans by the total variation of pairs and triples.

    OMP_NUM_THREADS=1 python bench/advice.py [--quick] [--releases 2] [-o bench/results]

Pure epsilon, add-remove, the number of rows expected. W1 as in ``few_columns.py``; of triples 500 are drawn.
"""

import json
import time
from collections.abc import Iterator
from itertools import combinations, product

import few_columns
import numpy as np
import polars as pl
from adaptive import commit
from metric_models import SHARED, arguments
from pmm import Line, write_lines

import lapwing as lw

MAPS = ("houston-crime", "nyc-airbnb")
ON_MAPS = ("default", "PMM", "PSMM", "KDTree", "Grid")
FLAGS = ("nltcs", "plants")
ON_FLAGS = ("Adaptive", "Microaggregation", "LinearStatistics", "Independent")


def maps(releases: int, epsilons: tuple[float, ...]) -> Iterator[Line]:
    """Yield the W1 of each mechanism on places."""
    for name, epsilon, mechanism in product(MAPS, epsilons, ON_MAPS):
        w1 = few_columns.measured(name, mechanism, epsilon, releases)["w1"]
        yield {"table": name, "mechanism": mechanism, "epsilon": epsilon, "w1": w1, "commit": commit()}


def flags(releases: int, epsilons: tuple[float, ...]) -> Iterator[Line]:
    """Yield how far shares of pairs and of triples of Booleans are from the table's."""
    for name, epsilon, mechanism in product(FLAGS, epsilons, ON_FLAGS):
        schema = lw.Schema.from_dict(json.loads((SHARED / name / "schema.json").read_text()))
        table = pl.read_parquet(SHARED / name / "data.parquet").select(schema.names)
        found, start = [], time.process_time()
        for seed in range(releases):
            release = lw.synthesize(
                table, schema, epsilon=epsilon, mechanism=mechanism, expected_rows=table.height, seed=seed
            )
            drawn = release.sample(table.height, seed=seed)
            found.append([variation(table, drawn, size) for size in (2, 3)])
        pairs, triples = np.mean(found, axis=0)
        line: Line = {"table": name, "mechanism": mechanism, "epsilon": epsilon, "pairs": pairs, "triples": triples}
        yield line | {"cpu_s": (time.process_time() - start) / releases, "commit": commit()}


def variation(real: pl.DataFrame, other: pl.DataFrame, size: int) -> float:
    """Return the mean total variation over tables of so many columns."""
    codes = [frame.select(pl.all().cast(pl.Int64)).to_numpy() for frame in (real, other)]
    chosen = list(combinations(range(codes[0].shape[1]), size))
    if len(chosen) > 500:
        chosen = [chosen[place] for place in np.random.default_rng(1).choice(len(chosen), 500, replace=False)]
    found = []
    for columns in chosen:
        shares = [np.bincount(each[:, columns] @ 2 ** np.arange(size), minlength=2**size) / len(each) for each in codes]
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


def lines(releases: int, *, is_quick: bool) -> Iterator[Line]:
    """Yield all."""
    yield from flags(releases, (1.0,) if is_quick else (0.1, 0.3, 1.0))
    yield from maps(releases, (1.0,) if is_quick else (0.1, 1.0))


def main() -> None:
    """Measure."""
    chosen = arguments(__doc__)
    releases = chosen.releases or (1 if chosen.quick else 2)
    write_lines(chosen.output / "advice.csv", lines(releases, is_quick=chosen.quick))


if __name__ == "__main__":
    main()
