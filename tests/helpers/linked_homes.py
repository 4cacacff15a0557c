"""Homes and who lives in them: two small linked tables, and releases of them."""

import numpy as np
import polars as pl

import lapwing as lw

KEY = {"name": "home", "type": "integer", "role": "identifier"}
ROOMS = {"name": "rooms", "type": "integer", "constraints": {"minimum": 1, "maximum": 9, "required": True}}
KIND = {"name": "kind", "type": "string", "categories": ["flat", "house"], "constraints": {"required": True}}
AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}}
SCHEMA = {
    "key": "home",
    "maxChildren": 4,
    "count": "persons",
    "parent": {"fields": [KEY, ROOMS, KIND]},
    "child": {"fields": [KEY, {"name": "person", "type": "string", "role": "identifier"}, AGE]},
}
BUDGET = {"epsilon": 50, "delta": "1e-6"}


def tables(homes=600):
    """Return homes, and persons who are old in flats and young in houses; one per room up to 4."""
    rng = np.random.default_rng(1)
    rooms, kind = rng.integers(1, 5, homes), rng.integers(2, size=homes)
    owner = np.repeat(np.arange(homes), rooms)
    age = np.where(kind[owner] == 0, rng.integers(60, 99, owner.size), rng.integers(0, 30, owner.size))
    parents = pl.DataFrame({"home": np.arange(homes), "rooms": rooms, "kind": np.array(["flat", "house"])[kind]})
    return parents, pl.DataFrame({"home": owner, "person": [f"p{at}" for at in range(owner.size)], "age": age})


def released(schema=SCHEMA, data=None, **settings):
    return lw.synthesize_linked(*(data or tables()), schema, **(BUDGET | {"seed": 1} | settings))
