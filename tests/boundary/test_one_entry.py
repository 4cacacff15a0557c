"""One contract for every kind of table that a call takes: the same counts, the same refusals, read no oftener."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import lapwing as lw
from lapwing.errors import LapwingError
from lapwing.rows.entry import entering, source_of, sources_of, tables_by_name
from lapwing.rows.source import code_table
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.named_files import refuse_private

SCHEMA = lw.Schema.load(
    {
        "fields": [
            {"name": "sex", "type": "string", "categories": ["f", "m"]},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
        ]
    }
)
OTHER = lw.Schema.load(
    {
        "fields": [
            *SCHEMA.to_dict()["fields"],
            {"name": "ill", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}},
        ]
    }
)
ROWS = pl.DataFrame({"sex": ["f", "m", "m", None] * 9, "age": [1, 2, 3, 99] * 9, "note": ["x"] * 36})
OTHERS = ROWS.with_columns(ill=pl.lit(7)).head(20)
SURE: dict[str, Any] = {"epsilon": 10**6, "mechanism": "Independent", "seed": 1}


class Stream:
    """A table of a library that nobody knows, which is handed over once."""

    def __init__(self, table: pa.Table) -> None:
        self.table, self.times = table, 0

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        self.times += 1
        assert self.times == 1
        return self.table.__arrow_c_stream__(requested_schema)


def _parts(folder: Path) -> list[Path]:
    (folder / "parts").mkdir()
    paths = [folder / "parts" / f"{number}.parquet" for number in range(3)]
    for number, path in enumerate(paths):
        ROWS.slice(12 * number, 12).write_parquet(path)
    return paths


def _file(folder: Path, ending: str) -> Path:
    path = folder / f"rows{ending}"
    ROWS.write_parquet(path) if ending == ".parquet" else ROWS.write_csv(path)
    return path


def _sqlite(folder: Path) -> lw.Query:
    with sqlite3.connect(folder / "rows.sqlite") as opened:
        opened.execute("create table rows (sex text, age integer)")
        opened.executemany("insert into rows values (?, ?)", ROWS.select("sex", "age").iter_rows())
    return lw.Query("select * from rows", f"sqlite:///{folder}/rows.sqlite")


def _duckdb(folder: Path) -> lw.Query:
    parquet = _file(folder, ".parquet")
    with duckdb.connect(folder / "rows.duckdb") as opened:
        opened.execute(f"create table rows as from '{parquet}'")
    parquet.unlink()
    return lw.Query("from rows", f"duckdb:///{folder}/rows.duckdb")


KINDS: dict[str, Callable[[Path], Any]] = {
    "CSV": lambda folder: _file(folder, ".csv"),
    "Parquet": lambda folder: str(_file(folder, ".parquet")),
    "paths": _parts,
    "texts": lambda folder: tuple(map(str, _parts(folder))),
    "folder": lambda folder: _parts(folder)[0].parent,
    "pattern": lambda folder: str(_parts(folder)[0].parent / "*.parquet"),
    "Polars": lambda _: ROWS,
    "lazy": lambda _: ROWS.lazy(),
    "narwhals": lambda _: nw.from_native(ROWS),
    "pandas": lambda _: pd.DataFrame(ROWS.to_dict(as_series=False)),
    "Arrow": lambda _: ROWS.to_arrow(),
    "batch": lambda _: ROWS.to_arrow().combine_chunks().to_batches()[0],
    "dataset": lambda folder: ds.dataset(_parts(folder)),
    "datasets": lambda folder: ds.dataset([ds.dataset(path) for path in _parts(folder)]),
    "stream": lambda _: Stream(ROWS.to_arrow()),
    "relation": lambda _: duckdb.connect().from_arrow(ROWS.to_arrow()),
    "SQLite": _sqlite,
    "DuckDB": _duckdb,
    "source": lambda folder: source_of(_file(folder, ".csv")),
}


def _learn(data: Any, schema: lw.Schema) -> Any:
    draft = {"draft": True, "fields": [{"name": schema.names[-1], "type": "integer", "provenance": "dp"}]}
    return lw.Schema.learn(data, draft, epsilon=10**6).fields[0].maximum


VERBS: dict[str, Callable[[Any, lw.Schema], Any]] = {
    "synthesize": lambda data, schema: lw.synthesize(data, schema, **SURE).model.rows,
    "fit": lambda data, schema: lw.Synthesizer(schema, **SURE).fit(data).release_.model.rows,
    "learn": _learn,
    "check": lambda data, schema: schema.check(data).drop("cure").rows(),
    "evaluate": lambda data, schema: lw.evaluate(data, OTHERS, schema, seed=1).to_dict(),
    "buy": lambda data, schema: lw.evaluate(data, OTHERS, schema, epsilon=10**6).certificate.released_rows,
    "anonymize": lambda data, schema: lw.anonymize(data, schema, 9, seed=1).information_loss,
}
"""What each verb that takes a table makes of it, so far as no noise can change that."""
FRAMES = ("Polars", "lazy", "narwhals", "pandas", "Arrow", "batch", "stream", "relation")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def data(kind: str, tmp_path: Path) -> Any:
    return KINDS[kind](tmp_path)


def code_of(call: Callable[[], object]) -> str | None:
    """Return the code of the error that a call raises."""
    try:
        call()
    except LapwingError as error:
        return error.code
    return None


def test_every_kind_is_counted_the_same(data):
    tables = [((field.name, identity(field.domain)),) for field in SCHEMA.columns]

    found = code_table(data, SCHEMA).count(tables)

    assert [each.tolist() for each in found] == [each.tolist() for each in code_table(ROWS, SCHEMA).count(tables)]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_makes_the_same_of_every_kind(data, verb):
    assert VERBS[verb](data, SCHEMA) == VERBS[verb](ROWS, SCHEMA)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_the_same_refusals(data, verb):
    assert code_of(lambda: VERBS[verb](data, OTHER)) == "LW104"
    assert code_of(lambda: VERBS[verb]({"sex": data}, SCHEMA)) == "LW108"


def test_every_kind_is_resumed(data, tmp_path):
    released = lw.synthesize(ROWS, SCHEMA, epsilon=1, mechanism="Independent", seed=1, transcript=tmp_path / "t.jsonl")

    assert lw.resume(tmp_path / "t.jsonl", data).sample(9, seed=1, like=ROWS[:0, :2]).equals(released.sample(9, seed=1))


def test_no_kind_is_public_and_private_at_once(data, kind, tmp_path):
    files = [] if kind in FRAMES else [each for each in tmp_path.rglob("*") if each.is_file()]
    assert bool(files) == (kind not in FRAMES)

    for public in (*files, data):
        for call in (
            lambda: lw.synthesize(data, SCHEMA, epsilon=1, mechanism="Adaptive", prior=public),  # noqa: B023
            lambda: lw.Synthesizer(SCHEMA, epsilon=1, mechanism="Adaptive", prior=public).fit(data),  # noqa: B023
            lambda: lw.evaluate(data, public, SCHEMA, epsilon=1),  # noqa: B023
        ):
            assert code_of(call) == "LW351"


def test_all_tables_of_a_call_are_held_until_it_ends(tmp_path):
    one, two, three = _parts(tmp_path)
    with entering({"a": one, "b": OTHERS}), entering([two, ROWS]):
        for public in (one, two, ROWS, OTHERS, source_of(OTHERS)):
            assert code_of(lambda: refuse_private(public, "it")) == "LW351"  # noqa: B023
        refuse_private(three, "it")
    with entering("s3://bucket/a.parquet"), entering(None):
        assert code_of(lambda: refuse_private(source_of(["s3://bucket/a.parquet"]), "it")) == "LW351"
        refuse_private("s3://bucket/b.parquet", "it")
    refuse_private(one, "it")


def test_a_frame_is_its_own_prior_under_no_wrapper():
    for data, prior in ((nw.from_native(ROWS), ROWS), (ROWS, nw.from_native(ROWS)), ([ROWS], ROWS)):
        assert code_of(lambda: lw.synthesize(data, SCHEMA, epsilon=1, mechanism="Adaptive", prior=prior)) == "LW351"  # noqa: B023


def test_every_kind_is_drafted(data, kind):
    drafted = lw.Schema.draft(data)

    assert [field.name for field in drafted.fields][:2] == ["sex", "age"]
    assert [field.type for field in drafted.fields][:2] == ["string", "integer"]


def test_a_source_is_decided_once_and_stays_what_it_is(data, kind):
    source = source_of(data)

    assert source_of(source) is source
    assert sources_of(source) is source
    assert repr(ROWS["sex"][0]) not in repr(source)
    with entering(data) as held:
        assert held.kind == source.kind


def test_files_that_are_added_later_are_not_read_and_those_that_change_are_refused(tmp_path):
    source = source_of(_parts(tmp_path)[0].parent)
    assert len(list(source.open(SCHEMA).chunks(("age",), 99))) > 0
    ROWS.write_parquet(tmp_path / "parts" / "later.parquet")

    assert sum(len(each["age"]) for each in source.open(SCHEMA).chunks(("age",), 99)) == 36
    ROWS.write_parquet(tmp_path / "parts" / "0.parquet")
    assert code_of(lambda: list(source.open(SCHEMA).chunks(("age",), 99))) == "LW109"


@pytest.mark.parametrize("data", [Stream, pl.DataFrame, lw.Query, ROWS["age"], {"age": [1]}, iter([ROWS])])
def test_classes_and_columns_are_no_tables(data):
    assert code_of(lambda: source_of(data)) == "LW108"


def test_names_that_differ_in_case_alone_are_no_columns_of_a_relation():
    with duckdb.connect() as opened:
        relation = opened.sql("select 'f' as sex, 1 as age, 2 as AGE")

        assert code_of(lambda: source_of(relation).open(SCHEMA)) == "LW105"


def test_a_stream_is_not_read_before_the_settings_are_good():
    stream = Stream(ROWS.to_arrow())

    assert code_of(lambda: lw.synthesize(stream, SCHEMA, epsilon=-1)) is not None
    assert stream.times == 0
    assert lw.synthesize(stream, SCHEMA, epsilon=1, mechanism="Independent").certificate
    assert stream.times == 1


def test_paths_in_a_list_are_one_table_or_as_many_as_the_schema_has(tmp_path):
    paths = _parts(tmp_path)

    assert source_of(paths).files == tuple(paths)
    assert [each.files for each in tables_by_name(paths, ("a", "b", "c")).values()] == [(path,) for path in paths]
    assert code_of(lambda: tables_by_name(paths, ("a", "b"))) == "LW252"
    assert [*tables_by_name({"b": ROWS, "a": paths}, ("a", "b"))] == ["a", "b"]
    assert [each.kind for each in tables_by_name([ROWS, paths[0]], ("a", "b")).values()] == ["polars", "path"]
