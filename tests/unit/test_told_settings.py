"""What was given for a setting stands in an error as it is, unless it could hold rows."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lapwing as lw
from helpers.planted_values import SCHEMA, TEXT, table, traces_in
from lapwing.schema.scalars import safe_repr

SHOWN = [None, True, -1, 0.5, float("nan"), "Adaptive", 1j, b"x", Fraction(1, 2), Decimal("0.10"), np.int64(3), [1, 2]]


@pytest.mark.parametrize("value", SHOWN, ids=range(len(SHOWN)))
def test_a_single_value_or_a_short_list_of_them_is_shown_as_python_writes_it(value):
    assert safe_repr(value) == repr(value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (table(), "a DataFrame"),
        (table().lazy(), "a LazyFrame"),
        (table()["sex"], "a Series"),
        (table().to_pandas(), "a DataFrame"),
        (table().to_arrow(), "a Table"),
        (np.array([TEXT]), "a ndarray"),
        (table().to_dicts(), "a list"),
        (table()["sex"].to_list(), "a list"),
        ([table()], "a list"),
        ({"sex": [TEXT]}, "a dict"),
        ({TEXT}, "a set"),
        (pd.Index([TEXT]), "an Index"),
        (pl.col("sex") == TEXT, "an Expr"),
    ],
    ids=range(13),
)
def test_what_could_hold_rows_is_named_by_its_type(value, said):
    assert safe_repr(value) == said


def test_long_values_are_cut_and_stay_on_one_line():
    assert safe_repr("a" * 100) == "'" + "a" * 79 + "..."
    assert safe_repr(10**5000) == "a number of thousands of digits"
    assert "\n" not in safe_repr("a\nb")


SETTINGS = ("mechanism", "expected_rows", "seed", "dataset", "epsilon", "delta", "public_tables")
MECHANISMS = {
    "Adaptive": ("rounds", "workload", "resolutions", "one_way_share"),
    "PMM": ("depth", "max_nodes"),
    "Microaggregation": ("bins", "calibrate", "one_way_share"),
    "LinearStatistics": ("statistics", "degree", "confidence"),
    "KDTree": ("split_share", "coarse", "threshold"),
    "PrivateSampling": ("degree",),
    "PSMM": ("cells",),
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("rows", [table(), table().to_dicts()], ids=["frame", "rows"])
def test_rows_given_as_a_setting_are_not_printed(name, rows):
    with pytest.raises(lw.LapwingError) as caught:
        lw.synthesize(table(), SCHEMA, **{"epsilon": 1, name: rows})

    assert traces_in(str(caught.value)) == []


@pytest.mark.parametrize(("mechanism", "name"), [(key, name) for key, names in MECHANISMS.items() for name in names])
def test_rows_given_as_a_setting_of_a_mechanism_are_not_printed(mechanism, name):
    with pytest.raises(lw.ParameterError) as caught:
        getattr(lw, mechanism)(**{name: table()})

    assert traces_in(str(caught.value)) == []
