"""Fake bit sources for tests. The package itself has one source only, the operating system."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lapwing.kernel.noise.bits import BitSource


@dataclass(frozen=True, slots=True)
class ZeroNoiseBits:
    """All words are 0: Laplace and Gaussian noise is 0 everywhere, and selection returns the first best candidate."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return zeros."""
        return np.zeros(count, dtype=np.uint64)


class SeededBits:
    """Words of a seeded generator: reproducible, so for tests only."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next words of the generator."""
        return self._rng.integers(0, 1 << 64, size=count, dtype=np.uint64)


@dataclass(slots=True)
class CountingBits:
    """Pass another source through and count calls and words."""

    source: BitSource
    count: int = 0
    calls: int = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the words of the source."""
        self.count += count
        self.calls += 1
        return self.source.words(count)


@dataclass(slots=True)
class ScriptedBits:
    """Give out the listed words in order; running out is an AssertionError."""

    script: list[int] = field(default_factory=list)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next listed words."""
        assert count <= len(self.script), "the script has no words left"
        taken, self.script = self.script[:count], self.script[count:]
        return np.array(taken, dtype=np.uint64)
