"""Tables of laws: what they accept, refuse and look like."""

import numpy as np
import pytest

from lapwing.errors import ParameterError
from lapwing.maths.arrays import read_only
from lapwing.model.laws import Laws, laws_from_probabilities, point_laws, uniform_law
from lapwing.schema.groupings.domains import Domain

GOOD = {"offsets": [0, 2, 3], "starts": [0, 4, 1], "stops": [4, 5, 2], "probabilities": [0.75, 0.25, 1.0]}


def _laws(**changes: object) -> Laws:
    arrays = {name: np.array(values) for name, values in {**GOOD, **changes}.items()}
    return Laws(**arrays)


def test_a_table_of_laws_keeps_int64_and_float64_arrays_that_nobody_can_write_to():
    laws = _laws(starts=np.array([0, 4, 1], dtype=np.uint8))

    assert laws.count == 2
    assert laws.law_of_piece.tolist() == [0, 0, 1]
    assert [array.dtype.name for array in (laws.offsets, laws.starts, laws.stops)] == ["int64"] * 3
    for array in (laws.offsets, laws.starts, laws.stops, laws.probabilities):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_writing_to_the_arrays_given_does_not_change_the_laws():
    starts = np.array([0, 4, 1])
    laws = _laws(starts=starts)

    starts[0] = 3

    assert laws.starts[0] == 0
    assert starts.flags.writeable


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offsets": [0, 3]}, "must sum to 1"),
        ({"offsets": [1, 2, 3]}, "offsets of laws must increase"),
        ({"offsets": [0, 0, 2, 3]}, "offsets of laws must increase"),
        ({"offsets": [0, 2, 4]}, "offsets of laws must increase"),
        ({"offsets": [0, -1, 3]}, "offsets of laws must increase"),
        ({"offsets": [0]}, "needs offsets"),
        ({"offsets": [[0, 3]]}, "must be a vector of integers"),
        ({"offsets": [0.0, 2.0, 3.0]}, "must be a vector of integers"),
        ({"starts": [0, 4]}, "needs offsets"),
        ({"starts": [-1, 4, 1]}, "0 <= start < stop"),
        ({"stops": [0, 5, 2]}, "0 <= start < stop"),
        ({"starts": np.array([0, 4, 2**63], dtype=np.uint64)}, "below 2\\*\\*63"),
        ({"probabilities": [1.0, 0.0, 1.0]}, "must lie above 0"),
        ({"probabilities": [1.25, -0.25, 1.0]}, "must lie above 0"),
        ({"probabilities": [float("nan"), 0.25, 1.0]}, "must lie above 0"),
        ({"probabilities": [float("inf"), 0.25, 1.0]}, "must lie above 0"),
        ({"probabilities": [0.75, 0.24, 1.0]}, "sum to 1"),
        ({"probabilities": ["a", "b", "c"]}, "must be a vector of numbers"),
    ],
)
def test_arrays_that_are_no_laws_are_refused(changes: dict[str, object], message: str):
    with pytest.raises(ParameterError, match=message):
        _laws(**changes)


def test_an_empty_table_is_refused():
    with pytest.raises(ParameterError, match="needs offsets"):
        _laws(offsets=[0], starts=np.empty(0, int), stops=np.empty(0, int), probabilities=np.empty(0))


def test_laws_from_probabilities_scale_each_row_and_drop_pieces_without_mass():
    laws = laws_from_probabilities(np.array([0, 2, 9]), np.array([2, 9, 10]), np.array([[2, 0, 2], [0, 5, 0]]))

    assert laws.offsets.tolist() == [0, 2, 3]
    assert laws.starts.tolist() == [0, 9, 2]
    assert laws.stops.tolist() == [2, 10, 9]
    assert laws.probabilities.tolist() == [0.5, 0.5, 1.0]


def test_masses_that_vanish_when_scaled_are_dropped():
    laws = laws_from_probabilities(np.arange(2), np.arange(1, 3), np.array([1e300, 5e-324]))

    assert laws.starts.tolist() == [0]


@pytest.mark.parametrize(
    "masses", [[0.0, 0.0], [1.0, -1.0], [1.0, float("nan")], [1.0], [[1.0, 1.0], [0.0, 0.0]], [[[1.0, 1.0]]]]
)
def test_masses_that_are_no_law_are_refused(masses: list[float]):
    with pytest.raises(ParameterError):
        laws_from_probabilities(np.arange(2), np.arange(1, 3), np.array(masses))


def test_no_law_at_all_is_refused():
    with pytest.raises(ParameterError):
        laws_from_probabilities(np.arange(2), np.arange(1, 3), np.empty((0, 2)))


def test_point_laws_are_certain():
    laws = point_laws([7, 0])

    assert laws.count == 2
    assert laws.starts.tolist() == [7, 0]
    assert laws.stops.tolist() == [8, 1]


def test_the_uniform_law_covers_the_regular_codes_and_nothing_else():
    laws = uniform_law(Domain(5, 2, True, True, False))

    assert (laws.starts.tolist(), laws.stops.tolist()) == ([0], [5])


def test_a_read_only_array_is_not_copied():
    once = read_only(np.arange(3))

    assert read_only(once) is once
