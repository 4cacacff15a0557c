"""How far above the truth Microaggregation's bound on all pairs' cells is. One CSV line per table and ε.

    OMP_NUM_THREADS=1 python bench/certified_pairs.py [--releases 5] [-o OUT.csv]

``claimed``: median of what the certificates state; ``true``: median root-mean-square error of the models over the cells
of all pairs; ``ratio``, ``ratio_90``: median and 90 % quantile of claimed / true; ``above``: releases whose error
passes its bound; ``silent``: those that state nothing, because noise leaves nothing or no second moment was asked.
Add-remove neighbours, pure ε. The output is internal: it compares with real rows.
"""

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
import polars as pl

import lapwing as lw
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.mechanisms.shared.vectors.certified_pairs import atom_means, pair_weights
from lapwing.rows.source import code_table

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
TABLES = ("nltcs", "adult", "plants", "mushrooms", "bank-marketing", "eusilc")
EPSILONS = (0.1, 1.0, 10.0)


def main() -> None:
    """Write one line for each table and ε."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=5)
    parser.add_argument("-o", type=Path)
    chosen = parser.parse_args()
    with chosen.o.open("w", newline="") if chosen.o else sys.stdout as file:
        lines = csv.writer(file)
        lines.writerow(("table", "epsilon", "claimed", "true", "ratio", "ratio_90", "above", "silent"))
        for name in TABLES:
            for epsilon in EPSILONS:
                lines.writerow((name, epsilon, *compared(name, epsilon, chosen.releases)))
                file.flush()


def compared(name: str, epsilon: float, releases: int) -> tuple[object, ...]:
    """Return what a line says of one table."""
    data, schema = pl.read_parquet(SHARED / name / "data.parquet"), lw.Schema.load(SHARED / name / "schema.json")
    claimed, true = [], []
    for seed in range(releases):
        release = lw.synthesize(
            data, schema, epsilon=epsilon, mechanism="microaggregation", expected_rows=data.height, seed=seed
        )
        said = [each.value for each in release.certificate.accuracy if each.code.startswith("error_of_all")]
        if said:
            claimed.append(said[0])
            true.append(error(release, data))
    if not claimed:
        return ("", "", "", "", 0, releases)
    ratios = np.array(claimed) / np.array(true)
    figures = (np.median(claimed), np.median(true), np.median(ratios), np.quantile(ratios, 0.9))
    return (*(f"{each:.4g}" for each in figures), int((ratios < 1).sum()), releases - len(claimed))


def error(release: lw.Release, data: pl.DataFrame) -> float:
    """Return the root-mean-square error of a model over the cells of all pairs."""
    moment = next(each.question for each in release.noisy if isinstance(each.question, SecondMoment))
    coordinates = moment.coordinates
    rows, sums, products = 0, np.zeros(coordinates.size), np.zeros((coordinates.size, coordinates.size))
    for chunk in code_table(data, release.schema).chunks():
        vectors = coordinates.vectors(chunk) / coordinates.unit
        rows, sums, products = rows + len(vectors), sums + vectors.sum(axis=0), products + vectors.T @ vectors
    weights, means = release.model.weights / release.model.weights.sum(), atom_means(release.model, coordinates)
    of_products, of_means, cells = pair_weights(coordinates)
    off, one_way = (means * weights[:, None]).T @ means - products / rows, weights @ means - sums / rows
    return float(np.sqrt(((of_products * off**2).sum() / 2 + (of_means * one_way**2).sum()) / cells))


if __name__ == "__main__":
    main()
