"""The density of maximum entropy with what is proved about it, as the program's is returned."""

from lapwing.mechanisms.vectors.linear_statistics.densities import _rounded, certified_density, max_entropy_weights


def max_entropy_density(matrix, targets, noise):
    """Return the even density; its gap comes from the multipliers of both duals."""
    weights, ridge, steps = max_entropy_weights(matrix, targets, noise)
    return certified_density(matrix, targets, weights, [ridge, _rounded(matrix, targets, noise, ridge)], steps)
