"""PrivSyn of privsyn-core, with pairs measured until none helps, as in its paper.

Its default stops when a pair would save less than 20,000 in error, which tables of fewer rows never reach.
"""

from typing import Any

import numpy as np
import pandas as pd
import working
from privsyn import PrivSynModel

SETTINGS = {"marg_sel_threshold": 0}


def fit(codes: np.ndarray, job: dict[str, Any]) -> working.Sampler:
    """Fit with the public domain; as many rows are drawn as its noisy columns say, not as went in."""
    names, sizes = working.names_and_sizes(job)
    # Its noise comes from NumPy's global generator; the seed of the run must not be known to anybody in real use.
    budget = {"epsilon": float(job["epsilon"]), "delta": float(job["delta"])}
    model = PrivSynModel(**budget, random_state=job["run"], extra_params=SETTINGS)
    model.fit(pd.DataFrame(codes, columns=names), dict(zip(names, sizes, strict=True)))
    columns = model._generator.one_way_marg_dict.values()
    total = max(1, round(float(np.mean([column.count.sum() for column in columns]))))
    return lambda: model.sample(total)[names].to_numpy().astype(np.int32)


if __name__ == "__main__":
    working.run({"privsyn": fit}, ("privsyn-core", "pandas"), SETTINGS)
