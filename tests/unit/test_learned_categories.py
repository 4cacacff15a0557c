"""Lists learned from the texts that occur, and dictionaries pruned to what is used."""

import polars as pl
import pytest

from helpers.bits import SeededBits, ZeroNoiseBits
from helpers.learned_runs import TINY, Planted, learned
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.category_selection.question import CategorySelection
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.release.runs.learned.categories import learn_categories, prune_dictionaries
from lapwing.release.runs.learned.domains import unlisted_name
from lapwing.release.runs.learned.settings import opened_schema
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

PLENTY = Budget.pure(10**6)
ONE = Budget.pure(1)
TOWNS = {"fields": [{"name": "town", "type": "string"}]}


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
