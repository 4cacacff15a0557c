"""Tab-PE from a checkout of microsoft/DPSDA (no registry has it), with the settings of its example for Adult.

It reads categories, bounds, labels and how many rows have each label off the rows. Here all of that is public: the
domain is given, and every row has the same label, so that the label column is one of the features. Its modules for
images load with it; what they need is left out by the package's own means.
"""

import sys
from typing import Any

import numpy as np
import pandas as pd
import working

ITERATIONS, SELECTED, ROWS = 30, 5, 1000
SETTINGS = {"iterations": ITERATIONS, "sampled_first": SELECTED, "rows": ROWS}


def fit(codes: np.ndarray, job: dict[str, Any]) -> working.Sampler:
    """Let its population evolve towards the rows, with one noisy histogram of nearest neighbours each time."""
    sys.path.insert(0, job["checkout"])
    from generalimport import generalimport

    # They are asked for by modules of the checkout, not beside this file.
    generalimport("torchvision", "cleanfid", "fld")._scope = None
    from pe.api import TabularAPI
    from pe.constant.data import LABEL_ID_COLUMN_NAME, TABULAR_DATA_COLUMN_NAME
    from pe.data import Data
    from pe.embedding import TabularEmbedding
    from pe.histogram import NearestNeighbors
    from pe.population import CompositePopulation, PEPopulation
    from pe.runner import PE

    np.random.seed(job["run"])  # noqa: NPY002
    names, _ = working.names_and_sizes(job)
    info, kinds = public_columns(job)
    metadata = kinds | {"label_columns": [], "label_info": [{"name": "all", "column_values": {}}]}
    ordered = kinds["feature_columns"]
    rows = pd.DataFrame(codes, columns=names)[ordered]
    private = Data(
        pd.DataFrame({TABULAR_DATA_COLUMN_NAME: rows.to_numpy().tolist(), LABEL_ID_COLUMN_NAME: 0}), metadata
    )
    api = TabularAPI(info=info, num_iterations=ITERATIONS)
    shared = {"api": api, "next_variation_api_fold": 1, "initial_variation_api_fold": 0}
    first = PEPopulation(**shared, keep_selected=False, selection_mode="sample", histogram_threshold=0)
    kept = {"initial_variation_api_fold": 3, "next_variation_api_fold": 3}
    later = PEPopulation(**shared | kept, keep_selected=True, selection_mode="rank")
    runner = PE(
        priv_data=private,
        population=CompositePopulation(populations=[first] * SELECTED + [later] * (ITERATIONS - SELECTED)),
        histogram=NearestNeighbors(
            embedding=TabularEmbedding(info=info), mode="L2", lookahead_degree=0, backend="torch"
        ),
    )
    made = runner.run(
        num_samples_schedule=[ROWS] * ITERATIONS,
        epsilon=float(job["epsilon"]),
        delta=float(job["delta"]),
        save_checkpoint=False,
        fraction_per_label_id=[1.0],
    )
    found = pd.DataFrame(made.data_frame[TABULAR_DATA_COLUMN_NAME].tolist(), columns=ordered)
    return lambda: found[names].to_numpy().round().astype(np.int32)


def public_columns(job: dict[str, Any]) -> tuple[dict[str, dict[str, Any]], dict[str, list[str]]]:
    """Return what is public of each column, and the columns by kind, as the package wants them."""
    from pe.data import TabularColumnType

    names, sizes = working.names_and_sizes(job)
    numbers = [name for name, is_number in zip(names, job["is_number"], strict=True) if is_number]
    listed = [name for name in names if name not in numbers]
    info: dict[str, dict[str, Any]] = {}
    # The package takes the columns of a row to be in this order.
    for name in listed + numbers:
        size = sizes[names.index(name)]
        if name in numbers:
            info[name] = {"min": 0, "max": size - 1, "type": TabularColumnType.INTEGER}
        else:
            info[name] = {"categories": list(range(size)), "type": TabularColumnType.CATEGORICAL}
    kinds = {"cat_columns": listed, "int_columns": numbers, "float_columns": []}
    return info, kinds | {"feature_columns": listed + numbers}


if __name__ == "__main__":
    working.run({"tab-pe": fit}, ("pandas",), SETTINGS)
