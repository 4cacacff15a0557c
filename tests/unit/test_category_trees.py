"""A declared hierarchy puts categories in order, and cuts their codes where its branches begin and end."""

import json
import time

import numpy as np
import pytest

from lapwing.schema.fields import Field
from lapwing.schema.groupings.category_trees import Prefixes, branches, depth_first, tree_cuts
from lapwing.schema.schemas import Schema


def codes(*categories, kind="string", **hierarchy):
    return Field(name="dx", type=kind, categories=categories, hierarchy=hierarchy)


def test_categories_that_share_a_prefix_become_one_run_in_the_order_of_their_first() -> None:
    field = codes("b12", "a11", "b22", "a12", "b11", prefixes=[1, 2])

    assert field.categories == ("b12", "b11", "b22", "a11", "a12")
    assert field.domain.cuts == ((3,), (2,))


def test_a_category_shorter_than_a_prefix_is_a_branch_of_its_own() -> None:
    field = codes("25", "250", "251", "2", "2501", "30", prefixes=[1, 3])

    assert field.categories == ("25", "250", "2501", "251", "2", "30")
    # "25" stands alone before the branch 250; 251 and 2 stand alone after it, with nothing between them to cut.
    assert field.domain.cuts == ((5,), (1, 3))


def test_parents_gather_branches_of_any_depth() -> None:
    parents = {"250.01": "250", "250.02": "250", "250": "endocrine", "240": "endocrine", "401": "heart", "402": "heart"}
    field = codes("401", "250.01", "V70", "240", "402", "250.02", parents=parents)

    assert field.categories == ("401", "402", "250.01", "250.02", "240", "V70")
    assert field.domain.cuts == ((2, 5), (4,))


def test_a_category_that_is_a_branch_comes_first_in_it() -> None:
    field = codes("250.01", "401", "250.02", "250", parents={"250.01": "250", "250.02": "250"})

    assert field.categories == ("250", "250.01", "250.02", "401")
    assert field.domain.cuts == ((3,),)


def test_neighbours_with_one_category_each_are_not_cut_from_each_other() -> None:
    alone = codes("a", "b", "c", "d", prefixes=[1])
    chain = codes("a", "b", "c", parents={"a": "A", "b": "B", "A": "all", "B": "all", "c": "all"})

    assert alone.domain.cuts == ()
    assert chain.domain.cuts == ()


def test_numbers_are_named_by_their_text() -> None:
    field = codes(70, 12, 71, 11, kind="integer", prefixes=[1])
    decimal = codes(2.5, 1.0, 3.0, kind="number", parents={"2.5": "odd", "3": "odd"})

    assert field.categories == (70, 71, 12, 11)
    assert field.domain.cuts == ((2,),)
    assert decimal.categories == (2.5, 3.0, 1.0)


def test_a_hierarchy_is_written_and_read_back_and_its_order_stays() -> None:
    for hierarchy in ({"prefixes": [1, 2]}, {"parents": {"b1": "x", "a1": "x", "x": "y", "c": "y"}}):
        source = {"name": "dx", "type": "string", "categories": ["b1", "c", "a1", "b2"], "hierarchy": hierarchy}
        schema = Schema.from_dict({"fields": [source]})

        again = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))

        assert again == schema
        assert again.fingerprint == schema.fingerprint
        assert hash(again) == hash(schema)
        assert schema.to_dict()["fields"][0]["hierarchy"] == hierarchy
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


def test_a_million_codes_are_put_in_order_in_seconds() -> None:
    keys = [f"{(at * 7_368_787) % 10**6:06d}" for at in range(10**6)]

    begin = time.perf_counter()
    found = branches("dx", Prefixes((1, 3)), keys)
    order = depth_first(found)
    cuts = tree_cuts(found[order])

    assert time.perf_counter() - begin < 20
    assert [len(tier) for tier in cuts] == [9, 990]
    assert sorted(order.tolist()) == list(range(10**6))
