"""Bugs planted in the question about rows with a misfit: record and replay flags each of them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import lapwing.kernel.questions.misfit_rows.answer as room
from helpers.bits import SeededBits
from helpers.misfit_tables import SCHEMA, table
from helpers.swapped import swapped
from lapwing.extras.audit.mechanism_pairs import settings_for
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.misfit_rows.question import MisfitRows, NoisyRows
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.rows.source import code_table


def without_noise(patch):
    patch.setattr(room, "noise_of", lambda law, size, bits: np.zeros(size, dtype=np.int64))


def one_noise_for_both(patch):
    honest = room.noise_of
    patch.setattr(room, "noise_of", lambda law, size, bits: np.repeat(honest(law, 1, bits), size))


def half_of_the_noise(patch):
    def change(question, counts, terms, bits):
        law = question.noise(terms.relation, terms.max_rows)
        short = type(law)(law.kind, law.parameter / 2)
        return NoisyRows(question, counts + room.noise_of(short, counts.size, bits), law)

    patch.setattr(room, "_perturbed", change)


def rows_of_which_none_is_wrong_are_told(patch):
    honest = room._perturbed

    def change(question, counts, terms, bits):
        answer = honest(question, counts, terms, bits)
        return NoisyRows(question, np.where(counts == 0, 0, answer.counts), answer.noise)

    patch.setattr(room, "_perturbed", change)


def missing_cells_are_misfits(patch):
    def change(questions, rows, terms, bits):
        source = rows.source
        last = [(chunk[name] >= SCHEMA.field(name).domain.last) for chunk in source.chunks() for name in ("kind",)]
        wrong = int(sum(map(np.count_nonzero, last)))
        counts = np.array([wrong, source.rows - wrong])
        return tuple(room._perturbed(each, counts[: each.shape[0]], terms, bits) for each in questions)

    swapped(patch, "MisfitRows", lambda _: change)


BUGS = [
    without_noise,
    one_noise_for_both,
    half_of_the_noise,
    rows_of_which_none_is_wrong_are_told,
    missing_cells_are_misfits,
]


def pair_of(seed):
    rng = np.random.default_rng(seed)
    frame, _ = table(rng, 9, fits=seed % 2 == 1)
    return frame, frame[1:]


def flags(seed):
    settings = settings_for(PMM.small(), SCHEMA, "add-remove", pure=True, times=1)
    return audit_pair(*pair_of(seed), replace(settings, misfit_share=Fraction(1, 4)))


def test_no_pair_is_flagged_as_it_is():
    assert [flag for seed in range(6) for flag in flags(seed)] == []


@pytest.mark.parametrize("plant", BUGS)
def test_a_planted_bug_is_flagged(plant, monkeypatch):
    plant(monkeypatch)

    assert any(flags(seed) for seed in range(8))


def test_noise_comes_from_secret_bits_and_its_law_alone():
    pair = neighbour_pair(np.random.default_rng(2), "add-remove", 1)
    source = PrivateRows.of(code_table(pair.data, pair.schema), pair.schema)
    question = MisfitRows(columns=tuple(each.name for each in pair.schema.columns), cost=Budget.pure(1))
    terms = Terms(relation="add-remove")

    one, same, other = (room.answer_misfit_rows([question], source, terms, SeededBits(seed))[0] for seed in (1, 1, 2))

    assert one.counts.tolist() == same.counts.tolist() != other.counts.tolist()
    assert one.noise == question.noise("add-remove", 1)
