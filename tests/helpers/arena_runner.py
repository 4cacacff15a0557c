"""The arena's runner and adapters, which live in ``bench`` and are no package."""

import sys

from helpers.arena import tables
from helpers.source_tree import ROOT

sys.path.append(str(ROOT / "bench" / "arena" / "rivals"))

import google_dpsynth
import working
from arena import cells, environments, field, forms, privacy, run, standings

RIVALS = ROOT / "bench" / "arena" / "rivals"

__all__ = [
    "RIVALS", "cells", "environments", "field", "forms", "google_dpsynth", "privacy", "run", "standings", "tables",
    "working",
]  # fmt: skip
