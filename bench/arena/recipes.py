"""Tables that are drawn from published recipes: parities, which low-order tables do not show, and dense Gaussians.

``xor-K`` for K = 1 to 7: K numbers uniform on [-10, 10] and a target, which is the parity of how many of them are
above 0. The stress test of Tran, Backurs, Lin, Reis, Xiong, Yekhanin, "Differentially private synthetic data via APIs
4: tabular data" (ICML 2026, arXiv 2606.08259), read off its published files (github.com/toan-vt/cloud-data-store,
tabular/sim/xor-stress-test); ours: the draws, and 50,000 rows.

``parity-K`` for K = 1 to 7: ten fair bits and a target, the parity of the first K: the (10, K)-sparse parity of Barak,
Edelman, Goel, Kakade, Malach, Zhang, "Hidden progress in deep learning: SGD learns parities near the computational
limit" (NeurIPS 2022). All tables of at most K columns are uniform, and binning loses nothing.

``gauss-D`` for D = 10, 30, 50: numbers with mean 0 and variance 1 that all depend on each other, cut off at [-4, 4].
Columns as many as in Chen, Gong, Wang, "Beyond one-size-fits-all: neural networks for differentially private tabular
data synthesis" (MargNet, 2025, arXiv 2511.13893), whose matrices are not published. Ours: correlations of a factor
model, as Tucker, Koopman, Linn, "Evaluation of factor analytic research procedures by means of simulated correlation
matrices" (Psychometrika 34, 1969) made them first: five factors, independent standard normal loadings, and unique
variance 1, scaled to variance 1. Mean absolute correlations are 0.25, 0.28 and 0.28.
"""

import numpy as np
import polars as pl

ROWS = 50_000
BITS = 10
"""Columns of ``parity-K`` beside the target."""
ORDERS = range(1, 8)
WIDTHS = (10, 30, 50)
FACTORS = 5
"""Of the Gaussians."""
REACH = 4.0
"""Gaussians are cut off at so many standard deviations."""

NAMES = tuple(f"{kind}-{order}" for kind in ("xor", "parity") for order in ORDERS)
NAMES += tuple(f"gauss-{width}" for width in WIDTHS)

Drawn = tuple[pl.DataFrame, dict[str, object]]


def drawn(name: str) -> Drawn:
    """Return the rows of a table of `NAMES`, and its schema with the target where it has one."""
    kind, size = name.rsplit("-", 1)
    return {"xor": _xor, "parity": _parity, "gauss": _gauss}[kind](int(size))


def _xor(order: int) -> Drawn:
    """Return numbers and the parity of their signs."""
    rng = np.random.default_rng([1, order])
    points = rng.uniform(-10, 10, (ROWS, order))
    target = (points > 0).sum(axis=1) % 2
    fields = [_number(f"num_feat_{place}", 10.0) for place in range(order)]
    columns = dict(zip([each["name"] for each in fields], points.T, strict=True))
    return pl.DataFrame(columns | {"target": target}), _told(fields, order)


def _parity(order: int) -> Drawn:
    """Return bits and the parity of the first of them."""
    rng = np.random.default_rng([2, order])
    bits = rng.integers(2, size=(ROWS, BITS))
    target = bits[:, :order].sum(axis=1) % 2
    fields = [_bit(f"bit_{place}") for place in range(BITS)]
    columns = dict(zip([each["name"] for each in fields], bits.T, strict=True))
    return pl.DataFrame(columns | {"target": target}), _told(fields, order)


def _gauss(width: int) -> Drawn:
    """Return Gaussian numbers."""
    rng = np.random.default_rng([3, width])
    loadings = rng.standard_normal((width, FACTORS))
    points = rng.standard_normal((ROWS, FACTORS)) @ loadings.T + rng.standard_normal((ROWS, width))
    points /= np.sqrt(1 + np.square(loadings).sum(axis=1))
    fields = [_number(f"x{place}", REACH) for place in range(width)]
    columns = dict(zip([each["name"] for each in fields], np.clip(points, -REACH, REACH).T, strict=True))
    return pl.DataFrame(columns), {"fields": fields}


def _told(fields: list[dict[str, object]], order: int) -> dict[str, object]:
    """Return the schema of a parity; ``parity`` names what it is of, for `measures` alone."""
    told = [each["name"] for each in fields[:order]]
    return {"fields": [*fields, _bit("target")], "target": "target", "parity": told}


def _number(name: str, reach: float) -> dict[str, object]:
    """Return the field of a number within public bounds."""
    constraints = {"minimum": -reach, "maximum": reach, "required": True}
    return {"name": name, "type": "number", "constraints": constraints}


def _bit(name: str) -> dict[str, object]:
    """Return the field of a bit."""
    return {"name": name, "type": "integer", "categories": [0, 1], "constraints": {"required": True}}
