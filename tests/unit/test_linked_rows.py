"""How linked tables are joined, cut and put in order: by the rows of one unit alone, in any engine, as a naive twin."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lapwing as lw
from helpers import make
from helpers.cases import spread
from helpers.linked_runs import changed_module, coded_rows
from lapwing.errors import DataError
from lapwing.rows.linked import code_linked
from lapwing.schema.groupings.grouping import identity

KEY, SIZE = make.fields({"home": "id", "size": (0, 9)})
PARTS = {"parent": {"fields": [KEY, SIZE]}, "child": {"fields": [KEY, make.field("age", (0, 99))]}}
SCHEMA = lw.Schema.load({"key": "home", "maxChildren": 2, **PARTS}).linked
HOMES = {"home": [3, 1, 2, 1], "size": [7, 5, 6, 4]}
PEOPLE = {"home": [1, 2, 2, 2, 9, 3], "age": [10, 20, 21, 20, 90, 30]}


def rows_of(homes=HOMES, people=PEOPLE):
    """Return the coded rows of parents and of children."""
    data = {"parent": pl.DataFrame(homes), "child": pl.DataFrame(people)}
    return coded_rows(data, SCHEMA, "parent"), coded_rows(data, SCHEMA, "child")


def test_each_key_has_one_row_of_the_first_table_and_rows_have_the_columns_above():
    parents, children = rows_of()

    sizes = [row["size"] for row in parents]
    assert sizes in ([5, 6, 7], [4, 6, 7])
    assert sorted(row["children"] for row in parents) == [1, 1, 2]
    assert sorted(row["age"] for row in children) in ([10, 20, 20, 30], [10, 20, 21, 30])
    (old,) = [row for row in children if row["age"] == 30]
    assert (old["size"], old["children"], old["row.number"]) == (7, 1, 0)
    found = code_linked({"parent": pl.DataFrame(HOMES), "child": pl.DataFrame(PEOPLE)}, SCHEMA)
    assert [(each.source.rows, each.source.units) for each in found.values()] == [(3, 3), (4, 3)]


def test_a_parent_without_children_has_none_and_a_child_without_parent_is_not_used():
    parents, children = rows_of({"home": [1, 5], "size": [1, 2]}, {"home": [7, 7], "age": [1, 2]})

    assert ([row["children"] for row in parents], children) == ([0, 0], [])


def test_rows_without_the_key_of_the_first_table_are_those_of_one_more_key():
    parents, children = rows_of(
        {"home": [None, None, 1], "size": [1, 2, 3]}, {"home": [None] * 5, "age": [1, 2, 3, 4, 5]}
    )

    assert sorted(row["children"] for row in parents) == [0, 2]
    assert len(children) == 2


FORMS = {
    "polars": pl.DataFrame,
    "lazy": lambda cells: pl.DataFrame(cells).lazy(),
    "pandas": pd.DataFrame,
    "pandas text": lambda cells: pd.DataFrame(cells).astype(str),
    "pyarrow": pa.table,
}


@spread(("of_children", FORMS), ("of_parents", FORMS))
def test_the_tables_may_be_of_different_kinds(of_parents, of_children):
    data = {"parent": FORMS[of_parents](HOMES), "child": FORMS[of_children](PEOPLE)}

    assert (coded_rows(data, SCHEMA, "parent"), coded_rows(data, SCHEMA, "child")) == rows_of()


def test_counts_are_those_of_the_joined_rows():
    source = code_linked({"parent": pl.DataFrame(HOMES), "child": pl.DataFrame(PEOPLE)}, SCHEMA)["child"].source
    size, before = (identity(SCHEMA.coded["child"].field(name).domain) for name in ("size", "previous.age"))

    none, table = source.count([(), (("size", size), ("previous.age", before))])

    expected = np.zeros((size.groups, before.groups), dtype=int)
    for row in rows_of()[1]:
        expected[row["size"], row["previous.age"]] += 1
    assert none.tolist() == [4]
    assert np.array_equal(table, expected.reshape(-1))


@pytest.mark.parametrize(
    ("homes", "people", "said"),
    [
        ({"size": [1]}, PEOPLE, 'parent: the table has no column "home"'),
        (HOMES, {"age": [1]}, 'child: the table has no column "home"'),
        (PEOPLE, HOMES, 'parent: the table has no column "size"'),
    ],
    ids=range(3),
)
def test_a_table_without_a_column_is_refused_by_its_name(homes, people, said):
    with pytest.raises(DataError, match=said):
        code_linked({"parent": pl.DataFrame(homes), "child": pl.DataFrame(people)}, SCHEMA)


# ----------------------------------------------------------------------------------------------- a twin in plain Python


PERSON = {"name": "person", "type": "string", "role": "identifier"}
WEALTH = make.field("wealth", ["low", "mid", "high"], categoriesOrdered=True)
FLAG, DAY = make.field("flag", bool, required=True), make.field("day", (1, 20))


def three(most=9, *, is_descending=False, is_ordered=True):
    """Return a schema of homes, people in order of wealth, and visits in order of day."""
    of_people, of_visits = ({"by": "wealth", "descending": is_descending}, "day") if is_ordered else (None, None)
    visits = {"foreignKeys": {"person": "people"}, "maxRows": most, "order": of_visits, "fields": [PERSON, DAY, FLAG]}
    people = {"primaryKey": "person", "foreignKeys": {"home": "homes"}, "maxRows": most, "order": of_people}
    tables = {
        "visits": visits,
        "people": people | {"fields": [KEY, PERSON, WEALTH]},
        "homes": {"primaryKey": "home", "fields": [KEY]},
    }
    return lw.Schema.load({"tables": tables}).linked


def drawn(rng, most):
    """Return a small database of texts: each home's people differ in wealth, each person's visits in their day."""
    people, visits = [], []
    for home in range(5):
        for wealth in rng.permutation(["low", "mid", "high", "odd"])[: rng.integers(0, 5)].tolist():
            person = None if rng.integers(5) == 0 else f"{home}-{wealth}"
            people.append({"home": str(home), "person": person, "wealth": wealth})
            days = rng.permutation([*map(str, range(1, 21)), "odd", None])[: rng.integers(0, most)].tolist()
            visits += [{"person": person, "day": day, "flag": ("true", "false", "x")[rng.integers(3)]} for day in days]
    people.append({"home": "9", "person": "of no home", "wealth": "low"})
    visits += [{"person": "of no home", "day": "3", "flag": "true"}, {"person": "nobody", "day": "3", "flag": "true"}]
    rng.shuffle(people)
    rng.shuffle(visits)
    shapes = {"homes": ["home"], "people": ["home", "person", "wealth"], "visits": ["person", "day", "flag"]}
    rows = {"homes": [{"home": str(home)} for home in rng.permutation(5)], "people": people, "visits": visits}
    return {
        name: pl.DataFrame(rows[name], schema=dict.fromkeys(columns, pl.String)) for name, columns in shapes.items()
    }


def codes(schema, row):
    """Return the codes of a row of cells; "odd" cells are misfits, None is missing."""
    found = {}
    for field in schema.columns:
        cell, domain = row[field.name], field.domain
        values = {**{label: code for code, label in enumerate(field.categories or ())}, "false": 0, "true": 1}
        if cell is None:
            found[field.name] = domain.last
        elif cell == "gone":
            found[field.name] = domain.values
        elif isinstance(cell, int):
            found[field.name] = cell - int(field.minimum)
        else:
            found[field.name] = values.get(cell, domain.misfit)
    return found


def in_order(rows, by, places, names):
    """Return rows in order, each with its number, the row before and the gap from there."""
    # No day and an odd one have no place: they come last, no day first.
    rows = sorted(rows, key=lambda row: places.get(row[by], 99 + (row[by] is not None)))
    found = []
    for number, row in enumerate(rows, 1):
        before = rows[number - 2] if number > 1 else {}
        second = rows[number - 3] if number > 2 else {}
        have = {before.get(by, "none"), row[by]} <= places.keys()
        lag = {f"previous.{name}": before.get(name) for name in names}
        lag |= {f"previous2.{name}": second.get(name) for name in names}
        gap = places[row[by]] - places[before[by]] if have else "gone" if before and before[by] not in places else None
        lag |= {"row.number": number, "row.left": len(rows) - number}
        found.append({**row, **lag, f"gap.{by}": gap})
    return found


def twin(data, schema, *, is_descending):
    """Return what the rows of all tables say, in loops over dictionaries."""
    homes, people, visits = (data[name].rows(named=True) for name in ("homes", "people", "visits"))
    wealth = {word: -place if is_descending else place for place, word in enumerate(("low", "mid", "high"))}
    days = {str(day): day for day in range(1, 21)}
    found = {"homes": [], "people": [], "visits": []}
    for home in homes:
        own = in_order([each for each in people if each["home"] == home["home"]], "wealth", wealth, ())
        found["homes"].append({"people": len(own)})
        for person in own:
            key = "none" if person["person"] is None else person["person"]
            went = in_order([each for each in visits if each["person"] == key], "day", days, ["flag"])
            above = {"visits": len(went), "people": len(own)}
            found["people"].append({**person, **above})
            found["visits"] += [{**visit, **above, "wealth": person["wealth"]} for visit in went]
    for visit in found["visits"]:
        visit["day"] = days.get(visit["day"], visit["day"])
    return {name: [codes(schema.coded[name], row) for row in rows] for name, rows in found.items()}


def as_set(rows):
    return sorted(tuple(sorted(row.items())) for row in rows)


@pytest.mark.parametrize("is_descending", [False, True])
def test_each_row_says_what_a_naive_twin_says_of_the_rows_before_and_above(is_descending):
    schema, rng = three(is_descending=is_descending), np.random.default_rng(4)
    visits = 0
    for _ in range(25):
        data = drawn(rng, 6)
        expected = twin(data, schema, is_descending=is_descending)

        assert not unlike(data, schema, expected)
        visits += len(expected["visits"])

    assert visits > 100


def unlike(data, schema, expected, code=code_linked):
    """Return the tables whose coded rows are not those that are expected."""
    return [name for name in schema.names if as_set(coded_rows(data, schema, name, code)) != as_set(expected[name])]


UNLIKE = {
    "misfits of the row before are told as missing": (
        "np.where(codes == field.domain.last, domain.misfit, codes)",
        "codes",
    ),
    "the row before is the row after": ("np.arange(own.rows) - 1)", "(np.arange(own.rows) + 1) % max(1, own.rows))"),
    "an order that falls rises": ("values - 1 - found) if descending", "found) if descending"),
    "rows are numbered within the table": ("lag.number: own.place,", "lag.number: np.arange(own.rows),"),
    "a gap to a cell without a place is a number": (
        "np.where(has_place, steps - steps[before], gap.domain.last)",
        "steps - steps[before]",
    ),
    "a gap from a cell without a place is as one to it": ("found, gap.domain.values)", "found, gap.domain.last)"),
    "rows without a place come first": (
        "np.where(found >= values, found, values",
        "np.where(found >= values, -1, values",
    ),
}


@pytest.mark.parametrize("bug", UNLIKE)
def test_the_twin_notices_what_no_neighbour_shows(bug):
    schema, rng = three(is_descending=True), np.random.default_rng(4)
    changed = changed_module(UNLIKE[bug])
    databases = [drawn(rng, 6) for _ in range(10)]

    assert any(unlike(data, schema, twin(data, schema, is_descending=True), changed.code_linked) for data in databases)


# --------------------------------------------------------------------------------------------- cut first, then in order


def own_rows(data, schema, name, columns):
    """Return what rows of a table say of themselves and of the table above."""
    return as_set([{each: row[each] for each in columns} for row in coded_rows(data, schema, name)])


def test_which_rows_stay_and_in_which_order_does_not_depend_on_the_order_of_the_input():
    rng = np.random.default_rng(8)
    for seed in range(15):
        data = drawn(rng, 9)
        shuffled = {name: table.sample(fraction=1, shuffle=True, seed=seed) for name, table in data.items()}
        for schema in (three(2), three(2, is_ordered=False)):
            for name in schema.names:
                assert as_set(coded_rows(data, schema, name)) == as_set(coded_rows(shuffled, schema, name))


def test_rows_are_cut_by_their_hash_before_they_are_put_in_order():
    rng = np.random.default_rng(9)
    cut = 0
    for _ in range(15):
        data = drawn(rng, 9)
        day = ("day", "flag", "wealth", "visits")
        kept = own_rows(data, three(2), "visits", day)

        assert kept == own_rows(data, three(2, is_ordered=False), "visits", day)
        assert kept == own_rows(data, three(2, is_descending=True), "visits", day)
        cut += kept != own_rows(data, three(9), "visits", day)
        by_place = {place: [] for place in (0, 1)}
        for row in coded_rows(data, three(2), "visits"):
            by_place[row["row.number"]].append(row["day"])
        assert len(by_place[0]) >= len(by_place[1])

    assert cut > 5


def test_of_rows_that_say_the_same_key_in_one_home_one_is_used_and_in_two_homes_both():
    people = {
        "home": ["1", "1", "1", "2", "2"],
        "person": ["a", "a", None, "a", None],
        "wealth": ["low", "mid", "mid", "mid", "high"],
    }
    visits = {"person": ["a", "a", None], "day": ["1", "5", "2"], "flag": ["true", "false", "true"]}
    data = {"homes": pl.DataFrame({"home": ["1", "2"]}), "people": pl.DataFrame(people), "visits": pl.DataFrame(visits)}

    found = {name: coded_rows(data, three(), name) for name in ("homes", "people", "visits")}

    assert [row["people"] for row in found["homes"]] == [2, 2]
    assert sorted(row["visits"] for row in found["people"]) == [0, 0, 2, 2]
    assert sorted(row["day"] for row in found["visits"]) == [0, 0, 4, 4]


def test_events_are_the_database_of_persons_and_events_that_one_makes_by_hand():
    who, sex = make.fields({"who": "id", "sex": ["f", "m"]})
    keys = {"privacyUnit": {"field": "who", "maxRows": 20}, "order": "day", "constant": ["sex"]}
    events = lw.Schema.load({**keys, "fields": [who, sex, DAY, FLAG]}).linked
    rows = {"foreignKeys": {"who": "who"}, "maxRows": 20, "order": "day", "count": "rows", "fields": [who, DAY, FLAG]}
    tables = {"who": {"primaryKey": "who", "fields": [who, sex]}, "events": rows}
    by_hand = lw.Schema.load({"tables": tables}).linked
    rng = np.random.default_rng(3)
    at = np.sort(rng.permutation(12 * 20)[:60])
    persons, days = np.divmod(at, 20)
    flags = rng.integers(0, 2, 60).astype(bool)
    table = pl.DataFrame({"who": persons, "sex": np.array(["f", "m"])[persons % 2], "day": days + 1, "flag": flags})
    table = table.sample(fraction=1, shuffle=True, seed=1)
    pair = {"who": table.select("who", "sex").unique(), "events": table.drop("sex")}

    assert events.coded == by_hand.coded
    for name in events.names:
        assert coded_rows({"events": table}, events, name) == coded_rows(pair, by_hand, name) != []
