"""AIM and MST on the package mbi (private-pgm), which ships the estimation but no mechanism.

Written from the papers: McKenna, Mullins, Sheldon and Miklau, "AIM: an adaptive and iterative mechanism for
differentially private synthetic data" (2022), and McKenna, Miklau and Sheldon, "Winning the NIST contest" (2021).
Estimation, model sizes, domain compression and row generation are the package's own. Noise is the papers'
continuous Gaussian; rho comes from the driver, which converts (epsilon, delta) for every mechanism of this file.
"""

import itertools
import math
from collections import Counter
from functools import partial

import numpy as np
import working
from mbi import Dataset, Domain, LinearMeasurement, MarkovRandomField
from mbi.estimation import MirrorDescent, minimum_variance_unbiased_total
from mbi.junction_tree import hypothetical_model_size
from mbi.marginal_oracles import bulk_variable_elimination
from tree_marginals import pair_tables

Table = tuple[str, ...]

AIM_SHARE = 0.9
"""Part of AIM's budget that measures; the rest selects."""
AIM_MEGABYTES = 80
AIM_CELLS = 10_000
AIM_STEPS = 1000
FINAL_STEPS = 2500
MST_STEPS = 5000


def fit_mst(codes: np.ndarray, job: dict) -> working.Sampler:
    """Measure every column, choose a spanning tree of pairs, measure it: a third of the budget each."""
    rng = seeded(job)
    third, d = job["rho"] / 3, codes.shape[1]
    data = dataset_of(codes, job)
    noise = math.sqrt(d / (2 * third))
    singles = [measured(data, (name,), noise, rng) for name in data.domain]
    # Merged values hide the total from the package's own estimate, so it is taken before.
    total = minimum_variance_unbiased_total(singles)

    whole_domain = data.domain
    data, singles, mapping = merged(data, singles, 3 * noise)
    alone = MirrorDescent().estimate(data.domain, singles, known_total=total, iters=AIM_STEPS)
    edges = spanning_tree(data, alone, math.sqrt(8 * third / max(d - 1, 1)), rng)

    noise = math.sqrt((d - 1) / (2 * third))
    pairs = [measured(data, edge, noise, rng) for edge in edges]
    model = MirrorDescent().estimate(data.domain, singles + pairs, known_total=total, iters=MST_STEPS)
    return lambda: as_codes(model.synthetic_data().decompress(mapping), whole_domain)


def merged(data: Dataset, singles: list[LinearMeasurement], least: float) -> tuple[Dataset, list, dict]:
    """Return rows and measured columns with each column's rare values as one, and which are one."""
    mapping = {m.clique[0]: merge_rare(np.asarray(m.noisy_measurement), least) for m in singles}
    return data.compress(mapping), [m.compress(mapping, data.domain) for m in singles], mapping


def merge_rare(noisy: np.ndarray, least: float) -> np.ndarray:
    """Return the new code of every value: its own where its noisy count is at least ``least``, else one for all."""
    kept = noisy >= least
    return np.where(kept, np.cumsum(kept) - 1, kept.sum())


def spanning_tree(data: Dataset, alone: MarkovRandomField, epsilon: float, rng: np.random.Generator) -> list[Table]:
    """Return edges drawn one by one by the exponential mechanism from those that close no circle."""
    names = list(data.domain)
    single = {name: np.asarray(alone.project((name,)).datavector()) for name in names}
    misfits = {
        (a, b): np.abs(counts_of(data, (a, b)) - np.outer(single[a], single[b]).ravel() / alone.total).sum()
        for a, b in itertools.combinations(names, 2)
    }
    part_of = {name: name for name in names}
    edges = []
    for _ in names[1:]:
        open_pairs = [pair for pair in misfits if part_of[pair[0]] != part_of[pair[1]]]
        a, b = drawn({pair: misfits[pair] for pair in open_pairs}, epsilon, 1.0, rng)
        edges.append((a, b))
        gone = part_of[b]
        part_of = {name: part_of[a] if part == gone else part for name, part in part_of.items()}
    return edges


def fit_aim(codes: np.ndarray, job: dict, *, ways: int, least: float = 0.0) -> working.Sampler:
    """Measure the worst-fitted table round by round, within a model size that grows with the budget spent.

    Values that the first measurement shows below ``least`` of its noise are one from then on; the paper merges none.
    """
    rng, data, rho = seeded(job), dataset_of(codes, job), job["rho"]
    rounds = 16 * codes.shape[1]
    sigma = math.sqrt(rounds / (2 * AIM_SHARE * rho))
    epsilon = math.sqrt(8 * (1 - AIM_SHARE) * rho / rounds)
    singles = [measured(data, (name,), sigma, rng) for name in data.domain]
    spent = len(singles) / (2 * sigma**2)
    whole_domain = data.domain
    data, singles, mapping = merged(data, singles, least * sigma) if least else (data, singles, {})
    known, weights = {m.clique: m for m in singles}, workload_weights(data.domain, ways)
    truth = {table: counts_of(data, table) for table in weights}
    model = MirrorDescent().estimate(data.domain, list(known.values()), iters=AIM_STEPS)
    while True:
        left = rho - spent
        is_last = left <= 2 * (1 / (2 * sigma**2) + epsilon**2 / 8)
        if is_last:
            sigma, epsilon = math.sqrt(1 / (2 * AIM_SHARE * left)), math.sqrt(8 * (1 - AIM_SHARE) * left)
        spent += 1 / (2 * sigma**2) + epsilon**2 / 8
        fitting = affordable(weights, model, AIM_MEGABYTES * spent / rho)
        fitted = fitted_tables(model, fitting)
        table = drawn(qualities(weights, truth, fitted, sigma), epsilon, max(weights[t] for t in fitting), rng)
        fresh = measured(data, table, sigma, rng)
        known[table] = pooled(known[table], fresh) if table in known else fresh
        steps = FINAL_STEPS if is_last else AIM_STEPS
        model = MirrorDescent().estimate(data.domain, list(known.values()), iters=steps, warm_start=model)
        moved = np.abs(np.asarray(model.project(table).datavector()) - fitted[table]).sum()
        print(f"{spent / rho:.4f} of the budget: {table}, sigma {sigma:.1f}, moved {moved:.0f}", flush=True)
        if is_last:
            return lambda: as_codes(model.synthetic_data().decompress(mapping), whole_domain)
        if moved <= math.sqrt(2 / math.pi) * sigma * len(truth[table]):
            sigma, epsilon = sigma / 2, epsilon * 2


def workload_weights(domain: Domain, ways: int) -> dict[Table, int]:
    """Return the weight of every table within the workload: the columns that it shares with the workload, summed."""
    workload = [table for table in itertools.combinations(domain, ways) if domain.size(table) <= AIM_CELLS]
    tables_with = Counter(name for table in workload for name in table)
    within = {part: None for k in range(1, ways) for table in workload for part in itertools.combinations(table, k)}
    return {table: sum(tables_with[name] for name in table) for table in [*within, *workload]}


def fitted_tables(model: MarkovRandomField, tables: list[Table]) -> dict[Table, np.ndarray]:
    """Return the counts of tables under the model: pairs from its tree at once, larger ones by the package's own."""
    larger = [table for table in tables if len(table) > 2]
    fitted = pair_tables(model, [table for table in tables if len(table) <= 2])
    if larger:
        found = bulk_variable_elimination(model.potentials, larger, model.total)
        fitted |= {table: np.asarray(found[table].datavector()) for table in larger}
    return fitted


def affordable(weights: dict[Table, int], model: MarkovRandomField, megabytes: float) -> list[Table]:
    """Return the tables that lie inside a clique of the model, or whose junction tree is small enough."""
    cliques = list(model.cliques)
    return [
        table
        for table in weights
        if any(set(table) <= set(clique) for clique in cliques)
        or hypothetical_model_size(model.domain, [*cliques, table]) <= megabytes
    ]


def qualities(
    weights: dict[Table, int], truth: dict[Table, np.ndarray], fitted: dict[Table, np.ndarray], sigma: float
) -> dict[Table, float]:
    """Return the quality of every candidate: its misfit beyond what fresh noise would put there."""
    noise = math.sqrt(2 / math.pi) * sigma
    return {t: weights[t] * (np.abs(truth[t] - counts).sum() - noise * len(counts)) for t, counts in fitted.items()}


def drawn(scores: dict[Table, float], epsilon: float, sensitivity: float, rng: np.random.Generator) -> Table:
    """Return one key, drawn by the exponential mechanism (the largest of scores with Gumbel noise)."""
    noisy = epsilon / (2 * sensitivity) * np.array(list(scores.values())) + rng.gumbel(size=len(scores))
    return list(scores)[int(noisy.argmax())]


def measured(data: Dataset, table: Table, sigma: float, rng: np.random.Generator) -> LinearMeasurement:
    """Return the counts of a table with Gaussian noise."""
    counts = counts_of(data, table)
    return LinearMeasurement(counts + rng.normal(0, sigma, counts.shape), table, sigma)


def pooled(one: LinearMeasurement, other: LinearMeasurement) -> LinearMeasurement:
    """Return two measurements of a table as one, which has the same least squares and is not compiled anew."""
    weights = np.array([one.stddev, other.stddev]) ** -2.0
    counts = np.average([one.noisy_measurement, other.noisy_measurement], axis=0, weights=weights)
    return LinearMeasurement(counts, one.clique, float(weights.sum() ** -0.5))


def counts_of(data: Dataset, table: Table) -> np.ndarray:
    """Return the exact counts of a table."""
    return np.asarray(data.project(table).datavector())


def dataset_of(codes: np.ndarray, job: dict) -> Dataset:
    """Return the rows as the package wants them."""
    names, sizes = working.names_and_sizes(job)
    return Dataset({name: codes[:, j] for j, name in enumerate(names)}, Domain(names, sizes))


def as_codes(data: Dataset, domain: Domain) -> np.ndarray:
    """Return rows as codes, in the order of the columns."""
    return np.stack([np.asarray(data.data[name]) for name in domain], axis=1).astype(np.int32)


def seeded(job: dict) -> np.random.Generator:
    """Return the generator of noise and selection, and seed the package's own, which draws rows."""
    np.random.seed(job["run"])  # noqa: NPY002
    return np.random.default_rng(job["run"])


if __name__ == "__main__":
    settings = {"model_mb": AIM_MEGABYTES, "cells": AIM_CELLS, "steps": AIM_STEPS, "final_steps": FINAL_STEPS}
    fits = {"aim2": partial(fit_aim, ways=2), "aim3": partial(fit_aim, ways=3), "mst": fit_mst}
    fits["aim2-merged"] = partial(fit_aim, ways=2, least=3.0)
    working.run(fits, ("mbi", "jax"), settings | {"mst_steps": MST_STEPS})
