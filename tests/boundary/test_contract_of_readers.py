"""One contract for all that reads a stranger's file by its keys: read whole, or refused in one sentence of ours."""

import copy
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from helpers.good_files import READERS, content_of
from helpers.hostile import JUNK, places_of, value_at, watched
from helpers.linked_homes import AGE as YEARS
from helpers.linked_homes import CLINIC, DAY, KEY, PERSON, ROOMS
from lapwing.errors import LapwingError
from lapwing.schema.typed import MAX_BYTES

NEW = "surprise"
MANY = 25
"""Of a larger file only some places are tried, spread evenly."""
SECRET = "41.12578"
TABLES = {
    "CSV": f"person,age\n1,{SECRET}\n",
    "JSON lines": f'{{"person": 1, "age": {SECRET}}}\n{{"person": 2, "age": {SECRET}}}\n',
    "one JSON line": f'{{"person": 1, "age": {SECRET}}}',
    "JSON": f'[{{"person": 1, "age": {SECRET}}}]',
    "columns": f'{{"person": [1, 2], "age": [{SECRET}, {SECRET}]}}',
}
BROKEN = {
    "empty": b"",
    "no text": b"\xff\xfe{\x00",
    "cut off": b'{"fields": [',
    "a key twice": b'{"fields": [], "fields": []}',
    "NaN": b'{"fields": NaN}',
    "beyond floats": b'{"fields": 1e999}',
    "digits": b'{"fields": ' + b"9" * 5000 + b"}",
    "deep": b'{"fields": ' + b"[" * 10**5,
    "a long key": b'{"' + b"k" * 10**6 + b'": "x"}',
    "null": b"null",
    "a number": b"3",
    "a list": b"[1]",
}


def said_of(path: Path, read: Callable[[Path], object]) -> str | None:
    """Read a file: None where it is read, or the sentence that refuses it; anything else than our error fails."""
    started = time.process_time()
    try:
        with watched(path.parent):
            read(path)
    except LapwingError as error:
        said = str(error)
    else:
        return None
    finally:
        assert time.process_time() - started < 5
    assert "\n" not in said
    assert len(said) < 700
    assert "please report it" not in said
    said.encode()
    return said


def spread_out(places: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return places[:: max(1, len(places) // MANY)]


def changed_at(tree: Any, place: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    """Return a tree of which one place is changed."""
    tree = copy.deepcopy(tree)
    change(value_at(tree, place[:-1]), place[-1])
    return tree


def every(name: str, change: Callable[[Any, Any], None], is_of: type = object) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the good file of a format with a change at one place after the other."""
    tree = READERS[name].tree
    for place in spread_out([each for each in places_of(tree) if each and isinstance(value_at(tree, each), is_of)]):
        yield place, changed_at(tree, place, change)


def written(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", READERS)
def test_a_good_file_is_read(name, tmp_path):
    assert said_of(written(tmp_path, content_of(name, READERS[name].tree)), READERS[name].read) is None


def _removed(inside: Any, key: Any) -> None:
    del inside[key]


@pytest.mark.parametrize("name", READERS)
def test_a_key_that_is_missing_is_no_other_error(name, tmp_path):
    found = [
        said_of(written(tmp_path, content_of(name, tree)), READERS[name].read) for _, tree in every(name, _removed)
    ]

    assert any(found) or name == "mbi"


def _added(inside: Any, key: Any) -> None:
    inside[key][NEW] = "x"


@pytest.mark.parametrize("name", [name for name, each in READERS.items() if each.is_strict])
def test_a_key_that_is_not_known_is_refused_by_name_wherever_it_stands(name, tmp_path):
    top = READERS[name].tree
    # A row of a public table may have more than the columns that are asked for.
    trees = [tree for place, tree in every(name, _added, dict) if "public" not in place] + (
        [{**top, NEW: "x"}] if isinstance(top, dict) else []
    )
    for tree in trees:
        said = said_of(written(tmp_path, content_of(name, tree)), READERS[name].read)

        assert said is not None
        assert NEW in said or name == "job of the studio"


def _replaced(junk: object, inside: Any, key: Any) -> None:
    inside[key] = copy.deepcopy(junk)


ODD = [each for each in JUNK if not (isinstance(each, str) and len(each) > 100)] + ["\ud800"]


@pytest.mark.parametrize("name", READERS)
def test_a_value_of_another_type_is_refused_or_means_something(name, tmp_path):
    numbers = iter(range(10**6))
    refused = 0
    for place in spread_out([each for each in places_of(READERS[name].tree) if each]):
        for junk in ODD[next(numbers) % 6 :: 6]:
            if name == "policy" and (junk is None or junk == "\ud800"):
                continue  # which no TOML holds
            tree = changed_at(READERS[name].tree, place, partial(_replaced, junk))
            said = said_of(written(tmp_path, content_of(name, tree)), READERS[name].read)
            refused += said is not None

    assert refused > 10


AGE, JOBS, BORN = "fields.1", "fields.6", "fields.7"
REFUSED: dict[str, dict[str, tuple[object, ...]]] = {
    "schema": {
        "": ([], {}, "age"),
        "name": (5, []),
        "draft": ("yes", 0),
        "missingValues": ("NA", [-9]),
        "questions": ("why", [3]),
        "weight": (3, "nobody"),
        "fields": ({}, "age", ["age"], [{1: 2}]),
        "privacyUnit": ("person", {"field": "person"}, {"maxRows": 1}),
        "privacyUnit.field": (1, "nobody"),
        "privacyUnit.maxRows": (0, True, 1.5, "3", 2**31),
        "dialect": (
            ";",
            {"header": 1},
            {"skipRows": -1},
            {"delimiter": ";;"},
            {"quoteChar": ""},
            {"quoteChar": "\n"},
            {"delimiter": '"'},
            {"encoding": "x"},
            {"encoding": "base64"},
        ),
        "purchases": ("bought", 3, [3], [None]),
        "purchases.0.fields": ([], [3], "age", ["\ud800"], ["a", "a"]),
        "purchases.0.notion": ("renyi", []),
        "purchases.0.relation": ("swap",),
        "purchases.0.amount": (0.5, "-1", "0", "1e999999999", "1/0", "1000000001", "9" * 500, "1/" + "9" * 501),
        "purchases.0.privacyUnit": ("\ud800", ""),
        "purchases.0.release": ("\ud800", "r" * 201, None),
        "purchases.0.lapwing": ("a\0b", "0.1\nCost: 0", 1),
        f"{AGE}.name": ("", 5, None, "a\ud800", "a\0"),
        f"{AGE}.type": ("n" * 10**6, "float", 3),
        f"{AGE}.role": ("id", 3),
        f"{AGE}.provenance": ("guess", 3),
        f"{AGE}.scale": ("logarithmic",),
        f"{AGE}.description": (5, {"en": "years"}, "\ud800"),
        f"{AGE}.bareNumber": ("no",),
        f"{AGE}.decimalChar": (",,", "3", 5),
        f"{AGE}.constraints": ([], "0..9"),
        f"{AGE}.constraints.required": ("yes", 1),
        f"{AGE}.constraints.minimum": ("0", True, [], 0.5),
        f"{AGE}.special": (-1, ["-1"], "NA"),
        f"{JOBS}.categories": ("a1", {"a1": 1}, [["a1"]], [None]),
        f"{JOBS}.categoriesOrdered": (1, "yes"),
        f"{JOBS}.hierarchy": ([1], {}, {"prefix": [1]}, {"prefixes": 1}, {"prefixes": [1], "parents": {"a1": "a"}}),
        f"{JOBS}.hierarchy.fold": (1,),
        f"{JOBS}.unlisted": (3,),
        f"{BORN}.format": ("%d", 3),
        "fields.9.trueValues": ([""], [1], "yes"),
        "rules": (
            {},
            "age > 3",
            ["age > 3"],
            [{"description": "x"}],
            [{"order": ["age", "left"], "never": {"age": 1}}],
        ),
        "rules.0.order": (["age"], ["age", "age"], "age", ["age", 1], ["age", ""]),
        "rules.0.strict": ("yes",),
        "rules.0.provenance": ("dp",),
        "rules.0.description": (1,),
        "rules.1.sum": ({"age": 1.5}, {"age": 0}, {"age": "1"}, {}, [], 3),
        "rules.1.equals": (None, 3, ""),
        "rules.2.determines": ([], 3, ["sex", "sex"]),
        "rules.2.values": ([], [["f"]], [["f", [True]]], "f"),
        "rules.3.when": ({}, 3, {"age": {}}, {"age": {"max": 3}}, {"age": {"maximum": [3]}}),
        "rules.4.never": (["sex"], {"sex": []}, {"sex": [["f"]]}),
        "rules.5.rows": ([], ["f"], [["f"]]),
        "publicTables": ({}, "census", ["census"]),
        "publicTables.0.columns": ([], "sex", ["sex", "sex"], [3]),
        "publicTables.0.source": (None, " ", 3, "a\nb"),
        "publicTables.0.provenance": (None, "assumed", []),
        "publicTables.0.hold": ("loosely", 3),
        "publicTables.1.complete": ("yes",),
        "publicTables.1.sd": (None, 0, "9"),
        "publicTables.0.cells": ([], 3, ["f"], [["f", 0.5]], [["f", -1]], [["f"]]),
    },
    "linked schema": {
        "key": (3, None, "town", "rooms"),
        "maxChildren": (0, True, 10_001, None, "4"),
        "count": ("", 3, "rooms"),
        "parent": (None, 3, {}),
        "parent.privacyUnit": ({"field": "home", "maxRows": 1},),
        "parent.fields": (
            [{**KEY, "type": "text"}, ROOMS],
            [{**KEY, "type": "string"}, ROOMS],
            [{**KEY, "missingValues": ["", "0"]}, ROOMS],
        ),
        "child": (None, []),
        "child.fields": ([KEY], [PERSON, DAY], [KEY, YEARS, ROOMS, {**ROOMS, "name": "parent.rooms"}]),
        "rules": ([{"never": {"nobody": 1}}],),
    },
    "linked tables": {
        "tables": ([], 3),
        "tables.homes.primaryKey": (None,),
        "tables.homes.foreignKeys": ({"home": "people"},),
        "tables.people.maxRows": (0, "2", None),
        "tables.people.count": ("", 3, "rooms"),
        "tables.people.order": (3, {"by": 3}, {"by": "age", "descending": "yes"}, {"by": "age", "gaps": True}),
        "tables.people.primaryKey": (None,),
        "tables.people.foreignKeys": ({"home": 3}, [1], "homes", None, {"home": "houses"}, {"person": "visits"}),
        "tables.visits.order": ("state", "person", "time"),
        "tables.visits.foreignKeys": ({"person": "people", "state": "homes"}, {"day": "people"}),
        "tables.visits.fields": (
            3,
            [{"type": "integer"}],
            [{**PERSON, "type": "string"}, DAY, CLINIC],
            *([PERSON, DAY, CLINIC, {**DAY, "name": name}] for name in ("previous.day", "row.number", "home")),
        ),
        "tables.clinics.public": (3, [["north"]], "clinics.csv", [], [{"clinic": "north", "beds": 1}] * 2),
        "tables.clinics.primaryKey": ("name",),
    },
    "events": {
        "privacyUnit": (None, {"field": "home"}, {"field": "who", "maxRows": 2}),
        "order": ("size",),
        "constant": ("rooms", ["sex"]),
        "fields": (3, ["home"]),
        "rules": ([{"never": {"previous.rooms": 1}}], [{"never": {"events.age": 1}}]),
    },
    "policy": {
        "ask": (3, " ", "a\nb"),
        "mechanisms": ("PMM", [3]),
        "leastGroup": (True, 0, "3"),
        "needsLedger": ("no",),
        "needsNames": (["prepared_by"], "preparedBy"),
        "release": (1, {"delta": 0}, {"epsilon": 1, "rho": 1}),
        "release.epsilon": (float("nan"), float("inf"), "x", True, -1),
        "release.delta": (1, 1e-30),
        "datasets": (["b"], {"b": 3}, {"b": {"ask": "c"}}, {"b": {"leastGroup": 3}}),
    },
    "first SDV": {"tables": (3, [{"fields": {"x": {"type": "id"}}}], {"a": {"fields": {"x": {"type": 1}}}})},
    "SDV": {
        "tables": ([], 3),
        "tables.patients.columns": ([], 3),
        "METADATA_SPEC_VERSION": ("V9", 1),
        "tables.patients.columns.patient_id.sdtype": (3, {}, None),
        "tables.patients.columns.city": (
            {"sdtype": "numerical", "range_min": "0"},
            {"sdtype": "numerical", "decimal_places": -1},
            {"sdtype": "numerical", "decimal_places": 0, "range_min": 2, "range_max": 1},
            {"sdtype": "numerical", "decimal_places": 2, "range_min": -(10**308), "range_max": 10**308},
            {"sdtype": "datetime", "range_min": "soon"},
            {"sdtype": "datetime", "datetime_format": "%Y%Y", "range_min": "20"},
            {"sdtype": "datetime", "datetime_format": "%Y" * 101},
            {"sdtype": "categorical", "range_values": []},
            {"sdtype": "categorical", "range_values": ["a", 1]},
            {"sdtype": "categorical", "range_values": [None]},
        ),
        "tables.patients.primary_key": (3, "b"),
        "tables.patients.sequence_key": ({}, [3]),
        "relationships": ({}, 3),
    },
    "SmartNoise": {
        "census.public.adult.age": (3, []),
        "census.public.adult.age.type": ("text", 3),
        "census.public.adult.age.nullable": ("no", 1),
        "census.public.adult.age.lower": ("low", "1e999", 0.5, []),
        "census.public.adult.row_privacy": ("yes",),
    },
}
PLACES = [(name, place) for name, places in REFUSED.items() for place in places]


@pytest.mark.parametrize(("name", "place"), PLACES, ids=[f"{name}: {place}" for name, place in PLACES])
def test_what_a_key_does_not_take_is_refused(name, place, tmp_path):
    keys = tuple(int(key) if key.isdigit() else key for key in place.split(".")) if place else ()
    for value in REFUSED[name][place]:
        tree = changed_at(READERS[name].tree, keys, partial(_replaced, value)) if keys else value

        assert said_of(written(tmp_path, content_of(name, tree)), READERS[name].read), value


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("name", READERS)
def test_what_is_no_such_file_is_refused(name, content, tmp_path):
    assert said_of(written(tmp_path, content), READERS[name].read)


@pytest.mark.parametrize("name", [name for name in READERS if name != "job of the studio"])
def test_a_huge_file_is_refused_before_it_is_parsed(name, tmp_path):
    path = tmp_path / "file.json"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)  # a hole: takes no room on disk

    assert said_of(path, READERS[name].read)


@pytest.mark.parametrize("name", [name for name in READERS if name != "job of the studio"])
@pytest.mark.parametrize("kind", ["absent", "folder", "zero byte"])
def test_a_path_that_is_no_file_is_refused(name, kind, tmp_path):
    path = {"absent": tmp_path / "absent.json", "folder": tmp_path, "zero byte": tmp_path / "a\0b.json"}[kind]

    assert said_of(path, READERS[name].read)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("kind", [*TABLES, "Parquet"])
def test_of_a_private_table_in_the_place_of_a_file_no_cell_is_quoted(name, kind, tmp_path):
    path = tmp_path / "file.json"
    if kind == "Parquet":
        pl.DataFrame({"person": [1], "age": [SECRET]}).write_parquet(path)
    else:
        path.write_text(TABLES[kind], encoding="utf-8")

    said = said_of(path, READERS[name].read)

    assert said
    assert SECRET not in said
