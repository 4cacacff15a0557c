"""Practical partitions of points into small groups, and what they lose."""

import numpy as np

from lapwing.numerics.axis_split import axis_blocks
from lapwing.numerics.group_moves import improved
from lapwing.numerics.mdav import mdav

_BLOCK = 2000


def start(x, size, block=_BLOCK):
    labels = np.empty(len(x), dtype=np.int64)
    groups = 0
    for places in axis_blocks(x, max(block, 4 * size)):
        labels[places] = groups + mdav(x[places], size)
        groups = int(labels[places].max()) + 1
    return labels


def practical_partition(x, size):
    return improved(x, start(x, size), size)


def information_loss(x, labels):
    centred = x - x.mean(axis=0)
    total = float(np.square(centred).sum())
    if total == 0.0:
        return 0.0
    counts = np.bincount(labels)
    within = 0.0
    for column in centred.T:
        means = np.bincount(labels, column) / counts
        within += float(np.square(column - means[labels]).sum())
    return 100 * within / total
