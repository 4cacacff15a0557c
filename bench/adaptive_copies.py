"""Large and wide tables for scaling: rows of adult-pgm drawn with replacement, and noisy copies of its columns.

python bench/adaptive_copies.py ROWS COLUMNS FOLDER
"""

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def write_copies(rows: int, columns: int, folder: Path) -> None:
    """Write data.parquet and schema.json.

    Parameters
    ----------
    rows, columns : int
        Of the table, at least 1.
    folder : Path
        Made where it does not exist.

    Notes
    -----
    Column j beyond the fourteen of adult-pgm is column ``j mod 14`` with 10 to 30 % of its values (the same for the
    whole column, drawn for each) taken from random rows. The same numbers give the same table.
    """
    rng = np.random.default_rng([rows, columns])
    frame = pl.read_parquet(SHARED / "adult-pgm" / "data.parquet")
    fields = json.loads((SHARED / "adult-pgm" / "schema.json").read_text())["fields"]
    drawn = rng.integers(frame.height, size=rows)
    whole = {}
    for j in range(columns):
        field = fields[j % len(fields)]
        column = frame[field["name"]].to_numpy()
        values = column[drawn]
        if j >= len(fields):
            redrawn = np.flatnonzero(rng.random(rows) < rng.uniform(0.1, 0.3))
            values[redrawn] = column[rng.integers(frame.height, size=redrawn.size)]
        whole[f"c{j:03}"] = values.astype(np.uint8)
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(whole).write_parquet(folder / "data.parquet")
    named = [fields[j % len(fields)] | {"name": name} for j, name in enumerate(whole)]
    (folder / "schema.json").write_text(json.dumps({"name": f"copies-{rows}-{columns}", "fields": named}))


if __name__ == "__main__":
    write_copies(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
