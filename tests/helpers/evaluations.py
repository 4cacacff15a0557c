"""The form of the figures that `lapwing evaluate --json` writes, as a JSON schema, and a table to evaluate."""

import numpy as np
import polars as pl

_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_COUNT = {"type": "integer", "minimum": 1}


def _form(**properties):
    """Return the schema of an object with exactly these keys."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_WORST = _form(columns={"type": "array", "items": {"type": "string"}, "minItems": 1}, distance=_SHARE)
_VARIATIONS = {
    "type": "array",
    "items": _form(
        ways=_COUNT,
        tables=_COUNT,
        possible=_COUNT,
        mean=_SHARE,
        max=_SHARE,
        worst={"type": "array", "items": _WORST, "minItems": 1, "maxItems": 10},
    ),
}

_RISE = {"type": "number", "minimum": -1, "maximum": 1}
_PERCENTS = ("1", "5", "25", "50", "75", "95", "99")
_COLUMNS = {
    "type": "array",
    "items": _form(
        column={"type": "string"},
        missing={"anyOf": [{"type": "null"}, _RISE]},
        special={"type": "array", "items": _form(value={"type": ["number", "string"]}, error=_RISE)},
        numbers={
            "anyOf": [
                {"type": "null"},
                _form(
                    mean={"type": ["null", "number"]},
                    deviation={"type": ["null", "number"], "minimum": -1},
                    ranks=_form(**dict.fromkeys(_PERCENTS, _RISE)),
                    rank=_SHARE,
                    kolmogorov=_SHARE,
                    wasserstein={"type": ["null", "number"], "minimum": 0},
                ),
            ]
        },
    ),
}
_GAPS = {
    "anyOf": [{"type": "null"}, _form(**dict.fromkeys(("synthetic", "bootstrap", "independent"), _VARIATIONS["items"]))]
}

_SIZE = {"type": "number", "minimum": 0}
_ESTIMATE = _form(value={"type": "number"}, standard_error=_SIZE)
_METRIC = _form(
    **{key: {"type": "string", "minLength": 1} for key in ("key", "title", "unit", "meaning", "reference")},
    best={"type": "number"},
    columns=_COUNT,
    rows={"anyOf": [{"type": "null"}, _COUNT]},
    values=_form(**dict.fromkeys(("synthetic", "bootstrap", "independent"), _ESTIMATE)),
)
_STRENGTH = {"anyOf": [{"type": "null"}, _SHARE]}
_MATRIX = {"type": "array", "items": {"type": "array", "items": _STRENGTH}}
_ASSOCIATIONS = _form(
    columns={"type": "array", "items": {"type": "string"}, "minItems": 2},
    matrices=_form(**dict.fromkeys(("real", "synthetic", "bootstrap", "independent"), _MATRIX)),
)
_SUBGROUP = _form(
    columns={"type": "array", "items": {"type": "string"}, "minItems": 1},
    labels={"type": "array", "items": {"type": "string"}, "minItems": 1},
    rows={"type": "integer", "minimum": 0},
    synthetic_rows={"type": "integer", "minimum": 0},
    variation=_ESTIMATE,
    bootstrap=_ESTIMATE,
    is_too_small={"type": "boolean"},
)

_SCORE = _form(
    name={"type": "string"},
    auc={"anyOf": [{"type": "null"}, _SHARE]},
    ceiling={"anyOf": [{"type": "null"}, _SHARE]},
    rows={"type": "integer", "minimum": 0},
    note={"type": "string"},
)

_BY_COLUMN = {"type": "object", "additionalProperties": _SHARE}
_PANEL = _form(
    columns={"type": "object", "additionalProperties": {"type": "object", "additionalProperties": _BY_COLUMN}},
    agreement=_form(**dict.fromkeys(("real", "synthetic", "bootstrap", "independent"), _BY_COLUMN)),
)

_STRENGTH = {"type": ["number", "null"], "minimum": -1, "maximum": 1}
_RELATED = _form(
    columns={"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
    is_correlation={"type": "boolean"},
    strength=_STRENGTH,
    other=_STRENGTH,
    similarity=_SHARE,
)
_QUALITY = _form(
    score=_SHARE,
    shape=_SHARE,
    trend={"anyOf": [{"type": "null"}, _SHARE]},
    share_error=_SHARE,
    shapes=_BY_COLUMN,
    relations={"type": "array", "items": _RELATED},
)

METRICS = _form(
    notice={"const": "internal - do not publish"},
    lapwing={"type": "string"},
    seed={"type": "integer", "minimum": 0},
    rows=_form(real=_COUNT, synthetic=_COUNT, sampled={"anyOf": [{"type": "null"}, _COUNT]}),
    quality=_QUALITY,
    total_variation=_form(synthetic=_VARIATIONS, bootstrap=_VARIATIONS, independent=_VARIATIONS),
    columns=_form(synthetic=_COLUMNS, bootstrap=_COLUMNS),
    missing=_form(together=_GAPS, given=_GAPS),
    metrics={"type": "array", "items": _METRIC, "minItems": 1},
    notes={"type": "array", "items": {"type": "string"}},
    associations={"anyOf": [{"type": "null"}, _ASSOCIATIONS]},
    subgroups={"type": "array", "items": _SUBGROUP},
    weighted={"type": ["null", "object"]},
    declared={"type": ["null", "object"]},
    panel={"anyOf": [{"type": "null"}, _PANEL]},
    disclosure={"type": ["null", "object"]},
    overlays={"type": "object", "required": ["columns", "maps"]},
    downstream={
        "anyOf": [
            {"type": "null"},
            _form(
                target={"type": "string"},
                auc=_SHARE,
                ceiling=_SHARE,
                floor=_SHARE,
                scores={"type": "array", "items": _SCORE},
            ),
        ]
    },
)


def table(seed, rows=600):
    """Return rows in which age tells rich, and with missing values, special values, and misfits in every column."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, rows)
    return pl.DataFrame(
        {
            "age": pl.Series(np.where(rng.random(rows) < 0.1, -1, age)).set(pl.Series(rng.random(rows) < 0.1), None),
            "sex": rng.choice(["f", "m", "other"], rows),
            "rich": age >= 50,
            "height": rng.normal(1.7, 0.2, rows),
        }
    )
