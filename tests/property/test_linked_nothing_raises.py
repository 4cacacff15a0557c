"""Linked tables, some of them empty: a release comes out, whatever is linked to what."""

import numpy as np

import lapwing as lw
from helpers.cases import spread
from lapwing.extras.audit.linked_pairs import SCHEMA, linked_pair
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.trees.pmm.mechanism import PMM


@spread(
    ("kind", [Independent, PMM, Adaptive]),
    ("budget", [{"epsilon": 0.1}, {"rho": 1000}]),
    ("empty", [(), ("homes",), ("people",), ("visits",), ("people", "visits"), SCHEMA.names]),
    at_least=18,
)
def test_linked_tables_of_no_rows_are_released(tmp_path, kind, budget, empty):
    tables, _ = linked_pair(np.random.default_rng(3))
    tables = {name: table.clear() if name in empty else table for name, table in tables.items()}
    schema = lw.Schema.from_dict(SCHEMA.to_dict())

    try:
        release = lw.synthesize(tables, schema, mechanism=kind.small(), seed=1, **budget)
    except lw.DataError as error:  # people whose homes are not there are noticed, and end it by a noisy count
        if (error.code, empty) != ("LW118", ("homes",)):
            raise
        return

    drawn = dict(release.sample(20, seed=1).items())
    assert tuple(drawn) == SCHEMA.names
    assert release.certificate.text
    release.save(tmp_path / "linked.lapwing")
    again = lw.load(tmp_path / "linked.lapwing").sample(20, seed=1)
    assert all(frame.equals(again[name]) for name, frame in drawn.items())
