"""Record and replay over generated neighbours, until something is flagged."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.extras.audit.worst_case import USUAL
from mechanism_checks import settings_for


def flags_of(
    mechanism,
    *,
    pairs=160,
    relations=("add-remove", "replace-one"),
    rows_per_unit=(1, 3),
    times=1,
    mode=USUAL,
    first=0,
    **changes,
):
    """Return the flags of the first of some generated pairs that has any, at so many times a budget of one.

    All are run in one mode. Other settings of the release are changed as given. Pairs before the first are not audited:
    nothing shows on them.
    """
    rng = np.random.default_rng(8)
    cases = itertools.product(range(pairs // 8), relations, rows_per_unit, (True, False))
    for place, (_, relation, max_rows, pure) in enumerate(cases):
        pair = neighbour_pair(rng, relation, max_rows)
        if place < first:
            continue
        settings = settings_for(mechanism, pair.schema, relation, pure=pure, times=times)
        flags = audit_pair(pair.data, pair.neighbour, replace(settings, **changes), mode=mode)
        if flags:
            return flags
    return ()


def under_one_relation_each(settings):
    """Return settings of mechanisms, by name, with a neighbour relation each, turn by turn; all others are `full`."""
    return [
        pytest.param(each, relation, id=f"{name}-{relation}", marks=[pytest.mark.full] if (place + turn) % 2 else [])
        for place, (name, each) in enumerate(settings.items())
        for turn, relation in enumerate(("add-remove", "replace-one"))
    ]


def in_turn(mechanisms, plants):
    """Return each bug with each mechanism; CI takes one of them, turn by turn, as all are audited by the same code."""
    return [
        pytest.param(mechanism, plant, marks=[pytest.mark.full] if (place + turn) % len(mechanisms) else [])
        for place, mechanism in enumerate(mechanisms)
        for turn, plant in enumerate(plants)
    ]
