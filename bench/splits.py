"""Which rows of a table a benchmark fits on, and which it keeps for a test. The same rows in every script."""

import numpy as np


def train_test(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the first four fifths of one fixed permutation, and of the last fifth.

    Parameters
    ----------
    rows : int
        Rows of the whole table.

    Returns
    -------
    train, test : ndarrays of int64, shapes (4 * rows // 5,) and (rows - 4 * rows // 5,)
        For the 48,842 rows of Adult 39,073 and 9,769 of them.
    """
    order = np.random.default_rng(0).permutation(rows)
    return np.split(order, [4 * rows // 5])
