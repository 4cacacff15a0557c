"""Draws of exact noise per CPU second, by scale (Laplace) or σ (Gaussian): `python bench/noise_speed.py`."""

import statistics
import sys
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.laplace import discrete_laplace

SCALES = (Fraction(1, 1000), *(Fraction(10**power) for power in (0, 1, 2, 3, 4, 6, 12)))


def millions_per_second(sampler: Callable[..., np.ndarray], parameter: Fraction, size: int) -> float:
    """Return the median of three runs, after a first one that fills the tables of the scale."""
    sampler(parameter, 5000, SystemBits())
    rates = []
    for _ in range(3):
        start = time.process_time()
        sampler(parameter, size, SystemBits())
        rates.append(size / (time.process_time() - start) / 1e6)
    return statistics.median(rates)


def main() -> None:
    """Print one line per scale."""
    for scale in SCALES:
        laplace = millions_per_second(discrete_laplace, scale, 2 * 10**6)
        gaussian = millions_per_second(discrete_gaussian, scale**2, 10**6)
        sys.stdout.write(f"{scale!s:>14}  Laplace {laplace:5.1f}  Gaussian {gaussian:5.1f}  million draws per CPU s\n")


if __name__ == "__main__":
    main()
