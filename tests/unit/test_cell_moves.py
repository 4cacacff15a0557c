"""Codes that a rule of one column forbids move inside the cell in which they were counted."""

import numpy as np

from lapwing.model.laws import Laws
from lapwing.model.model import Indexed, ReleasedModel
from lapwing.model.sampling.ruled import moved_in_cells
from lapwing.schema.schemas import Schema

SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "time", "type": "integer", "constraints": {"minimum": 0, "maximum": 299, "required": True}},
            {"name": "flag", "type": "boolean"},
        ],
        "rules": [
            {"never": {"time": [{"minimum": 60, "maximum": 99}, {"minimum": 160, "maximum": 199}]}},
            {"never": {"time": {"minimum": 50, "maximum": 55}}},
        ],
    }
)
CELLS = np.array([0, 40, 58, 90, 100, 300])


def _model() -> ReleasedModel:
    laws = Laws(np.array([0, 5]), CELLS[:-1], CELLS[1:], np.full(5, 0.2))
    index = Indexed(np.zeros(1, dtype=np.uint8), laws)
    return ReleasedModel(weights=np.ones(1), rows=10, laws={"time": index, "flag": index})


def test_a_forbidden_code_takes_an_allowed_one_of_its_cell_with_even_chances():
    codes = {"time": np.repeat([50, 70, 180], 20_000)}

    moved = moved_in_cells(_model(), SCHEMA, codes, np.random.default_rng(1))["time"].reshape(3, -1)

    expected = ([*range(40, 50), 56, 57], [58, 59], [*range(100, 160), *range(200, 300)])
    for found, codes_of_cell in zip(moved, expected, strict=True):
        assert np.unique(found).tolist() == codes_of_cell
        counts = np.bincount(found)[codes_of_cell]
        assert abs(counts - counts.mean()).max() <= 6 * counts.mean() ** 0.5


def test_allowed_codes_and_those_of_forbidden_cells_stay():
    codes = {"time": np.array([0, 59, 95, 100, 299], dtype=np.uint16), "flag": np.array([1, 0, 2, 1, 0])}

    moved = moved_in_cells(_model(), SCHEMA, codes, np.random.default_rng(1))

    assert moved["time"].tolist() == codes["time"].tolist()
    assert moved["time"].dtype == np.uint16
    assert moved["flag"] is codes["flag"]
