"""Rows with a misfit against a slow twin, the bounds on what a unit changes, and bugs that the audit flags."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing.kernel.questions.misfit_rows.answer as room
from helpers.bits import SeededBits
from helpers.swapped import swapped
from lapwing.audit.mechanism_pairs import settings_for
from lapwing.audit.pairs import neighbour_pair
from lapwing.audit.replay import audit_pair
from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import Sensitivity
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.misfit_rows.answer import misfit_rows
from lapwing.kernel.questions.misfit_rows.question import MisfitRows, NoisyRows
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.pmm.mechanism import PMM
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema
from mechanism_checks import MIXED

SCHEMA = Schema.load(MIXED)
CELLS = {
    "kind": (["a", "c"], ["A", "zzz"], [None]),
    "flag": (["true", "false"], ["perhaps", None], []),
    "age": (["3", "77", "-5"], ["x", None], []),
    "size": (["0.5", "99", "-7"], ["1,5", "x"], [None, ""]),
    "day": (["2020-02-02", "1990-01-01"], ["2.2.2020"], [None]),
}
"""Cells that fit, cells that fit nothing, and missing cells of columns that may lack them."""


def table(rng, rows, *, fits=False):
    """Return rows, and how many of them hold a misfit, by the lists above."""
    columns, is_misfit = {}, np.zeros(rows, dtype=bool)
    for name, (fitting, odd, missing) in CELLS.items():
        pool = [(cell, False) for cell in fitting + missing] * 4 + [(cell, True) for cell in odd] * (not fits)
        picked = [pool[place] for place in rng.integers(len(pool), size=rows)]
        columns[name] = pl.Series([cell for cell, _ in picked], dtype=pl.String)
        is_misfit |= np.array([wrong for _, wrong in picked], dtype=bool)
    return pl.DataFrame({"id": ["1"] * rows, **columns}), int(is_misfit.sum())


def asked(**more):
    return MisfitRows(columns=tuple(CELLS), cost=Budget.pure(1), **more)


@pytest.mark.parametrize("chunk_rows", [None, 3])
def test_rows_with_a_misfit_are_counted_as_a_slow_twin_counts_them(chunk_rows):
    rng = np.random.default_rng(3)
    for rows in (0, 1, 2, 7, 40):
        frame, wrong = table(rng, rows)
        source = PrivateRows.of(code_table(frame, SCHEMA, chunk_rows=chunk_rows), SCHEMA)

        assert misfit_rows(asked(), source).tolist() == [wrong, rows - wrong]
        assert misfit_rows(asked(rows=rows), source).tolist() == [wrong]


def test_each_column_alone_is_counted_by_its_own_cells():
    frame, _ = table(np.random.default_rng(4), 200)
    source = PrivateRows.of(code_table(frame, SCHEMA), SCHEMA)

    for name, (_, odd, _) in CELLS.items():
        question = MisfitRows(columns=(name,), cost=Budget.pure(1))
        assert misfit_rows(question, source)[0] == frame[name].is_in(odd, nulls_equal=True).sum()


def test_what_a_unit_changes_is_bounded_and_the_bounds_are_attained():
    assert asked().sensitivity("add-remove", 3) == Sensitivity(3, 9)
    assert asked().sensitivity("replace-one", 3) == Sensitivity(6, 18)
    assert asked(keys=True).sensitivity("add-remove", 3) == Sensitivity(3, 9)
    assert asked(rows=7).sensitivity("replace-one", 1) == Sensitivity(1, 1)
    seen = {"both": 0, "alone": 0}
    rng = np.random.default_rng(6)
    for _ in range(80):
        frame, _ = table(rng, 5)
        other, _ = table(rng, 1)
        sources = [PrivateRows.of(code_table(each, SCHEMA), SCHEMA) for each in (frame, pl.concat([frame[1:], other]))]
        both = np.subtract(*(misfit_rows(asked(), each) for each in sources))
        alone = np.subtract(*(misfit_rows(asked(rows=5), each) for each in sources))
        seen = {"both": max(seen["both"], abs(both).sum()), "alone": max(seen["alone"], abs(alone).sum())}
    assert seen == {"both": 2, "alone": 1}


def test_a_question_of_another_number_of_rows_or_of_other_columns_is_refused():
    terms = Terms(relation="replace-one", rows=5)

    asked(rows=5).check(terms, SCHEMA)
    for wrong in (asked(rows=6), MisfitRows(columns=("id",), cost=Budget.pure(1))):
        with pytest.raises(ParameterError):
            wrong.check(terms, SCHEMA)
    for wrong in ({"columns": ()}, {"columns": ("age", "age")}, {"rows": 5, "keys": True}):
        with pytest.raises(ParameterError):
            asked(**wrong) if "columns" not in wrong else MisfitRows(cost=Budget.pure(1), **wrong)


# ------------------------------------------------------------------------------------------------------ planted bugs


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
