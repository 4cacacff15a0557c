"""The texts of an opened column are those of the rows that are kept, whatever the table, the chunks and the memory."""

import itertools
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing.rows.cache
import lapwing.rows.source
from helpers.naive_codes import naive_code, naive_text
from helpers.naive_truncation import kept_of_unit
from lapwing.errors import DataError
from lapwing.rows.cells import Numbers, Texts, Times
from lapwing.rows.codec import encode, open_texts
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field, PrivacyUnit
from lapwing.schema.schemas import Schema

TOWN = Field(name="town", type="string", open=True, missing_values=("", "?"))
PAY = Field(name="pay", type="integer", open=True)
SCHEMA = Schema(fields=(Field(name="who", type="integer", identifier=True), TOWN, PAY))
TOWNS = ["York", "york", " York", "?", "", None, "St. Gallen", "3", "3.0", "\x00unreadable", "\x00bytes ff", "é"]


def with_units(max_rows):
    return replace(SCHEMA, privacy_unit=None if max_rows is None else PrivacyUnit("who", max_rows))


def table(rows, seed):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "who": rng.geometric(0.3, rows).clip(1, 6),
            "town": pl.Series([TOWNS[i] for i in rng.integers(0, len(TOWNS), rows)], dtype=pl.String),
            "pay": rng.choice([1, 2, 19, 10**7], rows),
        }
    )


def told(source, *, apart=False):
    """Return the texts beside the codes of all rows."""
    texts = [text for part in source.texts("town") for text in part.to_list()]
    chunks = source.chunks(apart=apart)
    codes = [row for part in chunks for row in zip(part["town"].tolist(), part["pay"].tolist(), strict=True)]
    return list(zip(texts, codes, strict=True))


def texts_of(source):
    return Counter(text for part in source.texts("town") for text in part.to_list())


@pytest.fixture(params=["cached", "streamed"])
def memory(request, monkeypatch):
    if request.param == "streamed":
        monkeypatch.setattr(lapwing.rows.cache, "CACHE_BYTES", 0)
    return request.param


@given(st.lists(st.one_of(st.none(), st.sampled_from(TOWNS), st.text(max_size=5), st.floats().map(repr))))
def test_texts_are_what_cells_stand_for(cells):
    found = open_texts(Texts(pl.Series(cells, dtype=pl.String)), TOWN)

    assert found.to_list() == [naive_text(cell, TOWN) for cell in cells]


@given(st.lists(st.tuples(st.one_of(st.floats(), st.sampled_from([3.0, 2.5, -0.0])), st.booleans()), min_size=1))
def test_numbers_stand_for_the_text_that_programs_write(cells):
    values, nulls = (np.array(part) for part in zip(*cells, strict=True))

    found = open_texts(Numbers(values, nulls), TOWN)

    assert found.to_list() == [None if is_null else naive_text(x, TOWN) for x, is_null in cells]


def test_booleans_and_moments_stand_for_texts_as_well():
    hours = Times(np.array([0, 3_600_000_000, 0]), np.array([False, False, True]))

    assert open_texts(hours, TOWN).to_list() == ["1970-01-01", "1970-01-01T01:00:00", None]
    assert open_texts(Numbers(np.array([True, False])), TOWN).to_list() == ["true", "false"]


def test_the_code_of_a_text_is_the_same_in_every_version():
    """Rows that are kept, and transcripts, depend on it."""
    codes = encode(Texts(pl.Series(["York", "", "é"])), TOWN)

    assert codes.tolist() == [3499584400180484, 2**53, 7146103782637155]


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("max_rows", [None, 1, 2])
@pytest.mark.parametrize("rows", [0, 1, 70])
def test_texts_belong_to_the_rows_of_the_codes(rows, max_rows, monkeypatch):
    monkeypatch.setattr(lapwing.rows.source, "MAX_CHUNK_ROWS", 11)

    source = code_table(table(rows, 3), with_units(max_rows))

    pairs = told(source)
    assert len(pairs) == source.rows
    for text, (code, _) in pairs:
        assert code == (TOWN.domain.last if text is None else naive_code(text, TOWN))


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("max_rows", [None, 1, 3])
def test_the_texts_that_are_kept_depend_on_neither_order_nor_chunks(max_rows, monkeypatch):
    frame = table(40, 1)
    expected = texts_of(code_table(frame, with_units(max_rows)))

    for chunk, order in ((1, 0), (7, 1), (7, 2), (1000, 3)):
        monkeypatch.setattr(lapwing.rows.source, "MAX_CHUNK_ROWS", chunk)
        shuffled = frame.sample(fraction=1, shuffle=True, seed=order)

        assert texts_of(code_table(shuffled, with_units(max_rows))) == expected


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("max_rows", [1, 2])
def test_the_texts_of_a_unit_are_kept_by_its_own_rows_alone(max_rows):
    frame = table(60, 2)
    whole = texts_of(code_table(frame, with_units(max_rows)))

    apart = Counter()
    for own in frame.partition_by("who"):
        its = texts_of(code_table(own, with_units(max_rows)))
        assert its.total() == min(max_rows, own.height)
        apart += its
    assert apart == whole


@pytest.mark.usefixtures("memory")
def test_each_unit_keeps_the_texts_of_its_rows_of_smallest_hash():
    frame = table(60, 7)
    every = told(code_table(frame, SCHEMA), apart=True)  # as rows are kept by
    of_unit, text_of = defaultdict(list), {codes: text for text, codes in every}
    for who, (_, codes) in zip(frame["who"].to_list(), every, strict=True):
        of_unit[who].append(codes)

    expected = Counter(text_of[codes] for who, rows in of_unit.items() for codes in kept_of_unit(who, rows, 2))

    assert texts_of(code_table(frame, with_units(2))) == expected


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("change", ["towns", "last row"])
def test_a_table_that_changes_is_refused_when_its_texts_are_read_where_units_were_cut(change):
    passes = itertools.count()
    query = table(60, 60).lazy().map_batches(lambda rows: changed(rows, change, next(passes)))

    with pytest.raises(DataError, match="changed between two passes"):
        list(code_table(query, with_units(1)).texts("town"))


@pytest.mark.parametrize("asked", [True, False], ids=["texts", "numbers"])
def test_a_query_that_changes_is_refused_before_anything_is_paid_for(asked):
    passes = itertools.count()
    query = table(60, 60).lazy().map_batches(lambda rows: rows.reverse() if next(passes) else rows)
    schema = with_units(1) if asked else replace(with_units(1), fields=(SCHEMA.fields[0], PAY))

    if asked:
        with pytest.raises(DataError, match="changed between two passes"):
            code_table(query, schema)
    else:
        assert code_table(query, schema).rows > 0


@pytest.mark.parametrize("rows", [61, 90])
def test_rows_that_come_later_are_refused_when_texts_are_read_where_units_were_cut(rows):
    passes = itertools.count()
    query = table(rows, 60).lazy().map_batches(lambda every: every if next(passes) else every.head(60))

    with pytest.raises(DataError, match="changed between two passes"):
        list(code_table(query, with_units(1)).texts("town"))


def changed(rows, change, number):
    """Return the rows without the last, or with towns one row further down, in every pass but the first."""
    if number == 0:
        return rows
    if change == "last row":
        return rows.head(len(rows) - 1)
    return rows.with_columns(pl.col("town").shift(1))


def test_texts_are_not_held_in_memory(monkeypatch):
    """Neither when cached: the codes are, the texts come from the table, one chunk at a time."""
    monkeypatch.setattr(lapwing.rows.source, "MAX_CHUNK_ROWS", 10)
    frame = table(95, 4)

    source = code_table(frame, with_units(2))
    parts = source.texts("town")

    first = next(parts)
    assert first.len() <= 10
    assert {type(array) for part in source._parts for array in part.values()} == {np.ndarray}
