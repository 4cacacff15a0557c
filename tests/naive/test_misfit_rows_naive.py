"""Rows with a misfit against a slow twin, and the bounds on what a unit changes."""

import numpy as np
import polars as pl
import pytest

from helpers.misfit_tables import CELLS, SCHEMA, table
from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import Sensitivity
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.misfit_rows.answer import misfit_rows
from lapwing.kernel.questions.misfit_rows.question import MisfitRows
from lapwing.kernel.terms import Terms
from lapwing.rows.source import code_table


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
