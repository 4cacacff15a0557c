"""W1 between coded tables, exact and sliced, against POT (Python Optimal Transport) in an environment of its own.

python3.11 -m venv /tmp/pot
/tmp/pot/bin/python -m pip install --require-hashes -r requirements/oracle-pot.txt
PYTHONPATH=src /tmp/pot/bin/python -m pytest tests/oracle/test_table_distances_against_pot.py -o junit_family=xunit1 \
    --junit-xml=/tmp/pot.xml

The properties in /tmp/pot.xml are the figures.
"""

import numpy as np
import pytest

from lapwing.extras.evaluate.metrics.distances import DIRECTIONS, compare_bounded_lipschitz, compare_wasserstein
from lapwing.schema.schemas import Schema

ot = pytest.importorskip("ot", reason="needs requirements/oracle-pot.txt")

pytestmark = pytest.mark.oracle

# Both sides are exact up to the rounding of sums of a few thousand floats of size 1.
RELATIVE = 1e-9

SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}},
            {"name": "pay", "type": "number", "constraints": {"minimum": 0, "maximum": 1000, "required": True}},
            {"name": "side", "type": "string", "categories": ["l", "m", "r"]},
            *({"name": f"q{place}", "type": "boolean", "constraints": {"required": True}} for place in range(4)),
        ]
    }
)


def table(rows, seed):
    """Return a table in which a tenth of the ages are missing."""
    rng = np.random.default_rng(seed)
    codes = {"age": rng.integers(seed, 121, rows), "side": rng.integers(4, size=rows)}
    codes["age"][: rows // 10] = 121
    codes["pay"] = (rng.beta(1 + seed, 3, rows) * 2**32).astype(np.int64)
    return codes | {f"q{place}": (rng.random(rows) < 0.2 + 0.1 * seed).astype(int) for place in range(4)}


def points(codes):
    """Return the rows as the documentation says that they lie."""
    is_missing = codes["age"] == 121
    columns = [np.where(is_missing, 0.5, codes["age"] / 120), codes["pay"] / (2**32 - 1)]
    return np.column_stack((*columns, *(codes[f"q{place}"] for place in range(4)), is_missing)).astype(float)


@pytest.mark.parametrize("rows", [30, 1000])
def test_exact_distances_of_tables_agree_with_the_network_simplex(rows: int, record_property) -> None:
    real, other = table(rows, 1), table(rows, 3)
    theirs = {
        name: ot.emd2([], [], np.minimum(ot.dist(points(real), points(other), metric=name), most), numItermax=10**7)
        for name, most in [("chebyshev", np.inf), ("euclidean", np.inf)]
    }
    capped = np.minimum(ot.dist(points(real), points(other), metric="euclidean"), 2)

    rng = np.random.default_rng(0)
    first, second, _ = compare_wasserstein(real, {"other": other}, SCHEMA, rng=rng)
    bounded = compare_bounded_lipschitz(real, {"other": other}, SCHEMA, rng=rng)

    found = [each.values["other"].value for each in (first, second, bounded)]
    expected = [*theirs.values(), ot.emd2([], [], capped, numItermax=10**7)]
    record_property("relative differences", [a / b - 1 for a, b in zip(found, expected, strict=True)])
    assert found == pytest.approx(expected, rel=RELATIVE)


def test_sliced_distances_of_tables_agree_along_the_same_directions(record_property) -> None:
    real, other = table(5000, 1), table(3000, 2)
    directions = np.random.default_rng(11).standard_normal((DIRECTIONS, points(real).shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    theirs = ot.sliced_wasserstein_distance(points(real), points(other), projections=directions.T, p=1)

    found = compare_wasserstein(real, {"other": other}, SCHEMA, rng=np.random.default_rng(11))[2]

    record_property("relative difference", found.values["other"].value / theirs - 1)
    assert found.values["other"].value == pytest.approx(theirs, rel=RELATIVE)
