"""How far synthetic rows are from the real ones, in the codes that peers see: the same measure for peers and for us.

    python bench/peers/score.py TABLE FILE...

TABLE is a folder under ../shared/data. A FILE holds codes (``*.codes.parquet``, as run.py writes them) or rows of the
table's own values. It compares with real rows: its output is internal.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import polars as pl

sys.path.append(str(Path(__file__).resolve().parents[1]))

from codings import SHARED, Coding, coding_of

from lapwing.judge.prediction.downstream import trained_auc
from lapwing.judge.tables.variation import choose_tables, compare_tables


def score(coding: Coding, synthetic: np.ndarray) -> dict[str, float]:
    """Return mean total variation distances and, where rows are held back, the AUC on them.

    Parameters
    ----------
    coding : Coding
        Of the table that the rows stand for.
    synthetic : ndarray of int, shape (m, d)
        Codes of the synthetic rows, at least one.

    Returns
    -------
    dict of str to float
        Keys ``tv1`` (all columns), ``tv2`` (all pairs), ``tv3`` (128 triples of seed 0), each against the rows to fit
        on, and ``auc`` where rows are held back.
    """
    schema = coding.schema_of_codes()
    train, test = coding.parts()
    real, other, held = ({name: rows[:, j] for j, name in enumerate(coding.names)} for rows in (train, synthetic, test))
    tables = choose_tables(schema, rng=np.random.default_rng(0))
    found = {f"tv{kind.ways}": kind.mean for kind in compare_tables(real, other, schema, tables)}
    target = json.loads((SHARED / coding.table / "facts.json").read_text())["target"]
    if target and len(held[target]):
        found["auc"] = trained_auc(other, held, schema, target, np.random.default_rng(0))
    return {key: round(value, 4) for key, value in found.items()}


def read_codes(coding: Coding, path: Path) -> np.ndarray:
    """Return the codes of a file of codes, or of a file of rows in the table's own values."""
    if path.name.endswith(".codes.parquet"):
        return pl.read_parquet(path).select(coding.names).to_numpy()
    return coding.apply(path)


def main() -> None:
    """Score files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    coding = coding_of(options.table)
    for path in options.files:
        found = score(coding, read_codes(coding, path))
        sys.stdout.write(f"{path.name} " + " ".join(f"{key}={value}" for key, value in found.items()) + "\n")


if __name__ == "__main__":
    main()
