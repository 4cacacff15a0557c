"""What a release states about its accuracy, each beside the truth: `checks` yields the kind and whether it held."""

import itertools
import math
from collections import Counter

import numpy as np
import polars as pl

import lapwing as lw
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

NEEDED = {"constraints": {"required": True}}
NUMBER = {"type": "integer", "constraints": {"minimum": 0, "maximum": 15, "required": True}}
SCHEMAS = {
    "flags": [{"name": name, "type": "boolean", **NEEDED} for name in "abcde"],
    "line": [{"name": "x", **NUMBER}],
    "plane": [{"name": "x", **NUMBER}, {"name": "y", **NUMBER}],
    "mixed": [
        {"name": "x", **NUMBER},
        {"name": "kind", "type": "string", "categories": ["p", "q", "r"], **NEEDED},
        {"name": "a", "type": "boolean", **NEEDED},
    ],
}
EPSILONS = (0.3, 1.0, 5.0)
OWN = {"LinearStatistics": lw.LinearStatistics(points=400), "PrivateSampling": lw.PrivateSampling(degree=5)}


def drawn(number):
    """Return a table and the settings of one release; mechanisms, relations, schemas and budgets take turns."""
    rng = np.random.default_rng(number)
    kind = list(MECHANISMS.values())[number % len(MECHANISMS)]
    taken = number // len(MECHANISMS)
    relation = kind.relations[taken % len(kind.relations)]
    names = ["flags"] if kind.name == "PrivateSampling" else list(SCHEMAS)
    name = names[taken // 2 % len(names)]
    rows = int(rng.integers(150, 1200))
    latent = rng.random(rows)
    made = {each: rng.random(rows) < 0.2 + 0.6 * latent for each in "abcde"}
    made["x"] = np.minimum(15, (16 * latent ** rng.integers(1, 4)).astype(int))
    made["y"] = np.minimum(15, (8 * (latent + rng.random(rows))).astype(int))
    made["kind"] = np.array(["p", "q", "r"])[np.minimum(2, (3 * latent**2).astype(int))]
    fields = SCHEMAS[name]
    settings = {"mechanism": OWN.get(kind.name, kind()), "neighbours": relation}
    epsilon = EPSILONS[taken % 3] * (100 if kind.name == "PrivateSampling" else 1)
    settings |= {"epsilon": epsilon} | ({"delta": "1e-6"} if taken % 4 == 3 else {})
    data = pl.DataFrame({field["name"]: made[field["name"]] for field in fields})
    return data, Schema.from_dict({"fields": fields}), settings


def true_table(data, schema, columns):
    """Return the counts of a table, in the order of the codes."""
    shape = [schema.field(name).domain.values for name in columns]
    places = {"p": 0, "q": 1, "r": 2}
    codes = [
        np.array([places[each] for each in data[name]]) if name == "kind" else data[name].to_numpy().astype(int)
        for name in columns
    ]
    found = np.zeros(shape)
    np.add.at(found, tuple(codes), 1)
    return found


def model_table(release, columns):
    """Return the same of the model, in rows."""
    schema = release.schema
    groupings = [identity(schema.field(name).domain) for name in columns]
    counts = marginal(release.model, list(columns), groupings)
    return counts[tuple(slice(0, schema.field(name).domain.values) for name in columns)]


def _shares(counts):
    return counts / max(1e-300, counts.sum())


def _line_distance(release, data, name):
    """Return the 1-Wasserstein distance of a column, of length 1; of several columns none is further."""
    own, true = (_shares(each) for each in (model_table(release, [name]), true_table(data, release.schema, [name])))
    return float(np.abs(np.cumsum(own - true))[:-1].sum()) / own.size


def _worst(release, data, tables):
    return max(
        float(np.abs(_shares(model_table(release, each)) - _shares(true_table(data, release.schema, each))).max())
        for each in tables
    )


def checks(release, data):
    """Yield what a release states, and whether it is true."""
    schema, names = release.schema, [column.name for column in release.schema.columns]
    stated = {each.code: each for each in release.certificate.accuracy}
    value = {kind: each.value for kind, each in stated.items()}
    pairs = list(itertools.combinations(names, 2))
    if "number_of_rows" in value:
        yield "number_of_rows", abs(release.model.rows - data.height) <= value["number_of_rows"]
    if "distance" in value:
        yield "distance", max(_line_distance(release, data, name) for name in names) <= value["distance"]
    if "certified_error" in value:
        tables = pairs or [(name,) for name in names]
        yield "certified_error", _worst(release, data, tables) <= value["certified_error"] + 1e-9
        for each in release.certificate.accuracy:
            if each.code == "certified_error_of_table":
                yield (
                    "certified_error_of_table",
                    _worst(release, data, [list(each.fields["columns"])]) <= each.value + 1e-9,
                )
    if "error_of_all_pairs" in value and all(schema.field(name).type == "boolean" for name in names):
        off = [_shares(model_table(release, each)) - _shares(true_table(data, schema, each)) for each in pairs]
        yield "error_of_all_pairs", math.sqrt(np.mean(np.square(off))) <= value["error_of_all_pairs"]
    if "distance_of_density" in value:
        most = value["distance_of_density"] + value["error_of_draw"]
        every = [each for size in range(1, 6) for each in itertools.combinations(names, size)]
        yield "error_of_draw", _worst(release, data, every) <= most
        yield "rows_drawn", release.model.rows == value["rows_drawn"]
    yield from _accuracy(release, data)


def _accuracy(release, data):
    """Yield bounds of tables and counts of single columns and pairs, and ranges of counts."""
    schema, names = release.schema, [column.name for column in release.schema.columns]
    for each in release.accuracy().statements:
        if each.code == "number_of_rows":
            yield "rows, in accuracy", abs(release.model.rows - data.height) <= each.value
    for columns in (*((name,) for name in names), *itertools.islice(itertools.combinations(names, 2), 3)):
        own, true = model_table(release, columns), true_table(data, schema, columns)
        told = release.accuracy(list(columns), groups=32)
        if told.largest_error is not None:
            yield "largest error of a table", float(np.abs(own - true).max()) <= told.largest_error + 1e-9
        if told.variation is not None:
            yield "total variation", float(np.abs(_shares(own) - _shares(true)).sum()) / 2 <= told.variation + 1e-9
        asked = release.query(list(columns), groups=32)
        for cell, row in zip(np.ndindex(true.shape), asked.iter_rows(named=True), strict=True):
            if row["lower"] is not None:
                yield "range of a count", row["lower"] <= true[cell] <= row["upper"]


def planned_errors(release, data):
    """Return kind and size of the error that a plan expects of such a release, where the truth tells it."""
    names = [column.name for column in release.schema.columns]
    if release.certificate.mechanism in ("PMM", "PSMM"):
        return max(_line_distance(release, data, name) for name in names)
    if release.certificate.mechanism == "Independent":
        tables = [(_shares(model_table(release, [n])), _shares(true_table(data, release.schema, [n]))) for n in names]
        return max(float(np.abs(own - true).sum()) / 2 for own, true in tables)
    return None


def counted(numbers):
    """Return how many statements of each kind were checked and were false, and errors beside their plans."""
    checked, false, ratios = Counter(), Counter(), {}
    for number in numbers:
        data, schema, settings = drawn(number)
        planned, release = (
            lw.plan(schema, expected_rows=data.height, **settings),
            lw.synthesize(data, schema, **settings),
        )
        kinds = {}
        for kind, held in checks(release, data):
            kinds.setdefault((release.certificate.mechanism, kind), []).append(held)
        for kind, held in kinds.items():
            checked[kind] += len(held)
            false[kind] += held.count(False)
        error = planned_errors(release, data)
        if error is not None:
            ratios.setdefault(release.certificate.mechanism, []).append((error, planned.accuracy[0].value))
    return checked, false, ratios
