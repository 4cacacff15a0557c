"""A generator for each chunk of rows, so that any chunk can be drawn by itself, anywhere and again."""

from typing import Any

import numpy as np


def parted(rng: np.random.Generator) -> np.random.Generator:
    """Return the common parent of the generators of chunks; each call on the same generator gives another one."""
    return rng.spawn(1)[0]


def chunk_generator(parent: np.random.Generator, number: int) -> np.random.Generator:
    """Return the generator of one chunk: the child that ``Generator.spawn`` makes after ``number`` others.

    Parameters
    ----------
    parent : numpy.random.Generator
        As `parted` gives it; neither used nor changed.
    number : int, at least 0
        Of the chunk.

    Returns
    -------
    numpy.random.Generator
        A fresh one at each call, in its first state.

    Examples
    --------
    >>> parent = np.random.default_rng(1)
    >>> child = chunk_generator(parent, 2)
    >>> bool(child.integers(10**9) == parent.spawn(3)[2].integers(10**9))
    True
    """
    bits = parent.bit_generator
    root: Any = bits.seed_seq  # NumPy's stub gives the least that a seed sequence may be; `parted` needs a whole one
    seeds = type(root)(root.entropy, spawn_key=(*root.spawn_key, number), pool_size=root.pool_size)
    return type(parent)(type(bits)(seeds))
