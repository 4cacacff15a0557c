"""Which rows are kept of linked and of anonymous tables, which are coded in memory: those by the rule's own words."""

from collections import Counter, defaultdict

import polars as pl
import pytest

from helpers.linked_homes import SCHEMA
from helpers.linked_runs import coded_rows
from helpers.naive_truncation import kept_of_unit
from lapwing.anonymous.vectors import read_rows
from lapwing.schema.schemas import Schema

HOMES = [None, 7, 7, 7, 8, 8, 9] * 5
ROOMS = [row // 7 + 1 for row in range(len(HOMES))]
AGES = [row % 21 for row in range(len(HOMES))]  # each is of one home, and some rows are equal


def expected(names, codes, max_rows):
    """Return how often the first code is kept, of all units."""
    of_unit = defaultdict(list)
    for name, row in zip(names, codes, strict=True):
        of_unit[name].append(row)
    return Counter(row[0] for name, rows in of_unit.items() for row in kept_of_unit(name, rows, max_rows))


@pytest.mark.parametrize("named", ["by numbers", "by texts"])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_anonymous_tables_keep_the_rows_of_smallest_hash(max_rows, named):
    names = HOMES if named == "by numbers" else [None if home is None else f"home {home}" for home in HOMES]
    fields = [
        {"name": "home", "type": "integer" if named == "by numbers" else "string", "role": "identifier"},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 20, "required": True}},
    ]
    schema = Schema.from_dict({"fields": fields, "privacyUnit": {"field": "home", "maxRows": max_rows}})

    found = read_rows(pl.DataFrame({"home": names, "age": AGES}), schema)

    assert Counter(found.codes["age"].tolist()) == expected(names, [(age,) for age in AGES], max_rows)


def test_linked_tables_keep_the_rows_of_smallest_hash_of_each_key():
    schema = Schema.load(SCHEMA | {"maxChildren": 2}).linked
    parents = pl.DataFrame({"home": HOMES, "rooms": ROOMS, "kind": ["flat"] * len(HOMES)})
    children = pl.DataFrame({"home": HOMES, "person": ["p"] * len(HOMES), "age": AGES})

    data = {"parent": parents, "child": children}

    rooms, ages = (
        [row[column] for row in coded_rows(data, schema, name)]
        for name, column in (("parent", "rooms"), ("child", "age"))
    )
    assert Counter(rooms) == expected(HOMES, [(rooms - 1, 0) for rooms in ROOMS], 1)
    assert Counter(ages) == expected(HOMES, [(age,) for age in AGES], 2)
