"""Private sampling: rows that the budget allows, and errors on nltcs. One CSV file per part.

OMP_NUM_THREADS=1 python bench/private_sampling.py rows|accuracy [-o bench/results] [--releases 20]

``rows``: rows at epsilon 1, at rho 0.5 and at (1, 1e-9), of both variants (paper: twice as many points as Walsh
functions, floor 0.25, ceiling 2; the bound itself, also below one row and for more points than the product solves).
``accuracy``: the largest error of a cell of all marginals of one and two columns, over the first columns of nltcs, mean
over releases; ``density`` is that of the law the rows are drawn from. Beside it the table's own number of rows of
Independent and Adaptive, 3 releases.
"""

import argparse
import itertools
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
from metric_models import SHARED
from pmm import Line, write_lines

from lapwing.api.synthesize import synthesize
from lapwing.kernel.budget.budget import requested_budget
from lapwing.kernel.questions.private_draw.answer import exact_weights
from lapwing.kernel.questions.private_draw.question import PrivateDraw, row_price
from lapwing.maths.reduced_density import low_sets
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.private_sampling.mechanism import PrivateSampling
from lapwing.mechanisms.registry import Mechanism
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

BUDGETS = {
    "epsilon 1": {"epsilon": 1},
    "rho 0.5": {"rho": "1/2"},
    "epsilon 1, delta 1e-9": {"epsilon": 1, "delta": 1e-9},
}


def rows(releases: int) -> Iterator[Line]:
    """Yield one line per variant, number of columns, degree and number of rows."""
    del releases
    for columns, degree, count in itertools.product((3, 10, 16), (1, 2), (10**4, 10**5, 10**6)):
        size = 2 * low_sets(columns, degree)
        variants = [
            ("default", Fraction(1, 10), {}),
            ("paper", Fraction(1, 4), {"points": size, "ceiling": Fraction(2)}),
        ]
        for variant, floor, more in variants:
            line: Line = {
                "variant": variant,
                "columns": columns,
                "degree": degree,
                "rows": count,
                "floor": float(floor),
            }
            for name, settings in BUDGETS.items():
                budget = requested_budget(**settings)  # type: ignore[arg-type]
                price = row_price(columns, degree, floor, count, notion=budget.notion, **more)  # type: ignore[arg-type]
                line[name] = float(budget.amount / price)
            yield line


def accuracy(releases: int) -> Iterator[Line]:
    """Yield one line per number of columns, epsilon, and mechanism; per degree and floor of private sampling."""
    schema, data = Schema.load(SHARED / "nltcs" / "schema.json"), pl.read_parquet(SHARED / "nltcs" / "data.parquet")
    for columns, epsilon in itertools.product((3, 6, 10, 16), (1, 10)):
        first = Schema.from_dict({"fields": schema.to_dict()["fields"][:columns]})
        table = data.select([field.name for field in first.columns])
        others: dict[str, Mechanism] = {"Independent": Independent(), "Adaptive": Adaptive()}
        for name, mechanism in others.items():
            yield _line(table, first, name, mechanism, epsilon=epsilon, releases=3)
        for degree, floor in itertools.product((1, 2, columns) if columns < 10 else (1, 2), (0.01, 0.1, 0.5)):
            mechanism = PrivateSampling(degree=degree, floor=floor)
            line = _line(table, first, mechanism.name, mechanism, epsilon=epsilon, releases=releases)
            yield {**line, "degree": degree, "floor": floor, "density": _density_error(table, first, degree, floor)}


def _line(table: pl.DataFrame, schema: Schema, name: str, mechanism: Mechanism, *, epsilon: int, releases: int) -> Line:
    """Return the mean over releases of the largest error of the drawn rows, and how many they are."""
    truth, errors = _cells(table.to_numpy(), np.ones(table.height)), []
    for _ in range(releases):
        drawn = synthesize(table, schema, epsilon=epsilon, mechanism=mechanism, neighbours="replace-one").sample()
        errors.append(np.abs(_cells(drawn.to_numpy(), np.ones(drawn.height)) - truth).max())
    line: Line = {"columns": table.width, "epsilon": epsilon, "mechanism": name, "degree": "", "floor": ""}
    return {**line, "rows": drawn.height, "error": float(np.mean(errors)), "density": ""}


def _density_error(table: pl.DataFrame, schema: Schema, degree: int, floor: float) -> float:
    """Return the largest error of the law that the rows are drawn from."""
    question = PrivateDraw(
        columns=tuple(table.columns),
        degree=degree,
        floor=Fraction(str(floor)),
        rows=table.height,
        draws=1,
        notion="pure",
    )
    weights = exact_weights(question, code_table(table, schema))
    cube = np.arange(weights.size)[:, np.newaxis] >> np.arange(table.width) & 1
    return float(np.abs(_cells(cube, weights) - _cells(table.to_numpy(), np.ones(table.height))).max())


def _cells(codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the shares of all cells of the marginals of one and two columns."""
    both = np.stack([1 - codes.astype(np.int64), codes], axis=2).reshape(len(codes), -1).astype(np.float64)
    shares = both.T @ (both * (weights / weights.sum())[:, np.newaxis])
    return np.asarray(shares)


def main() -> None:
    """Write the table of one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("rows", "accuracy"))
    parser.add_argument("-o", "--output", type=Path, default=Path("bench/results"))
    parser.add_argument("--releases", type=int, default=20)
    given = parser.parse_args()
    parts = {"rows": rows, "accuracy": accuracy}
    write_lines(given.output / f"private_sampling_{given.part}.csv", parts[given.part](given.releases))


if __name__ == "__main__":
    main()
