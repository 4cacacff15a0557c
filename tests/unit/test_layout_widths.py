"""Short types that a frame declares: kept where they hold every value of the schema, whatever the rows hold."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lapwing as lw

WHOLE = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
WIDTHS = [*WHOLE, "float32"]
LIMITS = {name: (int(np.iinfo(name).min), int(np.iinfo(name).max)) for name in WHOLE} | {"float32": (-(2**24), 2**24)}


def nullable(width):
    """Return what pandas and Polars both call a type of their own that may be missing."""
    return {"u": "UInt", "i": "Int", "f": "Float"}[width[0]] + width.lstrip("uintfloa")


CONTAINERS = {
    "numpy": lambda width: pd.DataFrame({"a": np.zeros(2, width), "b": np.zeros(2, width)}),
    "nullable": lambda width: pd.DataFrame({name: pd.array([0, 1], nullable(width)) for name in "ab"}),
    "arrow in pandas": lambda width: pd.DataFrame(
        {name: pd.array([0, 1], pd.ArrowDtype(pa.type_for_alias(width))) for name in "ab"}
    ),
    "arrow": lambda width: pa.table({name: pa.array([0, 1], pa.type_for_alias(width)) for name in "ab"}),
    "polars": lambda width: pl.DataFrame(
        {name: pl.Series([0, 1], dtype=getattr(pl, nullable(width))) for name in "ab"}
    ),
}
WIDER = {
    "numpy": "int64",
    "nullable": "Int64",
    "arrow in pandas": "int64[pyarrow]",
    "arrow": "int64",
    "polars": "Int64",
}


def types(frame):
    names = frame.schema.types if isinstance(frame, pa.Table) else frame.dtypes
    return [str(each) for each in names]


def released(low, high, *, special=(), required=True):
    """Return a release of two columns of which every cell is the same, far inside of their bounds."""
    more = {"special": list(special)} if special else {}
    bounds = {"minimum": low, "maximum": high, "required": required}
    schema = {"fields": [{"name": name, "type": "integer", "constraints": bounds, **more} for name in "ab"]}
    rows = pl.DataFrame({name: [min(high, max(low, 1))] * 50 for name in "ab"})
    return lw.synthesize(rows, schema, epsilon=1, mechanism="Independent", seed=1)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_short_type_is_kept_if_the_bounds_fit_and_never_by_the_rows(width, container):
    low, high = LIMITS[width]
    low, high = max(low, -(2**50)), min(high, 2**50)
    like = CONTAINERS[container](width)

    fits, beyond = released(low, high), released(low, high + 1)

    for rows in (0, 1, 50):
        assert types(fits.sample(rows, seed=rows, like=like)) == types(like)
        if high < 2**50:  # a cell of 1 would fit all the same
            assert types(beyond.sample(rows, seed=rows, like=like)) == [WIDER[container]] * 2


@pytest.mark.parametrize("container", CONTAINERS)
def test_special_values_count_as_bounds_do(container):
    like = CONTAINERS[container]("uint8")

    assert types(released(0, 250, special=[255]).sample(5, like=like)) == types(like)
    assert types(released(0, 250, special=[-1]).sample(5, like=like)) == [WIDER[container]] * 2


@pytest.mark.parametrize("width", WIDTHS)
def test_where_a_row_may_be_missing_numpy_has_floats_whether_one_is_or_not(width):
    release = released(0, 100, required=False)

    for container, like in CONTAINERS.items():
        expected = ("float32" if width == "float32" else "float64") if container == "numpy" else types(like(width))[0]
        assert all(types(release.sample(n, like=like(width))) == [expected] * 2 for n in (0, 1, 50))


@pytest.mark.parametrize(
    ("field", "is_kept"),
    [
        ({"constraints": {"minimum": 0, "maximum": 1}}, True),
        ({"constraints": {"minimum": 0, "maximum": 100}, "resolution": 0.1}, True),
        ({"constraints": {"minimum": 0, "maximum": 10_000_000}, "resolution": 0.1}, False),
        ({"constraints": {"minimum": 16_000_000, "maximum": 16_000_010}, "resolution": 0.25}, False),
        ({"constraints": {"minimum": 0, "maximum": 2**23}, "resolution": 0.5}, True),
        ({"constraints": {"minimum": 0, "maximum": 2**23 + 2}, "resolution": 0.5}, False),
        ({"categories": [0.1, 0.2]}, True),
        ({"categories": [0.1, 0.10000000001]}, False),
        ({"constraints": {"minimum": 0, "maximum": 1}, "special": [99_999_999]}, False),
        ({"constraints": {"minimum": 0, "maximum": 1e39}}, False),
    ],
)
def test_single_precision_is_kept_where_it_tells_the_values_of_the_schema_apart(field, is_kept):
    schema = {"fields": [{"name": name, "type": "number", **field} for name in "ab"]}
    release = lw.synthesize(
        pl.DataFrame({"a": [0.1] * 20, "b": [0.1] * 20}), schema, epsilon=1, mechanism="Independent"
    )

    for like in (CONTAINERS["numpy"]("float32"), CONTAINERS["polars"]("float32")):
        assert {each.lower() for each in types(release.sample(3, like=like))} == {"float32" if is_kept else "float64"}
