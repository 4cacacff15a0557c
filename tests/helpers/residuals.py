"""Residuals of answers against the law that they declare: shape, moments, independence of cells and of asks."""

import math

import numpy as np

from helpers.noise_laws import FALSE_ALARM, alarm, gaussian_law, laplace_law

FEWEST = 300
"""Below so many residuals nothing is said."""

_Z = 7.0
_SUMMED = 20_000


def residual_flags(found):
    """Return what is wrong with residuals, given by their law, each an array of asks and cells."""
    return [f"{law}: {flag}" for law, drawn in found.items() for flag in law_flags(drawn, law)]


def law_flags(drawn, law):
    """Return what is wrong with integer draws, one row for each ask, of a law."""
    if drawn.size < FEWEST:
        return []
    width = float(law.parameter) if law.kind == "laplace" else math.sqrt(law.parameter)
    flags = []
    if law.kind == "laplace" or not _SUMMED < width <= 1e6:  # in between, the sum of a law is long
        reference = laplace_law(width) if law.kind == "laplace" else gaussian_law(width)
        flags += [f"the law ({drawn.size} draws)"] * (alarm(drawn.reshape(-1), reference) < FALSE_ALARM)
    flags += moment_flags(drawn.reshape(-1), law.kind, width)
    flags += ["independence"] * (not looks_independent(drawn.reshape(-1)))
    if len(drawn) >= FEWEST and drawn.shape[1] > 1:  # the ends of many asks, where a slip may be alone
        for place in (0, -1):
            flags += [f"{flag} of cell {place}" for flag in moment_flags(drawn[:, place], law.kind, width)]
    return flags


def moment_flags(drawn, kind, width):
    """Return which of mean, variance and kurtosis are off by more than chance, by seven standard errors."""
    square, fourth, eighth = _moments(kind, width)
    x = drawn.astype(np.float64)
    flags = []
    for power, mean, spread in ((1, 0.0, square), (2, square, fourth - square**2), (4, fourth, eighth - fourth**2)):
        # Of heavy tails means are normal for many draws only.
        if power < 4 or x.size >= 100_000:
            z = (np.mean(x**power) - mean) / math.sqrt(spread / x.size)
            flags += [f"moment {power} (z {z:.1f}, {x.size} draws)"] * bool(abs(z) > (_Z if power < 4 else 3 * _Z))
    return flags


def _moments(kind, width):
    """Return the second, fourth and eighth moment."""
    reach = min(math.ceil(60 * width), 200_000) + 1
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    if reach > 200_000:
        scale = width
        return (
            (2 * scale**2, 24 * scale**4, 40320 * scale**8)
            if kind == "laplace"
            else (scale**2, 3 * scale**4, 105 * scale**8)
        )
    masses = np.exp(-np.abs(z) / width) if kind == "laplace" else np.exp(-(z**2) / (2 * width**2))
    masses /= masses.sum()
    return tuple(float((masses * z**power).sum()) for power in (2, 4, 8))


def looks_independent(drawn):
    """Return whether no two residuals at any distance go together: noise given twice, or to neighbours, does."""
    x = drawn.astype(np.float64)
    x -= x.mean()
    padded = np.fft.rfft(x, 2 ** (2 * x.size - 1).bit_length())
    together = np.fft.irfft(np.abs(padded) ** 2)[1 : x.size - 20]
    terms = x.size - np.arange(1, 1 + together.size)
    most = math.sqrt(2 * math.log(2 * x.size / FALSE_ALARM)) + 3
    return bool((np.abs(together) <= most * np.sqrt(terms) * x.var()).all())
