"""Panels for `panels.py`: invented ones whose laws are known, and real ones of ../shared/data.

Each is two tables, units and their events, of which the first may hold nothing but the key. Figures of its own say what
the law of the panel is about: they are 0 or 1 in every real row, or known from how the rows were drawn.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
PERSONS = 20_000
_START = date(2015, 1, 1)
Figures = Callable[[pl.DataFrame], Mapping[str, float]]
"""From the rows with their unit's columns, those of a `unit` together and in their order."""


@dataclass(frozen=True, kw_only=True)
class PanelTable:
    """Hold units and their events, and the public things about both.

    key: the column of both tables that names a unit; units, events: fields as in a schema, without the key; by: the
    column of order, decreasing where it is descending; most: rows of a unit that are used at most.
    """

    key: str
    parents: pl.DataFrame
    rows: pl.DataFrame
    units: list[dict[str, Any]]
    events: list[dict[str, Any]]
    by: str
    descending: bool = False
    most: int = 8
    names: tuple[str, str] = ("persons", "events")
    figures: Figures = field(default=lambda _: {})


def category(name: str, values: list[Any]) -> dict[str, Any]:
    """Return a field of categories that is never missing."""
    kind = "string" if isinstance(values[0], str) else "integer"
    return {"name": name, "type": kind, "categories": values, "constraints": {"required": True}}


def whole(name: str, low: int, high: int) -> dict[str, Any]:
    """Return a field of whole numbers that is never missing."""
    return {"name": name, "type": "integer", "constraints": {"minimum": low, "maximum": high, "required": True}}


def days(name: str) -> dict[str, Any]:
    """Return a field of days from 2015 to 2024."""
    return {
        "name": name,
        "type": "date",
        "constraints": {"minimum": str(_START), "maximum": "2024-12-31", "required": True},
    }


def _frame(counts: np.ndarray, columns: Mapping[str, np.ndarray]) -> pl.DataFrame:
    """Return the rows of each person up to their number; arrays of shape (persons, 8), days counted from 2015."""
    inside = np.arange(8) < counts[:, None]
    found = {"person": np.repeat(np.arange(len(counts)), counts)}
    found |= {name: values[inside] for name, values in columns.items()}
    since = found["day"].astype("datetime64[D]") + (np.datetime64(_START) - np.datetime64("1970-01-01"))
    return pl.DataFrame(found | {"day": since})


def _mean(values: pl.Series) -> float:
    """Return a mean; of nothing it is no number."""
    there = values.drop_nulls()
    return float(there.mean()) if len(there) else float("nan")


def _next(rng: np.random.Generator, laws: np.ndarray) -> np.ndarray:
    """Draw a state from each row's law."""
    return np.minimum((rng.random(len(laws))[:, None] > laws.cumsum(axis=1)).sum(axis=1), laws.shape[1] - 1)


def _lagged(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return a column beside its values one and two rows before."""
    lags = [pl.col(name).shift(lag).over("unit").alias(f"before{lag}") for lag in (1, 2)]
    return rows.select(pl.col(name), *lags)


MOVES = np.array(
    [[0.80, 0.15, 0.03, 0.02, 0.0], [0.20, 0.60, 0.15, 0.05, 0.0], [0.05, 0.15, 0.60, 0.10, 0.10],
     [0.30, 0.10, 0.10, 0.40, 0.10], [0.05, 0.0, 0.05, 0.0, 0.90]]
)  # fmt: skip


def markov_1() -> PanelTable:
    """Return a chain of order 1 whose state sets the gap and the cost, which also follows the cost before."""
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 9, PERSONS)
    state, cost = [_next(rng, np.tile([0.5, 0.3, 0.1, 0.1, 0.0], (PERSONS, 1)))], [rng.integers(0, 100, PERSONS)]
    day = [rng.integers(0, 730, PERSONS)]
    for _ in range(7):
        state.append(_next(rng, MOVES[state[-1]]))
        cost.append(np.clip(np.rint(0.7 * cost[-1] + 8 * state[-1] + rng.normal(0, 6, PERSONS)), 0, 99).astype(int))
        day.append(day[-1] + rng.geometric(1 / np.array([90, 60, 30, 14, 180])[state[-2]]))
    columns = {
        "state": np.array(list("abcde"))[np.stack(state, axis=1)],
        "cost": np.stack(cost, axis=1),
        "day": np.stack(day, axis=1),
    }
    fields = [category("state", list("abcde")), whole("cost", 0, 99), days("day")]

    def known(rows: pl.DataFrame) -> dict[str, float]:
        pairs = _lagged(rows, "state").drop_nulls(["state", "before1"])
        codes = [
            pairs[name].replace_strict(dict(zip("abcde", range(5), strict=True))).to_numpy()
            for name in pairs.columns[:2]
        ]
        counted = np.zeros((5, 5))
        np.add.at(counted, (codes[1], codes[0]), 1)
        totals = counted.sum(axis=1)
        return {
            "known next state, TV": float(
                totals @ np.abs(counted / np.maximum(totals, 1)[:, None] - MOVES).sum(axis=1) / 2 / totals.sum()
            )
        }

    return _invented(counts, columns, fields, known)


def markov_2() -> PanelTable:
    """Return a chain of order 2: three in four are the sum of the two states before, of which no pair knows."""
    rng = np.random.default_rng(2)
    counts = rng.integers(3, 9, PERSONS)
    state, day = [rng.integers(4, size=PERSONS) for _ in range(2)], [rng.integers(0, 730, PERSONS)]
    for _ in range(6):
        follows = rng.random(PERSONS) < 0.75
        state.append(np.where(follows, (state[-1] + state[-2]) % 4, rng.integers(4, size=PERSONS)))
    for _ in range(7):
        day.append(day[-1] + rng.geometric(1 / 60, PERSONS))
    fields = [category("state", [0, 1, 2, 3]), days("day")]

    def known(rows: pl.DataFrame) -> dict[str, float]:
        found = _lagged(rows, "state").drop_nulls()
        return {"sum of the two before": _mean(found["state"] == (found["before1"] + found["before2"]) % 4)}

    columns = {"state": np.stack(state, axis=1), "day": np.stack(day, axis=1)}
    return _invented(counts, columns, fields, known)


def season() -> PanelTable:
    """Return monthly sales that follow the time of the year, the shop's kind and the month before."""
    rng = np.random.default_rng(3)
    counts = rng.integers(4, 9, PERSONS)
    kind, level = rng.integers(3, size=PERSONS), rng.normal(0, 6, PERSONS)
    first, sales, promoted, day = rng.integers(0, 100, PERSONS), [], [], []
    for step in range(8):
        month = first + step
        level = 0.8 * level + rng.normal(0, 4, PERSONS)
        promoted.append((rng.random(PERSONS) < np.where(np.isin(month % 12, [5, 11]), 0.7, 0.1)).astype(int))
        mean = 50 + 25 * np.cos(2 * np.pi * (month % 12 - 11) / 12) * np.array([1, 0.5, 0])[kind]
        sales.append(np.clip(np.rint(mean + 10 * promoted[-1] + level), 0, 120).astype(int))
        since = np.datetime64("2015-01") + month.astype("timedelta64[M]")
        day.append((since.astype("datetime64[D]") - np.datetime64(_START)).astype(int))
    columns = {"sales": np.stack(sales, axis=1), "promoted": np.stack(promoted, axis=1), "day": np.stack(day, axis=1)}
    month_field = days("day") | {"resolution": "month"}
    fields = [whole("sales", 0, 120), category("promoted", [0, 1]), month_field]

    def known(rows: pl.DataFrame) -> dict[str, float]:
        means = rows.filter(pl.col("kind") == 0)
        means = (
            means.group_by(pl.col("day").dt.month().alias("month")).agg(pl.col("sales").mean()).sort("month")["sales"]
        )
        gaps = _lagged(rows.with_columns(at=pl.col("day").dt.year() * 12 + pl.col("day").dt.month()), "at").drop_nulls(
            "before1"
        )
        return {
            "kind 0, best minus worst month": float(means.max() - means.min()),
            "next row is the next month": _mean(gaps["at"] - gaps["before1"] == 1),
        }

    return _invented(counts, columns, fields, known, ({"kind": kind}, [category("kind", [0, 1, 2])]))


def absorbing() -> PanelTable:
    """Return patients who are well, ill or dead; sex and age set the risks, and nothing follows death."""
    rng = np.random.default_rng(4)
    sex, age = rng.integers(2, size=PERSONS), rng.integers(0, 6, PERSONS)
    die, fall = 0.01 + 0.03 * age + 0.02 * sex, 0.10 + 0.05 * age
    state, day, dose = [np.zeros(PERSONS, dtype=int)], [rng.integers(0, 730, PERSONS)], [np.zeros(PERSONS, dtype=int)]
    for _ in range(7):
        ill = state[-1] == 1
        laws = np.stack(
            [
                np.where(ill, 0.35, 1 - fall - die / 4),
                np.where(ill, 0.65 - 2 * die, fall),
                np.where(ill, 2 * die, die / 4),
            ],
            axis=1,
        )
        state.append(np.where(state[-1] == 2, 2, _next(rng, np.clip(laws, 0, 1))))
        dose.append(
            np.where(
                state[-1] == 1, np.minimum(dose[-1] + rng.integers(1, 4, PERSONS), 20), np.maximum(dose[-1] - 2, 0)
            )
        )
        day.append(day[-1] + rng.geometric(1 / np.where(ill, 20, 120)))
    states = np.stack(state, axis=1)
    until = np.where((states == 2).any(axis=1), (states == 2).argmax(axis=1) + 1, 8)
    counts = np.minimum(until, rng.integers(2, 9, PERSONS))
    columns = {
        "state": np.array(["well", "ill", "dead"])[states],
        "dose": np.stack(dose, axis=1),
        "day": np.stack(day, axis=1),
    }
    fields = [category("state", ["well", "ill", "dead"]), whole("dose", 0, 20), days("day")]
    units = [category("sex", [0, 1]), category("age", list(range(6)))]

    def known(rows: pl.DataFrame) -> dict[str, float]:
        pairs = _lagged(rows, "state").drop_nulls("before1")
        dead = rows.group_by("age").agg((pl.col("state") == "dead").mean()).sort("age")["state"]
        return {
            "rows after death": _mean(pairs["before1"] == "dead"),
            "deaths a row, oldest minus youngest": float(dead[-1] - dead[0]),
        }

    return _invented(counts, columns, fields, known, ({"sex": sex, "age": age}, units))


def _invented(
    counts: np.ndarray,
    columns: Mapping[str, np.ndarray],
    fields: list[dict[str, Any]],
    figures: Figures,
    units: tuple[Mapping[str, np.ndarray], list[dict[str, Any]]] = ({}, []),
) -> PanelTable:
    """Return the panel of persons with so many of their eight rows."""
    rows = _frame(counts, columns)
    parents = pl.DataFrame({"person": np.arange(len(counts)), **units[0]})
    return PanelTable(
        key="person", parents=parents, rows=rows, units=units[1], events=fields, by="day", figures=figures
    )


# -- Real ones.


def _real(folder: str) -> tuple[pl.DataFrame, dict[str, dict[str, Any]]]:
    """Return rows of the shared data and its fields; zero of a number is a value of its own."""
    fields = json.loads((SHARED / folder / "schema.json").read_text())["fields"]
    found = {each["name"]: {k: v for k, v in each.items() if k not in ("provenance", "description")} for each in fields}
    for each in found.values():
        if each["type"] == "number":
            each["special"] = [0]
    return pl.read_parquet(SHARED / folder / "data.parquet"), found


def eusilc() -> PanelTable:
    """Return Austrian households, and the persons in them from the eldest."""
    rows, fields = _real("eusilc")
    units = ["hsize", "db040", "hy040n", "hy050n", "hy070n", "eqIncome"]
    events = ["age", "rb090", "pl030", "py010n", "py090n", "py100n"]

    def siblings(people: pl.DataFrame) -> dict[str, float]:
        two = people.group_by("unit").agg(pl.col("age").head(2), pl.col("rb090").head(2))
        adult = two.filter(pl.col("age").list.len() == 2).filter(pl.col("age").list.get(1) >= 18)
        return {
            "two eldest, adults: of one sex": _mean(adult["rb090"].list.n_unique() == 1),
            "their median gap in years": float((adult["age"].list.get(0) - adult["age"].list.get(1)).median()),
            "households without an adult": _mean(people.group_by("unit").agg(pl.col("age").max())["age"] < 18),
        }

    return _split(
        rows,
        fields,
        "db030",
        units,
        events,
        by="age",
        descending=True,
        most=5,
        names=("homes", "people"),
        figures=siblings,
    )


def mimic() -> PanelTable:
    """Return a hundred patients and their admissions: far too few, so that nothing may crash."""
    rows, fields = _real("mimic-demo-admissions")
    events = ["admittime", "admission_type", "admission_location", "insurance", "hospital_expire_flag"]
    fields["admittime"]["resolution"] = "day"

    def deaths(stays: pl.DataFrame) -> dict[str, float]:
        pairs = _lagged(stays, "hospital_expire_flag").drop_nulls("before1")
        return {"admissions after death": _mean(pairs["before1"] == 1)}

    return _split(rows, fields, "subject_id", ["gender"], events, by="admittime", most=5, figures=deaths)


def diabetes() -> PanelTable:
    """Return 30,000 patients with diabetes and their encounters in the order of their numbers."""
    rows, fields = _real("diabetes130")
    chosen = rows["patient_nbr"].unique().sort().sample(30_000, seed=1)
    rows = rows.filter(pl.col("patient_nbr").is_in(chosen.implode()))
    fields["encounter_id"] = whole("encounter_id", 0, 499_999_999)
    events = [
        "encounter_id",
        "age",
        "admission_type_id",
        "time_in_hospital",
        "num_medications",
        "A1Cresult",
        "insulin",
        "readmitted",
    ]

    def ages(stays: pl.DataFrame) -> dict[str, float]:
        decade = stays.with_columns(pl.col("age").str.extract(r"(\d+)").cast(pl.Int64))
        pairs = _lagged(decade, "age").drop_nulls("before1")
        return {
            "next encounter is younger": _mean(pairs["age"] < pairs["before1"]),
            "or more than 10 years older": _mean(pairs["age"] > pairs["before1"] + 10),
        }

    return _split(rows, fields, "patient_nbr", ["race", "gender"], events, by="encounter_id", most=5, figures=ages)


def flights() -> PanelTable:
    """Return planes and the first eight flights of each from New York in 2013."""
    rows, fields = _real("nycflights13")
    rows = rows.filter(pl.col("tailnum").is_not_null()).sort(
        "tailnum", "time_hour", "sched_dep_time", maintain_order=True
    )
    rows = rows.filter(pl.int_range(pl.len()).over("tailnum") < 8)
    fields["tailnum"] = {"name": "tailnum", "type": "string", "role": "identifier", "constraints": {"required": True}}
    fields["time_hour"]["resolution"] = "hour"
    events = ["time_hour", "origin", "dep_delay", "distance"]

    def hops(trips: pl.DataFrame) -> dict[str, float]:
        pairs = _lagged(trips, "origin").drop_nulls("before1")
        return {"next flight from the same airport": _mean(pairs["origin"] == pairs["before1"])}

    return _split(
        rows, fields, "tailnum", ["carrier"], events, by="time_hour", most=8, names=("planes", "flights"), figures=hops
    )


def _split(
    rows: pl.DataFrame,
    fields: Mapping[str, dict[str, Any]],
    key: str,
    units: list[str],
    events: list[str],
    *,
    by: str,
    most: int,
    figures: Figures,
    descending: bool = False,
    names: tuple[str, str] = ("persons", "events"),
) -> PanelTable:
    """Return one flat table as units, of which the first row speaks, and events."""
    parents = rows.group_by(key, maintain_order=True).first().select(key, *units)
    of = [fields[name] for name in units], [fields[name] for name in events]
    return PanelTable(
        key=key, parents=parents, rows=rows.select(key, *events), units=of[0], events=of[1], by=by, most=most,
        descending=descending, names=names, figures=figures,
    )  # fmt: skip


TABLES: Mapping[str, Callable[[], PanelTable]] = {
    "markov-1": markov_1,
    "markov-2": markov_2,
    "season": season,
    "absorbing": absorbing,
    "eusilc": eusilc,
    "mimic-demo": mimic,
    "diabetes130": diabetes,
    "flights": flights,
}
