"""Tables that hardly hold anything, for any schema: no row, one value, all missing, all misfits, copies, extremes."""

import polars as pl

from helpers.odd_schemas import pick

MISFITS = ("nan", "inf", "-inf", "1e400", "-99999999999999999999", "zzz", "9999-99-99", "\x00", "NULL ", "Ä" * 300)
KINDS = ("none", "one row", "one value", "missing", "misfits", "copies", "mixed", "mixed", "tidy", "tidy")


def _values(field):
    """Return what fits a field, as text; its ends and its special values are among it."""
    if field.type == "boolean":
        return ["true", "false"]
    listed = field.categories
    ends = [field.minimum, field.maximum] if listed is None else list(listed)
    return [str(value) for value in (*ends, *(field.special or ()))]


def odd_table(rng, schema):
    """Return a frame of texts with the columns of a schema; identifiers belong to few units, and may be missing."""
    kind = pick(rng, KINDS)
    rows = {"none": 0, "one row": 1}.get(kind, int(rng.choice([2, 60, 300])))
    found = {}
    for field in schema.fields:
        fitting = ["p1", "p2", "p3", None] if field.identifier else _values(field)
        cells = {
            "one value": fitting[:1],
            "missing": [None],
            "misfits": MISFITS[:2] if rng.integers(2) else MISFITS,
            "copies": [*fitting[:1] * 40, fitting[-1]],
            "tidy": fitting,
        }.get(kind, [*fitting, None, *MISFITS])
        found[field.name] = pl.Series(field.name, [pick(rng, cells) for _ in range(rows)], dtype=pl.String)
    return pl.DataFrame(found)
