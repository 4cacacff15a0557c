"""The fixed list of awkward inputs: rows, what is public about them, and the budget; the same for every tool.

Every case has 500 rows (but for those about their number) of a category and a number: two columns are the least that
all tools take, and keep the slow ones within a minute. Private values that must not turn up anywhere are CANARY and
CANARY_NUMBER: one row has one of them.
"""

import math
import random
from dataclasses import dataclass, replace
from typing import Any

CANARY = "canary-7c1f"
CANARY_NUMBER = 98765.4321
ROWS = 500
HUGE = 1_000_000

Column = list[Any]
Public = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One input.

    Parameters
    ----------
    rows : dict of str to list
        The private columns.
    public : dict of str to dict
        Of each column ``categories``, or ``minimum`` and ``maximum`` (of dates as text), or nothing.
    epsilon : float
        Budget.
    delta : float or None
        None: the caller says nothing.
    seed : int or None
        Given to whatever takes a seed.
    twice : bool
        The release is made twice, and the rows out compared.
    """

    rows: dict[str, Column]
    public: dict[str, Public]
    epsilon: float = 1.0
    delta: float | None = 1e-6
    seed: int | None = None
    twice: bool = False


def ordinary(rows: int = ROWS) -> Case:
    """Return rows that nothing is wrong with."""
    rng = random.Random(0)
    columns = {
        "region": rng.choices(["east", "north", "south", "west"], [4, 3, 2, 1], k=rows),
        "income": [round(rng.triangular(0, 100, 30), 2) for _ in range(rows)],
    }
    public = {
        "region": {"categories": ["east", "north", "south", "west"]},
        "income": {"minimum": 0, "maximum": 100},
    }
    return Case(columns, public)


def with_value(name: str, value: object, case: Case | None = None) -> Case:
    """Return the ordinary rows with another value in the last one."""
    case = case or ordinary()
    return replace(case, rows=case.rows | {name: [*case.rows[name][:-1], value]})


def with_column(name: str, values: Column, public: Public) -> Case:
    """Return the ordinary rows with a third column."""
    case = ordinary()
    return replace(case, rows=case.rows | {name: values}, public=case.public | {name: public})


def unlisted(case: Case, name: str) -> Case:
    """Return a case in which nothing is public about a column."""
    return replace(case, public=case.public | {name: {}})


def with_missing() -> Case:
    """Return rows with a missing category and a missing number, of which the public description says nothing."""
    return with_value("income", math.nan, with_value("region", None))


def one_site() -> Case:
    """Return rows that all hold one of three public categories."""
    return with_column("site", ["clinic"] * ROWS, {"categories": ["clinic", "home", "ward"]})


def of_dates() -> Case:
    """Return rows with a date each."""
    days = [f"2020-{1 + row % 12:02}-{1 + row % 28:02}" for row in range(ROWS)]
    return with_column("day", days, {"minimum": "2020-01-01", "maximum": "2020-12-31"})


def of_many_categories() -> Case:
    """Return rows with a column of a million public categories."""
    listed = [f"code{place:07}" for place in range(HUGE)]
    return with_column("code", random.Random(1).choices(listed, k=ROWS), {"categories": listed})


CASES = {
    "ordinary rows": ordinary,
    "a category that is not listed": lambda: with_value("region", CANARY),
    "a number out of bounds": lambda: with_value("income", CANARY_NUMBER),
    "missing values": with_missing,
    "a constant column": one_site,
    "dates": of_dates,
    "one row": lambda: ordinary(1),
    "no rows": lambda: ordinary(0),
    "bounds not given": lambda: unlisted(with_value("income", CANARY_NUMBER), "income"),
    "categories not given": lambda: unlisted(with_value("region", CANARY), "region"),
    "epsilon 0": lambda: replace(ordinary(), epsilon=0.0),
    "epsilon -1": lambda: replace(ordinary(), epsilon=-1.0),
    "delta not given": lambda: replace(ordinary(), delta=None),
    "twice, no seed given": lambda: replace(ordinary(), twice=True),
    "twice, the same seed": lambda: replace(ordinary(), twice=True, seed=7),
    "a million categories": of_many_categories,
}
"""In this order, the one that may take all memory at the end."""

ABOUT = {
    "ordinary rows": "nothing is wrong",
    "a category that is not listed": "one row has a region that the public list lacks",
    "a number out of bounds": "one row has an income of 98765.4321 where the public bounds are 0 and 100",
    "missing values": "a region and an income are missing, and nothing says that they may be",
    "a constant column": "all rows have the same one of three public categories",
    "dates": "a column of days with public bounds",
    "one row": "a table of one row",
    "no rows": "a table of no rows",
    "bounds not given": "nothing is said about the income; one row has 98765.4321",
    "categories not given": "nothing is said about the region; one row has one that nobody else has",
    "epsilon 0": "ε = 0",
    "epsilon -1": "ε = -1",
    "delta not given": "ε alone",
    "twice, no seed given": "two releases of the same rows; nothing is said about a seed",
    "twice, the same seed": "two releases of the same rows with seed 7 for whatever takes one",
    "a million categories": "a third column with a public list of 10⁶ codes",
}
