"""Homes, who lives in them, and whom these visit: two or three small linked tables, and releases of them."""

import numpy as np
import polars as pl

import lapwing as lw
from helpers import make

KEY, PERSON = make.fields({"home": "id", "person": "id"})
COLUMNS = {"rooms": (1, 9), "kind": ["flat", "house"], "age": (0, 99), "day": (0, 29), "state": ["well", "ill", "dead"]}
ROOMS, KIND, AGE, DAY, STATE, CLINIC = make.fields(COLUMNS | {"clinic": "string"}, required=True)
SCHEMA = {
    "key": "home",
    "maxChildren": 4,
    "count": "persons",
    "parent": {"fields": [KEY, ROOMS, KIND]},
    "child": {"fields": [KEY, {"name": "person", "type": "string", "role": "identifier"}, AGE]},
}
THREE = {
    "tables": {
        "homes": {"primaryKey": "home", "fields": [KEY, ROOMS, KIND]},
        "people": {
            "primaryKey": "person",
            "foreignKeys": {"home": "homes"},
            "maxRows": 4,
            "order": {"by": "age", "descending": True},
            "fields": [KEY, PERSON, AGE],
        },
        "visits": {
            "foreignKeys": {"person": "people", "clinic": "clinics"},
            "maxRows": 3,
            "order": "day",
            "fields": [PERSON, DAY, STATE, CLINIC],
        },
        "clinics": {
            "primaryKey": "clinic",
            "public": [{"clinic": "north", "beds": 7}, {"clinic": "south", "beds": 9}],
            "fields": make.fields({"clinic": ["north", "south"], "beds": (0, 99)}),
        },
    },
    "rules": [{"when": {"previous.state": "dead"}, "then": {"state": "dead"}}],
}
BUDGET = {"epsilon": 50, "delta": "1e-6"}
QUICK = lw.Adaptive(particles=2000)
"""The default with a tenth of its particles, in a third of its time."""


def tables(homes=600):
    """Return homes, and persons who are old in flats and young in houses; one per room up to 4."""
    rng = np.random.default_rng(1)
    rooms, kind = rng.integers(1, 5, homes), rng.integers(2, size=homes)
    owner = np.repeat(np.arange(homes), rooms)
    age = np.where(kind[owner] == 0, rng.integers(60, 99, owner.size), rng.integers(0, 30, owner.size))
    parents = pl.DataFrame({"home": np.arange(homes), "rooms": rooms, "kind": np.array(["flat", "house"])[kind]})
    return parents, pl.DataFrame({"home": owner, "person": [f"p{at}" for at in range(owner.size)], "age": age})


def released(schema=SCHEMA, data=None, **settings):
    return lw.synthesize(data or tables(), schema, **(BUDGET | {"mechanism": QUICK, "seed": 1} | settings))


def three_tables(homes=300):
    """Return those of `tables`, and visits: as many as there are rooms, at most 3; none is better at a later one."""
    rng = np.random.default_rng(2)
    parents, persons = tables(homes)
    persons = persons.with_columns(person=pl.int_range(pl.len()))
    visits = []
    for person, rooms in persons.join(parents, on="home", maintain_order="left").select("person", "rooms").rows():
        days = np.sort(rng.integers(0, 30, min(rooms, 3)))
        states = np.maximum.accumulate(rng.choice(3, days.size, p=(0.6, 0.2, 0.2)))
        visits += [
            {"person": person, "day": int(day), "state": ("well", "ill", "dead")[state], "clinic": clinic}
            for day, state, clinic in zip(days, states, rng.choice(["north", "south"], days.size), strict=True)
        ]
    return {"homes": parents, "people": persons, "visits": pl.DataFrame(visits)}


def released_three(data=None, **settings):
    return lw.synthesize(data or three_tables(), THREE, **(BUDGET | {"mechanism": QUICK, "seed": 1} | settings))
