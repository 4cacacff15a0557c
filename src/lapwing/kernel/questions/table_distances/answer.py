"""Answer `TableDistances`: one exact integer sum plus exact integer noise. Proof: ``proof.md``."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.questions.answering import PrivateRows, noise_of
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.kernel.terms import Terms
from lapwing.rows.counting import CodedSource, Codes

_ROWS: Final = 2**15  # of one block: its groups and cells stay in the processor's cache
_DENSE: Final = 4  # listed cells for each row of a block up to which adding all of them is faster


def answer_table_distances(
    questions: Sequence[TableDistances], rows: PrivateRows, terms: Terms, bits: BitSource
) -> tuple[NoisySums, ...]:
    """Sum the distances of the tables from the public ones, and add noise to each sum.

    Guarantee: each answer is ε-DP (discrete Laplace) or ρ-zCDP (discrete Gaussian) at its question's cost, for
    add-remove and replace-one neighbours with ``terms.max_rows`` rows per unit. One pass over the rows for all.
    """
    anew = [replace(question) for question in questions]  # [anew]
    exact = exact_distances(anew, rows.source)
    return tuple(_add_noise(question, total, terms, bits) for question, total in zip(anew, exact, strict=True))


def _add_noise(question: TableDistances, exact: int, terms: Terms, bits: BitSource) -> NoisySums:
    """Add one noise value to the sum."""
    law = question.noise(terms.relation, terms.max_rows)  # [law]
    return NoisySums(question, exact + noise_of(law, 1, bits), law)  # [noise]


def exact_distances(questions: Sequence[TableDistances], source: CodedSource) -> list[int]:
    """Return the sum of distances of each question.

    Guarantee: none, the sums are exact; `answer_table_distances` adds the noise before anything leaves the room.
    """
    asked = [(question, question.cells or ()) for question in questions]  # the room has refused one without cells
    counts = [[np.zeros(len(each) + 1, dtype=np.int64) for each in cells] for _, cells in asked]
    for chunk in source.chunks():
        for start in range(0, len(next(iter(chunk.values()))), _ROWS):
            block = {name: codes[start : start + _ROWS] for name, codes in chunk.items()}
            for (question, cells), totals in zip(asked, counts, strict=True):
                _count_block(question, cells, block, totals)
    return [_distance(question, totals) for question, totals in zip(questions, counts, strict=True)]


def _count_block(
    question: TableDistances, cells: Sequence[np.ndarray], block: Codes, totals: Sequence[np.ndarray]
) -> None:
    """Count each row of a block once in each table: in its listed cell, or behind all of them."""
    groups = [g.apply(block[name]) for name, g in zip(question.columns, question.groupings, strict=True)]  # [group]
    for table, listed, total in zip(question.tables, cells, totals, strict=True):
        number = groups[table[0]]
        for place in table[1:]:
            number = number * question.groupings[place].groups + groups[place]  # [cell]
        if len(listed) < question.size_of(table):
            number = _place_of(number, listed)
        if len(total) <= _DENSE * len(number):
            np.add(total, np.bincount(number, minlength=len(total)), out=total)  # [count]
        else:
            np.add.at(total, number, 1)  # [count]


def _place_of(numbers: np.ndarray, listed: np.ndarray) -> np.ndarray:
    """Return the place of each cell among the listed ones, or behind them."""
    places = np.minimum(np.searchsorted(listed, numbers), len(listed) - 1)
    return np.where(listed[places] == numbers, places, len(listed))  # [place]


def _distance(question: TableDistances, totals: Sequence[np.ndarray]) -> int:
    """Add up how far all counts are from the expected ones; every row elsewhere counts whole."""
    distance = 0
    for total, expected in zip(totals, question.expected or (), strict=True):
        gaps = np.abs((total[:-1] << question.bits) - expected)  # [gap]
        distance += int(gaps.sum()) + (int(total[-1]) << question.bits)  # [sum]
    return distance
