"""Independent against a slow twin: dictionaries of counts, a simplex projection by bisection, one product law."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.bits import ZeroNoiseBits
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.model.sampling.marginals import marginal
from lapwing.rows.source import code_table
from lapwing.schema.groupings.grouping import identity


class ShiftedRoom(Room):
    """A room without secrets: every count is off by a known amount, so that the projection has work to do."""

    def ask(self, *questions):
        answers = super().ask(*questions)
        self.given = [
            type(each)(each.question, each.whole + (np.arange(each.whole.size) % 5 - 2), each.noise) for each in answers
        ]
        return tuple(self.given)


def naive_shares(counts, total):
    """Project on the simplex of this total by bisection on the threshold."""
    low, high = min(counts) - total - 1.0, max(counts) + 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if sum(max(0.0, count - middle) for count in counts) > total:
            low = middle
        else:
            high = middle
    return [max(0.0, count - high) for count in counts]


@pytest.mark.parametrize("seed", range(12))
def test_every_column_has_the_law_of_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    pair = neighbour_pair(rng, "add-remove", 1)
    source = code_table(pair.data, pair.schema)
    terms = Terms(relation="add-remove")
    room = ShiftedRoom(source, pair.schema, terms, Budget.pure(1), bits=ZeroNoiseBits(), sink=NoTranscript())

    model = Independent(groups=64).run(room, pair.schema, Budget.pure(1), rng)

    precision = [1 / (each.whole.size * each.noise.sd**2) for each in room.given]
    totals = [sum(each.whole.tolist()) for each in room.given]
    total = max(0.0, sum(p * t for p, t in zip(precision, totals, strict=True)) / sum(precision))
    assert model.rows == round(total)
    for column, answer in zip(pair.schema.columns, room.given, strict=True):
        domain = column.domain
        if not (column.is_categorical or domain.values <= 128):
            continue
        expected = naive_law(list(source.chunks(apart=True)), column, total, answer.noise.sd)
        found = marginal(replace(model, rows=1000), [column.name], [identity(domain)])
        assert found / 1000 == pytest.approx(expected, abs=1e-6)


def naive_law(chunks, column, total, sd):
    """Count cell by cell, shift as the room does, project, leave the misfit code out, scale to 1.

    Where misfits may count as missing, they do where they pass four standard deviations.
    """
    domain = column.domain
    exact = [sum(int((chunk[column.name] == code).sum()) for chunk in chunks) for code in range(domain.misfit + 1)]
    shifted = [count + code % 5 - 2 for code, count in enumerate(exact)]
    if domain.missing:
        misfits = shifted.pop()
        shifted[-1] += misfits if misfits > 4 * sd else 0
    shares = naive_shares(shifted, total)
    if not domain.missing:
        shares[-1] = 0.0
    if sum(shares) <= 1e-9:
        shares = [1.0] * domain.values + [0.0] * domain.reserved
    return np.array(shares) / sum(shares)
