"""One vector of nasty cells of each kind, and a field of each kind that reads them."""

import datetime as dt
import math
from decimal import Decimal

from lapwing.schema.fields import Field
from lapwing.schema.groupings.category_trees import Prefixes

FIELDS = (
    Field(name="cells", type="number", minimum=-1, maximum=10),
    Field(name="cells with specials", type="number", minimum=0.5, maximum=9.5, special=(-1, 99999), required=True),
    Field(name="point", type="number", minimum=3, maximum=3),
    Field(name="steps", type="number", minimum=0, maximum=10, resolution=0.01),
    Field(name="wide", type="number", minimum=-1e307, maximum=1e307),
    Field(name="age", type="integer", minimum=0, maximum=120, special=(-1,), required=True),
    Field(name="large", type="integer", minimum=2**62, maximum=2**62 + 2**52, missing_values=("", "N/A")),
    Field(name="listed integers", type="integer", categories=(5, 1, 0, -1)),
    Field(name="listed numbers", type="number", categories=(0.5, 1.0, 10.0)),
    Field(name="texts", type="string", categories=("red", "5", "2.5", "True", "2020-01-01", "007")),
    Field(name="number texts", type="string", categories=(1.0, 2.5, 5.0)),
    Field(name="flag", type="boolean"),
    Field(name="listed flag", type="boolean", categories=(True, False), required=True),
    Field(name="day", type="date", minimum="2000-01-01", maximum="2030-12-31", special=("1900-01-01",)),
    Field(name="listed days", type="date", categories=("2020-01-01", "2021-06-30")),
    Field(name="hour", type="datetime", minimum="2000-01-01", maximum="2030-12-31", resolution="hour"),
    Field(name="hundreds", type="integer", minimum=-150, maximum=10_000, resolution=100, special=(0,), scale="log"),
    Field(name="huge steps", type="integer", minimum=-(2**63), maximum=2**63 - 1, resolution=2**12 + 1),
    Field(name="branches", type="string", categories=("red", "5", "5.5", "rose"), hierarchy=Prefixes((1,))),
    Field(name="week", type="date", minimum="1999-12-31", maximum="2030-12-31", resolution="week"),
    Field(name="month", type="date", minimum="1900-01-15", maximum="2030-12-15", resolution="month"),
    Field(name="year", type="datetime", minimum="0001-02-01", maximum="2030-12-15", resolution="year"),
    Field(name="monthly", type="datetime", minimum="1900-01-15", maximum="2021-06-15", resolution="month"),
    Field(name="rest", type="string", categories=("red", "5", "rest"), missing_values=("N/A", "nan"), unlisted="rest"),
    Field(
        name="folded",
        type="string",
        categories=("2", "red", "re", "2.", "9", "-1", "2020", "5", "x", " "),
        missing_values=("nan",),
        hierarchy=Prefixes((1, 2, 4, 10**30), fold=True),
    ),
    Field(
        name="folded and rest",
        type="string",
        categories=("2020-01", "r", "0", "922", "i", "\u00e9", "2020-01-01 "),
        hierarchy=Prefixes((1, 3, 7, 11), fold=True),
        unlisted="2020-01",
        missing_values=("", "nan"),
        required=True,
    ),
    Field(name="open numbers", type="number", open=True, special=(-1, 99999), missing_values=("N/A", "")),
    Field(name="open integers", type="integer", open=True, special=(120,), required=True),
    Field(name="open texts", type="string", open=True, missing_values=("N/A", "-1", "7", "nan")),
    Field(name="second", type="datetime", minimum="2020-01-01T00:00:00", maximum="2021-06-30T12:00:00"),
)
ZONE = dt.timezone(dt.timedelta(hours=5, minutes=30))

CELLS = {
    "floats": [
        None, math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, -5e-324, 1.0, 0.5, 2.5, 5.0, 9.5, 10.0, -1.0, 99999.0,
        2.0**63, -(2.0**63), 2.0**62, 1.7e308, -1.7e308, 120.0, 121.0, 0.29, math.nextafter(10, 11), 3.0, 100.5,
    ],
    "integers": [None, 0, 1, 5, -1, 10, 120, 121, 2**62, 2**63 - 1, -(2**63), 2**53 + 1, 99999, 3],
    "unsigned": [None, 0, 1, 5, 120, 2**62, 2**63, 2**64 - 1],
    "booleans": [None, True, False, True],
    "texts": [
        None, "", " ", "red", "Red", " red", "blue", "5", " 5 ", "5.0", "5.00", "+5", "05", "007", "7", "2.5", "25e-1",
        "1e2", ".5", "5.", "N/A", "nan", "NaN", "inf", "-Infinity", "1e400", "-1e400", "1e-400", "2,5",
        "9223372036854775808",
        "-9223372036854775809", "9223372036854775807", "4611686018427387905", " 4611686018427387905", "1_000", "1,000",
        "0x10", "１", "true", "True", "FALSE", "yes", "No", "t", "F", "1", "0", "1.0", "2", "x" * 200_000, "\x00", "'",
        "2020-01-01", " 2020-01-01 ", "2020-01-01T00:00", "2020-01-01 00:00:00", "2020-01-01T00:00:00Z",
        "2020-01-01 05:30:00+05:30", "2020-01-01T05:30:00.000001999+0530", "2020-02-30", "2020-1-1", "12020-01-01",
        "2020-01-01T24:00:00", "1900-01-01", "1899-12-31", "9999-12-31", "0000-01-01", "0001-01-01", "20200101",
        "2030-12-31T23:59:59.999", "2021-06-30", "\u00e9\u00df\U0001f426",
    ],
    "decimals": [None, Decimal("0"), Decimal("2.5"), Decimal("5"), Decimal("-0.29"), Decimal("120"), Decimal(2**62)],
    "moments": [
        None, dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 23, 59, 59, 999999), dt.datetime(1900, 1, 1),
        dt.datetime(1899, 12, 31, 23), dt.datetime(2031, 1, 1), dt.datetime(2021, 6, 30), dt.datetime(2030, 12, 31, 23),
    ],
    "zoned": [
        None, dt.datetime(2020, 1, 1, 5, 30, tzinfo=ZONE), dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        dt.datetime(2021, 6, 30, 3, tzinfo=ZONE), dt.datetime(1900, 1, 1, tzinfo=dt.UTC),
    ],
    "dates": [None, dt.date(2020, 1, 1), dt.date(1900, 1, 1), dt.date(1899, 1, 1), dt.date(2100, 1, 1)],
    "mixed": [
        None, True, False, 5, 5.0, 2.5, "5", "red", math.nan, math.inf, Decimal("2.5"), Decimal("1E+400"), 10**400,
        -(10**400), 2**63, dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 12), dt.datetime(2021, 6, 30, tzinfo=ZONE), "",
        "2020-01-01",
    ],
}  # fmt: skip

# Python's own numbers of hundreds of digits are written short, those of a file stay the text that they are.
UNWRITTEN = (10**400, -(10**400))
