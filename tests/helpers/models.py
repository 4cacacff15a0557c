"""Small random schemas and released models, and their exact laws written out atom by atom."""

import itertools
from typing import Any

import numpy as np

from lapwing.model.laws import Laws, laws_from_probabilities
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, ReleasedModel, Spans, narrow
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, evenly, identity, interval_grouping, lookup
from lapwing.schema.schemas import Schema

FIELDS: list[dict[str, Any]] = [
    {"name": "flag", "type": "boolean", "constraints": {"required": True}},
    {"name": "colour", "type": "string", "categories": ["red", "green", "blue"], "constraints": {"required": True}},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 7}, "special": [-1]},
    {"name": "grade", "type": "string", "categories": ["a", "b", "c", "d", "e"], "categoriesOrdered": True},
]


def small_schema() -> Schema:
    """Return a schema of four columns with 2, 3, 8 and 5 values; two allow missing, one has a special value."""
    return Schema.from_dict({"fields": [{**field, "provenance": "public"} for field in FIELDS]})


def allowed(domain: Domain) -> int:
    """Return the number of codes that a model may use."""
    return domain.size if domain.missing else domain.last


def random_laws(domain: Domain, count: int, rng: np.random.Generator) -> Laws:
    """Return laws whose pieces are a random cut of the allowed codes, some of them without mass."""
    inner = np.flatnonzero(rng.random(allowed(domain) - 1) < 0.6) + 1
    edges = np.concatenate(([0], inner, [allowed(domain)]))
    masses = rng.random((count, edges.size - 1)) * (rng.random((count, edges.size - 1)) < 0.6)
    masses[:, 0] += 0.01
    return laws_from_probabilities(edges[:-1], edges[1:], masses)


def random_law(kind: str, domain: Domain, atoms: int, rng: np.random.Generator) -> ColumnLaw:
    """Return a column law of the given kind."""
    if kind == "indexed":
        count = int(rng.integers(1, 5))
        return Indexed(narrow(rng.integers(0, count, atoms)), random_laws(domain, count, rng))
    if kind == "bernoulli":
        return Bernoulli(np.where(rng.random(atoms) < 0.2, rng.integers(0, 2, atoms), rng.random(atoms)))
    starts = rng.integers(0, allowed(domain), atoms)
    stops = np.minimum(starts + rng.integers(1, 4, atoms), allowed(domain))
    return Spans(starts.astype(np.uint16), stops.astype(np.uint16))


def random_model(schema: Schema, atoms: int, seed: int) -> ReleasedModel:
    """Return a model with laws of all kinds and a few weights of 0."""
    rng = np.random.default_rng(seed)
    weights = rng.gamma(0.5, size=atoms) * (rng.random(atoms) < 0.9)
    weights[0] += 0.1
    kinds = rng.choice(["indexed", "spans", "bernoulli"], len(schema.columns))
    laws = {
        field.name: random_law(str(kind), field.domain, atoms, rng)
        for field, kind in zip(schema.columns, kinds, strict=True)
    }
    return ReleasedModel(weights=weights, rows=int(rng.integers(0, 1000)), laws=laws)


def random_grouping(domain: Domain, rng: np.random.Generator) -> Grouping:
    """Return a grouping of any kind."""
    kind = rng.integers(0, 4)
    if kind == 0:
        return identity(domain)
    if kind == 1:
        return evenly(domain, int(rng.integers(1, domain.values + 1)))
    if kind == 2:
        return interval_grouping(domain, np.flatnonzero(rng.random(domain.values - 1) < 0.4) + 1)
    table = rng.integers(0, 3, domain.values)
    return lookup(domain, np.unique(table, return_inverse=True)[1])


def dense(law: ColumnLaw, atom: int, size: int) -> np.ndarray:
    """Return the probabilities of all codes of one atom, code by code."""
    found = np.zeros(size)
    match law:
        case Indexed():
            which = int(law.index[atom])
            for piece in range(int(law.laws.offsets[which]), int(law.laws.offsets[which + 1])):
                start, stop = int(law.laws.starts[piece]), int(law.laws.stops[piece])
                for code in range(start, stop):
                    found[code] += law.laws.probabilities[piece] / (stop - start)
        case Spans():
            start, stop = int(law.starts[atom]), int(law.stops[atom])
            found[start:stop] = 1 / (stop - start)
        case Bernoulli():
            found[0], found[1] = 1 - law.p[atom], law.p[atom]
    return found


def joint(model: ReleasedModel, schema: Schema) -> np.ndarray:
    """Return the probability of every row of codes, added up atom by atom and cell by cell."""
    sizes = [field.domain.size for field in schema.columns]
    found = np.zeros(sizes)
    for atom in range(model.atoms):
        columns = [dense(model.laws[field.name], atom, size) for field, size in zip(schema.columns, sizes, strict=True)]
        product = columns[0]
        for column in columns[1:]:
            product = np.multiply.outer(product, column)
        found += model.weights[atom] * product
    return found / model.weights.sum()


def naive_marginal(model: ReleasedModel, schema: Schema, columns: list[str], groupings: list[Grouping]) -> np.ndarray:
    """Return the marginal of `joint` on groupings, one cell after the other."""
    names = [field.name for field in schema.columns]
    table = joint(model, schema)
    found = np.zeros([grouping.groups for grouping in groupings])
    maps = [grouping.apply(np.arange(grouping.values + grouping.reserved)) for grouping in groupings]
    for codes in itertools.product(*(range(size) for size in table.shape)):
        cell = tuple(groups[codes[names.index(name)]] for name, groups in zip(columns, maps, strict=True))
        found[cell] += table[codes]
    return found * model.rows
