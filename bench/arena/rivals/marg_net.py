"""MargNet from a checkout of KaiChen9909/margnet (no registry has it), with its authors' settings for Adult."""

import os
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import working

TRAIN = {"selection_iterations": 200, "final_iterations": 200, "lr": 0.001, "batch_size": 512}
"""Of its configuration for Adult at epsilon 0.2 to 5."""
LAYERS = [256, 256]


def fit(codes: np.ndarray, job: dict[str, Any]) -> working.Sampler:
    """Fit its generator to noisy pairs, on the processor, with the public domain."""
    sys.path.insert(0, job["checkout"])
    folder = os.path.dirname(os.path.abspath(sys.argv[1]))
    os.chdir(job["checkout"])
    import torch
    from method.MargDL.main import MargDLGen

    # It asks the graphics card how much memory it took; there is none.
    torch.cuda.reset_peak_memory_stats = lambda *_: None
    torch.cuda.max_memory_allocated = lambda *_, **__: 0
    torch.manual_seed(job["run"])
    np.random.seed(job["run"])  # noqa: NPY002
    names, sizes = working.names_and_sizes(job)
    told = {"iter": None, "lr": None, "batch": None, "test": False, "resample": False, "graph_sample": False}
    generator = MargDLGen(
        args=SimpleNamespace(**told),
        df=pd.DataFrame(codes, columns=names),
        domain=dict(zip(names, sizes, strict=True)),
        device="cpu",
        config={"train": dict(TRAIN), "model_params": {"d_layers": LAYERS, "dropout": 0.0}},
        parent_dir=folder,
        model_type="gan",
    )
    generator.fit_adaptive(job["rho"])
    # As many rows as its noisy columns say.
    total = max(1, round(float(generator.dataset.est_num_records)))
    return lambda: np.asarray(generator.model.sample(total)).astype(np.int32)


if __name__ == "__main__":
    working.run({"margnet": fit}, ("torch", "pandas"), TRAIN)
