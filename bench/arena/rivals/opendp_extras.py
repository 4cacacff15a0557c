"""AIM and MST of OpenDP's extras (``dp.mbi``), as the package ships them, but for a rounding that ends MST."""

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import opendp.prelude as dp
import polars as pl
import working

dp.enable_features("contrib")
SHORTER = 1 - 1e-9
"""What the budget is multiplied by until its parts, rounded up, add up to no more than it."""


class Mst(dp.mbi.MST):
    """MST whose selections do not end for a rounding: n parts of a budget may add up to a last digit above it."""

    def make_marginals(self, *, d_out: float, model: Any, **asked: Any) -> Any:
        """Build the package's own measurement for the largest budget that its parts fit in."""
        while not self.fits(d_out, len(model.domain.attrs) - 1):
            d_out *= SHORTER
        return super().make_marginals(d_out=d_out, model=model, **asked)

    def fits(self, budget: float, selections: int) -> bool:
        """Say whether the selections' parts of a budget, each sum rounded up as OpenDP does, stay in their share."""
        share = np.nextafter(np.nextafter(budget - budget * self.measure_split, -np.inf), -np.inf)
        part, total = np.nextafter(share / selections, -np.inf), 0.0
        for _ in range(selections):
            exact = Fraction(total) + Fraction(float(part))
            total += float(part)
            total = total if Fraction(total) >= exact else float(np.nextafter(total, np.inf))
        return total <= share


ALGORITHMS = {
    "aim2": partial(dp.mbi.AIM, queries=2),
    "aim3": dp.mbi.AIM,  # all triples, its default
    "mst": Mst,
}


def fit(codes: np.ndarray, job: dict[str, Any], *, mechanism: str) -> working.Sampler:
    """Release a contingency table whose keys are all public, and draw rows from its model."""
    names, sizes = working.names_and_sizes(job)
    # All keys are known, so it takes no delta of its own; with one, its zCDP is converted by the arena.
    loss = {"rho": job["rho"]} if float(job["delta"]) else {"epsilon": float(job["epsilon"])}
    context = dp.Context.compositor(
        data=pl.LazyFrame({name: codes[:, j] for j, name in enumerate(names)}),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(**loss),
        split_evenly_over=1,
    )
    keys = {name: list(range(size)) for name, size in zip(names, sizes, strict=True)}
    # A value outside the keys has a place of its own, which public lists leave empty.
    table = context.query().contingency_table(keys=keys, algorithm=ALGORITHMS[mechanism]()).release()
    return partial(drawn, table, names, np.asarray(sizes))


def drawn(table: Any, names: list[str], sizes: np.ndarray) -> np.ndarray:
    """Return rows as codes; the package's place for other values becomes a code drawn evenly."""
    # "round", its default, makes columns with the same parents correlated in mbi 1.1.0.
    rows = table.synthesize(method="sample").select(names)
    even = np.random.default_rng(0).integers(0, sizes, (rows.height, len(names)))
    filled = rows.with_columns(pl.col(name).fill_null(pl.Series(even[:, j])) for j, name in enumerate(names))
    return filled.to_numpy().astype(np.int32)


if __name__ == "__main__":
    working.run({name: partial(fit, mechanism=name) for name in ALGORITHMS}, ("opendp", "mbi", "jax"))
