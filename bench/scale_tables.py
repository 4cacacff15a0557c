"""Generated tables of any size, in Parquet: one block of rows, written as often as is needed.

    python bench/scale_tables.py KIND ROWSxCOLUMNS FOLDER [SEED]

Kinds: ``reals`` (numbers in clusters, an integer and a category, five columns), ``mixed`` (categories, integers, skewed
numbers and Booleans that hang together, any number of columns), ``people`` (`reals`, and a person of 1 to 7 rows).
"""

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

BLOCK_ROWS = 10**6
FILE_ROWS = 10**7
GROUP_ROWS = 2**18
CENTRES = np.array([[0.2, 0.3, 0.4], [0.7, 0.6, 0.2], [0.5, 0.8, 0.9], [0.1, 0.9, 0.5]])
LETTERS, COLOURS = np.array([f"v{number}" for number in range(8)]), np.array(["red", "green", "blue"])
Field = dict[str, object]


def main() -> None:
    """Write the table that the command line asks for, and its schema."""
    kind, size, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    rows, columns = map(int, size.split("x"))
    write(kind, rows, columns, folder, int(sys.argv[4]) if len(sys.argv) > 4 else 0)


def write(kind: str, rows: int, columns: int, folder: Path, seed: int = 0) -> None:
    """Write ``part-00.parquet`` and on, ten million rows each, and ``schema.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    schema: dict[str, object] = {"fields": reals_fields() if kind != "mixed" else mixed_fields(columns)}
    if kind == "people":
        schema["fields"] = [*reals_fields(), {"name": "person", "type": "integer", "role": "identifier"}]
        schema["privacyUnit"] = {"field": "person", "maxRows": 3}
    rng = np.random.default_rng([rows, columns, seed] if seed else [rows, columns])
    block = min(rows, BLOCK_ROWS)
    first = reals(block, rng) if kind != "mixed" else mixed(block, columns, rng)
    for number, begin in enumerate(range(0, rows, FILE_ROWS)):
        writer = None
        for start in range(begin, min(begin + FILE_ROWS, rows), block):
            frame = with_people(first, start, rng) if kind == "people" else first
            table = frame.head(min(block, rows - start)).to_arrow()
            writer = writer or pq.ParquetWriter(folder / f"part-{number:02d}.parquet", table.schema, compression="zstd")
            writer.write_table(table, row_group_size=GROUP_ROWS)
        assert writer is not None
        writer.close()
    (folder / "schema.json").write_text(json.dumps(schema))


def reals(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Return three numbers in four clusters, an integer and a category."""
    points = np.clip(CENTRES[rng.integers(0, 4, rows)] + rng.normal(0, 0.08, (rows, 3)), 0, 1) * 100
    named = {name: points[:, place] for place, name in enumerate("xyz")}
    return pl.DataFrame(
        {**named, "age": rng.integers(0, 100, rows), "colour": COLOURS[rng.choice(3, rows, p=[0.5, 0.3, 0.2])]}
    )


def reals_fields() -> list[Field]:
    """Return the fields of `reals`."""
    numbers: list[Field] = [number_field(name, 100) for name in "xyz"]
    return [*numbers, integer_field("age"), category_field("colour", COLOURS)]


def with_people(frame: pl.DataFrame, start: int, rng: np.random.Generator) -> pl.DataFrame:
    """Give each row a person; a person has 1 to 7 rows, all within one block, in any order."""
    persons = np.repeat(np.arange(frame.height), rng.integers(1, 8, frame.height))[: frame.height] + start
    return frame.with_columns(person=rng.permutation(persons))


def mixed(rows: int, columns: int, rng: np.random.Generator) -> pl.DataFrame:
    """Return columns of five kinds that all hang on one hidden class."""
    hidden = rng.integers(0, 5, rows)
    return pl.DataFrame({f"c{place}": mixed_column(place, hidden, rng) for place in range(columns)})


def mixed_column(place: int, hidden: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the cells of one column, of the kind that its place gives."""
    noise = rng.normal(0, 1, hidden.size)
    if place % 5 == 0:
        return LETTERS[(hidden + rng.integers(0, 3, hidden.size)) % 8]
    if place % 5 == 1:
        return np.clip((hidden * 15 + noise * 10 + 20).astype(np.int64), 0, 99)
    if place % 5 == 2:
        return np.exp(hidden / 2 + noise / 2).clip(0, 200)
    if place % 5 == 3:
        return hidden + rng.integers(0, 4, hidden.size) > 4
    return COLOURS[(hidden * (1 + place) + rng.integers(0, 2, hidden.size)) % 3]


def mixed_fields(columns: int) -> list[Field]:
    """Return the fields of `mixed`."""
    return [
        (
            category_field(f"c{place}", LETTERS),
            integer_field(f"c{place}"),
            number_field(f"c{place}", 200),
            {"name": f"c{place}", "type": "boolean"},
            category_field(f"c{place}", COLOURS),
        )[place % 5]
        for place in range(columns)
    ]


def number_field(name: str, most: int) -> Field:
    """Return a field of numbers from 0 on."""
    return {"name": name, "type": "number", "constraints": {"minimum": 0, "maximum": most}}


def integer_field(name: str) -> Field:
    """Return a field of whole numbers from 0 to 99."""
    return {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}


def category_field(name: str, values: np.ndarray) -> Field:
    """Return a field of categories."""
    return {"name": name, "type": "string", "categories": values.tolist()}


if __name__ == "__main__":
    main()
