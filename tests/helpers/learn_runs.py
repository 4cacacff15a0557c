"""Learning runs for tests: drafts of generated schemas, record and replay over generated neighbours."""

import itertools

import numpy as np

from lapwing.extras.audit.mechanism_pairs import TINY as TINY
from lapwing.extras.audit.mechanism_pairs import draft_of as draft_of
from lapwing.extras.audit.mechanism_pairs import learn_settings as learn_settings
from lapwing.extras.audit.mechanism_pairs import learning_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.release.runs.learned.running import run_learning


def flags_of_learning(
    *, pairs, relations=("add-remove", "replace-one"), rows_per_unit=(1, 3), run=run_learning, times=(1, 10, 1000)
):
    """Return the flags of the first of so many generated pairs that has any, of numbers, dates, lists and texts."""
    rng = np.random.default_rng(pairs)
    for number, relation, max_rows in itertools.product(range(pairs), relations, rows_per_unit):
        pair, settings = learning_pair(rng, relation, max_rows, number=number, times=times)
        flags = audit_pair(pair.data, pair.neighbour, settings, run)
        if flags:
            return flags
    return ()
