"""Algorithm 1 as the paper writes it, point by point, against lw.anonymize(variant="paper")."""

import itertools
import math

import numpy as np
import polars as pl
import pytest

import lapwing as lw


def naive_blocks(x, k):
    """Return the blocks of steps 1 to 6: lists of places in x, whose rows lie in the unit ball."""
    n, p = x.shape
    second_moment = sum(np.outer(row, row) for row in x) / n
    cells = math.isqrt(k)
    t, alpha = 0, 1.0
    if cells > 2:
        alpha = (math.log(math.log(cells)) / math.log(cells)) ** (1 / 4)
        t = min(p, math.floor(math.log(cells) / math.log(7 / alpha)))
    eigenvalues, eigenvectors = np.linalg.eigh(second_moment)
    leading = eigenvectors[:, np.argsort(eigenvalues)[p - t :]]
    nearest = [()] * n
    if t:
        reach = range(-math.floor(math.sqrt(t) / alpha), math.floor(math.sqrt(t) / alpha) + 1)
        lattice = [alpha / math.sqrt(t) * np.array(point) for point in itertools.product(reach, repeat=t)]
        net = [point for point in lattice if np.linalg.norm(point) <= 1]
        assert len(net) <= cells
        nearest = [tuple(min(net, key=lambda v, row=row: np.linalg.norm(row @ leading - v))) for row in x]
    blocks, leftovers = [], []
    for cell in sorted(set(nearest)):
        members = [place for place in range(n) if nearest[place] == cell]
        full = len(members) // (n // k) * (n // k)
        blocks += [members[start : start + n // k] for start in range(0, full, n // k)]
        leftovers += members[full:]
    blocks += [leftovers[start : start + n // k] for start in range(0, len(leftovers), n // k)]
    assert [len(block) for block in blocks] == [n // k] * k
    return blocks


def boolean_table(n, p, seed):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    return rng.random((n, p)) < np.linspace(0.05, 0.95, 3)[(kind[:, None] + np.arange(p)) % 3]


def anonymous(flags, size, **settings):
    fields = [
        {"name": f"c{column}", "type": "boolean", "constraints": {"required": True}} for column in range(flags.shape[1])
    ]
    table = pl.DataFrame({field["name"]: flags[:, column] for column, field in enumerate(fields)})
    return lw.anonymize(table, {"fields": fields}, size, variant="paper", **settings)


@pytest.mark.parametrize(("n", "p", "size"), [(240, 5, 2), (900, 4, 3), (60, 3, 10), (12, 2, 12)])
def test_blocks_lose_what_the_paper_s_blocks_lose(n, p, size):
    flags = boolean_table(n, p, seed=n)
    x = flags / math.sqrt(p)
    means = np.empty_like(x)
    for block in naive_blocks(x, n // size):
        means[block] = x[block].mean(axis=0)

    made = anonymous(flags, size, seed=1)

    rest = x - means
    # Rounded eigenvectors move no point to another cell here; what is left is that losses have three digits.
    assert made.covariance_loss == pytest.approx(np.linalg.norm(rest.T @ rest) / n, rel=6e-3)
    assert made.information_loss == pytest.approx(
        100 * np.square(rest).sum() / np.square(x - x.mean(0)).sum(), rel=6e-3
    )
    assert made.groups == n // size


def test_rows_are_bootstrapped_and_rounded_as_in_the_paper():
    flags = boolean_table(900, 4, seed=2)
    means = np.array([flags[block].mean(axis=0) for block in naive_blocks(flags / 2, 300)])
    m = 200_000

    made = anonymous(flags, 3, rows=m, seed=3)

    drawn = np.stack([made.data[name].to_numpy() for name in made.data.columns], axis=1)
    for d in (1, 2, 3):
        for columns in itertools.combinations(range(4), d):
            expected = means[:, columns].prod(axis=1).mean()
            # Six standard deviations of the share of 200,000 independent rows.
            assert drawn[:, columns].all(axis=1).mean() == pytest.approx(expected, abs=6 * math.sqrt(0.25 / m))
