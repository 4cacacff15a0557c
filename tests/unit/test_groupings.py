"""Groupings of codes: their labels, the hierarchies that nest them, and trees of categories."""

import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.errors import CapacityError, ParameterError, SchemaError
from lapwing.kernel.questions.questions import RECORDS
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, evenly, identity, interval_grouping, lookup, prefix_grouping
from lapwing.schema.groupings.hierarchies import Hierarchy, diameters, hierarchy, merge_groups
from lapwing.schema.schemas import Schema
from lapwing.schema.values import label, labels, run_labels

DAYS = Domain(10, 1, missing=True, ordered=True, continuous=False)
LINE = Domain(2**32, 0, missing=True, ordered=True, continuous=True)


def test_runs_are_exact_on_the_largest_domain() -> None:
    grouping = evenly(Domain(2**53, 0, missing=True, ordered=True, continuous=False), 3 * 2**12)

    assert grouping.cuts.tolist() == [i * 2**53 // (3 * 2**12) for i in range(1, 3 * 2**12)]


@pytest.mark.parametrize("groups", [0, -1, 2**24 + 1, 1.5, True])
def test_an_impossible_number_of_groups_is_refused(groups: Any) -> None:
    with pytest.raises(ParameterError, match="number of groups must be a whole number"):
        evenly(DAYS, groups)


@pytest.mark.parametrize("cuts", [[0], [10], [3, 3], [5, 2], [-1, 4], [1.5], [[1, 2]], ["1"], [2**63], [True]])
def test_cuts_outside_the_domain_or_out_of_order_are_refused(cuts: Any) -> None:
    with pytest.raises(ParameterError, match="a grouping's cuts"):
        interval_grouping(DAYS, cuts)


@pytest.mark.parametrize(
    "table", [[0] * 9, [0] * 11, [1] * 10, [0] * 9 + [2], [-1] + [0] * 9, [0.0] * 10, [], [0] * 9 + [2**40]]
)
def test_tables_that_do_not_fit_the_domain_are_refused(table: Any) -> None:
    with pytest.raises(ParameterError, match="a grouping's table"):
        lookup(DAYS, table)


@pytest.mark.parametrize("bits", [-1, 54, 0.5, None])
def test_impossible_shifts_are_refused(bits: Any) -> None:
    with pytest.raises(ParameterError, match="a grouping's shift"):
        prefix_grouping(DAYS, bits)


def test_a_grouping_has_entries_of_its_own_kind_only() -> None:
    with pytest.raises(ParameterError, match="has no cuts"):
        Grouping(10, 1, "shift", 0, np.array([3]))
    with pytest.raises(ParameterError, match="shift must be a whole number from 0 to 0"):
        Grouping(10, 1, "cuts", 1, np.array([3]))


def test_arrays_are_read_only_and_not_shared() -> None:
    cuts = np.array([2, 5])
    grouping = interval_grouping(DAYS, cuts)

    cuts[0] = 4

    assert grouping.cuts.tolist() == [2, 5]
    for array in (grouping.cuts, lookup(DAYS, [0] * 10).table):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_groupings_differ_where_their_dicts_do() -> None:
    different = [
        identity(DAYS),
        prefix_grouping(DAYS, 1),
        interval_grouping(DAYS, [2]),
        interval_grouping(DAYS, [3]),
        lookup(DAYS, [0] * 10),
        identity(LINE),
    ]

    assert len(set(different)) == len(different)
    assert identity(DAYS) != "identity"


def test_a_grouping_that_is_too_fine_has_no_list_of_pieces() -> None:
    with pytest.raises(CapacityError, match="too fine to list"):
        identity(LINE).pieces()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64, np.int64])
@pytest.mark.parametrize("rows", [0, 1, 50, 10**5])
def test_codes_of_any_width_are_grouped(dtype: type, rows: int) -> None:
    codes = np.resize(np.arange(12), rows).astype(dtype)

    groups = interval_grouping(DAYS, [3, 4]).apply(codes)

    assert groups.dtype == np.intp
    assert groups.tolist() == np.resize([0, 0, 0, 1, 2, 2, 2, 2, 2, 2, 3, 4], rows).tolist()
    assert interval_grouping(LINE, [3, 4]).apply(codes).tolist() == np.resize([0] * 3 + [1] + [2] * 8, rows).tolist()


def field(**settings: Any) -> Field:
    return Field(name="x", **settings)


AGE = field(type="integer", minimum=0, maximum=99, special=(-1,))
CITY = field(type="string", categories=("a", "b", "c", "d", "e"), required=True)


def labelled(grouping: Grouping, of: Field) -> list[str]:
    found = labels(grouping, of)
    assert found == [label(grouping, of, group) for group in range(grouping.groups)]
    return found


def test_integers_are_ranges() -> None:
    assert labelled(interval_grouping(AGE.domain, [1, 18]), AGE) == ["0", "1-17", "18-99", "-1", "missing"]


def test_numbers_are_intervals_and_the_last_is_closed() -> None:
    share = field(type="number", minimum=0, maximum=2, required=True)

    assert labelled(evenly(share.domain, 4), share) == ["[0, 0.5)", "[0.5, 1)", "[1, 1.5)", "[1.5, 2]", "invalid"]


@pytest.mark.parametrize(
    ("kind", "first", "last", "resolution", "expected"),
    [
        ("date", "2009-12-31", "2010-02-09", "week", ["2009-12-31 to 2010-01-14", "2010-01-21 to 2010-02-04"]),
        ("date", "2009-12-31", "2010-02-09", "month", ["2009-12", "2010-01 to 2010-02"]),
        ("datetime", "2009-12-31", "2010-02-09", "year", ["2009", "2010"]),
        ("datetime", "2010-01-01", "2010-01-02", "day", ["2010-01-01", "2010-01-02"]),
        (
            *("datetime", "2010-01-01", "2010-01-02", "hour"),
            [f"2010-01-0{day}T00:00:00 to 2010-01-0{day}T23:00:00" for day in (1, 2)],
        ),
    ],
)
def test_weeks_are_the_days_they_begin_with_months_and_years_their_names_and_times_of_their_resolution(
    kind: Any, first: str, last: str, resolution: str, expected: list[str]
) -> None:
    when = field(type=kind, minimum=first, maximum=last, resolution=resolution, required=True)

    assert labelled(evenly(when.domain, 2), when) == [*expected, "invalid"]


def test_categories_are_themselves_or_lists() -> None:
    assert labelled(identity(CITY.domain), CITY) == ["a", "b", "c", "d", "e", "invalid"]
    assert labelled(interval_grouping(CITY.domain, [1]), CITY) == ["a", "b, c, d, ... (4 categories)", "invalid"]
    assert labelled(lookup(CITY.domain, [0, 1, 0, 1, 0]), CITY) == ["a, c, e", "b, d", "invalid"]


def test_one_label_of_a_grouping_too_fine_to_list_is_found() -> None:
    share = field(type="number", minimum=0, maximum=1)

    assert label(prefix_grouping(share.domain, 4), share, 2**27) == "[0.5, 0.500000003725)"


@pytest.mark.parametrize("group", [-1, 13])
def test_a_group_that_is_not_there_is_refused(group: int) -> None:
    with pytest.raises(ParameterError, match="group must be from 0 to 11"):
        label(evenly(AGE.domain, 10), AGE, group)


def test_a_grouping_of_another_field_is_refused() -> None:
    with pytest.raises(ParameterError, match="build the grouping from this field's domain"):
        labels(identity(CITY.domain), AGE)


@st.composite
def cuts_of(draw, values):
    """Return up to three tiers of distinct cuts within 1 to values - 1."""
    places = draw(st.lists(st.integers(1, max(1, values - 1)), unique=True, max_size=values - 1))
    tiers = [sorted(places[part::3]) for part in range(3)]
    return tuple(tuple(tier) for tier in tiers if tier)


@st.composite
def domains(draw):
    values = draw(st.integers(1, 40))
    rest = draw(st.integers(0, 5)), draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    return Domain(values, *rest, draw(cuts_of(values)) if values > 1 and draw(st.booleans()) else ())


DOMAINS = domains()


def covered(domain):
    return domain.size if domain.missing else domain.last


def halved(domain, depth):
    """Return the runs of every level as lists of codes, by the rule as it is written."""
    levels = [[list(range(covered(domain)))]]
    for level in range(1, depth + 1):
        runs = []
        for run in levels[-1]:
            middle = len(run) // 2
            inside = [[cut for cut in tier if run[0] < cut <= run[-1]] for tier in domain.cuts]
            for cuts in [each for each in inside if each][:1]:
                middle = cuts[len(cuts) // 2] - run[0]
            if level == 1 and len(run) > domain.values:
                middle = domain.values
            runs += [run[:middle], run[middle:]] if len(run) > 1 else [run]
        levels.append(runs)
    return levels


def full_depth(domain):
    """Return the levels after which every code is alone, by the rule as it is written."""
    return next(level for level, runs in enumerate(halved(domain, 64)) if all(len(run) == 1 for run in runs))


@given(DOMAINS, st.integers(0, 9))
def test_the_builder_halves_level_by_level_reserved_codes_first(domain, depth):
    nested = hierarchy(domain, depth)

    expected = halved(domain, nested.depth)
    assert nested.depth == min(depth, full_depth(domain))
    for level, runs in enumerate(expected):
        assert nested.starts(level).tolist() == [run[0] for run in runs]
        assert nested.stops(level).tolist() == [run[-1] + 1 for run in runs]
        assert nested.groups(level) == len(runs)


@given(DOMAINS, st.integers(0, 9))
def test_parents_are_the_runs_above(domain, depth):
    nested = hierarchy(domain, depth)

    for level in range(1, nested.depth + 1):
        above, here = nested.starts(level - 1), nested.starts(level)
        assert nested.parents(level).tolist() == (np.searchsorted(above, here, side="right") - 1).tolist()
        assert np.bincount(nested.parents(level)).max() == 2


def pairwise_diameter(domain, run):
    """Return the largest distance of two codes of a run; a code of a continuous column is an interval."""
    if run[-1] >= domain.values:
        return 1.0 if len(run) > 1 else 0.0
    if domain.values == 1:
        return 0.0
    if domain.continuous:
        return len(run) / domain.values
    distances = [
        abs(a - b) / (domain.values - 1) if domain.ordered else float(a != b) for a, b in itertools.product(run, run)
    ]
    return max(distances)


@given(DOMAINS, st.integers(0, 6))
def test_diameters_are_the_largest_distances_inside_runs(domain, depth):
    if domain.continuous and not domain.ordered:
        return
    nested = hierarchy(domain, depth)

    for level, runs in enumerate(halved(domain, nested.depth)):
        expected = [pairwise_diameter(domain, run) for run in runs]
        assert diameters(nested, domain, level).tolist() == pytest.approx(expected)


def test_equal_halves_of_a_continuous_column_are_counted_by_shifting():
    unit = Domain(2**32, 0, missing=True, ordered=True, continuous=True)

    assert hierarchy(unit, 5).grouping.kind == "shift"
    assert hierarchy(Domain(7, 0, missing=True, ordered=True, continuous=False), 2).grouping.kind == "cuts"


@given(DOMAINS, st.integers(0, 9))
def test_a_hierarchy_survives_its_json_form(domain, depth):
    nested = hierarchy(domain, depth)

    read = RECORDS.read(Hierarchy, json.loads(json.dumps(RECORDS.write(nested))))

    assert RECORDS.write(read) == RECORDS.write(nested)
    assert read.grouping == nested.grouping
    assert not read.cuts.flags.writeable


@pytest.mark.parametrize("depth", [-1, 65, 1.5, True])
def test_a_depth_out_of_range_is_refused(depth):
    with pytest.raises(ParameterError, match="depth of a hierarchy"):
        hierarchy(Domain(8, 0, missing=True, ordered=True, continuous=False), depth)


def test_runs_are_labelled_with_what_they_hold():
    size = Field(name="size", type="integer", minimum=0, maximum=99, special=(-1, 777))
    nested = hierarchy(size.domain, 3)

    labels = [run_labels(nested, level, size) for level in range(4)]

    assert labels[0] == ["0-99, -1, 777, ... (4 parts)"]
    assert labels[1] == ["0-99", "-1, 777, missing"]
    assert labels[2] == ["0-49", "50-99", "-1", "777, missing"]
    assert labels[3] == ["0-24", "25-49", "50-74", "75-99", "-1", "777", "missing"]


def test_the_misfit_code_has_no_label_because_it_is_in_no_run():
    kind = Field(name="kind", type="string", categories=("a", "b"), required=True)

    assert run_labels(hierarchy(kind.domain, 1), 1, kind) == ["a", "b"]


def codes(*categories, kind="string", **hierarchy):
    return Field(name="dx", type=kind, categories=categories, hierarchy=hierarchy)


def test_numbers_are_named_by_their_text() -> None:
    field = codes(70, 12, 71, 11, kind="integer", prefixes=[1])
    decimal = codes(2.5, 1.0, 3.0, kind="number", parents={"2.5": "odd", "3": "odd"})

    assert field.categories == (70, 71, 12, 11)
    assert field.domain.cuts == ((2,),)
    assert decimal.categories == (2.5, 3.0, 1.0)


def test_a_hierarchy_is_written_and_read_back_and_its_order_stays() -> None:
    for nested in ({"prefixes": [1, 2]}, {"parents": {"b1": "x", "a1": "x", "x": "y", "c": "y"}}):
        source = {"name": "dx", "type": "string", "categories": ["b1", "c", "a1", "b2"], "hierarchy": nested}
        schema = Schema.from_dict({"fields": [source]})

        again = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))

        assert again == schema
        assert again.fingerprint == schema.fingerprint
        assert hash(again) == hash(schema)
        assert schema.to_dict()["fields"][0]["hierarchy"] == nested
        assert again.columns[0].domain == schema.columns[0].domain


def naive_tiers(ways):
    """Return the tiers of cuts, from the way down to each category, category by category."""
    tiers = {}
    for code in range(1, len(ways)):
        one, two = ways[code - 1], ways[code]
        depth = next((at for at in range(max(len(one), len(two))) if one[at : at + 1] != two[at : at + 1]), None)
        if depth is None:
            continue
        sizes = [sum(way[: depth + 1] == own[: depth + 1] for way in ways) for own in (one, two) if len(own) > depth]
        if max(sizes) > 1:
            tiers.setdefault(depth, []).append(code)
    return tuple(tuple(tiers[depth]) for depth in sorted(tiers))


@pytest.mark.parametrize("seed", range(6))
def test_every_branch_is_a_run_and_the_cuts_are_its_ends(seed) -> None:
    rng = np.random.default_rng(seed)
    keys = list(dict.fromkeys("".join(map(str, rng.integers(0, 3, rng.integers(1, 6)))) for _ in range(40)))
    parents = {}
    for key in keys:
        for length in range(len(key), 1, -1):
            if rng.random() < 0.8 or key[:length] in parents:
                parents[key[:length]] = key[: length - 1]
            else:
                break
    field = codes(*keys, parents=parents) if parents else codes(*keys, prefixes=[1])

    ways = [_way(category, parents or {key: key[:1] for key in keys if len(key) > 1}) for category in field.categories]
    assert sorted(field.categories) == sorted(keys)
    if parents:
        assert field.domain.cuts == naive_tiers(ways)
    for branch in {tuple(way[:depth]) for way in ways for depth in range(1, len(way) + 1)}:
        own = [code for code, way in enumerate(ways) if tuple(way[: len(branch)]) == branch]
        assert own == list(range(own[0], own[-1] + 1))
        assert field.categories[own[0]] == branch[-1] or branch[-1] not in field.categories
    firsts = [
        min(keys.index(category) for category, way in zip(field.categories, ways, strict=True) if way[0] == top)
        for top in dict.fromkeys(way[0] for way in ways)
    ]
    assert firsts == sorted(firsts)


def _way(category, parents):
    way = [category]
    while way[0] in parents:
        way.insert(0, parents[way[0]])
    return way


@pytest.mark.parametrize("seed", range(6))
def test_prefixes_cut_as_the_same_branches_listed_as_parents_do(seed) -> None:
    rng = np.random.default_rng(seed)
    keys = list(dict.fromkeys("".join(map(str, rng.integers(0, 3, 5))) for _ in range(60)))
    parents = {key: key[:3] for key in keys} | {key[:3]: key[:1] for key in keys}

    by_prefix, by_parent = codes(*keys, prefixes=[1, 3]), codes(*keys, parents=parents)

    assert by_prefix.categories == by_parent.categories
    assert by_prefix.domain == by_parent.domain


CUTS = [((),), ((0,),), ((9,),), ((3, 3),), ((4, 3),), ((3,), (3,))]


@pytest.mark.parametrize(
    "parts", [{"values": 0}, {"values": 2**53 + 1}, {"specials": -1}, *({"cuts": each} for each in CUTS)], ids=str
)
def test_a_domain_that_is_none_is_refused(parts):
    whole = {"values": 9, "specials": 1, "missing": True, "ordered": True, "continuous": False}

    Domain(**whole | {"cuts": ((4,), (3, 8))})
    with pytest.raises(SchemaError) as refused:
        Domain(**whole | parts)
    assert refused.value.code == "LW280"


def test_groups_of_other_domains_are_merged_into_none():
    fine = Domain(8, 1, missing=True, ordered=True, continuous=False)

    assert merge_groups(identity(fine), prefix_grouping(fine, 1)).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 5]
    for other in (replace(fine, values=9), replace(fine, specials=0)):
        assert merge_groups(identity(fine), prefix_grouping(other, 1)) is None
