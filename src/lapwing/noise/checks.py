"""Checks of the public settings that all samplers share."""

from fractions import Fraction
from numbers import Rational

from lapwing.errors import ParameterError

LARGEST_SCALE = 1 << 55  # draws stay below 2^62 but for a probability under exp(-127)


def checked_scale(scale: Fraction) -> Fraction:
    """Return the noise scale; ParameterError unless it is a positive rational of at most 2^55."""
    scale = checked_rational("noise scale", scale)
    if scale > LARGEST_SCALE:
        raise ParameterError(f"noise scale must be at most 2**55, got {scale}; spend more budget", code="LW508")
    return scale


def checked_rational(name: str, value: Fraction) -> Fraction:
    """Return a positive setting as a Fraction; ParameterError for anything but a positive rational."""
    # A float is refused, not rounded: the caller decides which rational it stands for.
    if not isinstance(value, Rational):
        raise ParameterError(
            f"{name} must be a Fraction, got a {type(value).__name__}; use Fraction(str(value))", code="LW390"
        )
    if value <= 0:
        raise ParameterError(f"{name} must be positive, got {value}", code="LW390")
    return Fraction(value)


def checked_size(size: int) -> int:
    """Return the number of draws; ParameterError below 0."""
    if size < 0:
        raise ParameterError(f"size must be at least 0, got {size}", code="LW390")
    return size
