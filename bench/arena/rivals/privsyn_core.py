"""PrivSyn of privsyn-core, with pairs measured until none helps, as in its paper.

Its default stops when a pair would save less than 20,000 in error, which tables of fewer rows never reach. Version
0.1.1 has stubs where the paper has steps: rows that are updated are not those that come out, tables are not made
consistent, what is below zero is cut off without keeping the total, and a column of no pair is paired with the one it
depends on least. They are written here from the paper. Nothing is appended: where only trees are left, no row starts.
"""

from typing import Any

import numpy as np
import pandas as pd
import working
from privsyn import PrivSynModel
from privsyn.lib_marginal import marg_determine
from privsyn.lib_marginal.marg import Marginal
from privsyn.lib_synthesize.GUM import GUM_Mechanism
from privsyn.lib_synthesize.records_update import RecordUpdate

SETTINGS = {"marg_sel_threshold": 0, "consist_iterations": 100, "append": False}
PACKAGE_START, PACKAGE_UPDATE = RecordUpdate.initialize_records, GUM_Mechanism._update_records


def started(self: RecordUpdate, *args: Any, **options: Any) -> None:
    """Update the rows drawn column by column; the package updates rows of zeros."""
    PACKAGE_START(self, *args, **options)
    self.records = self.df.to_numpy(dtype=np.uint32, copy=True)


def updated(self: GUM_Mechanism, keys: Any) -> Any:
    """Give out the updated rows; the package gives out those it started with."""
    synthesizer = PACKAGE_UPDATE(self, keys)
    frame = synthesizer.update.df
    synthesizer.update.df = pd.DataFrame(synthesizer.update.records, columns=frame.columns)
    return synthesizer


def cells_within(self: Marginal, bigger: Marginal) -> np.ndarray:
    """Return the cell of this table that each cell of a bigger one adds to."""
    steps = np.zeros(self.num_attributes, dtype=np.int64)
    steps[self.attributes_index] = self.encode_num
    if bigger.ways == 0:
        return np.zeros(1, dtype=np.int64)
    return np.asarray(bigger.tuple_key.astype(np.int64) @ steps[bigger.attributes_index])


def summed(self: Marginal, bigger: Marginal, index: int) -> None:
    """Sum a bigger table over this one's cells; its weight is one by the variance of such a sum."""
    cells = cells_within(self, bigger)
    self.summations[:, index] = np.bincount(cells, weights=bigger.count, minlength=self.num_key)
    self.weights[index] = bigger.rho * self.num_key / bigger.num_key


def compared(self: Marginal) -> None:
    """Take each table's sums from their weighted mean."""
    mean = self.summations @ self.weights / self.weights.sum()
    self.delta = mean[:, None] - self.summations


def made_consistent(self: Marginal, common: Marginal, index: int) -> None:
    """Share what a sum is to change by equally among its cells."""
    self.count += common.delta[cells_within(common, self), index] * (common.num_key / self.num_key)


def made_positive(self: Marginal, _mode: str, _iteration: int) -> None:
    """Put the nearest counts from zero up with the same total; zeros where the total is not above zero."""
    falling = np.sort(self.count)[::-1]
    excess = (np.cumsum(falling) - max(self.count.sum(), 0.0)) / np.arange(1, falling.size + 1)
    self.count = np.maximum(self.count - excess[np.count_nonzero(falling > excess) - 1], 0.0)


def left_alone(domain: Any, chosen: set[str], _found: Any, pairs: list[Any], **_: Any) -> list[Any]:
    """Measure the columns of no pair on their own; the package pairs each with the one it depends on least."""
    return pairs + [(name,) for name in domain.attrs if name not in chosen]


RecordUpdate.initialize_records, GUM_Mechanism._update_records = started, updated
Marginal.project_from_bigger_marg, Marginal.calculate_delta = summed, compared
Marginal.update_marg, Marginal.non_negativity = made_consistent, made_positive
marg_determine.handle_isolated_attrs = left_alone


def fit(codes: np.ndarray, job: dict[str, Any]) -> working.Sampler:
    """Fit with the public domain; as many rows are drawn as its noisy columns say, not as went in."""
    names, sizes = working.names_and_sizes(job)
    # Its noise comes from NumPy's global generator; the seed of the run must not be known to anybody in real use.
    budget = {"epsilon": float(job["epsilon"]), "delta": float(job["delta"])}
    model = PrivSynModel(**budget, random_state=job["run"], extra_params=SETTINGS)
    model.fit(pd.DataFrame(codes, columns=names), dict(zip(names, sizes, strict=True)))
    generator = model._generator
    for column in generator.one_way_marg_dict.values():
        column.rho = generator.one_way_marginal_rho / len(names)
    columns = generator.one_way_marg_dict.values()
    total = max(1, round(float(np.mean([column.count.sum() for column in columns]))))
    return lambda: model.sample(total)[names].to_numpy().astype(np.int32)


if __name__ == "__main__":
    working.run({"privsyn": fit}, ("privsyn-core", "pandas"), SETTINGS)
