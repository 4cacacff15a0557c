"""Small tables of recorded runs, and their schemas: rows of the bundled sample, and invented ones.

Invented rows use `random.random` alone, whose numbers are the same in every version of Python.
"""

import datetime as dt
import json
import random
from pathlib import Path
from typing import Any

import polars as pl

EXAMPLES = Path(__file__).resolve().parents[2] / "src" / "lapwing" / "examples"
STEP = 97  # rows of the sample that are taken lie so far apart


def people(*columns: str, rows: int = 300, first: int = 0) -> pl.DataFrame:
    """Return rows of the bundled sample, from the given one on."""
    frame = pl.read_parquet(EXAMPLES / "adult.parquet", columns=list(columns))
    return frame.gather_every(STEP, first).head(rows)


def schema_of_people(*columns: str, roles: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """Return the bundled schema of these columns, with more keys of the schema."""
    every = json.loads((EXAMPLES / "adult.schema.json").read_text(encoding="utf-8"))["fields"]
    named = {field["name"]: field for field in every}
    given = roles or {}
    return {"fields": [named[each] | ({"role": given[each]} if each in given else {}) for each in columns], **more}


def numbers(columns: int, rows: int = 300) -> pl.DataFrame:
    """Return numbers from 0 to 1 in two clusters."""
    drawn = random.Random(columns)
    centres = [0.25 if drawn.random() < 0.6 else 0.8 for _ in range(rows)]
    return pl.DataFrame(
        {f"x{i}": [min(max(centre + (drawn.random() - 0.5) / 4, 0), 1) for centre in centres] for i in range(columns)}
    )


def schema_of_numbers(columns: int, **more: Any) -> dict[str, Any]:
    """Return the schema of `numbers`."""
    constraints = {"minimum": 0, "maximum": 1, "required": True}
    fields = [{"name": f"x{i}", "type": "number", "constraints": constraints, **more} for i in range(columns)]
    return {"fields": fields}


def flags(columns: int, rows: int = 400) -> pl.DataFrame:
    """Return Boolean columns, each mostly like the one before."""
    drawn = random.Random(columns)
    found = [[drawn.random() < 0.4 for _ in range(rows)]]
    for _ in range(columns - 1):
        found.append([each if drawn.random() < 0.8 else not each for each in found[-1]])
    return pl.DataFrame({f"b{i}": column for i, column in enumerate(found)})


def schema_of_flags(columns: int) -> dict[str, Any]:
    """Return the schema of `flags`."""
    return {"fields": [{"name": f"b{i}", "type": "boolean", "constraints": {"required": True}} for i in range(columns)]}


WARDS = ["emergency", "surgery", "home"]
WHO = {"name": "patient", "type": "integer", "role": "identifier"}
STAYS = [
    {"name": "day", "type": "date", "constraints": {"minimum": "2024-01-01", "maximum": "2024-12-31"}},
    {"name": "ward", "type": "string", "categories": WARDS, "provenance": "public"},
    {"name": "visits", "type": "integer", "special": [-1, 99], "constraints": {"minimum": 0, "maximum": 40}},
    {"name": "cost", "type": "number", "scale": "log", "constraints": {"minimum": 0, "maximum": 100000}},
    {"name": "seen", "type": "datetime", "resolution": "hour"}
    | {"constraints": {"minimum": "2024-01-01T00:00:00", "maximum": "2024-01-31T23:00:00", "required": True}},
]


def stays(*columns: str, rows: int = 300, patients: int = 90) -> pl.DataFrame:
    """Return stays of patients: dates and moments, missing cells, special values, numbers of many sizes."""
    drawn = random.Random(5)
    first, hour = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1)
    made = [
        {
            "patient": int(patients * drawn.random()),
            "day": None if drawn.random() < 0.1 else first + dt.timedelta(days=int(366 * drawn.random() ** 2)),
            "ward": None if drawn.random() < 0.1 else WARDS[int(3 * drawn.random() ** 2)],
            "visits": -1 if drawn.random() < 0.15 else int(8 * drawn.random() ** 2),
            "cost": None if drawn.random() < 0.05 else round(10 ** (5 * drawn.random()), 2),
            "seen": hour + dt.timedelta(hours=int(700 * drawn.random())),
        }
        for _ in range(rows)
    ]
    return pl.DataFrame(made).select(*columns)


def schema_of_stays(*columns: str, most: int = 0, **more: Any) -> dict[str, Any]:
    """Return the schema of `stays`; with the patient as the unit where rows of one are limited."""
    unit = {"privacyUnit": {"field": "patient", "maxRows": most}} if most else {}
    return {"fields": [field for field in (WHO, *STAYS) if field["name"] in columns], **unit, **more}


def codes(rows: int = 300) -> str:
    """Return a file as written in Germany: codes of diagnoses, of which some are listed, and numbers with commas."""
    drawn = random.Random(7)
    every = ["250", "250.13", "401", "401.9", "V70", "NA"]
    lines = []
    for _ in range(rows):
        code, price, day = every[int(6 * drawn.random() ** 2)], int(900 * drawn.random()), int(28 * drawn.random())
        lines.append(f"{code};1.{100 + price},5;{1 + day}.2.2011")
    return "\n".join(["Diagnose;Preis;Tag", *lines, ""])


SCHEMA_OF_CODES = {
    "dialect": {"delimiter": ";"},
    "missingValues": ["", "NA"],
    "fields": [
        {"name": "Diagnose", "type": "string", "hierarchy": {"prefixes": [3], "fold": True}}
        | {"categories": ["250", "401", "other"], "unlisted": "other"},
        {"name": "Preis", "type": "number", "decimalChar": ",", "groupChar": ".", "resolution": 0.5}
        | {"constraints": {"minimum": 0, "maximum": 9999}},
        {"name": "Tag", "type": "date", "format": "%d.%m.%Y"}
        | {"constraints": {"minimum": "2011-01-01", "maximum": "2011-12-31"}},
    ],
}


def charges(rows: int = 400) -> pl.DataFrame:
    """Return numbers with commas, which fit nothing until the schema says so."""
    numbers_with_commas = [f"{1000 + 7 * row:,}" for row in range(rows)]
    return pl.DataFrame({"charges": numbers_with_commas, "sex": ["f", "m"] * (rows // 2)})


def schema_of_charges(**more: Any) -> dict[str, Any]:
    """Return the schema of `charges`, with more keys of the numbers."""
    bounds = {"minimum": 0, "maximum": 20000}
    listed = {"enum": ["f", "m"], "required": True}
    return {
        "fields": [
            {"name": "charges", "type": "integer", "constraints": bounds, **more},
            {"name": "sex", "type": "string", "constraints": listed},
        ]
    }


def draft(*names: str, **known: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of the bundled sample whose bounds and lists are to be bought, but for what is known."""
    types = {"age": "integer", "hours_per_week": "integer", "education": "string", "sex": "string"}
    fields = [{"name": name, "type": types[name], "provenance": "dp"} | known.get(name, {}) for name in names]
    return {"draft": True, "fields": fields}


def homes(count: int = 150) -> dict[str, pl.DataFrame]:
    """Return homes, the people who live there, and their visits."""
    drawn = random.Random(11)
    every, members, visits = [], [], []
    for home in range(count):
        every.append({"home": f"h{home}", "kind": "house" if drawn.random() < 0.4 else "flat"})
        for place in range(int(4 * drawn.random())):
            person = f"p{home}-{place}"
            members.append({"home": f"h{home}", "person": person, "age": int(90 * drawn.random())})
            visits += [
                {"person": person, "clinic": "ab"[int(2 * drawn.random())]} for _ in range(int(3 * drawn.random()))
            ]
    return {"homes": pl.DataFrame(every), "people": pl.DataFrame(members), "visits": pl.DataFrame(visits)}


HOME = {"name": "home", "type": "string", "role": "identifier"}
PERSON = {"name": "person", "type": "string", "role": "identifier"}
AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}}
HOMES: dict[str, dict[str, Any]] = {
    "homes": {
        "primaryKey": "home",
        "fields": [HOME, {"name": "kind", "type": "string", "categories": ["flat", "house"]}],
    },
    "people": {
        "primaryKey": "person",
        "foreignKeys": {"home": "homes"},
        "maxRows": 3,
        "order": {"by": "age", "descending": True},
        "fields": [HOME, PERSON, AGE],
    },
    "visits": {
        "foreignKeys": {"person": "people"},
        "maxRows": 2,
        "fields": [PERSON, {"name": "clinic", "type": "string", "categories": ["a", "b"]}],
    },
}


def homes_of(*names: str) -> dict[str, pl.DataFrame]:
    """Return the linked tables of these names."""
    every = homes()
    return {name: every[name] for name in names}


def schema_of_homes(*names: str) -> dict[str, Any]:
    """Return the schema of the linked tables of these names."""
    return {"tables": {name: HOMES[name] for name in names}}
