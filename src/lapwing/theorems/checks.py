"""What numbers the theorems refuse."""

import math

from lapwing.errors import ParameterError


def check_above_0(**numbers: float) -> None:
    """Refuse numbers that are not finite and above 0."""
    for name, number in numbers.items():
        if not 0 < number < math.inf:
            raise ParameterError(f"{name} must be finite and above 0, got {number}", code="LW390")


def check_from_0(**numbers: float) -> None:
    """Refuse numbers that are not finite and at least 0."""
    for name, number in numbers.items():
        if not 0 <= number < math.inf:
            raise ParameterError(f"{name} must be finite and at least 0, got {number}", code="LW390")
