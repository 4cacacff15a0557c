"""Rows from a log-linear part against its density, written out code by code."""

import numpy as np
import pytest
from scipy.stats import chi2

from helpers.log_linear import chi_square, drawn, exact_law, model_at, random_part, scaled
from helpers.models import small_schema
from lapwing.model.sampling.conditions import condition_model
from lapwing.model.sampling.grouped import group_part

SCHEMA = small_schema()
ROWS = 2**13
FALSE_ALARM = 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_rows_that_start_at_one_atom_have_the_law_of_the_log_linear_part(seed: int):
    part = random_part(SCHEMA, seed)
    model = model_at(SCHEMA, part, np.zeros((1, 4), dtype=int))

    statistic, freedom = chi_square(drawn(model, SCHEMA, ROWS, seed), exact_law(SCHEMA, part))

    assert statistic < chi2.isf(FALSE_ALARM, freedom)


def test_the_same_comparison_rejects_theta_that_is_half_as_large():
    # With 8192 rows and theta of standard deviation 0.7, half of theta is told apart on every one of these parts.
    for seed in range(8):
        part = random_part(SCHEMA, seed)
        wrong = model_at(SCHEMA, scaled(part, 0.5), np.zeros((1, 4), dtype=int))

        statistic, freedom = chi_square(drawn(wrong, SCHEMA, ROWS, seed), exact_law(SCHEMA, part))

        assert statistic > chi2.isf(FALSE_ALARM, freedom)


@pytest.mark.parametrize("seed", range(6))
def test_a_condition_that_no_atom_meets_is_drawn_from_the_conditional_density(seed: int):
    part = random_part(SCHEMA, seed)
    law = exact_law(SCHEMA, part)
    likely = [int(law.sum(axis=tuple({0, 1, 2, 3} - {axis})).argmax()) for axis in range(4)]
    start = np.array([[0, (likely[1] + 1) % 3, (likely[2] + 1) % 8, 0]])
    model = model_at(SCHEMA, part, start)
    ages = [each for each in range(8) if each != start[0, 2]]
    where = {"colour": SCHEMA.field("colour").categories[likely[1]], "age": ages}

    given = condition_model(model, SCHEMA, where)
    rows = drawn(given.model, SCHEMA, ROWS, seed, is_matched=given.is_matched)

    kept = np.zeros_like(law)
    kept[:, likely[1], ages, :] = law[:, likely[1], ages, :]
    statistic, freedom = chi_square(rows, kept / kept.sum())
    assert not given.is_matched
    assert statistic < chi2.isf(FALSE_ALARM, freedom)


@pytest.mark.parametrize("seed", range(8))
def test_groups_tell_apart_what_tables_tell_apart_and_no_more(seed: int):
    part = random_part(SCHEMA, seed)

    found = group_part(part, tuple(field.name for field in SCHEMA.columns))

    for field in SCHEMA.columns:
        codes = np.arange(field.domain.size)
        law = part.base[field.name]
        has_mass = np.array([((law.starts <= code) & (code < law.stops)).any() for code in codes])
        used = [
            grouping.apply(codes)
            for table, groupings in zip(part.tables, part.groupings, strict=True)
            for name, grouping in zip(table, groupings, strict=True)
            if name == field.name
        ]
        kinds = list(zip(*used, strict=True))
        alive = {kind for kind, mass in zip(kinds, has_mass, strict=True) if mass}
        groups = found.columns[field.name].groups_of(codes)
        assert len({int(group) for group, mass in zip(groups, has_mass, strict=True) if mass}) == len(alive)
        for one in codes[has_mass]:
            for two in codes[has_mass]:
                assert (groups[one] == groups[two]) == (kinds[one] == kinds[two])
