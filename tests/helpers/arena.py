"""The arena's tables and measures, which live in ``bench`` and are no package."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))

from arena import codings, learning, marginals, measures, plan, recipes, tables

__all__ = ["codings", "learning", "marginals", "measures", "plan", "recipes", "tables"]
