"""The public randomness: the one place where a NumPy generator is made."""

import json
import os
from pathlib import Path

import numpy as np

from lapwing.errors import ParameterError
from lapwing.schema.scalars import check_whole_number

_PURPOSES = (
    *("fit", "rows", "certificate", "plan", "evaluate", "anonymize", "mu", "replicates", "finish", "audit"),
    *("verdict", "prior", "order", "pull"),  # new ones at the end, so that the streams of the others stay as they are
)


def checked_seed(seed: object) -> int | None:
    """Return the seed, if it is one."""
    if seed is None:
        return None
    hint, given = "; it draws rows, never noise", int(seed) if isinstance(seed, np.integer) else seed
    return check_whole_number("seed", given, 0, 2**128 - 1, hint, limit="2**128 - 1", code="LW309")


def _fresh_seed() -> int:
    """Return a new seed from the operating system, to be recorded in the certificate."""
    return int.from_bytes(os.urandom(8), "little")


def chosen_seed(seed: object, transcript: Path | None = None) -> int:
    """Return the seed, or the one that a transcript was begun with, or a fresh one where neither is there."""
    own = checked_seed(seed)
    kept = _recorded_seed(transcript) if own is None else own
    return _fresh_seed() if kept is None else kept


def _recorded_seed(transcript: Path | None) -> int | None:
    """Return the seed that a transcript was begun with; None where there is none that can be read."""
    if transcript is None or not os.path.isfile(transcript):
        return None
    try:
        with transcript.open("rb") as file:
            settings = json.loads(file.readline())["settings"]
        return checked_seed(next(iter(settings.get("parts", {"": settings}).values()))["seed"])
    except (OSError, ValueError, KeyError, TypeError, StopIteration, AttributeError, RecursionError, ParameterError):
        return None  # what is wrong with it is said where it is taken up


def generator(seed: int, purpose: str) -> np.random.Generator:
    """Return the generator of one purpose (above); streams independent of each other."""
    stream = _PURPOSES.index(purpose)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stream,)))
