"""Answer `PrivateDraw`: rows drawn by exact integer weights. Proof: ``proof.md``.

The draw is the protection: no noise is added, so it happens here.
"""

from collections.abc import Sequence

import numpy as np

from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.noise.weighted import weighted_draws
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.private_draw.question import DrawnRows, PrivateDraw
from lapwing.kernel.terms import Terms
from lapwing.maths.reduced_density import (
    low_degree_sums,
    nearest_density,
    set_masks,
    sign_matrix,
    walsh_transform,
    whole_weights,
)
from lapwing.rows.counting import CodedSource


def answer_private_draw(
    questions: Sequence[PrivateDraw], rows: PrivateRows, terms: Terms, bits: BitSource
) -> tuple[DrawnRows, ...]:
    """Draw rows by weights that have the table's marginals up to a degree.

    questions: already charged, and for the public number of rows.

    Guarantee: each answer is ε-DP or ρ-zCDP at its question's cost for replace-one neighbours with one row per unit.
    The privacy of the published variant is proved too; its accuracy theorem is not derived here.
    """
    del terms  # the room has compared them with each question
    return tuple(_draw_rows(question, rows.source, bits) for question in questions)


def _draw_rows(question: PrivateDraw, source: CodedSource, bits: BitSource) -> DrawnRows:
    """Draw the rows of one answer."""
    places = weighted_draws(exact_weights(question, source), question.draws, bits)  # [draw]
    return DrawnRows(question, places if question.points is None else question.points[places])


def exact_weights(question: PrivateDraw, source: CodedSource) -> np.ndarray:
    """Return the exact weights of the points: ndarray of int64, all above 0.

    Guarantee: none, the weights are exact; `answer_private_draw` draws by them.
    """
    sums = low_degree_sums(_cube_counts(question.columns, source), question.rows, question.degree)  # [sums]
    if question.points is None or question.ceiling is None:
        weights: np.ndarray = np.maximum(walsh_transform(sums), question.least)  # [floor]
        return weights
    columns, degree = len(question.columns), question.degree
    signs = sign_matrix(question.points, columns, degree)
    wanted = sums[set_masks(columns, degree)]
    return whole_weights(nearest_density(signs, wanted, question.rows, question.floor, question.ceiling))  # [nearest]


def _cube_counts(columns: Sequence[str], source: CodedSource) -> np.ndarray:
    """Count the rows at each point of the cube; a row with a misfit is at none."""
    counts = np.zeros(2 ** len(columns), dtype=np.int64)
    for chunk in source.chunks():
        codes = [chunk[name].astype(np.int64) for name in columns]
        is_complete = np.logical_and.reduce([each < 2 for each in codes])
        points = np.bitwise_or.reduce([each << place for place, each in enumerate(codes)])
        counts += np.bincount(points[is_complete], minlength=counts.size)  # [misfit]
    return counts
