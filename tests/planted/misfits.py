"""Bugs of the question about rows with a misfit."""

import numpy as np

import lapwing.kernel.questions.misfit_rows.answer as room
from helpers.misfit_tables import SCHEMA
from helpers.planted_audits import replay_of_misfits
from helpers.planting import instead_of, instead_of_answers
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.misfit_rows.question import NoisyRows

drawing = instead_of(room, "noise_of")
there_is_no_noise = drawing(lambda draw, law, size, bits: np.zeros(size, dtype=np.int64))
one_noise_is_for_both = drawing(lambda draw, law, size, bits: np.repeat(draw(law, 1, bits), size))


@instead_of(room, "_add_noise")
def half_of_the_noise_is_drawn(honest, question, counts, terms, bits):
    law = question.noise(terms.relation, terms.max_rows)
    noise = room.noise_of(NoiseLaw(law.kind, law.parameter / 2), counts.size, bits)
    return NoisyRows(question, counts + noise, law)


@instead_of(room, "_add_noise")
def rows_of_which_none_is_wrong_are_told(honest, question, counts, *rest):
    answer = honest(question, counts, *rest)
    return NoisyRows(question, np.where(counts == 0, 0, answer.counts), answer.noise)


@instead_of_answers("MisfitRows")
def missing_cells_are_misfits(honest, questions, rows, *rest):
    source, last = rows.source, SCHEMA.field("kind").domain.last
    wrong = int(sum(np.count_nonzero(chunk["kind"] >= last) for chunk in source.chunks()))
    counts = np.array([wrong, source.rows - wrong])
    return tuple(room._add_noise(each, counts[: each.shape[0]], *rest) for each in questions)


USUAL = (replay_of_misfits(),)
WITHIN = 8
