"""Queries that give other rows on a later pass are refused, whichever column, pass or size it is that differs."""

from dataclasses import replace
from itertools import count

import polars as pl
import pytest

from lapwing.errors import DataError
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field, PrivacyUnit
from lapwing.schema.schemas import Schema

NAMES = ("a", "b", "c")
OPEN = tuple(Field(name=name, type="string", open=True) for name in NAMES)
SCHEMA = replace(
    Schema(fields=(Field(name="who", type="integer", identifier=True), *OPEN)), privacy_unit=PrivacyUnit("who", 1)
)
ROWS = pl.DataFrame({"who": [*range(30)] * 2, **{name: [f"{row % 7}{name}" for row in range(60)] for name in NAMES}})


@pytest.mark.parametrize("column", NAMES)
def test_each_open_column_is_looked_at_before_anything_is_paid(column):
    def changed(rows):
        return rows.reverse() if rows.columns == [column] else rows

    with pytest.raises(DataError):
        code_table(ROWS.lazy().map_batches(changed, projection_pushdown=True), SCHEMA)


@pytest.mark.parametrize("chunk_rows", [7, 25, 60, 1000])
@pytest.mark.parametrize("more", [pl.concat([ROWS.reverse(), ROWS]), ROWS.head(40), pl.concat([ROWS, ROWS.head(1)])])
def test_rows_that_are_more_or_fewer_on_a_later_pass_are_refused(more, chunk_rows):
    passes = count()

    def changed(rows):
        return (ROWS if next(passes) < 2 else more).select(rows.columns)

    with pytest.raises(DataError):
        for _ in code_table(ROWS.lazy().map_batches(changed), SCHEMA, chunk_rows=chunk_rows).chunks():
            pass
