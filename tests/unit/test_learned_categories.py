"""Lists learned from the texts that occur, and dictionaries pruned to what is used."""

from fractions import Fraction

import polars as pl
import pytest

from helpers.bits import SeededBits, ZeroNoiseBits
from helpers.learned_runs import TINY, Planted, learned
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.category_selection.question import CategorySelection
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.rows.source import code_table
from lapwing.runs.learned.categories import learn_categories, prune_dictionaries
from lapwing.runs.learned.domains import unlisted_name, with_categories
from lapwing.runs.learned.settings import opened_schema
from lapwing.schema.groupings.category_trees import Parents, Prefixes
from lapwing.schema.schemas import Schema

PLENTY = Budget.pure(10**6)
ONE = Budget.pure(1)
TOWNS = {"fields": [{"name": "town", "type": "string"}]}


def codes_draft(*lengths, **more):
    return {"fields": [{"name": "dx", "type": "string", "hierarchy": {"prefixes": list(lengths)}} | more]}


def selected(texts, prefixes):
    """Return what is learned about codes whose selections are planted."""
    draft = Schema.load_draft({"draft": True, "fields": [{"name": "dx", "type": "string"}]})
    planted = {("dx", length): counts for length, counts in texts.items()}
    (found,) = learn_categories(
        Planted(texts=planted), opened_schema(draft, ["dx"], {}), ["dx"], [ONE], [TINY], prefixes={"dx": prefixes}
    )
    return found


def test_frequent_texts_are_listed_and_all_others_have_a_category() -> None:
    data = pl.DataFrame({"town": ["Uri"] * 400 + ["Bern"] * 300 + [f"rare {place}" for place in range(50)] + [None]})

    found, room = learned(data, TOWNS, Budget.pure(1), SeededBits(2))

    (field,) = found.fields
    assert field.categories == ("Bern", "Uri", "(other)")
    assert (field.unlisted, field.provenance) == ("(other)", "dp")
    assert [type(answer.question) for answer in room.answers] == [CategorySelection]
    (chunk,) = code_table(data, Schema(fields=found.fields)).chunks()
    assert (chunk["town"] == field.categories.index("(other)")).sum() == 50


@pytest.mark.parametrize("taken", ["(other)", "(other 2)"])
def test_the_name_for_unlisted_texts_is_no_text_that_is_listed(taken) -> None:
    data = pl.DataFrame({"town": ["(other)"] * 500 + [taken] * 500})

    found, _ = learned(data, TOWNS, PLENTY, ZeroNoiseBits())

    (field,) = found.fields
    assert field.unlisted == unlisted_name(("(other)", taken))
    assert set(field.categories) == {"(other)", taken, field.unlisted}


def test_cost_and_delta_are_shared_evenly_by_texts_and_prefixes() -> None:
    draft = {"fields": [*TOWNS["fields"], *codes_draft(1, 3)["fields"]]}
    data = pl.DataFrame({"town": ["Uri"] * 10, "dx": ["A10"] * 10})

    _, room = learned(data, draft, Budget.pure(6), SeededBits(1))

    asked = [answer.question for answer in room.answers]
    assert [(each.column, each.prefix) for each in asked] == [("town", None), ("dx", None), ("dx", 1), ("dx", 3)]
    assert [each.cost.epsilon for each in asked] == [3, 1, 1, 1]
    assert [each.delta / TINY for each in asked] == [Fraction(1, 2), *[Fraction(1, 6)] * 3]
    assert room.batches == 1


def test_a_prefix_is_listed_where_rows_remain_that_nothing_longer_lists() -> None:
    found = selected(
        {
            None: {"250": 900, "250.01": 500, "401": 800},
            3: {"250": 1400, "401": 1500, "V58": 300},
            1: {"2": 1400, "4": 1500, "V": 900},
        },
        (1, 3),
    )

    # 250 and 2 hold no more than what is listed below them; 401 has 700 rows of other codes, V58 and V many.
    assert found.categories == ("250", "250.01", "401")
    assert found.prefixes == ("401", "V", "V58")


def test_codes_that_are_not_listed_fold_into_the_listed_prefix() -> None:
    texts = ["250.01"] * 500 + [f"250.{place}" for place in range(10, 90)] * 10 + [f"x{place}" for place in range(99)]
    data = pl.DataFrame({"dx": texts})

    found, _ = learned(data, codes_draft(1, 3), Budget.pure(3), SeededBits(3))

    (field,) = found.fields
    assert field.hierarchy == Prefixes((1, 3), fold=True)
    assert {"250", "250.01"} <= set(field.categories)
    (chunk,) = code_table(data, Schema(fields=(field,))).chunks()
    assert (chunk["dx"] == field.categories.index("250")).sum() == 800


def pruned(entries, counts, *, lengths=()):
    """Return what is kept of a dictionary with planted counts."""
    draft = Schema.load_draft({"draft": True, "fields": [{"name": "dx", "type": "string"}]})
    opened = opened_schema(draft, ["dx"], {"dx": tuple(entries)})
    codes = {place: counts.get(entry, 0) for place, entry in enumerate(opened.field("dx").categories)}
    (found,) = prune_dictionaries(Planted(codes={"dx": codes}), opened, ["dx"], [ONE], prefixes={"dx": lengths})
    return found


def test_a_dictionary_is_pruned_to_the_entries_that_noise_does_not_explain() -> None:
    found = pruned([f"town {place}" for place in range(1000)], {"town 7": 400, "town 3": 300, "town 5": 4})

    assert found.categories == ("town 3", "town 7")
    assert 4 < found.noticed < 300


def test_dropped_entries_fold_into_the_longest_prefix_that_noise_does_not_explain() -> None:
    entries = [f"A1{place}" for place in range(10)] + [f"A2{place}" for place in range(10)] + ["B10", "B11", "C1"]
    counts = dict.fromkeys(entries[:10], 4) | {"A20": 500, "A21": 2, "A22": 2, "C1": 4}

    found = pruned(entries, counts, lengths=(1, 2))

    assert found.categories == ("A20",)
    assert found.prefixes == ("A1",)


def test_no_row_of_a_pruned_dictionary_is_lost() -> None:
    data = pl.DataFrame({"town": ["Uri"] * 300 + ["Zug", "Glarus", "elsewhere"]})

    found, room = learned(data, TOWNS, Budget.pure(2), ZeroNoiseBits(), dictionaries={"town": ("Uri", "Zug", "Glarus")})

    (field,) = found.fields
    assert field.categories == ("Uri", "(other)")
    assert [type(answer.question) for answer in room.answers] == [MarginalCounts]
    (chunk,) = code_table(data, Schema(fields=found.fields)).chunks()
    assert chunk["town"].tolist() == [0] * 300 + [1] * 3


def test_parents_of_dropped_categories_are_dropped_with_them() -> None:
    parents = {"parents": {"b": "top", "a": "left", "left": "top"}}
    draft = {"fields": [{"name": "x", "type": "string", "categories": ["a", "b", "c"], "hierarchy": parents}]}
    schema = Schema.from_dict(draft)

    found = pruned(["a", "b", "c"], {"b": 500, "c": 500})
    field = with_categories(schema.fields[0], found, schema.fields[0].categories)

    assert set(field.categories) == {"b", "c", "(other)"}
    assert field.hierarchy == Parents((("b", "top"),))
