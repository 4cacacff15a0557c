"""How well classifiers learn a column of one table from the rows of another: trees and a linear one, three draws."""

from collections.abc import Iterator

import numpy as np

from lapwing.extras.evaluate.metrics.metric import height
from lapwing.extras.evaluate.metrics.prediction.downstream import (
    FLOOR,
    class_scores,
    classifiers,
    features,
    mean_area,
    trained_auc,
)
from lapwing.maths.arrays import Codes
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

SEEDS = range(3)
ROWS = 2**14
"""Most rows that a classifier is trained on, and tested on."""
RARE = 0.05
"""Least share of the rarer class of a target that nobody named."""


def class_cut(train: Codes, field: Field) -> int:
    """Return the first code of the second class of a target: 1 of two values, else where the halves are most equal.

    So a letter, an age or a Gaussian has two classes too, in the order of the schema, and all targets one measure.
    """
    if field.domain.values <= 2:
        return 1
    regular = train[field.name][train[field.name] < field.domain.values]
    values, counts = np.unique(regular, return_counts=True)
    if len(values) < 2:
        return 1
    below = np.cumsum(counts)[:-1]
    return int(values[1:][np.argmin(np.abs(2 * below - len(regular)))])


def target_of(train: Codes, schema: Schema) -> str:
    """Return the target of a table that names none: its last column of two categories, both of them frequent.

    Without one, the last column of more categories with two frequent classes, then of numbers or dates; without that,
    the last column.
    """
    liked = sorted(
        enumerate(schema.columns), key=lambda each: (not each[1].is_categorical, each[1].domain.values > 2, -each[0])
    )
    for _, field in liked:
        regular = train[field.name][train[field.name] < field.domain.values]
        share = float((regular >= class_cut(train, field)).sum()) / max(height(train), 1)
        if RARE <= share <= len(regular) / max(height(train), 1) - RARE:
            return field.name
    return schema.columns[-1].name


def learned(train: Codes, held: Codes, synthetic: Codes, schema: Schema, target: str) -> dict[str, float]:
    """Return mean areas under the ROC curve on held rows after training on synthetic ones, and how much they lose.

    Parameters
    ----------
    train, held, synthetic : Codes
        Codes of the schema; ``train`` and ``held`` are real.
    schema : Schema
        At least two columns.
    target : str
        The column to learn, in the two classes of `class_cut`; rows where it is missing or special are left out.

    Returns
    -------
    dict of str to float
        ``auc_trees``, ``auc_linear`` (0 to 1; 0.5 where nothing was learned), and ``auc_trees_gap``,
        ``auc_linear_gap``: the same from as many real rows, less that. Empty where the held rows have one class only.

    Notes
    -----
    Each of three seeds draws four fifths of the rows, at most 16,384, without replacement. Trees:
    scikit-learn's histogram gradient boosting as in `lapwing.extras.evaluate.metrics.prediction.downstream`; linear:
    its logistic regression on standardised numbers and indicators of categories, as there.
    """
    cut, domain = class_cut(train, schema.field(target)), schema.field(target).domain
    classes = Schema.from_dict({"fields": [_as_flag(schema, name, target) for name in schema.names]})
    tables = [_with_classes(codes, target, cut, domain.values) for codes in (train, held, synthetic)]
    test = _drawn(tables[1], ROWS, np.random.default_rng(0))
    if len(np.unique(test[target])) < 2:
        return {}
    real, made = (
        np.mean([list(_areas(codes, test, classes, target, seed)) for seed in SEEDS], axis=0)
        for codes in (tables[0], tables[2])
    )
    found = {}
    for place, kind in enumerate(("trees", "linear")):
        found |= {f"auc_{kind}": float(made[place]), f"auc_{kind}_gap": float(real[place] - made[place])}
    return found


def _areas(codes: Codes, test: Codes, schema: Schema, target: str, seed: int) -> Iterator[float]:
    """Yield the areas of trees and of the linear classifier after training on some of the rows."""
    train = _drawn(codes, min(ROWS, 4 * height(codes) // 5), np.random.default_rng(seed))
    if len(np.unique(train[target])) < 2:
        yield from (FLOOR, FLOOR)
        return
    yield trained_auc(train, test, schema, target, np.random.default_rng(seed))
    others = [column for column in schema.columns if column.name != target]
    scores = class_scores(classifiers()[0], *_split(train, test, others, target), seed)
    yield FLOOR if scores is None else mean_area(*scores, test[target].astype(np.int64))


def _split(train: Codes, test: Codes, others: list[Field], target: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the features to train on, their classes, and the features to test on."""
    points, test_points = features(train, test, others)
    return points, train[target].astype(np.int64), test_points


def _as_flag(schema: Schema, name: str, target: str) -> dict[str, object]:
    """Return a field, the target as a flag."""
    if name == target:
        return {"name": name, "type": "boolean", "constraints": {"required": True}}
    return next(field for field in schema.to_dict()["fields"] if field["name"] == name)


def _with_classes(codes: Codes, target: str, cut: int, values: int) -> dict[str, np.ndarray]:
    """Return the rows whose target is regular, with its class instead."""
    is_regular = codes[target] < values
    rows = {name: column[is_regular] for name, column in codes.items()}
    return rows | {target: (rows[target] >= cut).astype(np.uint8)}


def _drawn(codes: Codes, most: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return so many rows in random order, all where there are fewer."""
    rows = rng.permutation(height(codes))[:most]
    return {name: column[rows] for name, column in codes.items()}
