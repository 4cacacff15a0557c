"""Findings of small tables, made by the functions of `lapwing.evaluate` alone."""

import itertools

import numpy as np

from lapwing.extras.evaluate.metrics.associations import compare_associations
from lapwing.extras.evaluate.metrics.columns import (
    compare_columns,
    missing_given,
    missing_together,
    pairs_given,
    pairs_together,
)
from lapwing.extras.evaluate.metrics.findings import Findings
from lapwing.extras.evaluate.metrics.metric import Estimate, Metric, MetricResult, bootstrap_rows, independent_columns
from lapwing.extras.evaluate.metrics.overlays import overlay_columns
from lapwing.extras.evaluate.metrics.tables.variation import compare_tables
from lapwing.model.compared import choose_tables
from lapwing.model.quality import compare_quality
from lapwing.schema.schemas import Schema


def schema_of(*fields):
    return Schema.from_dict({"fields": list(fields)})


def compared(synthetic, bootstrap, independent, *, errors=(0.0, 0.0, 0.0), best=0.0, key="mmd"):
    """Return one metric with its values and standard errors."""
    metric = Metric(key, best)
    names = ("synthetic", "bootstrap", "independent")
    values = {
        name: Estimate(value=value, standard_error=error)
        for name, value, error in zip(names, (synthetic, bootstrap, independent), errors, strict=True)
    }
    return MetricResult(metric=metric, values=values, rows=None, columns=2)


def findings(schema, real, synthetic, *, metrics=(), seed=0, **more):
    """Return the findings of two coded tables; prediction, groups and disclosure only if given."""
    rng = np.random.default_rng(seed)
    others = {
        "synthetic": synthetic,
        "bootstrap": bootstrap_rows(real, rng),
        "independent": independent_columns(real, rng),
    }
    tables = choose_tables(schema, rng=rng)
    pairs, given = pairs_together(schema, rng=rng), pairs_given(schema, rng=rng)
    gaps = {
        name: {key: count(real, each, schema, chosen) for key, each in others.items()} if chosen else None
        for name, count, chosen in (("together", missing_together, pairs), ("given", missing_given, given))
    }
    made = {
        "quality": compare_quality(real, synthetic, schema, rng=rng),
        "tables": {name: compare_tables(real, each, schema, tables) for name, each in others.items()},
        "columns": {name: compare_columns(real, others[name], schema) for name in ("synthetic", "bootstrap")},
        "metrics": tuple(metrics),
        "associations": compare_associations(real, others, schema, rng=rng),
        "downstream": None,
        "subgroups": (),
        "disclosure": None,
        "overlays": overlay_columns(real, synthetic, schema),
        "notes": (),
        "rows": len(next(iter(real.values()))),
        "synthetic_rows": len(next(iter(synthetic.values()))),
        "seed": seed,
    }
    return Findings(**(made | gaps | more))


def texts(value):
    """Return every text inside sections, in order: of dataclasses, mappings and sequences."""
    if isinstance(value, str):
        return [value]
    if hasattr(value, "__dataclass_fields__"):
        return texts([getattr(value, name) for name in value.__dataclass_fields__])
    if isinstance(value, dict):
        return texts([*value, *value.values()])
    return list(itertools.chain(*map(texts, value))) if isinstance(value, list | tuple) else []
