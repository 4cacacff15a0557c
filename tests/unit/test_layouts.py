"""Layouts of frames: which kinds of columns are read, at which widths, and what neighbours have in common."""

import datetime as dt
import io
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv
from sklearn.preprocessing import OneHotEncoder

import lapwing as lw
from helpers import make
from helpers.linked_homes import SCHEMA as HOMES
from helpers.linked_homes import tables
from helpers.sorted_columns import NAMES, NUMPY, PANDAS, SCHEMA, TABLE, TEXT, cells, types
from lapwing.errors import DataError, ParameterError
from lapwing.rows.entry import source_of
from lapwing.rows.kinds import FrameLayout
from lapwing.rows.layouts import layout_of
from lapwing.rows.out.writers import to_layout
from lapwing.schema.schemas import Schema


@pytest.fixture(scope="module")
def release():
    """Return a release of a Polars frame, in which cells are missing."""
    return lw.synthesize(TABLE, SCHEMA, epsilon=1000, mechanism="Independent", seed=1)


NULLABLE = {
    **NUMPY, "id": "Int64", "age": "Int32", "hours": "UInt8", "share": "Float32", "flag": "boolean", "sure": "boolean",
    "town": "string", "rank": "string",
}  # fmt: skip
ARROW = {
    "id": "int64", "age": "int16", "hours": "uint8", "share": "float", "flag": "bool", "sure": "bool",
    "town": "large_string", "rank": "string", "day": "date32[day]", "seen": "timestamp[ms, tz=Europe/Oslo]",
}  # fmt: skip
FAMILIES = {
    "numpy": (PANDAS, NUMPY),
    "short floats": (PANDAS.astype({"share": "float32"}), {**NUMPY, "share": "float32"}),
    "units and zones": (
        PANDAS.assign(seen=PANDAS["seen"].astype("datetime64[ns]").dt.tz_localize("Europe/Oslo")),
        {**NUMPY, "seen": "datetime64[ns, Europe/Oslo]"},
    ),
    "nullable": (PANDAS.astype(NULLABLE), NULLABLE),
    "arrow in pandas": (
        TABLE.to_arrow()
        .cast(pa.schema({name: pa.int64() for name in ["id"]} | {
            name: TABLE.to_arrow().schema.field(name).type for name in NAMES if name != "id"}))
        .to_pandas(types_mapper=pd.ArrowDtype),
        {
            "id": "int64[pyarrow]", "age": "int64[pyarrow]", "hours": "int64[pyarrow]", "share": "double[pyarrow]",
            "flag": "bool[pyarrow]", "sure": "bool[pyarrow]", "town": "large_string[pyarrow]",
            "rank": "large_string[pyarrow]", "day": "date32[day][pyarrow]", "seen": "timestamp[us][pyarrow]",
        },
    ),
    "categories": (PANDAS.astype({"town": "category", "flag": "category"}), {
        **NUMPY, "town": "category", "flag": "category"}),
    "polars": (
        TABLE.with_columns(
            pl.col("age").cast(pl.Int16), pl.col("hours").cast(pl.UInt8), pl.col("share").cast(pl.Float32),
            pl.col("town").cast(pl.Categorical), pl.col("rank").cast(pl.Enum(["low", "high"])),
            pl.col("day").cast(pl.Datetime("ms")), pl.col("seen").dt.replace_time_zone("Europe/Oslo"),
        ),
        {
            "id": "Int64", "age": "Int16", "hours": "UInt8", "share": "Float32", "flag": "Boolean", "sure": "Boolean",
            "town": "Categorical", "rank": "Enum(categories=['low', 'high'])",
            "day": "Datetime(time_unit='ms', time_zone=None)",
            "seen": "Datetime(time_unit='us', time_zone='Europe/Oslo')",
        },
    ),
    "pyarrow": (
        TABLE.with_columns(pl.col("seen").dt.replace_time_zone("UTC")).to_arrow().cast(
            pa.schema({name: pa.type_for_alias(kind) for name, kind in ARROW.items() if name != "seen"}
            | {"seen": pa.timestamp("ms", "Europe/Oslo")})
        ),
        ARROW,
    ),
    "dictionaries": (
        TABLE.to_arrow().set_column(
            NAMES.index("town"), "town", TABLE.to_arrow()["town"].cast(pa.string()).dictionary_encode()
        ),
        {
            "id": "int64", "age": "int64", "hours": "int64", "share": "double", "flag": "bool", "sure": "bool",
            "town": "dictionary<values=string, indices=int32, ordered=0>", "rank": "large_string",
            "day": "date32[day]", "seen": "timestamp[us]",
        },
    ),
}  # fmt: skip
UNIT = "us" if int(pd.__version__.partition(".")[0]) > 2 else "ns"


def of_the_schema(column, family):
    """Return the type of moments and dictionaries, which one cell can change in the input."""
    moments = {
        "polars": ("Date", "Datetime(time_unit='us', time_zone=None)"),
        "pyarrow": ("date32[day]", "timestamp[us]"),
    }
    moments["dictionaries"] = moments["pyarrow"]
    zoned = {
        "polars": "Datetime(time_unit='us', time_zone='Europe/Oslo')",
        "pyarrow": "timestamp[us, tz=Europe/Oslo]",
        "units and zones": f"datetime64[{UNIT}, Europe/Oslo]",
    }
    if column == "seen" and family in zoned:  # a region is never a reader's guess; the unit may be one
        return zoned[family]
    moments["arrow in pandas"] = tuple(f"{each}[pyarrow]" for each in moments["pyarrow"])
    found = dict(zip(("day", "seen"), moments.get(family, ("datetime64[us]",) * 2), strict=True))
    return "string" if (column, family) == ("town", "dictionaries") else found.get(column)


@pytest.mark.parametrize("name", FAMILIES)
def test_rows_come_in_the_types_of_a_frame_with_the_same_values(release, name):
    frame, expected = FAMILIES[name]
    shuffled = [*reversed(NAMES)]
    frame = frame.select(shuffled) if hasattr(frame, "select") else frame[shuffled]
    kind = type(frame).__module__.partition(".")[0]
    made = replace(release, layouts={"": layout_of(source_of(frame), SCHEMA)})

    rows, plain = made.sample(200, seed=3), release.sample(200, seed=3)

    assert type(rows) is type(frame)
    assert list(types(rows)) == NAMES
    assert types(rows) == {each: of_the_schema(each, name) or kind for each, kind in expected.items()}
    again = release.sample(200, seed=3, like=frame)
    assert list(types(again)) == shuffled
    assert types(again) == expected
    values = pl.from_arrow(rows) if kind == "pyarrow" else pl.from_pandas(rows) if kind == "pandas" else rows
    for each in NAMES:
        shown, wanted = values[each], plain[each]
        if getattr(shown.dtype, "time_zone", None):
            shown = shown.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        shown = shown.cast(pl.String) == "true" if name == "categories" and each == "flag" else shown
        numbers = wanted.dtype.is_numeric()
        same = (shown.cast(wanted.dtype) - wanted).abs().max() < 1e-7 if numbers else True  # float32 of 0 to 1
        assert same
        assert shown.is_null().equals(wanted.is_null())
        assert numbers or shown.cast(wanted.dtype).to_list() == wanted.to_list()


def test_synthesize_keeps_the_layout_and_a_file_does_not(tmp_path):
    release = lw.synthesize(PANDAS, SCHEMA, epsilon=1000, mechanism="Independent", seed=1)
    release.save(tmp_path / "m.lapwing")
    loaded = lw.load(tmp_path / "m.lapwing")

    assert types(release.sample(5)) == NUMPY
    assert (release.kind, loaded.kind, loaded.layout) == ("pandas", "path", FrameLayout())
    assert isinstance(loaded.sample(5), pl.DataFrame)
    assert types(loaded.sample(5, like=PANDAS)) == types(loaded.sample(5, like="pandas")) == NUMPY
    assert isinstance(loaded.sample(5, like="pyarrow"), pa.Table)
    assert loaded.sample(5, like="polars").schema == loaded.sample(5).schema


def test_a_synthesizer_and_a_resumed_release_keep_it_too(tmp_path):
    fitted = lw.Synthesizer(SCHEMA, epsilon=1000, mechanism="Independent", transcript=tmp_path / "t").fit(PANDAS)

    assert types(fitted.sample(5)) == types(lw.resume(tmp_path / "t", PANDAS).sample(5)) == NUMPY
    assert isinstance(fitted.sample(5, like=TABLE), pl.DataFrame)


TIMED = pl.DataFrame({"t": [dt.datetime(2024, 1, 2, 9, 30)] * 50})
TIMES = ["2024-01-01T08:00:00", *["2024-01-02T09:30:00"] * 200]


@pytest.mark.parametrize(
    "read",
    [
        lambda times: pd.read_csv(io.StringIO("t\n" + "\n".join(times)), parse_dates=["t"]),
        lambda times: pd.DataFrame({"t": pd.to_datetime(times, errors="coerce")}),
        lambda times: pl.read_csv(io.StringIO("t\n" + "\n".join(times)), try_parse_dates=True),
        lambda times: csv.read_csv(io.BytesIO(("t\n" + "\n".join(times)).encode())),
        lambda times: csv.read_csv(
            io.BytesIO(("t\n" + "\n".join(times)).encode()), convert_options=csv.ConvertOptions(auto_dict_encode=True)
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:Could not infer format:UserWarning")
@pytest.mark.parametrize("odd", ["2024-01-01T08:00:00.5", "2024-01-01T08:00:00.123456789", "unknown", "2024-01-01", ""])
def test_one_cell_that_a_reader_takes_otherwise_changes_no_type(read, odd):
    ends = {"minimum": "2024-01-01T00:00:00", "maximum": "2025-01-01T00:00:00"}
    schema = lw.Schema.load({"fields": [{"name": "t", "type": "datetime", "constraints": ends}]})
    found = [read(times) for times in (TIMES, [odd, *TIMES[1:]])]

    layouts = [layout_of(source_of(frame), schema) for frame in found]
    release = lw.synthesize(TIMED, schema, epsilon=1000, mechanism="Independent", seed=1)
    rows = [replace(release, layouts={"": layout}).sample(3, seed=1) for layout in layouts]

    assert types(rows[0]) == types(rows[1])


def test_records_give_the_order_of_the_schema_whichever_comes_first():
    schema = lw.Schema.load({"fields": [{"name": each, "type": "boolean"} for each in "ab"]})
    records = [{"a": True, "b": False}] * 50

    for library in (pd.DataFrame, pl.DataFrame):
        frames = (library(records), library([{"b": True}, *records]))
        orders = [list(lw.synthesize(each, schema, epsilon=1).sample(2).columns) for each in frames]
        assert orders == [["a", "b"]] * 2


# -- What is never taken from the input: values, other columns.
def test_categories_are_those_of_the_schema_whatever_the_input_lists(release):
    secret = ["Secretville", "Borg", "Ales", "Ystad"]
    cells = TABLE["town"].to_list()
    frames = [
        PANDAS.assign(town=pd.Categorical(cells, categories=secret, ordered=True)),
        TABLE.with_columns(town=pl.Series(cells, dtype=pl.Enum(secret))),
        TABLE.to_arrow().set_column(
            NAMES.index("town"),
            "town",
            pa.DictionaryArray.from_arrays(pa.array([secret.index(each) if each else None for each in cells]), secret),
        ),
    ]

    pandas, polars, arrow = (release.sample(50, seed=1, like=frame) for frame in frames)

    assert pandas["town"].cat.categories.tolist() == ["Ystad", "Ales", "Borg"]
    assert not pandas["town"].cat.ordered  # as the schema says
    assert polars["town"].dtype.categories.to_list() == ["Ystad", "Ales", "Borg"]
    assert arrow["town"].combine_chunks().dictionary.to_pylist() == ["Ystad", "Ales", "Borg"]
    for frame in frames:
        assert "Secretville" not in repr(layout_of(source_of(frame), SCHEMA))


def test_an_ordered_category_stays_so_where_the_schema_orders_it(release):
    rows = release.sample(50, seed=1, like=PANDAS.assign(rank=pd.Categorical(PANDAS["rank"], ordered=True)))

    assert (rows["rank"] >= "low").all()
    assert rows["rank"].min() == "low"


def test_categories_of_arrow_text_and_of_a_short_range_keep_their_type(release):
    frame = PANDAS.assign(town=PANDAS["town"].astype(pd.ArrowDtype(pa.string())).astype("category"))
    frame = frame.assign(hours=PANDAS["hours"].astype("category"), share=PANDAS["share"].astype("category"))

    rows = release.sample(50, seed=1, like=frame)

    assert str(rows["town"].cat.categories.dtype) == "string[pyarrow]"
    assert rows["hours"].cat.categories.tolist() == list(range(101))
    assert types(rows)["share"] == "float64"  # there is no list of all numbers from 0 to 1


def test_a_layout_names_no_column_beside_the_schemas_and_nothing_but_types():
    frame = pd.DataFrame({"Ada Lovelace": [1], "age": np.array([1], np.dtype("int8", metadata={"of": "Ada"}))})

    assert layout_of(source_of(frame), SCHEMA) == FrameLayout("pandas", {"age": "object"})
    assert "Ada" not in repr(layout_of(source_of(frame), SCHEMA))


class Odd(dt.tzinfo):
    """A zone that calls itself what it likes."""

    def __str__(self):
        return "Ada Lovelace"

    def utcoffset(self, _):
        return dt.timedelta(0)


def test_a_zone_of_ones_own_is_utc(release):
    frame = PANDAS.assign(seen=pd.Series([], dtype=pd.DatetimeTZDtype("us", Odd())))

    assert "Ada" not in repr(layout_of(source_of(frame), SCHEMA))
    assert types(release.sample(3, like=frame))["seen"] == "datetime64[us, UTC]"


# -- What a type cannot hold.
def test_a_type_that_does_not_hold_the_schemas_range_is_widened(release):
    short = {"age": pd.array([1], "Int8"), "day": pd.Series([pd.NaT], dtype="datetime64[ns]")}
    frame = PANDAS.head(1).assign(**short)
    polars = TABLE.with_columns(pl.col("age").cast(pl.UInt8))

    assert types(release.sample(5, like=frame))["age"] == "Int64"
    assert types(release.sample(5, like=frame))["day"] == "datetime64[us]"  # from 1500 on
    assert types(release.sample(5, like=polars))["age"] == "Int64"


def test_types_of_another_sort_give_way_to_the_schemas(release):
    frame = pa.table({name: pa.nulls(3) for name in NAMES})

    assert types(release.sample(5, like=frame)) == {
        "id": "int64", "age": "int64", "hours": "int64", "share": "double", "flag": "bool", "sure": "bool",
        "town": "string", "rank": "string", "day": "date32[day]", "seen": "timestamp[us]",
    }  # fmt: skip


# -- Settings.
@pytest.mark.parametrize(
    ("like", "code", "said"),
    [
        ("excel", "LW303", "like must be a frame or one of pandas, polars, pyarrow, got 'excel'"),
        (TABLE.drop("age"), "LW104", "like must have each of the schema's columns once and no other column, and lacks"),
        (TABLE.with_columns(Ada=1), "LW104", "and has 1 more; select these columns"),
        (pd.concat([PANDAS, PANDAS[["age"]]], axis=1), "LW104", "and has 1 more"),
        (3, "LW108", "data of type int is not a table"),
    ],
)  # fmt: skip
def test_what_is_no_layout_is_refused_in_a_sentence(release, like, code, said):
    with pytest.raises((ParameterError, DataError)) as caught:
        release.sample(3, like=like)

    assert caught.value.code == code
    assert said in str(caught.value)
    assert "Ada" not in str(caught.value)


def test_identifiers_may_be_left_out(release):
    rows = release.sample(3, like=PANDAS.drop(columns="id"))

    assert list(rows.columns) == [*NAMES[1:], "id"]
    assert types(rows)["id"] == "int64"


def test_lazy_frames_and_batches_are_layouts_too(release):
    batch = TABLE.with_columns(pl.col("age").cast(pl.Int16)).to_arrow().to_batches()[0]

    assert types(release.sample(3, like=TABLE.lazy())) == types(TABLE)
    assert types(release.sample(3, like=batch))["age"] == "int16"
    assert types(release.sample(3, like=FakeNarwhals(PANDAS))) == NUMPY


class FakeNarwhals:
    """Of narwhals as far as it matters here: its module and how it is unwrapped."""

    __module__ = "narwhals.dataframe"

    def __init__(self, frame):
        self._frame = frame

    def to_native(self):
        return self._frame


def test_linked_rows_keep_the_layout_of_each_table(tmp_path):
    parents, children = (frame.to_pandas() for frame in tables())
    release = lw.synthesize((parents, children), HOMES, epsilon=100, mechanism="Independent", seed=1)

    homes, people = release.sample(20)

    assert set(types(homes).values()) | set(types(people).values()) <= {"int64", "float64", "bool", "object", TEXT}
    assert isinstance(release.sample(20, like=(tables()[0], "pyarrow"))[0], pl.DataFrame)
    assert isinstance(release.sample(20, like=(tables()[0], "pyarrow"))[1], pa.Table)
    release.save(tmp_path / "m.lapwing")
    again = lw.load(tmp_path / "m.lapwing", "pandas").sample(20)
    assert [types(each) for each in again] == [types(homes), types(people)]


def test_missing_texts_are_what_encoders_take_and_those_of_nullable_text_are_not(release):
    plain, nullable = (release.sample(50, seed=1, like=FAMILIES[name][0])[["town"]] for name in ("numpy", "nullable"))

    assert OneHotEncoder().fit(plain).categories_[0].tolist()[:3] == ["Ales", "Borg", "Ystad"]
    with pytest.raises(TypeError):
        OneHotEncoder().fit(nullable)


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


def widths_types(frame):
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
        assert widths_types(fits.sample(rows, seed=rows, like=like)) == widths_types(like)
        if high < 2**50:  # a cell of 1 would fit all the same
            assert widths_types(beyond.sample(rows, seed=rows, like=like)) == [WIDER[container]] * 2


@pytest.mark.parametrize("container", CONTAINERS)
def test_special_values_count_as_bounds_do(container):
    like = CONTAINERS[container]("uint8")

    assert widths_types(released(0, 250, special=[255]).sample(5, like=like)) == widths_types(like)
    assert widths_types(released(0, 250, special=[-1]).sample(5, like=like)) == [WIDER[container]] * 2


@pytest.mark.parametrize("width", WIDTHS)
def test_where_a_row_may_be_missing_numpy_has_floats_whether_one_is_or_not(width):
    release = released(0, 100, required=False)

    for container, like in CONTAINERS.items():
        expected = (
            ("float32" if width == "float32" else "float64") if container == "numpy" else widths_types(like(width))[0]
        )
        assert all(widths_types(release.sample(n, like=like(width))) == [expected] * 2 for n in (0, 1, 50))


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
        assert {each.lower() for each in widths_types(release.sample(3, like=like))} == {
            "float32" if is_kept else "float64"
        }


NEIGHBOURS = {
    "a number": ("hours", [1, 2, 3], [1, 2, None]),
    "a short number": ("hours", np.array([1, 2, 3], dtype="int8"), [1, 2, None]),
    "a number that must be there": ("age", [1, 2, 3], [1, 2, None]),
    "a number that is a text": ("age", [1, 2, 3], [1, 2, "?"]),
    "true or false": ("flag", [True, False, True], [True, False, None]),
    "true or false that must be there": ("sure", [True, False, True], [True, False, None]),
    "a number that is true or false": ("sure", [1, 0, 1], [1, 0, None]),
    "the only number that is true or false": ("flag", [1, None, None], [None, None, None]),
    "the only number": ("hours", [1, None, None], [None, None, None]),
    "the only moment": ("seen", np.array(["2001-01-01", "NaT", "NaT"], "datetime64[us]"), [None, None, None]),
    "a text": ("town", ["Ales", "Borg", "Ales"], ["Ales", "Borg", None]),
    "the only text": ("town", ["Ales", None, None], [None, None, None]),
    "a real": ("share", [0.5, 0.25, 1.0], [0.5, 0.25, None]),
    "a real that is whole": ("share", [0, 1, 1], [0, 1, 0.5]),
    "a moment": ("seen", [dt.datetime(2001, 1, 1)] * 3, [dt.datetime(2001, 1, 1)] * 2 + [None]),
    "a category": ("town", pd.Categorical(["Ales", "Borg", "Ales"]), pd.Categorical(["Ales", "Borg", None])),
    "the only category": ("town", pd.Categorical(["Ales", None, None]), pd.Categorical([None, None, None])),
    "a nullable number": ("hours", pd.array([1, 2, 3], "Int16"), pd.array([1, 2, None], "Int16")),
}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_types_are_the_same_whether_a_cell_of_the_input_is_missing_or_not(release, name):
    column, one, other = NEIGHBOURS[name]
    frames = [PANDAS.head(3).assign(**{column: pd.Series(each)}) for each in (one, other)]

    found = [replace(release, layouts={"": layout_of(source_of(frame), SCHEMA)}) for frame in frames]

    assert found[0].layout == found[1].layout
    first, second = (each.sample(20, seed=1) for each in found)
    pd.testing.assert_frame_equal(first, second)


def test_most_of_these_neighbours_have_other_types_themselves():
    changed = {
        name
        for name, (_, one, other) in NEIGHBOURS.items()
        if pd.Series(one).dtype != pd.Series(other).dtype
    }  # fmt: skip

    assert {"a number", "a short number", "true or false", "a number that is a text", "a real that is whole"} <= changed


def test_types_are_the_same_for_every_number_of_rows_and_seed(release):
    found = [types(release.sample(n, seed=seed, like=PANDAS)) for n in (0, 1, 2, 50) for seed in range(5)]

    assert all(each == NUMPY for each in found)


def test_types_are_the_same_whether_any_cell_of_the_input_is_missing_and_whether_any_row_is():
    whole = pd.DataFrame(cells(every=0)).astype(dict.fromkeys(["day", "seen"], "datetime64[us]"))
    release = lw.synthesize(whole, SCHEMA, epsilon=1000, mechanism="Independent", seed=1)

    rows = release.sample(50)

    assert not rows.isna().any(axis=None)
    assert types(whole)["hours"] == "int64"
    assert types(rows) == NUMPY


def test_rows_for_conditions_come_in_the_layout_too(release):
    given = release.sample(where=pd.DataFrame({"hours": pd.array([1, None], "Int64")}, index=[7, 9]), like=PANDAS)

    assert types(given) == NUMPY
    assert given["hours"].isna().tolist() == [False, True]
    assert given.index.tolist() == [7, 9]


@pytest.mark.parametrize(
    ("declared", "kept"),
    [
        ("decimal128(4, 1)", True),
        ("decimal128(3, 1)", False),
        ("decimal128(38, 1)", True),
        ("decimal256(39, 1)", False),
    ],
)
def test_decimals_give_way_where_they_do_not_hold_the_schemas_values(declared, kept):
    schema = Schema.load(make.schema({"x": (0.0, 500.5)}))
    rows = pl.DataFrame({"x": [0.5, 500.5]})
    found = to_layout(rows, FrameLayout("pyarrow", {"x": declared}), schema)
    assert str(found.schema.field("x").type) == (declared if kept else "double")
