"""Awkward inputs for Lapwing: its schema from what is public, its default, rows as they come."""

from datetime import date
from typing import Any

import polars as pl
from bad_cases import Case

import lapwing as lw


def release(case: Case) -> dict[str, list[Any]]:
    """Return as many synthetic rows as the release says there are."""
    rows = {name: values for name, values in case.rows.items() if name != "day"}
    if "day" in case.rows:
        rows["day"] = [date.fromisoformat(day) for day in case.rows["day"]]
    types = {"income": pl.Float64} | {name: pl.String for name in rows if name not in ("income", "day")}
    frame = pl.DataFrame(rows, schema_overrides=types)
    schema = {"fields": [field_of(name, public) for name, public in case.public.items()]}
    budget = {"epsilon": case.epsilon} | ({} if case.delta is None else {"delta": case.delta})
    found = lw.synthesize(frame, schema, seed=case.seed, **budget)
    return pl.concat(list(found.frames())).to_dict(as_series=False)


def field_of(name: str, public: dict[str, Any]) -> dict[str, Any]:
    """Return the schema's line of a column."""
    kind = {"income": "number", "day": "date"}.get(name, "string")
    ends = {key: public[key] for key in ("minimum", "maximum") if key in public}
    listed = {"categories": public["categories"]} if "categories" in public else {}
    return {"name": name, "type": kind, "constraints": {"required": True} | ends} | listed
