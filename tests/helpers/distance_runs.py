"""Bought evaluations for tests: small public tables under any schema, record and replay over generated neighbours."""

import itertools

import numpy as np

from lapwing.extras.audit.mechanism_pairs import bought_settings
from lapwing.extras.audit.mechanism_pairs import synthetic_codes as synthetic_codes
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.extras.audit.replay import audit_pair


def flags_of_evaluations(
    *, pairs, relations=("add-remove", "replace-one"), rows_per_unit=(1, 3), until_flagged=False, **settings
):
    """Return the flags over so many generated pairs of each relation, unit and notion."""
    rng, flagged = np.random.default_rng(pairs), []
    for number, relation, max_rows, pure in itertools.product(range(pairs), relations, rows_per_unit, (True, False)):
        pair = neighbour_pair(rng, relation, max_rows)
        given = {"times": int(rng.choice([1, 10, 1000])), "expected_rows": [None, 20][number % 2]} | settings
        asked = bought_settings(pair.schema, relation, pure=pure, seed=int(rng.integers(99)), **given)
        flagged += audit_pair(pair.data, pair.neighbour, asked)
        if flagged and until_flagged:
            break
    return flagged
