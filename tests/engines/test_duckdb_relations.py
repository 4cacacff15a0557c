"""DuckDB relations: every kind of column, bounded memory, and one sentence where a relation cannot be read."""

import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace

import duckdb
import numpy as np
import pytest

from helpers.source_answers import code_answers
from lapwing.api.synthesize import synthesize
from lapwing.errors import DataError
from lapwing.rows.cells import UNREADABLE, Numbers, Texts, Times
from lapwing.rows.entry import source_of
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

FLAG = Schema(fields=(Field(name="flag", type="boolean"),))
PEOPLE = Schema.from_dict(
    {
        "fields": [
            {"name": "who", "type": "string", "role": "identifier"},
            {"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}},
        ],
        "privacyUnit": {"field": "who", "maxRows": 2},
    }
)
RUN = (
    "the DuckDB relation cannot be run; keep its connection open and free of other results, and what it reads in place"
)


@pytest.fixture
def connection():
    with duckdb.connect() as made:
        made.execute("SET threads = 2")
        yield made


def open_flag(data):
    return source_of(data).open(FLAG)


def refusal(work):
    with pytest.raises(DataError) as caught:
        work()
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return str(caught.value)


MOMENT = 1_577_836_800_000_000
CELLS = {
    "170141183460469231731687303715884105727::HUGEINT": (Texts, "170141183460469231731687303715884105727"),
    "340282366920938463463374607431768211455::UHUGEINT": (Texts, "340282366920938463463374607431768211455"),
    f"{'1' * 60}::BIGNUM": (Texts, "1" * 60),
    "sum(5::INTEGER)": (Texts, "5"),
    "18446744073709551615::UBIGINT": (Numbers, 2**64 - 1),
    "2.50::DECIMAL(38, 3)": (Texts, "2.5"),
    "2.50::DECIMAL(4, 2)": (Texts, "2.5"),
    "true": (Numbers, True),
    "0.5::FLOAT": (Numbers, 0.5),
    "'red'::ENUM('green', 'red')": (Texts, "red"),
    "'f47ac10b-58cc-4372-a567-0e02b2c3d479'::UUID": (Texts, "f47ac10b-58cc-4372-a567-0e02b2c3d479"),
    "'0101'::BIT": (Texts, "0101"),
    "'red'::BLOB": (Texts, "red"),
    "'{}'::JSON": (Texts, "{}"),
    "TIMESTAMP_S '2020-01-01 00:00:00'": (Times, MOMENT),
    "TIMESTAMP_MS '2020-01-01 00:00:00'": (Times, MOMENT),
    "TIMESTAMP_NS '2020-01-01 00:00:00.000001999'": (Times, MOMENT + 1),
    "TIMESTAMP '2020-01-01'": (Times, MOMENT),
    "TIMESTAMPTZ '2020-01-01 05:30:00+05:30'": (Times, MOMENT),
    "DATE '2020-01-01'": (Times, MOMENT),
    "TIME '12:00:00'": (Texts, UNREADABLE),
    "TIMETZ '12:00:00+01'": (Texts, UNREADABLE),
    "INTERVAL 1 DAY": (Texts, UNREADABLE),
}


@pytest.mark.parametrize("settings", ["", "SET arrow_lossless_conversion = true; SET arrow_large_buffer_size = true"])
@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_is_the_same_whatever_the_connection_says_of_arrow(cell, settings, connection):
    connection.execute(f"SET TimeZone = 'Asia/Kolkata'; {settings}")
    relation = connection.sql(f'SELECT {cell} AS "flag", NULL::{typed(connection, cell)} AS "none"')

    found = next(open_flag(relation).chunks(("flag", "none"), 9))

    shape, value = CELLS[cell]
    assert type(found["flag"]) is shape
    assert found["flag"].values[0] == value
    assert is_missing(found["none"])


def typed(connection, cell):
    return connection.sql(f"SELECT typeof({cell})").fetchall()[0][0]


def is_missing(cells):
    if isinstance(cells, Texts):
        return cells.values[0] is None
    return bool(cells.nulls[0]) if cells.nulls is not None else np.isnan(cells.values[0])


@pytest.mark.parametrize("value", ["'infinity'", "'-infinity'", "'0044-03-15 (BC)'"])
@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMPTZ"])
def test_times_beyond_those_of_python_are_clamped(kind, value, connection):
    schema = Schema(fields=(Field(name="t", type="date", minimum="2000-01-01", maximum="2000-01-10"),))
    relation = connection.sql(f"SELECT {value}::{kind} AS t")

    assert code_answers(code_table(relation, schema))["codes"] == Counter({(0 if "-" in value else 9,): 1})


@pytest.mark.parametrize(
    "cell", ["[1, 2]", "[1, 2]::INTEGER[2]", "{'a': 1}", "MAP {'a': 1}", "1::VARIANT", "union_value(k := 1)"]
)
def test_columns_of_several_values_per_cell_are_refused(cell, connection):
    relation = connection.sql(f"SELECT {cell} AS flag")

    assert refusal(lambda: open_flag(relation)) == (
        'column "flag" holds several values per cell; unnest it into plain columns'
    )


def test_a_relation_is_read_again_and_again_and_its_connection_is_free_between(connection):
    relation = connection.sql("SELECT range % 2 = 0 AS flag FROM range(5000)")
    source = code_table(relation, FLAG, chunk_rows=100)

    assert len(next(source.chunks())["flag"]) == 100
    for _ in range(3):
        assert source.count([()])[0].tolist() == [5000]
        assert connection.sql("SELECT 1").fetchall() == [(1,)]


def test_a_closed_connection_is_one_sentence():
    connection = duckdb.connect()
    relation = connection.sql("SELECT true AS flag FROM range(10)")
    source = code_table(relation, FLAG, chunk_rows=5)
    connection.close()

    assert refusal(lambda: source.count([()])) == f"{RUN} (ConnectionException)"
    assert refusal(lambda: open_flag(relation).chunks(("flag",), 5).__next__()) == f"{RUN} (ConnectionException)"


def test_a_table_that_is_dropped_or_changed_is_one_sentence(connection):
    connection.execute("CREATE TABLE t AS SELECT false AS other, true AS flag FROM range(10)")
    source = code_table(connection.table("t"), FLAG, chunk_rows=5)

    connection.execute("ALTER TABLE t DROP other")
    assert source.count([()])[0].tolist() == [10]
    connection.execute("ALTER TABLE t RENAME flag TO secret")
    assert refusal(lambda: source.count([()])).startswith(RUN)
    connection.execute("DROP TABLE t")
    assert refusal(lambda: source.count([()])).startswith(RUN)


def test_a_failing_cell_is_not_quoted(connection):
    relation = connection.sql(
        "SELECT CASE WHEN range = 90000 THEN error('secret 4711') ELSE true END::BOOLEAN AS flag FROM range(100000)"
    )

    message = refusal(lambda: synthesize(relation, FLAG, epsilon=1))

    assert message.startswith(RUN)
    assert "4711" not in message
    assert connection.sql("SELECT 1").fetchall() == [(1,)]


ANY_ORDER = (
    "SELECT who, x FROM (SELECT (range % 50)::VARCHAR AS who, range % 10 AS x, random() AS place FROM range(5000)) "
    "ORDER BY place"
)
TEXTS = replace(PEOPLE, fields=(PEOPLE.fields[0], Field(name="x", type="string", open=True)))


@pytest.mark.parametrize(
    ("schema", "settings"),
    [(PEOPLE, {"memory": 0}), (TEXTS, {}), (TEXTS, {"memory": 0})],
    ids=["streamed", "texts", "streamed texts"],
)
def test_people_in_another_order_each_time_are_refused_before_a_question(connection, schema, settings):
    relation = connection.sql(ANY_ORDER)

    said = refusal(lambda: code_table(relation, schema, **settings))

    assert said.startswith("the table's rows changed between two passes over them")


@pytest.mark.parametrize("query", ["sum(a.range * b.range % 7) > 3", "a.range * b.range % 7 > 3"])
def test_ctrl_c_ends_a_query_and_is_what_it_is(query):
    with subprocess.Popen([sys.executable, "-c", STOPPED, query], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "begins\n"
            time.sleep(0.5)
            child.send_signal(signal.SIGINT)
            said, _ = child.communicate(timeout=60)
        finally:
            child.kill()  # or the end of the block would wait for a child that hangs

    assert said == "KeyboardInterrupt  [(1,)]\n"


STOPPED = """
import sys
import duckdb
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema
from lapwing.rows.source import code_table
connection = duckdb.connect()
connection.execute("SET threads = 1")
relation = connection.sql(f"SELECT {sys.argv[1]} AS flag FROM range(100000) a, range(100000) b")
print("begins", flush=True)
try:
    code_table(relation, Schema(fields=(Field(name="flag", type="boolean"),)))
except BaseException as error:
    print(type(error).__name__, error, end=" ")
print(connection.sql("SELECT 1").fetchall())
"""


PROBE = """
import resource, sys
import duckdb
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema
from lapwing.rows.source import code_table
fields = tuple(Field(name=name, type="number", minimum=0, maximum=1) for name in ("a", "b"))
connection = duckdb.connect()
connection.execute("SET threads = 1; SET enable_progress_bar = false")  # the bar of a slow machine is printed
relation = connection.sql(
    f"SELECT random() AS a, random() AS b, repeat('x', 100) AS never FROM range({int(sys.argv[1])})"
)
source = code_table(relation, Schema(fields=fields), memory=2**20)
assert source.count([()])[0].tolist() == [int(sys.argv[1])]
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_rows():
    def peak(rows):
        command = [sys.executable, "-c", PROBE, str(rows)]
        return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)

    small, large = peak(250_000), peak(2_500_000)

    # 2.25 million rows more are 36 MB of doubles, and as much in codes.
    assert large - small < 20_000
