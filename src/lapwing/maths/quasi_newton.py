"""The limited-memory method of Broyden, Fletcher, Goldfarb and Shanno, for smooth convex functions."""

import math
from collections import deque
from collections.abc import Callable
from typing import Final

import numpy as np

MEMORY: Final = 20  # steps that the method remembers
LEAST_STEP: Final = 1e-12
"""Steps end where even so small a part of one does not lead down: rounding is all that is left."""

MOST_IDLE: Final = 10  # steps end after so many that led nowhere
Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
_Moves = deque[tuple[np.ndarray, np.ndarray, float]]


def minimize(objective: Objective, start: np.ndarray, precision: float, most_steps: int) -> tuple[np.ndarray, int]:
    """Return where a smooth convex function is smallest, and the number of steps to there.

    Nocedal, Wright, "Numerical Optimization" (2006), Algorithms 7.4 and 7.5; steps are halved until they lead down
    (Armijo). Not SciPy's: its small matrix products start threads that wait for each other, ten times the time.

    ``O(q)`` beside one call of the function for each step, rarely two.

    >>> def bowl(x):
    ...     return float(((x - 3) ** 2).sum()), 2 * (x - 3)
    >>> place, steps = minimize(bowl, np.zeros(2), 1e-9, 100)
    >>> place.round(6).tolist()
    [3.0, 3.0]
    """
    place, moves, idle = start, _Moves(maxlen=MEMORY), 0
    value, slope = objective(place)
    for step in range(most_steps):
        if np.abs(slope).max() <= precision or idle == MOST_IDLE:
            return place, step
        direction = _direction(slope, moves)
        descent, part = _dot(slope, direction), 1.0
        while True:
            other = place + part * direction
            other_value, other_slope = objective(other)
            if other_value <= value + 1e-4 * part * descent:
                break
            part /= 2
            if part < LEAST_STEP:
                return place, step
        move, turn = other - place, other_slope - slope
        curvature = _dot(move, turn)
        if curvature > LEAST_STEP * _dot(turn, turn):
            moves.append((move, turn, curvature))
        idle = 0 if other_value < value else idle + 1
        place, value, slope = other, other_value, other_slope
    return place, most_steps


def _direction(slope: np.ndarray, moves: _Moves) -> np.ndarray:
    """Return the gradient times minus the inverse Hessian that the moves tell."""
    if not moves:
        return -slope / max(1.0, math.sqrt(_dot(slope, slope)))
    direction, parts = -slope, []
    for move, turn, curvature in reversed(moves):
        part = _dot(move, direction) / curvature
        parts.append(part)
        direction = direction - part * turn
    _, turn, curvature = moves[-1]
    direction = direction * (curvature / _dot(turn, turn))
    for (move, turn, curvature), part in zip(moves, reversed(parts), strict=True):
        direction = direction + move * (part - _dot(turn, direction) / curvature)
    return direction


def _dot(one: np.ndarray, other: np.ndarray) -> float:
    """Return the inner product without BLAS, whose threads wait for each other."""
    return float((one * other).sum())
