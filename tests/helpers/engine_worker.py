"""A program for tests: make releases of a planted table on one engine, with everything logged that can be.

Arguments: the engine, and an empty folder. What is printed, logged and left behind must tell nothing of the rows.
"""

import logging
import sys
from pathlib import Path

import lapwing as lw
from helpers import spark_sessions
from helpers.canary_calls import BLANK, SIMPLE, UNITS, ordinary
from helpers.canary_engines import arrow
from helpers.engines import ENGINES
from helpers.planted_values import SCHEMA
from lapwing.rows.entry import source_of
from lapwing.rows.source import code_table


def main(engine, folder):
    """Make the releases, and print whatever of ours can be printed."""
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    inputs = Path(folder) / "inputs"
    inputs.mkdir()
    data = ENGINES[engine](arrow(), inputs)
    if engine.startswith("Spark"):
        spark_sessions.classic().sparkContext.setLogLevel("INFO")
    schema = lw.Schema.from_dict(UNITS)
    release = lw.synthesize(data, UNITS, **SIMPLE, transcript=Path(folder) / "t.jsonl")
    print(release, release.sample(5))
    print(lw.synthesize(data, SCHEMA, rho=0.1, mechanism=lw.Adaptive.small()).certificate)
    print(lw.Schema.learn(data, BLANK, epsilon=1, fields=["age"]))
    print(lw.evaluate(data, ordinary(), SCHEMA, epsilon=1))
    reader, source = source_of(data).open(schema), code_table(data, schema)
    print(reader, source, vars(type(reader)).keys(), next(reader.chunks(("sex",), 10)).keys())


if __name__ == "__main__":
    main(*sys.argv[1:])
