"""The released model: checks on its parts and against the schema."""

from typing import Any

import numpy as np
import pytest

from helpers.models import random_model, small_schema
from lapwing.errors import ParameterError
from lapwing.model.laws import laws_from_probabilities, point_laws, uniform_law
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


@pytest.mark.parametrize("seed", range(5))
def test_a_model_made_from_the_schema_is_valid(seed: int):
    random_model(SCHEMA, 6, seed).validate(SCHEMA)


def test_arrays_and_mappings_of_a_model_cannot_be_changed():
    model = _model(log_linear=_log_linear())

    assert not model.weights.flags.writeable
    assert not model.laws["age"].index.flags.writeable
    assert not model.log_linear.thetas[0].flags.writeable
    with pytest.raises(TypeError):
        model.laws["age"] = model.laws["grade"]
    with pytest.raises(TypeError):
        model.log_linear.base["age"] = uniform_law(AGE)


@pytest.mark.parametrize("weights", [[0.0, 0.0], [1.0, -0.1], [1.0, float("nan")], [1.0, float("inf")], [1e308, 1e308]])
def test_weights_that_are_no_mass_are_refused(weights: list[float]):
    with pytest.raises(ParameterError, match="weights of atoms"):
        _model(weights=np.array(weights))


@pytest.mark.parametrize("rows", [-1, 1.5, True, 2**53 + 1, None])
def test_rows_that_are_no_number_of_rows_are_refused(rows: object):
    with pytest.raises(ParameterError, match="rows of a model"):
        _model(rows=rows)


def test_a_model_without_atoms_is_refused():
    with pytest.raises(ParameterError, match="weights of atoms"):
        ReleasedModel(weights=np.empty(0), rows=0, laws={})


def test_a_column_with_another_number_of_atoms_is_refused():
    with pytest.raises(ParameterError, match="'age' has laws for 3 of 2 atoms"):
        _model(laws=_laws(age=Spans(np.zeros(3, np.uint8), np.ones(3, np.uint8))))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Indexed(np.array([0, 1]), uniform_law(AGE)),
        lambda: Indexed(np.array([0, 1], dtype=np.uint8), uniform_law(AGE)),
        lambda: Indexed(np.empty(0, dtype=np.uint8), uniform_law(AGE)),
        lambda: Indexed(np.zeros((1, 1), dtype=np.uint8), uniform_law(AGE)),
        lambda: Spans(np.array([0, 1]), np.array([1, 1])),
        lambda: Spans(np.array([-1]), np.array([1])),
        lambda: Spans(np.array([0]), np.array([1, 2])),
        lambda: Spans(np.array([0], dtype=np.uint8), np.array([1])),
        lambda: Spans(np.array([0.0]), np.array([1.0])),
        lambda: Bernoulli(np.array([1.1])),
        lambda: Bernoulli(np.array([-0.1])),
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
        ("grade", Indexed(INDEX, point_laws([5])), True),
        ("grade", Indexed(INDEX, point_laws([6])), False),
        ("age", Spans(np.array([8, 9]), np.array([9, 10])), True),
        ("age", Spans(np.array([8, 9]), np.array([9, 11])), False),
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


def test_a_log_linear_part_rides_along():
    model = _model(log_linear=_log_linear())

    model.validate(SCHEMA)

    assert model.log_linear.thetas[0].shape == (10,)


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
        {"base": {"age": uniform_law(AGE)}},
        {"base": {**{field.name: uniform_law(field.domain) for field in SCHEMA.columns}, "colour": point_laws([3])}},
    ],
)
def test_a_log_linear_part_of_another_schema_is_refused(changes: dict[str, Any]):
    model = _model(log_linear=_log_linear(**changes))

    with pytest.raises(ParameterError):
        model.validate(SCHEMA)


def test_a_grouping_of_the_right_size_for_another_column_is_refused():
    part = _log_linear(tables=(("grade",),), groupings=((evenly(AGE, 4),),), thetas=(np.zeros(6),))

    with pytest.raises(ParameterError, match="does not fit column 'grade'"):
        _model(log_linear=part).validate(SCHEMA)


@pytest.mark.parametrize(("largest", "dtype"), [(255, "uint8"), (256, "uint16"), (65536, "uint32")])
def test_an_index_gets_the_smallest_dtype(largest: int, dtype: str):
    assert narrow(np.array([0, largest])).dtype == dtype


@pytest.mark.parametrize("index", [[-1], [2**32]])
def test_an_index_out_of_range_is_refused(index: list[int]):
    with pytest.raises(ParameterError, match="index of laws"):
        narrow(np.array(index))


def test_a_model_of_a_million_atoms_and_five_columns_takes_less_than_40_megabytes():
    rng = np.random.default_rng(0)
    atoms = 2**20
    laws = {}
    for column, cells in enumerate([16, 16, 16, 16, 1024]):
        edges = np.arange(cells + 1) * (2**32 // cells)
        table = laws_from_probabilities(edges[:-1], edges[1:], np.eye(cells))
        laws[f"x{column}"] = Indexed(narrow(rng.integers(0, cells, atoms)), table)

    model = ReleasedModel(weights=rng.random(atoms), rows=10**7, laws=laws)

    size = model.weights.nbytes
    for law in model.laws.values():
        table = law.laws
        size += (
            law.index.nbytes
            + table.offsets.nbytes
            + table.starts.nbytes
            + table.stops.nbytes
            + table.probabilities.nbytes
        )
    assert size <= 40e6
