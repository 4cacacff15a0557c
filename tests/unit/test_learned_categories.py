"""Lists learned from the texts that occur, and dictionaries pruned to what is used."""

import polars as pl

from helpers.bits import SeededBits
from helpers.learned_runs import Planted, learned
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.category_selection.question import CategorySelection
from lapwing.release.runs.learned.categories import prune_dictionaries
from lapwing.release.runs.learned.settings import opened_schema
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

ONE = Budget.pure(1)
TOWNS = {"fields": [{"name": "town", "type": "string"}]}


def test_frequent_texts_are_listed_and_all_others_have_a_category() -> None:
    data = pl.DataFrame({"town": ["Uri"] * 400 + ["Bern"] * 300 + [f"rare {place}" for place in range(50)] + [None]})

    found, room = learned(data, TOWNS, Budget.pure(1), SeededBits(2))

    (field,) = found.fields
    assert field.categories == ("Bern", "Uri", "(other)")
    assert (field.unlisted, field.provenance) == ("(other)", "dp")
    assert [type(answer.question) for answer in room.answers] == [CategorySelection]
    (chunk,) = code_table(data, Schema(fields=found.fields)).chunks()
    assert (chunk["town"] == field.categories.index("(other)")).sum() == 50


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
