"""Small models with a log-linear part, and the exact law of it, written out code by code."""

import itertools
from dataclasses import replace

import numpy as np

from helpers.models import allowed, dense, random_grouping, random_laws
from lapwing.model.laws import point_laws
from lapwing.model.model import Indexed, LogLinear, ReleasedModel
from lapwing.model.rows import sample_codes
from lapwing.schema.schemas import Schema


def random_part(schema: Schema, seed: int) -> LogLinear:
    """Return base laws with gaps, and three tables on groupings of all kinds."""
    rng = np.random.default_rng(seed)
    domains = {field.name: field.domain for field in schema.columns}
    names = list(domains)
    tables = ((names[1], names[0]), (names[2],), (names[3], names[0], names[2]))
    groupings = tuple(tuple(random_grouping(domains[name], rng) for name in table) for table in tables)
    return LogLinear(
        tables=tables,
        groupings=groupings,
        thetas=tuple(rng.normal(0, 0.7, [grouping.groups for grouping in each]) for each in groupings),
        base={name: random_laws(domain, 1, rng) for name, domain in domains.items()},
    )


def model_at(schema: Schema, part: LogLinear, starts: np.ndarray) -> ReleasedModel:
    """Return a model whose atoms are points, one per row of codes."""
    laws = {
        field.name: Indexed(codes.astype(np.uint8), point_laws(np.arange(allowed(field.domain))))
        for field, codes in zip(schema.columns, starts.T, strict=True)
    }
    return ReleasedModel(weights=np.ones(len(starts)), rows=1000, laws=laws, log_linear=part)


def exact_law(schema: Schema, part: LogLinear) -> np.ndarray:
    """Return the probability of every row of codes: base laws times exp(sum of theta), normalised."""
    names = [field.name for field in schema.columns]
    sizes = [field.domain.size for field in schema.columns]
    base = [dense(Indexed(np.zeros(1, np.uint8), part.base[n]), 0, s) for n, s in zip(names, sizes, strict=True)]
    groups = [
        {name: grouping.apply(np.arange(sizes[names.index(name)])) for name, grouping in zip(t, gs, strict=True)}
        for t, gs in zip(part.tables, part.groupings, strict=True)
    ]
    law = np.zeros(sizes)
    for codes in itertools.product(*(range(size) for size in sizes)):
        row = dict(zip(names, codes, strict=True))
        density = np.prod([masses[code] for masses, code in zip(base, codes, strict=True)])
        for table, theta, maps in zip(part.tables, part.thetas, groups, strict=True):
            density *= np.exp(theta[tuple(maps[name][row[name]] for name in table)])
        law[codes] = density
    return law / law.sum()


def scaled(part: LogLinear, factor: float) -> LogLinear:
    """Return the part with all theta multiplied."""
    return replace(part, thetas=tuple(theta * factor for theta in part.thetas))


def drawn(model: ReleasedModel, schema: Schema, n: int, seed: int, **settings: object) -> dict[str, np.ndarray]:
    """Return all chunks of rows as one."""
    chunks = list(sample_codes(model, schema, n, np.random.default_rng(seed), **settings))
    return {name: np.concatenate([each[name] for each in chunks]) for name in chunks[0]}


def chi_square(rows: dict[str, np.ndarray], law: np.ndarray) -> tuple[float, int]:
    """Return Pearson's statistic against a law, cells that expect fewer than 5 taken together, and its freedom."""
    cells = np.ravel_multi_index(tuple(rows.values()), law.shape)
    counts = np.bincount(cells, minlength=law.size).astype(float)
    expected = law.ravel() * cells.size
    assert not counts[expected == 0].any()
    many = expected >= 5
    counts = np.append(counts[many], counts[~many].sum())
    expected = np.append(expected[many], expected[~many].sum())
    used = expected > 0
    return float((np.square(counts - expected)[used] / expected[used]).sum()), int(used.sum()) - 1
