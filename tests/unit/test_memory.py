"""The limit of memory: read, planned, refused where too low, obeyed, and without a trace in the result."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.bits import SeededBits
from helpers.command import lapwing
from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.release.runs.plan.effort import MemoryNeed, caches_of, read_memory
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

MB = 10**6
TERMS = ("--neighbours", "add-remove", "--privacy-unit", "row")
FIELDS = [
    {"name": "kind", "type": "string", "categories": ["a", "b", "c"]},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
    {"name": "size", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
    {"name": "flag", "type": "boolean"},
]
SCHEMA = {"fields": FIELDS}


def wide(columns):
    return {"fields": [{**FIELDS[place % 4], "name": f"c{place}"} for place in range(columns)]}


def table(rows, columns=4):
    rng = np.random.default_rng(7)
    made = [
        lambda: np.array(["a", "b", "c"])[rng.integers(0, 3, rows)],
        lambda: rng.integers(0, 100, rows),
        lambda: rng.random(rows),
        lambda: rng.random(rows) < 0.3,
    ]
    names = [field["name"] for field in (FIELDS if columns == 4 else wide(columns)["fields"])]
    return pl.DataFrame({name: made[place % 4]() for place, name in enumerate(names)})


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (10**6, 10**6),
        (4 * 10**9, 4 * 10**9),
        ("4 GB", 4 * 10**9),
        ("4gb", 4 * 10**9),
        ("512 MiB", 2**29),
        ("1.5G", 1_500_000_000),
        ("1234.5 kB", 1_234_500),
        (" 2000000 ", 2_000_000),
        ("1TiB", 2**40),
        (None, None),
    ],
)
def test_memory_is_bytes_or_a_number_with_its_unit(given, found):
    assert read_memory(given) == found


@pytest.mark.parametrize("given", [0, -1, True, 1.5, "", "GB", "4 PB", "-4 GB", "4,5 GB", "4 GB 2", "0", "1e9", b"4GB"])
def test_what_is_no_amount_of_memory_is_refused(given):
    with pytest.raises(ParameterError, match="memory must be at least 1 MB, in bytes or text such as"):
        lw.plan(SCHEMA, expected_rows=100, epsilon=1, memory=given)


def test_the_parts_of_a_plan_are_printed_and_sum_to_what_is_needed():
    planned = lw.plan(wide(8), expected_rows=10**5, epsilon=1, delta="1e-9")

    need = planned.effort.memory
    parts = json.loads(json.dumps(planned.to_dict()))["effort"]["memory"]
    assert need.least == sum(parts[name] for name in ("start", "reading", "units", "model"))
    assert need.codes == 10**5 * 2 * (1 + 1 + 8 + 1)
    assert need.model > 0 < need.tables
    assert f"at least {round(need.least / MB)} MB" in planned.text()
    assert f"codes of all rows {round(need.codes / MB)} MB" in planned.text()


def test_a_limit_below_the_need_is_refused_before_anything_is_read(tmp_path):
    absent = tmp_path / "no-such-file.parquet"
    need = lw.plan(SCHEMA, expected_rows=1000, epsilon=1, mechanism="Independent").effort.memory
    settings = {"epsilon": 1, "mechanism": "Independent", "expected_rows": 1000}

    with pytest.raises(CapacityError, match=r"needs \d+ MB of memory by its plan, above the limit of 1 MB"):
        lw.synthesize(absent, SCHEMA, memory=MB, **settings)
    with pytest.raises(CapacityError, match="above the limit"):
        lw.plan(SCHEMA, memory=need.least - 1, **settings)
    assert lw.plan(SCHEMA, memory=need.least, **settings).effort.memory == need


def test_who_named_no_number_of_rows_is_told_that_a_guess_lowers_the_need():
    settings = {"epsilon": 1, "mechanism": "Independent", "memory": MB}

    with pytest.raises(CapacityError, match="say expected_rows"):
        lw.synthesize(table(50), SCHEMA, **settings)
    with pytest.raises(CapacityError, match="; give more memory"):
        lw.synthesize(table(50), SCHEMA, expected_rows=1000, **settings)


def test_a_refused_limit_costs_no_budget(tmp_path):
    ledger = tmp_path / "ledger.db"
    assert lapwing("ledger", "init", "one", "--unit", "pure", "--limit", "2", *TERMS, "--ledger", ledger).status == 0

    with pytest.raises(CapacityError):
        lw.synthesize(table(50), SCHEMA, epsilon=1, ledger=ledger, memory="1 MB")

    assert lw.synthesize(table(50), SCHEMA, epsilon=2, ledger=ledger, memory="4 GB").certificate.total.epsilon == 2


def test_what_is_left_is_shared_between_exact_tables_and_codes():
    need = MemoryNeed(start=100, reading=50, units=0, model=50, codes=10**9, tables=160)

    shared = [caches_of(need, limit) for limit in (200, 300, 10_000)]

    assert [(each.codes, each.table_cells) for each in shared] == [(0, 0), (50, 6), (9640, 20)]


@pytest.mark.parametrize("kept", [0, 500, None], ids=str)
def test_answers_do_not_depend_on_what_is_kept(kept):
    schema, budget = Schema.from_dict(SCHEMA), Budget.zcdp(1)

    def answers(memory, most_cells):
        found = []

        class Sink(NoTranscript):
            def record(self, answers, part=""):
                found.extend(answer.to_dict() for answer in answers)

        source = code_table(table(500), schema, memory=memory)
        terms = Terms(relation="add-remove", expected_rows=500)
        room = Room(source, schema, terms, budget, bits=SeededBits(4), sink=Sink(), most_cells=most_cells)
        model = Adaptive.small().run(room, schema, budget, np.random.default_rng(2))
        return found, model.weights.tolist()

    assert answers(kept, kept) == answers(10**9, 10**8)


CHILD = """
import sys
import lapwing as lw
data, schema, mechanism, memory = sys.argv[1:]
lw.synthesize(data, schema, epsilon=1, delta="1e-9", expected_rows=400_000, mechanism=mechanism, memory=int(memory))
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("mechanism", ["Independent", pytest.param("Adaptive", marks=pytest.mark.full)])
def test_a_release_stays_within_its_limit(mechanism, tmp_path):
    table(400_000, 20).write_parquet(tmp_path / "wide.parquet", row_group_size=2**16)
    (tmp_path / "wide.json").write_text(json.dumps(wide(20)))
    need = lw.plan(wide(20), expected_rows=400_000, epsilon=1, delta="1e-9", mechanism=mechanism).effort.memory
    limit = need.least + 5 * MB
    assert need.codes > 3 * (limit - need.least)

    command = [sys.executable, "-c", CHILD, tmp_path / "wide.parquet", tmp_path / "wide.json", mechanism, str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert int(done.stdout) * 1024 <= limit


def test_the_command_line_takes_a_limit(tmp_path):
    table(100).write_csv(tmp_path / "data.csv")
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    given = ("--schema", tmp_path / "s.json", "--epsilon", "1", "--mechanism", "Independent")

    low = lapwing("synthesize", tmp_path / "data.csv", *given, "-o", tmp_path / "o.csv", "--memory", "10 MB")
    enough = lapwing("synthesize", tmp_path / "data.csv", *given, "-o", tmp_path / "o.csv", "--memory", "4GB")
    planned = lapwing("plan", *given, "--expected-rows", "100", "--memory", "10MB")

    assert (low.status, enough.status, planned.status) == (1, 0, 1)
    assert "above the limit of 10 MB" in low.err
    assert "above the limit of 10 MB" in planned.err
