"""Counts are a function of the rows as a set and of the schema: not of order, chunks, memory or kind of table."""

import itertools
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import lapwing.rows.cache
import lapwing.rows.source
import lapwing.rows.units
from helpers.containers import CONTAINERS
from helpers.naive_truncation import kept_of_unit
from lapwing.errors import DataError
from lapwing.rows.source import code_table
from lapwing.rows.units import OrderDigest, row_hashes
from lapwing.schema.fields import PrivacyUnit
from lapwing.schema.groupings.grouping import Grouping, evenly, identity, prefix_grouping
from lapwing.schema.schemas import Schema

SCHEMA = Schema.from_dict(
    {
        "fields": [
            {"name": "person", "type": "integer", "role": "identifier"},
            {"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 300}, "special": [-1]},
            {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}},
        ]
    }
)
X, AGE, SEX = SCHEMA.columns
BY_SEX, BY_AGE, BY_X = identity(SEX.domain), evenly(AGE.domain, 7), prefix_grouping(X.domain, 30)
TABLES = [
    (("sex", BY_SEX),),
    (("x", BY_X), ("age", BY_AGE)),
    (("sex", BY_SEX), ("age", BY_AGE), ("x", BY_X)),
    (),
]


def table(rows, seed, people=5):
    """Return a table with misfits, repeated rows, and people of very different numbers of rows."""
    rng = np.random.default_rng(seed)
    person = rng.geometric(0.4, rows).clip(1, people)
    return pl.DataFrame(
        {
            "person": pl.Series([None if who == people else int(who) for who in person], dtype=pl.Int64),
            "x": pl.Series(rng.choice([0.1, 0.4, 0.8, np.nan, np.inf, 2.0], rows), dtype=pl.Float64),
            "age": pl.Series(rng.choice([-1, 3, 40, 299, 500], rows), dtype=pl.Int64),
            "sex": pl.Series(rng.choice(["f", "m", "?"], rows), dtype=pl.String),
        }
    )


def with_units(max_rows):
    return replace(SCHEMA, privacy_unit=PrivacyUnit("person", max_rows))


def counts(source):
    return [count.tolist() for count in source.count(TABLES)]


def rows_of(source):
    chunks = list(source.chunks(apart=True))
    return [row for chunk in chunks for row in zip(*(chunk[name].tolist() for name in source.columns), strict=True)]


@pytest.fixture(params=["cached", "streamed"])
def memory(request, monkeypatch):
    if request.param == "streamed":
        monkeypatch.setattr(lapwing.rows.cache, "CACHE_BYTES", 0)
    return request.param


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("max_rows", [None, 1, 3])
def test_counts_depend_on_neither_order_nor_chunks_nor_memory(seed, max_rows, monkeypatch):
    schema = SCHEMA if max_rows is None else with_units(max_rows)
    rows = table(int(np.random.default_rng(seed).integers(0, 60)), seed)
    expected = counts(code_table(rows, schema))

    for chunk, cache, order in itertools.product((1, 7, 1000), (0, 2**20), range(2)):
        monkeypatch.setattr(lapwing.rows.source, "MAX_CHUNK_ROWS", chunk)
        monkeypatch.setattr(lapwing.rows.cache, "CACHE_BYTES", cache)
        shuffled = rows.sample(fraction=1, shuffle=True, seed=order)
        assert counts(code_table(shuffled, schema)) == expected


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("seed", range(3))
def test_counts_are_the_obvious_counts(seed):
    source = code_table(table(50, seed), SCHEMA)

    rows = rows_of(source)

    for tables, count in zip(TABLES, source.count(TABLES), strict=True):
        groups = [[int(g.apply(np.array([row[source.columns.index(name)]]))[0]) for name, g in tables] for row in rows]
        obvious = Counter(map(tuple, groups))
        shape = [grouping.groups for _, grouping in tables]
        assert [obvious[cell] for cell in itertools.product(*map(range, shape))] == count.tolist()
    assert source.rows == source.units == 50


def hash_by(monkeypatch, hashes):
    """Let rows be hashed in another way, where they are chosen and where they are checked."""
    monkeypatch.setattr(lapwing.rows.source, "row_hashes", hashes)
    monkeypatch.setattr(lapwing.rows.units, "row_hashes", hashes)


def obvious_truncation(schema, frame, max_rows, bits):
    """Return the rows that are kept, by the rule's own words."""
    source = code_table(frame, replace(schema, privacy_unit=None))
    of_unit = defaultdict(list)
    for who, row in zip(frame["person"].to_list(), rows_of(source), strict=True):
        of_unit[who].append(row)
    kept = [row for who, rows in of_unit.items() for row in kept_of_unit(who, rows, max_rows, bits)]
    return sorted(kept), len(of_unit)


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("named", ["by numbers", "by texts"])
@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("bits", [64, 1, 0], ids=["the hash", "a hash that collides", "a hash that always collides"])
def test_each_unit_keeps_the_rows_of_smallest_hash_of_its_name_their_codes_and_their_number(
    max_rows, bits, named, monkeypatch
):
    if bits < 64:
        hash_by(monkeypatch, lambda *a: row_hashes(*a) % np.uint64(2**bits))
    monkeypatch.setattr(lapwing.rows.source, "MAX_CHUNK_ROWS", 11)
    frame = table(80, 5)
    if named == "by texts":
        frame = frame.with_columns("p" + pl.col("person").cast(pl.String))

    source = code_table(frame, with_units(max_rows))

    expected, units = obvious_truncation(SCHEMA, frame, max_rows, bits)
    assert sorted(rows_of(source)) == expected
    assert (source.rows, source.units) == (len(expected), units)


def test_a_hash_that_collides_would_be_order_dependent_without_the_codes(monkeypatch):
    """The rule for equal hashes bites: with it switched off, the order of rows decides."""
    hash_by(monkeypatch, lambda *a: row_hashes(*a) % np.uint64(1))
    monkeypatch.setattr(lapwing.rows.units, "_order_ties", lambda *_: None)
    frame = table(80, 5)

    kept = [sorted(rows_of(code_table(rows, with_units(1)))) for rows in (frame, frame.reverse())]

    assert kept[0] != kept[1]


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("max_rows", [1, 2])
def test_taking_a_unit_away_takes_its_own_rows_and_no_other(max_rows):
    frame = table(60, 9)
    whole = code_table(frame, with_units(max_rows)).count(TABLES)

    for person in (1, 2, None):
        own = pl.col("person").eq_missing(person)
        without = code_table(frame.filter(~own), with_units(max_rows)).count(TABLES)
        alone = code_table(frame.filter(own), with_units(max_rows)).count(TABLES)
        for all_rows, others, its in zip(whole, without, alone, strict=True):
            assert (all_rows == others + its).all()
            assert its.sum() <= max_rows


IDS = {
    "integers": [7, 7, 7, 10**18, 10**18, None, None, -3],
    "floats": [7.0, 7.0, 7.0, 2.5, 2.5, None, float("nan"), -3.0],
    "texts": ["ann", "ann", "ann", "bob", "bob", "", None, "\u00e9"],
    "unsigned": [7, 7, 7, 2**64 - 1, 2**64 - 1, None, None, 0],
}


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("container", CONTAINERS)
def test_units_are_the_same_in_every_kind_of_table(container, kind, tmp_path):
    built = CONTAINERS[container](["person", "x", "age"], IDS[kind], kind, tmp_path)
    if built is None:
        pytest.skip("this kind of table cannot hold these cells")
    schema = Schema(
        fields=(replace(SCHEMA.fields[0], type="string" if kind == "texts" else "integer"), X, AGE),
        privacy_unit=PrivacyUnit("person", 2),
    )

    source = code_table(built, schema)

    assert (source.units, source.rows) == (4, 7)


def test_units_are_told_apart_by_text_exactly_and_by_number_across_files(tmp_path):
    pl.DataFrame({"person": [1, 2], "x": [0.1, 0.2]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"person": ["1", "01", "2.0", "x", "X", "x "], "x": [0.3] * 6}).write_csv(tmp_path / "b.csv")
    schema = Schema(fields=(SCHEMA.fields[0], X), privacy_unit=PrivacyUnit("person", 9))

    as_numbers = code_table(tmp_path, schema)
    as_texts = code_table(tmp_path, replace(schema, fields=(replace(SCHEMA.fields[0], type="string"), X)))

    assert as_numbers.units == 2 + 3
    assert as_texts.units == 2 + 4  # 2.0 is how a column of floats is written, and the person 2


def test_each_grouping_is_applied_once(monkeypatch):
    calls = []
    apply = Grouping.apply
    monkeypatch.setattr(Grouping, "apply", lambda self, codes: calls.append(len(codes)) or apply(self, codes))
    source = code_table(table(40, 1), SCHEMA)

    source.count([*TABLES, (("age", evenly(AGE.domain, 7)),)])

    assert len(calls) == 3


def test_a_query_whose_rows_change_is_refused_where_units_were_cut(monkeypatch):
    monkeypatch.setattr(lapwing.rows.cache, "CACHE_BYTES", 0)
    seeds = itertools.count()
    frame = table(60, 2)
    query = frame.lazy().map_batches(lambda rows: rows.sample(fraction=1, shuffle=True, seed=next(seeds)))

    with pytest.raises(DataError, match="changed between two passes"):
        code_table(query, with_units(1))


@pytest.mark.parametrize("max_rows", [None, 2])
@pytest.mark.usefixtures("memory")
def test_an_empty_table_counts_nothing(max_rows):
    source = code_table(table(0, 0), SCHEMA if max_rows is None else with_units(max_rows))

    assert [sum(count) for count in counts(source)] == [0, 0, 0, 0]
    assert (source.rows, source.units) == (0, 0)


def test_the_digest_knows_order_and_not_chunks():
    hashes = np.random.default_rng(0).integers(0, 2**64, 50, dtype=np.uint64)

    digests = set()
    for cuts in ([0], [1], [25], [50], [1, 2, 3], [10, 30, 40]):  # the place of a row counts all chunks before
        digest = OrderDigest()
        for part in np.split(hashes, cuts):
            digest.add(part)
        digests.add(digest.value)
    turned = OrderDigest()
    turned.add(hashes[::-1])

    assert len(digests) == 1
    assert turned.value not in digests


def test_codes_are_cached_only_while_they_fit(monkeypatch):
    frame = table(100, 3)
    monkeypatch.setattr(lapwing.rows.cache, "CACHE_BYTES", 100 * (8 + 2 + 1))

    fits = code_table(frame, SCHEMA)
    too_large = code_table(frame.vstack(frame[:1]), SCHEMA)
    unknown = code_table(frame.vstack(frame[:1]).lazy(), SCHEMA)

    assert [type(source).__name__ for source in (fits, too_large, unknown)] == ["_Cached", "_Streamed", "_Streamed"]
    assert (fits.rows, too_large.rows, unknown.rows) == (100, 101, 101)


def test_every_chunk_has_the_dtypes_of_its_domains():
    for chunk in code_table(table(30, 4), SCHEMA).chunks():
        assert {name: codes.dtype for name, codes in chunk.items()} == {f.name: f.domain.dtype for f in SCHEMA.columns}
