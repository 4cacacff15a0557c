"""Tables of required Booleans, and mixed ones, and released models as mixtures of independent bits."""

import numpy as np
import polars as pl

from lapwing.schema.schemas import Schema

REQUIRED = {"required": True}
WIDE = {"name": "wide", "type": "integer", "constraints": {"minimum": 0, "maximum": 999}, "special": [5000]}
KIND = {"name": "kind", "type": "string", "categories": list("abcde"), "constraints": {"required": True}}
FLAG = {"name": "f0", "type": "boolean", "constraints": {"required": True}}
MIXED = Schema.from_dict({"fields": [FLAG, WIDE, KIND]})


def flags(count):
    """Return a schema of required Booleans f0, f1, ..."""
    return Schema.from_dict(
        {"fields": [{"name": f"f{i}", "type": "boolean", "constraints": REQUIRED} for i in range(count)]}
    )


def frame_of_flags(rows):
    """Return rows of 0 and 1, shape (n, p), as a table."""
    return pl.DataFrame(np.asarray(rows, dtype=bool), schema=[f"f{i}" for i in range(np.shape(rows)[1])])


def latent_rows(rng, rows, columns, classes=4):
    """Return rows of a latent-class table: in each class the columns are independent."""
    chances = rng.uniform(0.05, 0.95, (classes, columns))
    return rng.random((rows, columns)) < chances[rng.integers(0, classes, rows)]


def mixture(model):
    """Return the weights of a model's atoms, of sum 1, and the chance of True of each flag in each of them."""
    chances = np.stack([law.p for law in model.laws.values()], axis=1)
    return model.weights / model.weights.sum(), chances


def moments(model):
    """Return the chance of True of each flag, and of each two of them, under a model: shapes (p,) and (p, p)."""
    weights, chances = mixture(model)
    return weights @ chances, (chances * weights[:, None]).T @ chances


def mixed_rows(rows, seed=1):
    """Return a mixed table in which the columns hang together, some numbers missing or special."""
    rng = np.random.default_rng(seed)
    places = rng.beta(2, 5, rows)
    wide = np.where(places < 0.1, "", np.where(places > 0.6, "5000", np.rint(999 * places).astype(int).astype(str)))
    return pl.DataFrame(
        {
            "f0": rng.random(rows) < places,
            "wide": pl.Series(wide.astype(str), dtype=pl.String).replace("", None),
            "kind": np.array(list("abcde"))[np.minimum(4, (6 * places).astype(int))],
        }
    )
