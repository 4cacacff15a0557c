"""The released model: checks on its parts and against the schema."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

from helpers.models import small_schema
from lapwing.errors import ParameterError
from lapwing.model.laws import Laws, group_sums, laws_from_probabilities, laws_of_groups, point_laws, uniform_law
from lapwing.model.model import Bernoulli, Indexed, LogLinear, ReleasedModel, Spans, narrow
from lapwing.schema.groupings.grouping import evenly, identity

SCHEMA = small_schema()
INDEX = np.zeros(2, dtype=np.uint8)
AGE = SCHEMA.field("age").domain


def _laws(**changes: Any) -> dict[str, Any]:
    laws = {field.name: Indexed(INDEX, uniform_law(field.domain)) for field in SCHEMA.columns}
    return {**laws, **changes}


def _model(**changes: Any) -> ReleasedModel:
    return ReleasedModel(**{"weights": np.ones(2), "rows": 5, "laws": _laws(), **changes})


def _log_linear(**changes: Any) -> LogLinear:
    grouping = identity(AGE)
    parts: dict[str, Any] = {
        "tables": (("age",),),
        "groupings": ((grouping,),),
        "thetas": (np.zeros(grouping.groups),),
        "base": {field.name: uniform_law(field.domain) for field in SCHEMA.columns},
    }
    return LogLinear(**{**parts, **changes})


def test_arrays_and_mappings_of_a_model_cannot_be_changed():
    model = _model(log_linear=_log_linear())

    assert not model.weights.flags.writeable
    assert not model.laws["age"].index.flags.writeable
    assert not model.log_linear.thetas[0].flags.writeable
    with pytest.raises(TypeError):
        model.laws["age"] = model.laws["grade"]
    with pytest.raises(TypeError):
        model.log_linear.base["age"] = uniform_law(AGE)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"weights": np.zeros(2)}, "weights of atoms"),
        ({"weights": np.array([1.0, float("nan")])}, "weights of atoms"),
        ({"weights": np.array([1e308, 1e308])}, "weights of atoms"),
        ({"weights": np.empty(0), "laws": {}}, "weights of atoms"),
        *(({"rows": rows}, "rows of a model") for rows in (-1, 1.5, True, 2**53 + 1)),
        ({"laws": _laws(age=Spans(np.zeros(3, np.uint8), np.ones(3, np.uint8)))}, "'age' has laws for 3 of 2 atoms"),
    ],
)
def test_parts_that_make_no_model_are_refused(changes: dict[str, Any], says: str):
    with pytest.raises(ParameterError, match=says):
        _model(**changes)


def test_an_index_gets_the_smallest_dtype_that_holds_it():
    assert [narrow(np.array([0, most])).dtype.itemsize for most in (255, 256, 65536)] == [1, 2, 4]
    for index in ([-1], [2**32]):
        with pytest.raises(ParameterError, match="index of laws"):
            narrow(np.array(index))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Indexed(np.array([0, 1]), uniform_law(AGE)),
        lambda: Indexed(np.array([0, 1], dtype=np.uint8), uniform_law(AGE)),
        lambda: Indexed(np.zeros((1, 1), dtype=np.uint8), uniform_law(AGE)),
        lambda: Spans(np.array([0, 1]), np.array([1, 1])),
        lambda: Spans(np.array([0]), np.array([1, 2])),
        lambda: Spans(np.array([0], dtype=np.uint8), np.array([1])),
        lambda: Bernoulli(np.array([1.1])),
        lambda: Bernoulli(np.array([float("nan")])),
        lambda: Bernoulli(np.array([0, 1])),
        lambda: Bernoulli([0.5]),
    ],
)
def test_column_laws_that_are_none_are_refused(make: Any):
    with pytest.raises(ParameterError):
        make()


@pytest.mark.parametrize(
    ("name", "law", "is_valid"),
    [
        ("colour", Indexed(INDEX, point_laws([2])), True),
        ("colour", Indexed(INDEX, point_laws([3])), False),
        ("grade", Indexed(INDEX, point_laws([6])), False),
        ("age", Spans(np.array([8, 9]), np.array([9, 10])), True),
        ("colour", Spans(np.array([0, 2]), np.array([1, 4])), False),
        ("flag", Bernoulli(np.ones(2)), True),
        ("colour", Bernoulli(np.zeros(2)), True),
    ],
)
def test_laws_must_stay_inside_the_domain_and_off_the_misfit_code(name: str, law: Any, is_valid: bool):
    model = _model(laws=_laws(**{name: law}))

    if is_valid:
        model.validate(SCHEMA)
    else:
        with pytest.raises(ParameterError, match=f"column '{name}' has a law that reaches code"):
            model.validate(SCHEMA)


@pytest.mark.parametrize("change", ["missing", "extra", "order"])
def test_a_model_of_other_columns_is_refused(change: str):
    laws = _laws()
    if change == "missing":
        laws.pop("grade")
    elif change == "extra":
        laws["other"] = laws["age"]
    else:
        laws = dict(reversed(laws.items()))

    with pytest.raises(ParameterError, match="does not fit a schema"):
        _model(laws=laws).validate(SCHEMA)


@pytest.mark.parametrize(
    "changes",
    [
        {"tables": ()},
        {"thetas": (np.zeros(3),)},
        {"thetas": (np.full(10, np.nan),)},
        {"tables": (("age", "age"),)},
        {"base": {"age": laws_from_probabilities(np.arange(2), np.arange(1, 3), np.ones((2, 2)))}},
    ],
)
def test_log_linear_parts_that_disagree_are_refused(changes: dict[str, Any]):
    with pytest.raises(ParameterError):
        _log_linear(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"tables": (("other",),)},
        {"tables": (("grade",),)},
        {"tables": (("grade",),), "groupings": ((evenly(AGE, 4),),), "thetas": (np.zeros(6),)},
        {"base": {"age": uniform_law(AGE)}},
        {"base": {**{field.name: uniform_law(field.domain) for field in SCHEMA.columns}, "colour": point_laws([3])}},
    ],
)
def test_a_log_linear_part_of_another_schema_is_refused(changes: dict[str, Any]):
    model = _model(log_linear=_log_linear(**changes))

    with pytest.raises(ParameterError):
        model.validate(SCHEMA)


# -- Tables of laws.


GOOD = {"offsets": [0, 2, 3], "starts": [0, 4, 1], "stops": [4, 5, 2], "probabilities": [0.75, 0.25, 1.0]}


def _laws_of_others(**changes: object) -> Laws:
    arrays = {name: np.array(values) for name, values in {**GOOD, **changes}.items()}
    return Laws(**arrays)


def test_a_table_of_laws_keeps_int64_and_float64_arrays_that_nobody_can_write_to():
    laws = _laws_of_others(starts=np.array([0, 4, 1], dtype=np.uint8))

    assert laws.count == 2
    assert laws.law_of_piece.tolist() == [0, 0, 1]
    assert [array.dtype.name for array in (laws.offsets, laws.starts, laws.stops)] == ["int64"] * 3
    for array in (laws.offsets, laws.starts, laws.stops, laws.probabilities):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offsets": [0, 3]}, "must sum to 1"),
        ({"offsets": [1, 2, 3]}, "offsets of laws must increase"),
        ({"offsets": [0, -1, 3]}, "offsets of laws must increase"),
        ({"offsets": [0]}, "needs offsets"),
        ({"offsets": [[0, 3]]}, "must be a vector of integers"),
        ({"starts": [-1, 4, 1]}, "0 <= start < stop"),
        ({"stops": [0, 5, 2]}, "0 <= start < stop"),
        ({"starts": np.array([0, 4, 2**63], dtype=np.uint64)}, "below 2\\*\\*63"),
        ({"probabilities": [1.0, 0.0, 1.0]}, "must lie above 0"),
        ({"probabilities": [float("nan"), 0.25, 1.0]}, "must lie above 0"),
        ({"probabilities": [0.75, 0.24, 1.0]}, "sum to 1"),
        ({"probabilities": ["a", "b", "c"]}, "must be a vector of numbers"),
    ],
)
def test_arrays_that_are_no_laws_are_refused(changes: dict[str, object], message: str):
    with pytest.raises(ParameterError, match=message):
        _laws_of_others(**changes)


def test_laws_from_probabilities_scale_each_row_and_drop_pieces_without_mass():
    laws = laws_from_probabilities(np.array([0, 2, 9]), np.array([2, 9, 10]), np.array([[2, 0, 2], [0, 5, 0]]))

    assert laws.offsets.tolist() == [0, 2, 3]
    assert laws.starts.tolist() == [0, 9, 2]
    assert laws.stops.tolist() == [2, 10, 9]
    assert laws.probabilities.tolist() == [0.5, 0.5, 1.0]


@pytest.mark.parametrize("seed", range(20))
def test_laws_of_groups_are_those_of_a_row_for_each_group_bit_by_bit(seed: int):
    rng = np.random.default_rng(seed)
    count, runs = int(rng.integers(1, 400)), int(rng.integers(400, 4000))
    groups = rng.permutation(np.append(np.arange(count), rng.integers(0, count, runs - count)))
    masses = np.where(rng.random(runs) < 0.1, 5e-324, rng.gamma(0.3, 1, runs) * 10.0 ** rng.integers(-12, 9, runs))
    rows = np.zeros((count, runs))
    rows[groups, np.arange(runs)] = masses

    found = laws_of_groups(groups, np.arange(runs), np.arange(runs) + 1, masses)
    expected = laws_from_probabilities(np.arange(runs), np.arange(runs) + 1, rows)

    for part in ("offsets", "starts", "stops", "probabilities"):
        assert getattr(found, part).tobytes() == getattr(expected, part).tobytes()
    assert group_sums(groups, masses).tobytes() == rows.sum(axis=1).tobytes()


def test_laws_of_groups_need_the_memory_of_their_runs():
    groups = np.arange(200_000) % 500  # rows would take 800 MB
    tracemalloc.start()
    try:
        laws_of_groups(groups, groups, groups + 1, np.ones(groups.size))
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "masses", [[0.0, 0.0], [1.0, -1.0], [1.0, float("nan")], [1.0], [[1.0, 1.0], [0.0, 0.0]], [[[1.0, 1.0]]]]
)
def test_masses_that_are_no_law_are_refused(masses: list[float]):
    with pytest.raises(ParameterError):
        laws_from_probabilities(np.arange(2), np.arange(1, 3), np.array(masses))


def test_masses_that_vanish_when_scaled_are_dropped():
    laws = laws_from_probabilities(np.arange(2), np.arange(1, 3), np.array([1e300, 5e-324]))

    assert laws.starts.tolist() == [0]
