"""The form of the figures that `lapwing evaluate --json` writes, as a JSON schema."""

_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_COUNT = {"type": "integer", "minimum": 1}


def _form(**properties):
    """Return the schema of an object with exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


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

METRICS = _form(
    notice={"const": "internal - do not publish"},
    lapwing={"type": "string"},
    seed={"type": "integer", "minimum": 0},
    rows=_form(real=_COUNT, synthetic=_COUNT),
    total_variation=_form(synthetic=_VARIATIONS, bootstrap=_VARIATIONS, independent=_VARIATIONS),
    downstream={
        "anyOf": [{"type": "null"}, _form(target={"type": "string"}, auc=_SHARE, ceiling=_SHARE, floor=_SHARE)]
    },
)
