"""AIM, AIM-GDP, SWIFT and MST of google/dpsynth, from a checkout at cf8075f or later (no registry has it).

AIM draws a table by the exponential mechanism with ``monotonic=True``, which halves its noise. That is right only for
scores that all move one way when a row is added; the L1 errors that it scores do not. Here it is drawn without.

``calibrate`` ends in a ZeroDivisionError with dp-accounting 0.6.0, so that the budget is given as rho: the job's own
for AIM and MST; for AIM-GDP and SWIFT, which lose exactly what one Gaussian does, the largest that is allowed.
"""

import math
import sys
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import working

SWIFT = {"max_clique_size": 1e5, "pgm_iters": 1000}
"""Its own, which ``swift-own`` keeps, are cliques of 1e7 cells and 10,000 steps."""
SETTINGS = {"workload": "all triples, its default", "monotonic": False}
SETTINGS |= {f"swift_{name}": value for name, value in SWIFT.items()}


def fit(
    codes: np.ndarray,
    job: dict[str, Any],
    *,
    config: str,
    merged: bool = False,
    limits: Mapping[str, float] = MappingProxyType({}),
) -> working.Sampler:
    """Measure every column with a tenth of the budget, its default, and run the mechanism with the rest."""
    sys.path.insert(0, job["checkout"])
    import mbi
    from dpsynth import discrete_mechanisms
    from dpsynth.discrete_mechanisms import common
    from dpsynth.discrete_mechanisms.discrete import DiscreteConfig
    from dpsynth.local_mode import primitives

    if config == "AIMConfig":
        repair([common, primitives])
    names, sizes = working.names_and_sizes(job)
    data = mbi.Dataset({name: codes[:, j] for j, name in enumerate(names)}, mbi.Domain(names, sizes))
    mechanism = DiscreteConfig(getattr(discrete_mechanisms, config)(**limits), compress_columns=merged)
    is_gaussian = config in ("AIMGDPConfig", "SWIFTConfig")
    rho = gaussian_rho(float(job["epsilon"]), float(job["delta"])) if is_gaussian else float(job["rho"])
    result = mechanism.configure(zcdp_rho=rho)(np.random.default_rng(job["run"]), data)
    rows = result.synthetic_data.data
    return lambda: np.stack([np.asarray(rows[name]) for name in names], axis=1).astype(np.int32)


def gaussian_rho(epsilon: float, delta: float) -> float:
    """Return mu squared over 2 for the largest mu of which mu-GDP is (epsilon, delta)-DP (Dong, Roth and Su 2022)."""
    low, high = 0.0, 100.0
    for _ in range(100):
        mu = (low + high) / 2
        first, second = (0.5 * math.erfc((epsilon / mu + side * mu / 2) / math.sqrt(2)) for side in (-1, 1))
        low, high = (mu, high) if first - math.exp(epsilon) * second <= delta else (low, mu)
    return low**2 / 2


def repair(modules: list[Any]) -> None:
    """Put a drawing without ``monotonic`` in the place of the checkout's.

    Raises
    ------
    working.Refused
        Where it is in none of the modules: then its promise must be read again.
    """
    holders = [module for module in modules if hasattr(module, "exponential_mechanism")]
    if not holders:
        raise working.Refused("its exponential mechanism is not where it was read; read its promise again")
    for module in holders:
        module.exponential_mechanism = partial(two_sided, module.exponential_mechanism)


def two_sided(draw: Any, *scores: Any, **settings: Any) -> int:
    """Draw as for scores that may move either way, whatever the caller says of them."""
    return draw(*scores, **settings | {"monotonic": False})


CONFIGS = {"aim": "AIMConfig", "aim-gdp": "AIMGDPConfig", "swift": "SWIFTConfig", "mst": "MSTConfig"}
FITS = {name: partial(fit, config=config) for name, config in CONFIGS.items()}
FITS |= {"swift": partial(FITS["swift"], limits=SWIFT), "swift-own": FITS["swift"]}
# Values of which no row is seen above three deviations of noise count as one: an option, off by default.
FITS |= {f"{name}-merged": partial(each, merged=True) for name, each in FITS.items()}

if __name__ == "__main__":
    working.run(FITS, ("mbi", "jax"), SETTINGS)
