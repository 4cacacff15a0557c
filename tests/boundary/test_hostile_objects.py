"""Objects of Python whose own methods raise or warn: one is an invalid value at most, and says nothing."""

import datetime as dt
import decimal
import uuid
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from helpers import make
from lapwing.rows.source import all_codes, code_table
from lapwing.schema.schemas import Schema

SECRET = "canary"
LEFT = {"__new__", "__init__", "__class__", "__init_subclass__", "__subclasshook__", "__del__", "__doc__", "__module__"}
BASES = {
    "object": (object, ()),
    "str": (str, ("f",)),
    "int": (int, (3,)),
    "float": (float, (1.0,)),
    "Decimal": (decimal.Decimal, ("2.5",)),
    "date": (dt.date, (2010, 1, 1)),
    "datetime": (dt.datetime, (2010, 1, 1)),
    "bytes": (bytes, (b"f",)),
    "UUID": (uuid.UUID, ("12345678123456781234567812345678",)),
    "float64": (np.float64, (1.0,)),
    "Timestamp": (pd.Timestamp, ("2010-01-01",)),
}


class Fault(BaseException):
    """What no ``except Exception`` catches."""


def raising(kind):
    def method(*_, **__):
        warnings.warn(SECRET, stacklevel=1)
        raise kind(SECRET)

    return method


class Zone(dt.tzinfo):
    utcoffset = raising(KeyError)


class Named(type):
    """What says a class's name raises."""

    __name__ = property(raising(KeyError))


def odd_cell(base, kind):
    """Return an object of a base, all methods of which raise; those of one that has no more are left."""
    make_it, arguments = BASES[base]
    own = {name: raising(kind) for name in dir(make_it) if name not in LEFT and callable(getattr(make_it, name))}
    cell = make_it.__new__(type("Odd", (make_it,), own), *arguments)
    if base == "UUID":
        object.__setattr__(cell, "int", 5)
    return cell


CELLS = {
    **{
        f"{base} {kind.__name__}": (lambda base=base, kind=kind: odd_cell(base, kind))
        for base in BASES
        for kind in (KeyError, SystemExit, Fault)
        if not (base == "UUID" and kind is not KeyError)
    },
    "zone": lambda: dt.datetime(2010, 1, 1, tzinfo=Zone()),
    "first moment": lambda: dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=9))),
    "class": Named("Odd", (), {}),
}
FRAMES = {
    "pandas": lambda columns: pd.DataFrame(columns, dtype=object),
    "Polars": lambda columns: pl.DataFrame([pl.Series(name, list(c), dtype=pl.Object) for name, c in columns.items()]),
}
SCHEMA = Schema.from_dict(
    make.schema({"n": (0, 9), "s": ["f", "m"], "d": ("2000-01-01T00:00:00", "2029-12-31T00:00:00")})
)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("cell", CELLS)
def test_an_object_whose_methods_raise_changes_no_other_row_and_says_nothing(cell, frame, recwarn):
    columns = {"n": [1, 2, 3] * 20, "s": ["f", "m", "f"] * 20, "d": [dt.datetime(2010, 1, 1)] * 60}
    arrays = {name: np.empty(60, dtype=object) for name in columns}
    for name, cells in columns.items():
        arrays[name][:] = cells
    plain = {name: found.tolist() for name, found in codes(FRAMES[frame](arrays)).items()}
    for array in arrays.values():
        array[7] = CELLS[cell]()

    odd = {name: found.tolist() for name, found in codes(FRAMES[frame](arrays)).items()}

    for name, found in plain.items():
        assert odd[name][:7] + odd[name][8:] == found[:7] + found[8:]
    assert not recwarn.list


def codes(data):
    return all_codes(code_table(data, SCHEMA), SCHEMA)
