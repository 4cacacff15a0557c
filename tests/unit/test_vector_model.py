"""From means to laws: finer groups of wide columns, shares inside them, and points on lines."""

from fractions import Fraction

import numpy as np
import pytest

from helpers.flag_tables import FLAG, KIND, WIDE
from helpers.models import dense
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.mechanisms.shared.vectors.means import Means
from lapwing.mechanisms.shared.vectors.row_vectors import row_coordinates
from lapwing.mechanisms.vectors.microaggregation.model import (
    detail_groupings,
    detail_questions,
    detail_shares,
    means_as_model,
)
from lapwing.schema.schemas import Schema

REAL = {"name": "real", "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}}
CODES = {"name": "codes", "type": "string", "categories": [f"{a}{b:02}" for a in "abcd" for b in range(50)]}
MAYBE = {"name": "maybe", "type": "integer", "constraints": {"minimum": 0, "maximum": 10}, "special": [99]}


def coordinates(*fields, numbers="intervals", intervals=16):
    schema = Schema.from_dict({"fields": list(fields)})
    return schema, row_coordinates(schema, numbers, intervals)


def model_of(schema, of_rows, means, weights=None, details=None):
    """Return a model of means, of equal weights."""
    means = np.array(means, dtype=float)
    shares = np.full(len(means), 1 / len(means)) if weights is None else np.array(weights)
    return means_as_model(schema, of_rows, Means(shares, means, 9.0), 9, details or {})


# ---------------------------------------------------------------------------------------------------------- details


@pytest.mark.parametrize("intervals", [2, 16, 40])
def test_finer_groups_lie_inside_the_groups_of_their_column(intervals):
    schema, of_rows = coordinates(FLAG, KIND, WIDE, REAL, CODES, intervals=intervals)

    found = detail_groupings(schema, of_rows)

    assert set(found) == {"wide", "real", "codes"}
    for name, finer in found.items():
        coarse = of_rows.groupings[of_rows.columns.index(name)]
        starts, stops, _ = finer.pieces()
        assert coarse.apply(starts).tolist() == coarse.apply(stops - 1).tolist()
        assert finer.regular > coarse.regular
    assert found["codes"].regular == 200


@pytest.mark.parametrize("low", [-7, 0])
def test_masses_of_details_are_never_negative_even_if_all_noisy_counts_are(low):
    schema, of_rows = coordinates(WIDE)
    (question,) = detail_questions(detail_groupings(schema, of_rows), Budget.pure(1))
    counts = np.full(question.shape, low, dtype=np.int64)

    found = detail_shares([NoisyCounts(question, counts, NoiseLaw("laplace", Fraction(1)))])

    grouping, masses = found["wide"]
    assert grouping is question.groupings[0]
    assert masses.size == grouping.regular
    assert (masses >= 0).all()
    assert masses.sum() <= 1.0 + 1e-9


# ------------------------------------------------------------------------------------------------------------- laws


def test_a_mean_on_a_line_is_a_point_beside_the_shares_of_missing_and_special_values():
    schema, of_rows = coordinates(FLAG, MAYBE, numbers="means")

    # Half of the rows are regular, with the mean -0.6 (code 2); a quarter each is special and missing.
    model = model_of(schema, of_rows, [[1, -0.3, 0.25, 0.25], [1, 0, 1, 1], [1, 5, 0, 0]])

    laws = [dense(model.laws["maybe"], atom, 13) for atom in range(3)]
    assert [laws[0][code] for code in (2, 11, 12)] == pytest.approx([0.5, 0.25, 0.25])
    assert laws[1][11:] == pytest.approx([0.5, 0.5])
    assert laws[2][10] == pytest.approx(1.0)
    assert [law.sum() for law in laws] == pytest.approx([1.0] * 3)
