"""Random schemas and tables of every kind of column, and how far the rows of a release are from them, cell by cell."""

import datetime as dt
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import polars as pl

import lapwing as lw
from helpers.same_rows import FORMS, same_rows

BIG = 2**53
CONTAINERS = ("Polars", "pandas with nullable columns", *FORMS)
MECHANISMS = {
    "adaptive": (lw.Adaptive, 1, 5),
    "default": (lambda: None, 3, 5),
    "independent": (lw.Independent, 1, 5),
    "default of few columns": (lambda: None, 1, 2),
    "pmm": (lw.PMM, 1, 2),
    "psmm": (lw.PSMM, 1, 2),
    "grid": (lw.Grid, 1, 2),
    "kd-tree": (lw.KDTree, 1, 1),  # with two, its rule leaves cells of few rows whole
    "microaggregation": (lw.Microaggregation, 1, 2),
}
"""Those that keep every cell of a single column as the budget grows, with how many columns they are tried on."""

SINGLE_VALUES = ("adaptive", "default")
"""The others cut a wide column into intervals, and know of no single value in one."""


@dataclass(frozen=True)
class Column:
    """The cells of one column, and its field in the file format."""

    cells: list
    about: dict
    dtype: object = None
    can_lack: bool = True
    alone: tuple = ()  # the cells that are compared, where not all are; the others count as one


def _spread(rng, values, n):
    """Draw n of some values, a few of them much more often than others."""
    return [values[at] for at in rng.choice(len(values), n, p=rng.dirichlet(np.full(len(values), 0.6)))]


def _few(rng, n):
    names = [f"k{at}" for at in range(rng.integers(2, 13))]
    return Column(_spread(rng, names, n), {"type": "string", "categories": names})


def _many(rng, n):
    names = [f"id{at:05d}" for at in range(rng.integers(200, 2000))]
    return Column(rng.choice(names, n).tolist(), {"type": "string", "categories": names})


def _odd(rng, n):
    names = ["007", "7", " a", "a ", "NA", "1.0", "Ünï", "a,b", 'a"b', "-", "true"]
    return Column(_spread(rng, names, n), {"type": "string", "categories": names})


def _flags(rng, n):
    return Column((rng.random(n) < rng.random()).tolist(), {"type": "boolean"})


def _whole(rng, n):
    low = int(rng.integers(-50, 50))
    values = list(range(low, low + int(rng.integers(2, 60))))
    return Column(_spread(rng, values, n), _bounded("integer", values))


def _wide(rng, n):
    alone = (0, 777, 40_000, 65_536)
    values = np.where(rng.random(n) < 0.5, rng.choice(alone, n), rng.integers(0, 100_000, n))
    return Column(values.tolist(), _bounded("integer", [0, 99_999]), alone=alone)


def _listed(rng, n):
    values = [-3, 0, 5, 12, 700, BIG - 1, -BIG + 1]
    return Column(_spread(rng, values, n), {"type": "integer", "categories": values})


def _beyond(rng, n):
    values = [BIG + 1, BIG + 2, BIG + 3, -BIG - 1]
    return Column(_spread(rng, values, n), {"type": "integer", "categories": values}, can_lack=False)


def _decimals(rng, n):
    values = [0.1, 0.25, 2.5, -1.75, 1e-3, 123456.7]
    dtype = pl.Float32 if rng.random() < 0.5 else pl.Float64
    return Column(_spread(rng, values, n), {"type": "number", "categories": values}, dtype)


def _steps(rng, n):
    step = float(rng.choice([0.5, 0.1, 0.25]))
    values = [round(at * step, 9) for at in range(40)]
    return Column(_spread(rng, values, n), _bounded("number", values, resolution=step))


def _special(rng, n):
    values = list(range(12))
    return Column(_spread(rng, [*values, -9, -8], n), _bounded("integer", values, special=[-9, -8]))


def _days(rng, n):
    values = [dt.date(2020, 2, 10) + dt.timedelta(days=at) for at in range(int(rng.integers(5, 50)))]
    return Column(_spread(rng, values, n), _bounded("date", [str(day) for day in values]), pl.Date)


def _months(rng, n):
    values = [dt.date(2019 + at // 12, at % 12 + 1, 1) for at in range(30)]
    return Column(_spread(rng, values, n), _bounded("date", [str(day) for day in values], resolution="month"), pl.Date)


def _hours(rng, n):
    values = [dt.datetime(2020, 3, 28) + dt.timedelta(hours=at) for at in range(48)]
    about = _bounded("datetime", [each.isoformat() for each in values], resolution="hour")
    return Column(_spread(rng, values, n), about, pl.Datetime("us"))


def _bounded(kind, values, **more):
    return {"type": kind, "constraints": {"minimum": values[0], "maximum": values[-1]}, **more}


KINDS = (
    _few,
    _many,
    _odd,
    _flags,
    _whole,
    _wide,
    _listed,
    _beyond,
    _decimals,
    _steps,
    _special,
    _days,
    _months,
    _hours,
)


@dataclass
class Finding:
    """One table that was released: how it was made, and the cells that are too far from it."""

    seed: int
    mechanism: str
    container: str
    kinds: list
    rows: int
    worst: float = 0.0
    faults: list = field(default_factory=list)


def swept(seed, folder):
    """Release one random table at epsilon = 10,000 and compare the rows with it, cell by cell."""
    rng = np.random.default_rng([55, seed])
    mechanism = tuple(MECHANISMS)[seed % len(MECHANISMS)]
    container = CONTAINERS[seed % len(CONTAINERS)]
    make, fewest, most = MECHANISMS[mechanism]
    n = int(rng.integers(300, 3000))
    known = [kind for kind in KINDS if kind is not _wide or mechanism in SINGLE_VALUES]
    kinds = rng.choice(len(known), int(rng.integers(fewest, most + 1)))
    frame, fields, alone = {}, [], {}
    for at, kind in enumerate(kinds):
        made, name = known[kind](rng, n), f"v{at}"
        lacks = float(rng.choice([0, 0.05, 0.4])) if made.can_lack else 0
        cells = [
            None if is_missing else cell for cell, is_missing in zip(made.cells, rng.random(n) < lacks, strict=True)
        ]
        frame[name], alone[name] = pl.Series(name, cells, dtype=made.dtype), made.alone
        constraints = made.about.get("constraints", {}) | ({} if lacks else {"required": True})
        fields.append(
            made.about | {"name": name, "provenance": "public", "constraints": constraints, "missingValues": [""]}
        )
    frame = pl.DataFrame(frame)
    if container == "pandas with object columns":  # nobody can tell that such a float was of single precision
        frame = frame.with_columns(pl.col(pl.Float32).cast(pl.String).cast(pl.Float64))
    found = Finding(seed, mechanism, container, [known[kind].__name__ for kind in kinds], n)
    given = _in_container(frame, container, folder)
    release = lw.synthesize(given, {"fields": fields}, mechanism=make(), epsilon=10_000, seed=seed)
    rows = release.sample(n)
    for name in frame.columns:
        _compare(found, name, _counts(frame[name], alone[name]), _counts(pl.Series(rows[name]), alone[name]))
    return found


def _in_container(frame, container, folder):
    if container == "Polars":
        return frame
    if container == "pandas with nullable columns":
        return frame.to_pandas().convert_dtypes(dtype_backend="numpy_nullable")
    return same_rows(frame, container, folder)


def _counts(series, alone):
    """Count cells by what they mean: 2 and 2.0 are one value, and so are 0.1 and the single nearest to it."""
    cells = series.to_list()
    if series.dtype in (pl.Float32, pl.Float64):
        cells = [None if cell is None else float(np.float32(cell)) if cell % 1 else cell for cell in cells]
    if alone:
        cells = [cell if cell is None or cell in alone else "another" for cell in cells]
    return Counter(_day(cell) if isinstance(cell, dt.datetime) else cell for cell in cells)


def _day(moment):
    """Return a midnight as its day, as pandas has no days."""
    return moment.date() if moment.time() == dt.time() else moment


def _compare(found, name, true, rows):
    """Note cells that are off by more than a sample of the table would be, or that the table has not at all."""
    for cell in true.keys() | rows.keys():
        away = abs(true[cell] - rows[cell])
        allowed = most_off(true[cell])
        found.worst = max(found.worst, away / allowed)
        if away > allowed:
            found.faults.append((name, cell, true[cell], rows[cell]))


def most_off(count):
    """Return by how much a cell may be off: two rows for whole numbers and noise, and two deviations of sampling."""
    return 2 + 2 * count**0.5
