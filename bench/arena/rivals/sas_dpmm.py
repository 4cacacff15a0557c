"""AIM, MST and PrivBayes of dpmm, as the package ships them: private-pgm's NumPy code of the papers' time, kept up.

Native values go through its pipeline, whose PrivTree bins take a tenth of epsilon.
"""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import working
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM
from dpmm.models.priv_bayes import PrivBayesGM
from dpmm.pipelines.aim import AIMPipeline
from dpmm.pipelines.mst import MSTPipeline
from dpmm.pipelines.priv_bayes import PrivBayesPipeline

BINS_SHARE = 0.1
CLASSES = {
    "aim": (AIMGM, AIMPipeline),
    "mst": (MSTGM, MSTPipeline),
    "privbayes": (PrivBayesGM, PrivBayesPipeline),
}


def fit(rows: Any, job: dict[str, Any], *, mechanism: str) -> working.Sampler:
    """Fit a model to codes, or its pipeline to native values, in one process so that its time can be measured."""
    model_class, pipeline_class = CLASSES[mechanism]
    if job["form"] == "native":
        return fit_native(rows, job, pipeline_class)
    names, sizes = working.names_and_sizes(job)
    model = model_class(
        epsilon=float(job["epsilon"]),
        delta=float(job["delta"]),
        domain=dict(zip(names, sizes, strict=True)),
        random_state=np.random.RandomState(job["run"]),  # OpenDP's noise takes no seed
        n_jobs=1,
    )
    model.fit(pd.DataFrame(rows, columns=names))
    return lambda: model.generate()[names].to_numpy().astype(np.int32)


def fit_native(table: pa.Table, job: dict[str, Any], pipeline_class: type) -> working.Sampler:
    """Fit a pipeline with public categories and bounds; categories are text, since it takes integers for numbers."""
    public, frame = working.public_columns(job), table.to_pandas()
    listed = working.listed_as_text(public)
    for name in listed:
        frame[name] = frame[name].map(str, na_action="ignore").astype(object)
    epsilon, delta = float(job["epsilon"]), float(job["delta"])
    pipeline = pipeline_class(
        epsilon=(1 - BINS_SHARE) * epsilon, delta=delta, proc_epsilon=BINS_SHARE * epsilon, n_jobs=1
    )
    domain = public | {name: {"categories": list(values)} for name, values in listed.items()}
    pipeline.fit(frame, domain=domain, random_state=job["run"])
    # As many rows as the model's noisy total says.
    return lambda: working.native_table(pipeline.generate(n_records=len(pipeline.gen.generate())), listed, table.schema)


if __name__ == "__main__":
    fits = {name: partial(fit, mechanism=name) for name in CLASSES}
    working.run(fits, ("dpmm", "opendp"), {"native_bins": f"PrivTree, {BINS_SHARE} of epsilon"})
