"""AIM, AIM-GDP and SWIFT of google/dpsynth, from a checkout at 015acfa2b1f7 or later (no registry has it).

AIM draws a table by the exponential mechanism with ``monotonic=True``, which halves its noise. That is right only for
scores that all move one way when a row is added; the L1 errors that it scores do not. Here it is drawn without.
"""

import sys
from functools import partial
from typing import Any

import numpy as np
import working

SETTINGS = {"workload": "all triples, its default", "monotonic": False}


def fit(codes: np.ndarray, job: dict[str, Any], *, config: str) -> working.Sampler:
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
    mechanism = DiscreteConfig(mechanism=getattr(discrete_mechanisms, config)())
    calibrated = mechanism.calibrate(epsilon=float(job["epsilon"]), delta=float(job["delta"]))
    result = calibrated(np.random.default_rng(job["run"]), data)
    rows = result.synthetic_data.data
    return lambda: np.stack([np.asarray(rows[name]) for name in names], axis=1).astype(np.int32)


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


if __name__ == "__main__":
    configs = {"aim": "AIMConfig", "aim-gdp": "AIMGDPConfig", "swift": "SWIFTConfig"}
    working.run({name: partial(fit, config=config) for name, config in configs.items()}, ("mbi", "jax"), SETTINGS)
