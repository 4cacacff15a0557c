"""Tables of two-valued columns, and the law of one drawn row written from the paper, slowly and in fractions."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lapwing.extras.audit.pairs import MISFIT
from lapwing.extras.audit.pairs import cube_schema as cube_schema
from lapwing.extras.audit.pairs import frame_of as frame_of
from lapwing.extras.audit.pairs import kinds_of_rows as kinds_of_rows
from lapwing.extras.audit.pairs import two_valued_pair as two_valued_pair
from lapwing.kernel.questions.private_draw.question import PrivateDraw


@dataclass(frozen=True, slots=True)
class CodedRows:
    """The codes of some rows, without the frame, which takes most of the time."""

    points: tuple
    columns: int

    def chunks(self):
        """Yield one chunk; the last cell of a misfit is one."""
        rows = [(*[1] * (self.columns - 1), 2) if point is MISFIT else point for point in self.points]
        codes = np.array(rows, dtype=np.uint8).reshape(-1, self.columns)
        yield {f"x{place}": codes[:, place] for place in range(self.columns)}


def source_of(points, columns):
    """Return the coded rows."""
    return CodedRows(tuple(points), columns)


def asked(columns, rows, *, degree=1, floor="1/10", draws=1, notion="pure", points=None, ceiling=None):
    """Return a question over the columns of `cube_schema`."""
    return PrivateDraw(
        columns=tuple(f"x{place}" for place in range(columns)),
        degree=degree,
        floor=Fraction(floor),
        rows=rows,
        draws=draws,
        notion=notion,
        points=None if points is None else np.array(points, dtype=np.int64),
        ceiling=None if ceiling is None else Fraction(ceiling),
    )


def walsh(members, point):
    """Return the Walsh function of a set of columns: the product of their signs."""
    return math.prod((-1) ** point[place] for place in members)


def sets_up_to(columns, degree):
    """Return all sets of at most so many columns."""
    return [members for size in range(degree + 1) for members in itertools.combinations(range(columns), size)]


def law_by_hand(points, columns, degree, floor):
    """Return the law of one drawn row of the exact variant: a Fraction per point, the first column changing fastest."""
    sets = sets_up_to(columns, degree)
    means = {
        members: Fraction(sum(walsh(members, point) for point in points if point is not MISFIT), len(points))
        for members in sets
    } | {(): Fraction(1)}
    least = Fraction(math.ceil(floor * len(points)), len(points))
    cube = [point[::-1] for point in itertools.product((0, 1), repeat=columns)]
    heights = [max(sum(mean * walsh(members, point) for members, mean in means.items()), least) for point in cube]
    return [height / sum(heights) for height in heights]
