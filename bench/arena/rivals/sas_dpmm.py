"""AIM, MST and PrivBayes of dpmm, as the package ships them: private-pgm's NumPy code of the papers' time, kept up."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import working
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM
from dpmm.models.priv_bayes import PrivBayesGM


def fit(codes: np.ndarray, job: dict[str, Any], *, model_class: type) -> working.Sampler:
    """Fit with the public domain, in one process so that its time can be measured."""
    names, sizes = working.names_and_sizes(job)
    model = model_class(
        epsilon=float(job["epsilon"]),
        delta=float(job["delta"]),
        domain=dict(zip(names, sizes, strict=True)),
        random_state=np.random.RandomState(job["run"]),  # OpenDP's noise takes no seed
        n_jobs=1,
    )
    model.fit(pd.DataFrame(codes, columns=names))
    return lambda: model.generate()[names].to_numpy().astype(np.int32)


if __name__ == "__main__":
    classes = {"aim": AIMGM, "mst": MSTGM, "privbayes": PrivBayesGM}
    working.run({name: partial(fit, model_class=model) for name, model in classes.items()}, ("dpmm", "opendp"))
