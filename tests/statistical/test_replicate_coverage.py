"""How often intervals from replicates hold the population's numbers, over fresh populations' tables and releases."""

import itertools

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, norm

import lapwing as lw

FALSE_ALARMS = 1e-9
CONFIDENCE = 0.9
ROWS = 50_000
SCHEMA = {
    "fields": [
        {"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 3, "required": True}},
        {"name": "flag", "type": "boolean", "constraints": {"required": True}},
    ]
}
CELLS = list(itertools.product(range(4), (False, True)))
X, FLAG = (np.array(values) for values in zip(*CELLS, strict=True))
CHANCES = np.array([0.14, 0.08, 0.16, 0.12, 0.12, 0.14, 0.09, 0.15])


def table(rng, rows):
    """Draw a table from the population."""
    cells = rng.choice(len(CELLS), rows, p=CHANCES)
    return pl.DataFrame({"x": X[cells], "flag": FLAG[cells]})


def fitted(x, flag, weights):
    """Return the numbers that are estimated, of weighted rows."""
    weights = weights / weights.sum()
    mean, share = (weights * x).sum(), (weights * flag).sum()
    slope = (weights * (x - mean) * flag).sum() / (weights * (x - mean) ** 2).sum()
    return {"mean": mean, "share": (weights * (flag & (x >= 2))).sum(), "intercept": share - slope * mean, "x": slope}


TRUE = fitted(X, FLAG, CHANCES)


def replicated(release, replicates):
    """Return intervals from replicates."""
    made = release.replicates(replicates, rows=5000)
    found = {"mean": made.mean("x", CONFIDENCE), "share": made.proportion("flag and x >= 2", CONFIDENCE)}
    found |= made.regression("flag", ["x"], CONFIDENCE)
    return {name: (each.lower, each.upper) for name, each in found.items()}


def resampled(release, rng, times=50):
    """Return intervals from rows of one release, resampled: the planted mistake."""
    rows = release.sample(ROWS, seed=int(rng.integers(2**32)))
    counts = np.array([rows.filter(x=x, flag=flag).height for x, flag in CELLS])
    centre = fitted(X, FLAG, counts)
    drawn = [fitted(X, FLAG, rng.multinomial(ROWS, counts / ROWS)) for _ in range(times)]
    half = {name: norm.isf(0.5 - CONFIDENCE / 2) * np.std([each[name] for each in drawn]) for name in TRUE}
    return {name: (centre[name] - half[name], centre[name] + half[name]) for name in TRUE}


@pytest.mark.parametrize(
    ("repetitions", "replicates"), [(30, 4), pytest.param(200, 20, marks=pytest.mark.full)], ids=["ci", "all"]
)
def test_replicates_cover_the_population_and_resampled_rows_do_not(repetitions, replicates):
    rng = np.random.default_rng(11)
    covered, mistaken = dict.fromkeys(TRUE, 0), dict.fromkeys(TRUE, 0)

    for _ in range(repetitions):
        release = lw.synthesize(table(rng, ROWS), SCHEMA, epsilon="0.001", mechanism=lw.PMM(depth=3))
        for hits, intervals in ((covered, replicated(release, replicates)), (mistaken, resampled(release, rng))):
            for name, (lower, upper) in intervals.items():
                hits[name] += lower <= TRUE[name] <= upper

    least = binom.ppf(FALSE_ALARMS, repetitions, CONFIDENCE)
    assert min(covered.values()) >= least
    assert max(mistaken.values()) < least
