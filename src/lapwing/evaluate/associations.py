"""How strongly every pair of columns depends on each other, and how far a table's dependences are from the real ones.

What is computed from private rows is private: nothing here adds noise.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Associations:
    """Hold how strongly the columns of several tables depend on each other.

    Parameters
    ----------
    columns : tuple of str
        At least 2, at most 60.
    matrices : mapping of str to ndarray of float64, shape (d, d)
        By the name of the table, ``real`` among them: symmetric, 0 (independent) to 1 (one column tells the other),
        diagonal 1; nan where a column has one value only.
    """

    columns: tuple[str, ...]
    matrices: Mapping[str, np.ndarray]
