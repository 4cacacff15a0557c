"""Settings of mechanisms for record and replay."""

import pytest


def under_one_relation_each(settings):
    """Return settings of mechanisms, by name, with a neighbour relation each, turn by turn; all others are `full`."""
    return [
        pytest.param(each, relation, id=f"{name}-{relation}", marks=[pytest.mark.full] if (place + turn) % 2 else [])
        for place, (name, each) in enumerate(settings.items())
        for turn, relation in enumerate(("add-remove", "replace-one"))
    ]
