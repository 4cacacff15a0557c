"""A Spark frame is read as the PyArrow table of its rows, and what is no table is refused before Spark runs a job."""

import os

import numpy as np
import pyarrow as pa
import pytest

from helpers.spark_sessions import SESSIONS
from lapwing.errors import DataError
from lapwing.extras.spark.distributed import installed_versions
from lapwing.extras.spark.frames import on_worker
from lapwing.rows.cells import UNREADABLE, Numbers, Texts, Times
from lapwing.rows.entry import source_of
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

pytestmark = pytest.mark.needs("Spark")

FAILS = "raise_error('a job has run')"
"""A cell that no job survives."""


@pytest.fixture(params=SESSIONS)
def session(request):
    """Return each kind of session."""
    return SESSIONS[request.param]()


def fields(*names):
    """Return a schema of categories."""
    return Schema.from_dict({"fields": [{"name": name, "type": "string", "categories": ["a"]} for name in names]})


def cells_of(data, *names):
    """Return the cells of columns, of few rows."""
    (found,) = list(source_of(data.coalesce(1)).open(fields(*names)).chunks(names, 100))
    return found


CELLS = [
    ("timestamp'2020-01-01 00:00:00'", Times, [1577854800 * 10**6]),  # midnight in New York, where the session is
    ("timestamp_ntz'2020-01-01 00:00:00'", Times, [1577836800 * 10**6]),
    ("date'2020-01-01'", Times, [1577836800 * 10**6]),
    ("cast(2.50 as decimal(20, 3))", Texts, ["2.5"]),
    ("cast(1 as byte)", Numbers, [1]),
    ("9223372036854775807", Numbers, [2**63 - 1]),
    ("cast(0.5 as float)", Numbers, [0.5]),
    ("cast('nan' as double)", Numbers, [np.nan]),
    ("true", Numbers, [True]),
    ("null", Texts, [None]),
    ("'é'", Texts, ["é"]),
    ("cast('abc' as varchar(9))", Texts, ["abc"]),
    ("X'41'", Texts, ["A"]),
    ("make_ym_interval(1, 2)", Texts, [UNREADABLE]),
    ("cast(null as interval year to month)", Texts, [None]),
    ("make_dt_interval(1)", Texts, [UNREADABLE]),
]


def test_a_cell_is_what_it_is_in_arrow(session):
    names = {f"x{place}": each for place, each in enumerate(CELLS)}

    found = cells_of(session.sql("select " + ", ".join(f"{sql} as {x}" for x, (sql, _, _) in names.items())), *names)

    for name, (sql, kind, expected) in names.items():
        values = found[name].values.to_list() if kind is Texts else found[name].values.tolist()
        assert type(found[name]) is kind, sql
        np.testing.assert_equal(values, expected, sql)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("1 as y", r'^the table has no column "x"; rename its columns'),
        ("1 as X", r'^the table has no column "x"; rename its columns'),
        ("1 as x, 2 as x", r'^the table has more than one column "x"; rename or drop'),
        ("array(1) as x", r'^column "x" holds several values per cell; unnest it'),
        ("map(1, 2) as x", r'^column "x" holds several values per cell; unnest it'),
        ("struct(1) as x", r'^column "x" holds several values per cell; unnest it'),
        ("parse_json('1') as x", r'^column "x" holds several values per cell; unnest it'),
    ],
)
def test_what_no_schema_fits_is_refused_before_a_job(session, sql, said):
    data = session.sql(f"select {sql}, {FAILS} as z")

    with pytest.raises(DataError, match=said):
        code_table(data, fields("x"))


def test_columns_that_the_schema_does_not_name_are_never_worked_out(session):
    data = session.sql(f"select 'a' as x, {FAILS} as y")

    assert code_table(data, fields("x")).rows == 1


def failing_step(batches):
    yield {"rows": [1]}
    os.write(2, b"assertion failed: secret-4711")
    raise ValueError(f"secret {next(batches)}")


def test_a_step_that_fails_unforeseen_is_no_failed_task_and_quotes_no_row(capfd):
    rows = pa.RecordBatch.from_pydict({"name": ["secret-4711"]})

    found = list(on_worker(failing_step, {"rows": "long"}, installed_versions(), (), iter([rows])))

    assert [batch.to_pylist() for batch in found] == [
        [{"rows": 1, "fault": None}],
        [{"rows": None, "fault": "LW103 a worker stopped in the middle of its rows (ValueError)"}],
    ]
    assert capfd.readouterr().err == ""
