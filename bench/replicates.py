"""Coverage of intervals from `release.replicates`, over fresh tables of a known population and their releases.

    python bench/replicates.py --mechanism PMM --set depth=5 --epsilon 0.3 --rows 2000 --releases 100 --replicates 10

The population: 4 x 4 x 2 cells, y about 0.5 + 0.6 x + 0.8 flag. Prints, for each number that is estimated, how many
intervals of 90 % held it, the mean standard error, the error's standard deviation, and its mean.
"""

import argparse
import itertools

import numpy as np
import polars as pl

import lapwing as lw
from lapwing.mechanisms.registry import make_mechanism

CONFIDENCE = 0.9


def whole(name: str) -> dict[str, object]:
    """Return a field of whole numbers from 0 to 3."""
    return {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 3, "required": True}}


SCHEMA = {"fields": [whole("x"), whole("y"), {"name": "flag", "type": "boolean", "constraints": {"required": True}}]}
CELLS = list(itertools.product(range(4), range(4), (False, True)))
X, Y, FLAG = (np.array(values) for values in zip(*CELLS, strict=True))


def chances() -> np.ndarray:
    """Return the probability of each cell of the population."""
    of_x = np.array([0.3, 0.3, 0.25, 0.15])[X]
    of_flag = np.where(FLAG, np.where(X < 2, 0.3, 0.5), np.where(X < 2, 0.7, 0.5))
    weights = of_x * of_flag * np.exp(-0.5 * (Y - 0.5 - 0.6 * X - 0.8 * FLAG) ** 2)
    return np.asarray(weights / weights.sum())


def truth(weights: np.ndarray) -> dict[str, float]:
    """Return the population's numbers."""
    design = np.column_stack([np.ones(X.size), X, FLAG])
    root = np.sqrt(weights)
    intercept, x, flag = np.linalg.lstsq(design * root[:, np.newaxis], Y * root, rcond=None)[0]
    share = weights[(X >= 2) & FLAG].sum()
    return {"mean": (weights * Y).sum(), "share": share, "intercept": intercept, "x": x, "flag": flag}


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mechanism", default="PMM")
    parser.add_argument("--set", action="append", default=[], metavar="key=value")
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--releases", type=int, default=100)
    parser.add_argument("--replicates", type=int, default=10)
    asked = parser.parse_args()
    mechanism = make_mechanism(asked.mechanism, dict(each.split("=", 1) for each in asked.set))
    weights = chances()
    true = truth(weights)
    covered = dict.fromkeys(true, 0)
    errors: dict[str, list[float]] = {name: [] for name in true}
    stated: dict[str, list[float]] = {name: [] for name in true}

    for seed in range(asked.releases):
        cells = np.random.default_rng(seed).choice(len(CELLS), asked.rows, p=weights)
        data = pl.DataFrame({"x": X[cells], "y": Y[cells], "flag": FLAG[cells]})
        release = lw.synthesize(data, SCHEMA, epsilon=asked.epsilon, mechanism=mechanism, seed=seed)
        replicates = release.replicates(asked.replicates, seed=seed)
        found = {"mean": replicates.mean("y", CONFIDENCE)}
        found["share"] = replicates.proportion("x >= 2 and flag", CONFIDENCE)
        found |= replicates.regression("y", ["x", "flag"], CONFIDENCE)
        for name, each in found.items():
            covered[name] += each.lower <= true[name] <= each.upper
            errors[name].append(each.estimate - true[name])
            stated[name].append(each.standard_error)

    print(f"{mechanism}, epsilon {asked.epsilon}, {asked.rows} rows, {asked.releases} releases, m {asked.replicates}")
    for name in true:
        print(
            f"{name:10} held {covered[name] / asked.releases:.2f}  standard error {np.mean(stated[name]):.4f}  "
            f"error sd {np.std(errors[name]):.4f} mean {np.mean(errors[name]):+.4f}"
        )


if __name__ == "__main__":
    main()
