"""How often the attacks raise an alarm where nothing was copied, and that they do where something was."""

import numpy as np
import pytest
from scipy.stats import binom

from lapwing.extras.evaluate.metrics.disclosure.disclosure import compare_disclosure
from lapwing.extras.evaluate.metrics.disclosure.nearest_rows import closer_to_real, measure_distances
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "size", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
    {"name": "kind", "type": "string", "categories": list("abcdefgh")},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})


def drawn(rng, rows):
    level = rng.random(rows)
    return {
        column.name: ((level + rng.random(rows)) / 2 * column.domain.values).astype(column.domain.dtype)
        for column in SCHEMA.columns
    }


def most_alarms(tables, share):
    """Return how many false alarms of so many tables are passed with probability at most 1e-9."""
    return int(binom.isf(1e-9, tables, share))


def alarms_of_closeness(repeats, copied):
    """Return how many tables are said to be closer to the real rows; each has 20 synthetic rows for a real one."""
    alarms = 0
    for seed in range(repeats):
        rng = np.random.default_rng([1, seed])
        real, holdout, synthetic = drawn(rng, 60), drawn(rng, 60), drawn(rng, 1200)
        for name in real:
            synthetic[name][:copied] = np.resize(real[name], copied)
        _, *closest = measure_distances(synthetic, real, SCHEMA.columns, holdout_codes=holdout, rng=rng)
        alarms += closer_to_real(*closest)[0].attack.lower > 0.5
    return alarms


def test_fresh_rows_are_called_closer_to_the_real_ones_as_rarely_as_the_interval_says():
    # 2.5 % of tables. With every synthetic row as a trial of its own, the interval would miss for a fifth of them.
    assert alarms_of_closeness(100, copied=0) <= most_alarms(100, 0.025)


def test_copied_rows_are_called_closer_to_the_real_ones():
    assert alarms_of_closeness(10, copied=600) == 10


@pytest.mark.parametrize("repeats", [12, pytest.param(300, marks=pytest.mark.full)])
def test_excesses_of_fresh_rows_are_above_zero_as_rarely_as_their_intervals_say(repeats):
    alarms: dict[str, int] = {}
    for seed in range(repeats):
        rng = np.random.default_rng([2, seed])
        tables = [drawn(rng, 250) for _ in range(3)]
        found = compare_disclosure(*tables[:2], SCHEMA, holdout_codes=tables[2], rng=rng)
        for each in found.risks:
            if each.excess_interval is not None:
                key = f"{each.key} {each.column}"
                alarms[key] = alarms.get(key, 0) + (each.excess_interval[0] > 0)

    # Descriptions are tried on the same real rows, and closest synthetic rows are shared: no more than twice 2.5 %.
    assert len(alarms) == 6
    assert max(alarms.values()) <= most_alarms(repeats, 0.05), alarms
