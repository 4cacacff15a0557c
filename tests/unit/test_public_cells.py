"""The cells in which wide columns are counted: public, nested, at declared places, never too many."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.resolved import FIELDS
from lapwing.mechanisms.adaptive.one_way import BRANCH_LEVELS, FIRST_CELLS, branch_groupings, finer_cells, first_cells
from lapwing.mechanisms.shared.one_way import VALUE_BY_VALUE, is_refined, landmark_codes, one_way_grouping, public_cells
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.groupings.category_trees import Prefixes
from lapwing.schema.schemas import Schema

CODES = tuple(f"{one}{two}{three}" for one in "ABCDEF" for two in "0123456789" for three in "0123456789")
DECLARED = {
    "amounts": Field(name="x", type="number", minimum=-200_000, maximum=1_000_000, scale="log"),
    "whole amounts": Field(name="x", type="integer", minimum=-5, maximum=10**6, scale="log", required=True),
    "codes": Field(name="x", type="string", categories=CODES, hierarchy=Prefixes(lengths=(1, 2))),
    "many branches": Field(
        name="x",
        type="string",
        categories=tuple(f"{place:04d}" for place in range(3000)),
        hierarchy=Prefixes(lengths=(3,)),
    ),
}
WIDE = {name: field for name, field in (FIELDS | DECLARED).items() if is_refined(field)}
EVERY_WIDE = pytest.mark.parametrize("field", WIDE.values(), ids=WIDE.keys())


def starts_of(grouping):
    return grouping.pieces()[0][: grouping.regular]


@pytest.mark.parametrize(
    ("field", "is_wide"),
    [
        (Field(name="x", type="integer", minimum=1, maximum=VALUE_BY_VALUE), False),
        (Field(name="x", type="integer", minimum=0, maximum=VALUE_BY_VALUE), True),
        (Field(name="x", type="integer", minimum=1, maximum=VALUE_BY_VALUE, scale="log"), False),
        (Field(name="x", type="integer", minimum=0, maximum=VALUE_BY_VALUE, scale="log"), True),
        (Field(name="x", type="number", minimum=0, maximum=1), True),
        (FIELDS["many categories"], False),
        (FIELDS["many ordered categories"], True),
        (DECLARED["codes"], False),
    ],
)
def test_ordered_columns_of_many_values_are_refined(field, is_wide) -> None:
    assert is_refined(field) == is_wide


# --------------------------------------------------------------------------------------------------------- landmarks


@pytest.mark.parametrize(
    ("given_as", "values"),
    [
        ({"type": "integer", "minimum": -7, "maximum": 5000}, (-7, 0, 5000)),
        ({"type": "integer", "minimum": 3, "maximum": 5000}, (3, 5000)),
        ({"type": "integer", "minimum": -5000, "maximum": 0}, (-5000, 0)),
        ({"type": "integer", "minimum": -500, "maximum": 10**5, "resolution": 100}, (-500, 0, 10**5)),
        ({"type": "number", "minimum": -1.5, "maximum": 1e6}, (-1.5, 0.0, 1e6)),
        ({"type": "number", "minimum": -200_000, "maximum": 1_000_000}, (-200_000, 0, 1_000_000)),
        ({"type": "number", "minimum": -0.1, "maximum": 0.7}, (-0.1, 0.0, 0.7)),
        ({"type": "number", "minimum": 0, "maximum": 40.0}, (0, 40)),
        ({"type": "number", "minimum": -99.95, "maximum": 100, "resolution": 0.05}, (-99.95, 0, 100)),
        ({"type": "number", "minimum": -1.5, "maximum": 1e6, "scale": "log"}, (-1.5, 0.0, 1e6)),
    ],
)
def test_minimum_zero_and_maximum_are_alone_in_the_cells_that_the_codec_gives_them(given_as, values) -> None:
    field = Field(name="x", **given_as)
    schema = Schema(fields=(field,))
    (chunk,) = code_table(pl.DataFrame({"x": [float(value) for value in values]}), schema).chunks()

    codes = chunk["x"].astype(np.int64)

    assert sorted(set(landmark_codes(field))) == sorted(set(codes.tolist()))
    groups = public_cells(field, 16).apply(np.concatenate((codes, codes - 1, codes + 1)).clip(0, field.domain.last))
    alone, near = groups[: codes.size], groups[codes.size :]
    assert len(set(alone.tolist())) == codes.size
    at_ends = np.concatenate((codes - 1, codes + 1)).clip(0, field.domain.last)
    assert not (set(alone.tolist()) & set(near[~np.isin(at_ends, codes)].tolist()))


@given(
    st.floats(-1e9, 1e9, allow_subnormal=False),
    st.floats(1e-3, 1e9),
)
def test_the_zero_of_real_numbers_is_the_code_that_the_codec_gives_it(low: float, width: float) -> None:
    field = Field(name="x", type="number", minimum=low, maximum=low + width, required=True)
    low, high = float(field.minimum), float(field.maximum)
    if not low <= 0 <= high or low == high:
        return
    (chunk,) = code_table(pl.DataFrame({"x": [0.0]}), Schema(fields=(field,))).chunks()

    assert int(chunk["x"][0]) in landmark_codes(field)


@pytest.mark.parametrize("name", ["date", "datetime", "many ordered categories"])
def test_columns_that_are_no_numbers_have_no_landmarks(name) -> None:
    assert landmark_codes(FIELDS[name]) == ()


# ------------------------------------------------------------------------------------------------------------- cells


@EVERY_WIDE
@pytest.mark.parametrize("cells", [1, 4, FIRST_CELLS, 128])
def test_first_cells_are_about_as_many_as_asked_for(field, cells) -> None:
    grouping = public_cells(field, cells)

    # Declared cuts are taken tier by tier, up to 128; minimum, zero and maximum add two cuts each.
    most = max(cells, 128) if field.domain.cuts else cells
    assert 1 <= grouping.regular <= most + 6
    assert (grouping.values, grouping.reserved) == (field.domain.values, field.domain.reserved)


@EVERY_WIDE
def test_cells_are_a_function_of_the_public_domain(field) -> None:
    again = replace(field, description="another text", provenance="public", name="y")

    assert first_cells(field) == first_cells(again)
    assert public_cells(field, 16) == public_cells(again, 16)


def test_declared_cuts_are_kept_tier_by_tier_as_long_as_they_fit() -> None:
    codes = DECLARED["codes"]

    starts = starts_of(public_cells(codes, FIRST_CELLS))

    # 5 + 54 cuts before the branches of both tiers.
    assert starts.tolist() == list(range(0, 600, 10))


def test_of_a_first_tier_that_is_too_large_every_so_manieth_cut_is_kept() -> None:
    branches = DECLARED["many branches"]

    starts = starts_of(public_cells(branches, FIRST_CELLS))

    assert starts.size == 128
    assert not (starts % 10).any()
    assert np.diff(starts).max() <= 2 * np.diff(starts).min()


def test_a_logarithmic_scale_has_cells_that_double_away_from_zero() -> None:
    starts = starts_of(first_cells(DECLARED["whole amounts"]))

    assert set(range(5)) & set(starts.tolist()) >= {0, 1, 4}
    assert {5, 6, 7, 9, 13, 21, 37} <= set(starts.tolist())
    assert np.diff(starts[starts > 40]).max() > 2**17


@EVERY_WIDE
def test_first_cells_are_finer_than_even_ones_and_grow_smaller_towards_zero(field) -> None:
    starts, even = starts_of(first_cells(field)), starts_of(public_cells(field, FIRST_CELLS))

    # Sixteen octaves on each side of zero, and one more where the width is no power of two.
    assert set(even.tolist()) <= set(starts.tolist())
    assert starts.size - even.size <= 2 * 17
    if landmark_codes(field)[1:-1] and not field.domain.cuts:
        zero = landmark_codes(field)[1]
        above = starts[(starts > zero + 1) & (starts <= zero + field.domain.values // FIRST_CELLS)] - zero
        assert (above[1:] <= 2 * above[:-1]).all()
        assert above[-1] <= 2**17 * above[0]
    elif field.type not in ("integer", "number"):
        assert starts.tolist() == even.tolist()


def test_branches_are_counted_by_level_where_they_are_few_beside_the_categories() -> None:
    codes, one_each = (
        DECLARED["codes"],
        Field(name="x", type="string", categories=("a1", "a2", "b1", "b2", "c1"), hierarchy=Prefixes(lengths=(1,))),
    )

    levels = branch_groupings(codes)

    assert [starts_of(grouping).tolist() for grouping in levels] == [list(range(0, 600, 100)), list(range(0, 600, 10))]
    assert branch_groupings(one_each) == ()
    for name in ("many categories", "many ordered categories", "integer, wide", "date"):
        assert branch_groupings(FIELDS[name]) == ()
    assert branch_groupings(DECLARED["amounts"]) == ()


def test_levels_of_branches_nest_and_are_not_many() -> None:
    names = tuple(f"{place:012b}" for place in range(4096))
    field = Field(name="x", type="string", categories=names, hierarchy=Prefixes(lengths=(1, 2, 4, 6, 8, 10)))

    levels = [set(starts_of(grouping).tolist()) for grouping in branch_groupings(field)]

    assert len(levels) == BRANCH_LEVELS
    assert levels[0] < levels[1] < levels[2]


@EVERY_WIDE
@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_every_stage_cuts_cells_of_the_one_before(field, seed: int) -> None:
    domain, starts = field.domain, starts_of(first_cells(field))
    rng = np.random.default_rng(seed)

    for _ in range(3):
        widths = np.diff(np.append(starts, np.int64(domain.values)))
        parts = np.minimum(rng.choice([1, 1, 2, 3, 40], starts.size), widths)
        finer = finer_cells(domain, starts, parts)

        assert set(starts.tolist()) <= set(finer.tolist())
        assert finer[0] == 0
        assert finer[-1] < domain.values
        assert (np.diff(finer) > 0).all()
        inside = np.diff(np.append(np.searchsorted(finer, starts), finer.size))
        assert (inside[parts == 1] == 1).all()
        assert (inside[parts > 1] > 1).all()
        assert (inside <= np.maximum(1, 2 * parts + 1)).all()
        starts = finer


@EVERY_WIDE
def test_cells_are_cut_at_declared_places_while_there_are_any_inside(field) -> None:
    domain, starts = field.domain, starts_of(public_cells(field, 4))
    stops = np.append(starts[1:], domain.values)

    finer = finer_cells(domain, starts, np.minimum(3, stops - starts))

    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        new = [code for code in finer.tolist() if start < code < stop]
        inside = [[code for code in tier if start < code < stop] for tier in domain.cuts]
        for tier in [each for each in inside if each][:1]:
            assert set(new) <= set(tier)


def test_narrow_columns_and_categories_are_counted_value_by_value() -> None:
    for name in ("integer, narrow", "few categories", "many categories", "boolean"):
        assert one_way_grouping(FIELDS[name], 128).regular == FIELDS[name].domain.values
