"""AIM and MST of dpmm, as the package ships them: private-pgm's NumPy code of the papers' time, kept up."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM


def fit(codes: np.ndarray, sizes: Sequence[int], job: dict, *, model_class: type) -> Callable[[], np.ndarray]:
    """Fit with the public domain, in one process so that its time can be measured."""
    names = [f"c{j:03}" for j in range(len(sizes))]
    model = model_class(
        epsilon=float(job["epsilon"]),
        delta=float(job["delta"]),
        domain=dict(zip(names, sizes, strict=True)),
        random_state=np.random.RandomState(job["run"]),  # OpenDP's noise takes no seed
        n_jobs=1,
    )
    model.fit(pd.DataFrame(codes, columns=names))
    return lambda: model.generate()[names].to_numpy().astype(np.int32)


FITS = {"aim": partial(fit, model_class=AIMGM), "mst": partial(fit, model_class=MSTGM)}
