"""Answer `SecondMoment`: exact integer sums of products plus exact integer noise. Proof: ``proof.md``."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.questions.answering import PrivateRows, blocks, noise_of
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.terms import Terms
from lapwing.rows.counting import CodedSource


def answer_second_moment(
    questions: Sequence[SecondMoment], rows: PrivateRows, terms: Terms, bits: BitSource
) -> tuple[NoisySums, ...]:
    """Sum the products of coordinates and add fresh noise to every one.

    Guarantee: each answer is ε-DP (discrete Laplace) or ρ-zCDP (discrete Gaussian) at its question's cost, for
    add-remove and replace-one neighbours (the paper's bound: replace-one) with ``terms.max_rows`` rows per unit.
    """
    return tuple(_add_noise(question, rows.source, terms, bits) for question in questions)


def _add_noise(question: SecondMoment, source: CodedSource, terms: Terms, bits: BitSource) -> NoisySums:
    """Add one independent noise value to each product."""
    law = question.noise(terms.relation, terms.max_rows)  # [law]
    exact = exact_products(question.coordinates, source)[question.pairs]
    return NoisySums(question, exact + noise_of(law, exact.size, bits), law)  # [noise]


def exact_products(coordinates: Coordinates, source: CodedSource) -> np.ndarray:
    """Return the sums over rows of all products: ndarray of int64, shape (p, p).

    Guarantee: none, the sums are exact; `answer_second_moment` adds the noise before anything leaves the room.
    """
    coordinates = replace(coordinates)  # derived tables are made anew: what was handed in is believed in no detail
    total = np.zeros((coordinates.size, coordinates.size), dtype=np.int64)
    for block in blocks(source):
        vectors = coordinates.vectors(block)  # [vector]
        total += (vectors.T @ vectors).astype(np.int64)  # [sum] whole numbers below 2**53: exact in any order
    return total
