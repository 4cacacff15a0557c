"""A program for tests: hurt a cluster while it counts, releases and draws, and say where one machine gives the same.

Arguments: an empty folder, and the steps. A process of its own, because a process has one Spark.
"""

import json
import sys
from pathlib import Path

import polars as pl

import lapwing as lw
from helpers.asked_questions import Asked, shown
from helpers.spark_cluster import SCHEMA, cluster, one_killed, pairs, people, written
from lapwing.api.running import run_release
from lapwing.extras.audit.mechanism_pairs import settings_for
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

READ = Schema.from_dict(SCHEMA)
ROWS, DRAWN = 3000, 600_000


def counting(session, data):
    """Count all pairs of kept codes; return whether the counts are those of one machine."""
    source, alone = code_table(session.read.parquet(str(data)), READ), code_table(data, READ)
    with one_killed(session) as killed:
        while not killed:
            counts = source.count(pairs(READ))
    expected = alone.count(pairs(READ))
    return killed, [each.tolist() for each in counts] == [each.tolist() for each in expected]


def releasing(session, data):
    """Make a release; return whether the same secret words give the same release on one machine."""
    run = Asked("Independent", settings_for(Independent(), READ, "add-remove", pure=True), run_release, ())
    with one_killed(session) as killed:
        made = shown(run, session.read.parquet(str(data)))
    return killed, made == shown(run, data)


def drawing(session, data):
    """Have executors write rows; return whether they are those that this process draws, in order."""
    model, rows = data.parent / "m.lapwing", data.parent / "rows"
    lw.synthesize(data, SCHEMA, epsilon=1, mechanism="Independent").save(model)
    with one_killed(session) as killed:
        lw.load(model, kind="spark").sample(DRAWN, seed=4).write.parquet(str(rows))
    return killed, pl.read_parquet(rows / "*.parquet").equals(lw.load(model).sample(DRAWN, seed=4))


STEPS = {"counting": counting, "releasing": releasing, "drawing": drawing}


def main(folder, *steps):
    """Print how many executors were killed in each step, and whether it ended as on one machine."""
    data = written(people(ROWS), Path(folder) / "people", 4)
    with cluster(Path(folder)) as session:
        found = {step: STEPS[step](session, data) for step in steps}
    print(json.dumps({step: [len(killed), is_same] for step, (killed, is_same) in found.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
