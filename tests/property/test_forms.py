"""Forms of cells: each way to write numbers and dates has the forms that it says, and reads back what was written."""

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.rows.cells import Numbers, read_reals, read_times
from lapwing.rows.spelling import form_names, plain_cells, speller
from lapwing.schema.fields import Field
from lapwing.schema.forms import DATES, FORMS, MOST_PLACES, NUMBERS, STEPS
from lapwing.schema.reading import Reading

WRITTEN = (*NUMBERS, *DATES)


def form_of(text):
    """Return the form of one text."""
    return form_names(pl.Series([text], dtype=pl.String)).item()


def value_of(text, writing):
    """Return what one text is, as a way of writing reads it."""
    spell = speller(writing.type, writing.reading)
    cells = pl.Series([text])
    plain = cells if spell is None else spell(cells)
    return read_reals(plain)[0] if writing in NUMBERS else read_times(plain)[0][0]


def written(value, places, reading):
    """Return a number as a reading has it."""
    sign = reading.group_char
    text = f"{value:{',' if sign else ''}.{places}f}".translate({ord(","): sign, ord("."): reading.decimal_char})
    return text if reading.bare_number else f"{text} €" if places % 2 else f"${text}"


@pytest.mark.parametrize("writing", NUMBERS, ids=lambda each: str(each.reading.to_dict()))
@given(st.integers(-(10**12), 10**12), st.integers(0, MOST_PLACES))
def test_a_number_has_a_form_of_its_way_of_writing_and_reads_back(writing, units, places):
    value = units / 10**places
    text = written(value, places, writing.reading)
    form = form_of(text)

    assert form in writing.steps
    assert value_of(text, writing) == value
    step = writing.steps[form]
    is_grouped = form.removesuffix("%").endswith(tuple("group" + each for each in ("", "s", "s.", "s,")))
    is_any = form.endswith("more%")  # more decimals are one form beside a unit
    assert is_grouped or is_any or step == max(0, len(f"{value:.{places}f}".rstrip("0").partition(".")[2]))


@pytest.mark.parametrize("digits", [18, 19, 400])
def test_whole_numbers_that_64_bits_cannot_hold_are_texts(digits):
    assert form_of("9" * digits) == form_of("-" + "9" * digits) == ("whole" if digits == 18 else "text")


@given(st.datetimes(dt.datetime(1000, 1, 1)), st.sampled_from(("T", " ")), st.sampled_from(("", "Z", "+01:00")))
def test_a_moment_has_the_form_of_its_step(moment, sign, zone):
    is_minute = not moment.second and not moment.microsecond

    assert form_of(moment.isoformat(sign) + zone) == ("minute" if is_minute else "second")
    assert form_of(f"{moment:%Y-%m-%d %H:%M}") == "minute"


@pytest.mark.parametrize("writing", DATES, ids=lambda each: str(each.reading.date_format))
@given(st.dates(dt.date(1000, 1, 1)))
def test_a_date_has_a_form_of_its_way_of_writing_and_reads_back(writing, day):
    text = day.strftime(writing.reading.date_format or "%Y-%m-%d")

    assert form_of(text) in writing.steps
    assert value_of(text, writing) == (day - dt.date(1970, 1, 1)).days * 86_400_000_000


@given(st.lists(st.one_of(st.none(), st.text(), st.text("0123456789.,' +-:/eE"))))
def test_every_text_has_one_form_and_empty_ones_have_none(texts):
    found = form_names(pl.Series(texts, dtype=pl.String)).to_list()

    assert len(found) == len(texts)
    assert all(form in (None, "", *FORMS) for form in found)


@given(st.lists(st.one_of(st.none(), st.decimals(-(10**9), 10**9, places=3))))
def test_numbers_that_are_no_text_have_the_forms_of_their_shortest_texts(values):
    field = Field(name="x", type="string", categories=tuple(FORMS), reading=Reading(as_form=True))
    numbers = Numbers(np.array([np.nan if each is None else float(each) for each in values]))
    shortest = [None if each is None else number_text(float(each)) for each in values]

    assert plain_cells(numbers, field).values.to_list() == form_names(pl.Series(shortest, dtype=pl.String)).to_list()


def number_text(value):
    """Return a number as programs write it, without a point where it is whole."""
    return str(int(value)) if value == int(value) else repr(value)


def test_every_form_but_those_that_stand_alone_goes_with_a_way_of_writing():
    used = {form for writing in WRITTEN for form in writing.steps}
    alone = {"text", "code", "truth", *(form for form in FORMS if "/" in form and form not in used)}

    assert used | alone == set(FORMS)
    assert {step for writing in WRITTEN for step in writing.steps.values()} <= {*STEPS, None}
