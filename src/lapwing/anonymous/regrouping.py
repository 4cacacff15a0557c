"""A free number of groups: groups are dissolved where their points are better off in near groups."""

from collections.abc import Callable

import numpy as np

_MOST_NEAR = 16
_CHUNK_VALUES = 1 << 20
_RELATIVE_GAIN = 1e-9


def dissolved(x: np.ndarray, labels: np.ndarray, near_pairs: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Dissolve groups where that lowers the sum of squared errors, and renumber.

    labels: 0, 1, ... without gaps; near_pairs: from the groups' means to pairs of near ones, int64 (q, 2).

    Each point of a dissolved group goes to that near group whose errors it alone would raise least; m points with the
    gaps g to the mean of a group of c points raise them by ``sum |g|^2 - |sum g|^2 / (c + m)``, and a group is
    dissolved where that, over its near groups, is below its own errors. By falling gain, and no group that is dissolved
    or receives is in two such steps, so that gains add. Groups only grow, without a limit. Deterministic. Time
    ``O(n p)`` for each of 16 near groups.
    """
    counts = np.bincount(labels)
    ends, order = counts.cumsum(), np.argsort(labels, kind="stable")
    centroids = np.add.reduceat(x[order], ends - counts, axis=0) / counts[:, None]
    near = _near_lists(centroids, near_pairs(centroids))
    gains, targets = np.zeros(len(counts)), np.zeros(len(x), dtype=np.int64)
    step = max(1, _CHUNK_VALUES // (int(counts.max()) * (x.shape[1] + _MOST_NEAR)))
    for first in range(0, len(counts), step):
        part = np.arange(first, min(first + step, len(counts)))
        row = np.arange(counts[part].max())
        is_point = row < counts[part, None]
        places = order[np.where(is_point, (ends - counts)[part, None] + row, 0)]
        gains[part], found = _dissolving(x[places], is_point, near[part], centroids, counts)
        targets[places[is_point]] = found[is_point]
    is_free, moved = np.ones(len(counts), dtype=bool), labels.copy()
    for group in np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > 0)].tolist():
        places = order[ends[group] - counts[group] : ends[group]]
        receiving = targets[places]
        if is_free[group] and is_free[receiving].all():
            is_free[group] = False
            is_free[receiving] = False
            moved[places] = receiving
    return np.asarray(np.unique(moved, return_inverse=True)[1].astype(np.int64))


def _near_lists(centroids: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return up to 16 nearest groups of each group, by pairs of near ones; -1 behind the last."""
    here, there = np.concatenate((pairs, pairs[:, ::-1])).T
    away = np.square(centroids[here] - centroids[there]).sum(axis=1)
    order = np.lexsort((there, away, here))
    here, there = here[order], there[order]
    rank = np.arange(len(here)) - np.searchsorted(here, here)
    near = np.full((len(centroids), _MOST_NEAR), -1)
    near[here[rank < _MOST_NEAR], rank[rank < _MOST_NEAR]] = there[rank < _MOST_NEAR]
    return near


def _dissolving(
    points: np.ndarray, is_point: np.ndarray, near: np.ndarray, centroids: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what dissolving each of some groups gains (at most 0: nothing), and where each of its points would go."""
    own, many = centroids[np.maximum(near, 0)], counts[np.maximum(near, 0)]
    points = np.where(is_point[:, :, None], points, 0.0)
    norms = np.square(points).sum(axis=2)
    away = norms[:, :, None] - 2 * (points @ own.transpose(0, 2, 1)) + np.square(own).sum(axis=2)[:, None, :]
    away = np.where(near[:, None, :] < 0, np.inf, away * (many / (many + 1.0))[:, None, :])
    choice = away.argmin(axis=2)
    gaps = points - np.take_along_axis(own, choice[:, :, None], axis=1)
    gaps[~is_point] = 0.0
    goes = ((choice[:, :, None] == np.arange(near.shape[1])) & is_point[:, :, None]).astype(np.float64)
    sums = goes.transpose(0, 2, 1) @ gaps
    raised = np.square(gaps).sum(axis=(1, 2))
    raised -= (np.square(sums).sum(axis=2) / (many + goes.sum(axis=1))).sum(axis=1)
    means = points.sum(axis=1) / is_point.sum(axis=1)[:, None]
    errors = np.square(np.where(is_point[:, :, None], points - means[:, None, :], 0.0)).sum(axis=(1, 2))
    # What rounding could fake is no gain; nor has a group without near ones where to go.
    gains = errors - raised - _RELATIVE_GAIN * norms.sum(axis=1)
    gains[near[:, 0] < 0] = 0.0
    return gains, np.take_along_axis(near, choice, axis=1)
