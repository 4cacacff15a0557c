"""Every text has one code under rules for what is not listed, and listed texts keep theirs."""

import dataclasses

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.naive_codes import naive_code
from lapwing.extras.evaluate.internal.schemas import check_table
from lapwing.rows.cells import texts
from lapwing.rows.codec import encode
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.groupings.category_trees import Prefixes
from lapwing.schema.schemas import Schema

HOSTILE = st.sampled_from(
    ["\x00", "\x00bytes 00", "\x00unreadable", "e\u0301", "\u0301", "\ufeff1", "nan", "True", " 250", "250.0", "1e+22"]
)
TEXTS = st.one_of(st.text(alphabet="0125.ab -Te+\u00e9\x00\n", max_size=6), st.text(max_size=4), HOSTILE)


@st.composite
def ruled_fields(draw):
    """Return a field with branches only, and the same with rules."""
    categories = tuple(draw(st.lists(TEXTS, min_size=1, max_size=8, unique=True)))
    lengths = tuple(sorted(draw(st.sets(st.integers(1, 7), min_size=1, max_size=3))))
    own = {"name": "x", "type": "string", "required": draw(st.booleans()), "missing_values": ()}
    branches = Field(**own, categories=categories, hierarchy=Prefixes(lengths))
    fold = draw(st.booleans())
    unlisted = draw(st.one_of(st.none(), st.sampled_from(categories)))
    return branches, Field(**own, categories=categories, hierarchy=Prefixes(lengths, fold=fold), unlisted=unlisted)


@given(ruled_fields(), st.lists(st.one_of(TEXTS, st.none()), max_size=12))
def test_every_text_has_one_code_and_a_listed_one_keeps_its_own(fields, cells):
    branches, ruled = fields

    before, after = (encode(texts(cells), field).tolist() for field in fields)

    assert ruled.domain == branches.domain
    assert after == [naive_code(cell, ruled) for cell in cells]
    assert after == encode(texts(cells), dataclasses.replace(ruled)).tolist()
    for one, two in zip(before, after, strict=True):
        assert one in {two, ruled.domain.last}


@given(ruled_fields(), st.lists(TEXTS, max_size=12))
def test_with_a_category_for_all_no_readable_text_is_a_misfit(fields, cells):
    _, ruled = fields
    ruled = dataclasses.replace(ruled, unlisted=ruled.categories[0])
    readable = [cell for cell in cells if cell and not cell.startswith("\x00bytes ") and cell != "\x00unreadable"]

    assert ruled.domain.last not in encode(texts(readable), ruled)


# A check of a table takes a quarter of a second; the cells one by one are in the first test above.
@settings(max_examples=20)
@given(ruled_fields(), st.lists(TEXTS, min_size=1, max_size=12))
def test_what_is_counted_as_folded_and_unlisted_is_what_the_rules_settle(fields, cells):
    table = pl.DataFrame({"x": cells})

    plain, found = (check_table(table, Schema(fields=(field,))).value[0] for field in fields)

    assert plain.misfit == found.misfit + found.folded + found.unlisted
    assert (plain.folded, plain.unlisted) == (0, 0)
    assert plain.missing == found.missing


@given(ruled_fields(), st.lists(st.one_of(TEXTS, st.none()), min_size=1, max_size=12), st.integers(1, 11))
def test_every_kind_of_table_and_every_cut_of_it_gives_the_same_codes(fields, cells, cut):
    _, ruled = fields
    schema = Schema(fields=(ruled,))
    frame = pl.DataFrame({"x": pl.Series(cells, dtype=pl.String)})
    parts = pl.concat([frame[:cut], frame[cut:]], rechunk=False)

    found = [
        [code for chunk in code_table(table, schema).chunks() for code in chunk["x"].tolist()]
        for table in (frame, parts, frame.lazy(), frame.to_arrow(), frame.to_pandas(), frame.cast(pl.Categorical))
    ]

    assert found == [encode(texts(cells), ruled).tolist()] * len(found)
