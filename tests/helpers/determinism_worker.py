"""A program for tests: print digests of what releases of a table count and give, under the threads it was started with.

Arguments: a Parquet file, a schema file, and the neighbour relation. The secret words are always the same.
"""

import json
import sys
from hashlib import sha256
from pathlib import Path

import polars as pl

from helpers.asked_questions import asked, exact_parts, shown
from lapwing.schema.schemas import Schema


def main(table, schema, relation):
    """Print one JSON object: a digest for everything."""
    loaded = Schema.from_dict(json.loads(Path(schema).read_text()))
    every = asked(Path(table), loaded, relation)
    found = {" ".join(map(str, key)): part for key, part in exact_parts(every, Path(table)).items()}
    for run in every:
        found[f"{run.name} asks"] = sha256(repr([each.to_dict() for each in run.questions]).encode()).hexdigest()
        found[f"{run.name} gives"] = sha256(b"".join(shown(run, Path(table)).values())).hexdigest()
    print(json.dumps({"threads": pl.thread_pool_size(), "digests": found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
