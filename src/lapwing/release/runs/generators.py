"""The public randomness: the one place where a NumPy generator is made."""

import numpy as np

from lapwing.schema.scalars import check_whole_number

_PURPOSES = (
    *("fit", "rows", "certificate", "plan", "evaluate", "anonymize", "mu", "replicates", "finish", "audit"),
    *("verdict", "prior"),  # new ones at the end, so that the streams of the others stay as they are
)


def checked_seed(seed: object) -> int | None:
    """Return the seed, if it is one."""
    if seed is None:
        return None
    hint, given = "; it draws rows, never noise", int(seed) if isinstance(seed, np.integer) else seed
    return check_whole_number("seed", given, 0, 2**128 - 1, hint, limit="2**128 - 1", code="LW309")


def fresh_seed() -> int:
    """Return a new seed from the operating system, to be recorded in the certificate."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])


def chosen_seed(seed: object) -> int:
    """Return the seed, or a fresh one where none is given."""
    own = checked_seed(seed)
    return fresh_seed() if own is None else own


def generator(seed: int, purpose: str) -> np.random.Generator:
    """Return the generator of one purpose (above); streams independent of each other."""
    stream = _PURPOSES.index(purpose)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,)))
