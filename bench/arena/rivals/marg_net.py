"""MargNet from a checkout of KaiChen9909/margnet (no registry has it), with its authors' settings for Adult.

Its loss compares the measured cells with the mean, over a batch, of products of the columns' probabilities. It sums
their logarithms cell by cell, which takes hours on a processor; here the same means come from one product of matrices.
"""

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
    from method.MargDL import main

    # It asks the graphics card how much memory it took; there is none.
    torch.cuda.reset_peak_memory_stats = lambda *_: None
    torch.cuda.max_memory_allocated = lambda *_, **__: 0
    torch.set_num_threads(1)
    torch.manual_seed(job["run"])
    np.random.seed(job["run"])  # noqa: NPY002
    main.MargGAN.store_marginals, main.MargGAN._compute_loss = store_cells, loss_of_cells
    names, sizes = working.names_and_sizes(job)
    told = {"iter": None, "lr": None, "batch": None, "test": False, "resample": False, "graph_sample": False}
    generator = main.MargDLGen(
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


def store_cells(model: Any, marginals: list[Any], **_: Any) -> None:
    """Keep which two codes every measured cell is of (a column's cell: the code twice), its answer, and its weight."""
    import torch

    starts = dict(zip(model.column_name, model.cum_num_classes, strict=False))
    merged = model._merge_marginals(marginals)
    cells = [
        np.indices([model.column_dims[name] for name in names]).reshape(len(names), -1)
        + np.array([[starts[name]] for name in names])
        for names, _, _ in merged
    ]
    model.firsts, model.lasts = (torch.tensor(np.concatenate([each[end] for each in cells])) for end in (0, -1))
    model.is_single = model.firsts == model.lasts
    model.real_answers = torch.tensor(np.concatenate([answer for _, answer, _ in merged]))
    model.query_weight = torch.tensor(np.concatenate([np.full(answer.size, weight) for _, answer, weight in merged]))
    model.Q_mask = None


def loss_of_cells(model: Any, _: Any, weights: Any, answers: Any) -> Any:
    """Return the weighted sum of squared errors of the measured cells."""
    import torch

    chances = model._predict_x(model._uniform_sample()).exp()
    pairs = (chances.T @ chances / len(chances))[model.firsts, model.lasts]
    found = torch.where(model.is_single, chances.mean(dim=0)[model.firsts], pairs)
    return (weights * (found - answers) ** 2).sum()


if __name__ == "__main__":
    working.run({"margnet": fit}, ("torch", "pandas"), TRAIN)
