"""Awkward inputs for mbi, as far as the package goes: noisy counts of codes, a model, rows. It ships no mechanism.

Its user turns values into codes; here by position in the public list or in one of 20 equal bins, a stranger to either
beyond the last code. Noise, budget and seeds are the user's, so cases about them are not the package's to answer.
"""

import itertools
import math
from typing import Any

import numpy as np
from bad_cases import Case
from mbi import Dataset, Domain, LinearMeasurement
from mbi.estimation import MirrorDescent

BINS = 20
SIGMA = 10.0


def release(case: Case) -> dict[str, list[Any]]:
    """Return rows drawn from a model of all columns and pairs, as in the package's quick start."""
    if not all(case.public.values()):
        raise NotImplementedError("codes are the caller's to make")
    if case.epsilon != 1.0 or case.delta is None or case.twice:
        raise NotImplementedError("the package draws no noise")
    if "day" in case.rows:
        raise NotImplementedError("codes are the caller's to make")
    domain = Domain(list(case.public), [len(public.get("categories", range(BINS))) for public in case.public.values()])
    data = Dataset({name: codes(case, name) for name in case.public}, domain)
    rng = np.random.default_rng()
    tables = [*((name,) for name in domain), *itertools.combinations(domain, 2)]
    counts = [np.asarray(data.project(table).datavector()) for table in tables]
    noisy = [
        LinearMeasurement(c + rng.normal(0, SIGMA, c.shape), t, SIGMA) for c, t in zip(counts, tables, strict=True)
    ]
    rows = MirrorDescent().estimate(domain, noisy, iters=200).synthetic_data()
    return {name: named(np.asarray(rows.data[name]), case.public[name]) for name in domain}


def codes(case: Case, name: str) -> np.ndarray:
    """Return the codes of a column."""
    public = case.public[name]
    if "categories" in public:
        places = {category: place for place, category in enumerate(public["categories"])}
        # A category that is not listed, and a missing one.
        return np.array([places.get(value, len(places)) for value in case.rows[name]], dtype=np.int64)
    width = (public["maximum"] - public["minimum"]) / BINS
    parts = [(value - public["minimum"]) / width for value in case.rows[name]]
    return np.array([BINS if math.isnan(part) else int(part) for part in parts], dtype=np.int64)


def named(found: np.ndarray, public: dict[str, Any]) -> list[Any]:
    """Return the values of codes; of a bin its number."""
    listed = public.get("categories")
    return [listed[code] if listed else int(code) for code in found]
