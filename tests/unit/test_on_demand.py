"""What is loaded by its name is there, is asked for by somebody, and stands in an extra or above who asks."""

import re

import pytest

import lapwing as lw
from helpers.source_tree import PACKAGE, python_files
from lapwing.on_demand import PATHS, Displayable, LazyFunction, extra
from lapwing.present.cards import DESCRIBED


@pytest.mark.parametrize("name", PATHS)
def test_what_a_name_stands_for_is_there(name):
    assert extra(name) is not None


def test_every_name_is_asked_for_and_none_is_missing():
    text = "\n".join(path.read_text(encoding="utf-8") for path in python_files(PACKAGE))

    assert set(re.findall(r'\b(?:extra|LazyFunction|_in_words)\("([^"]+)"', text)) == set(PATHS)


def test_a_method_is_bound_and_a_function_is_not():
    schema = lw.Schema.from_foreign({"age": 85})

    assert isinstance(vars(lw.Schema)["check"], LazyFunction)
    assert schema.check.__self__ is schema
    assert schema.draft is lw.Schema.draft


def test_cards_of_notebooks_are_of_all_that_is_shown():
    public = {lw.Release, lw.Schema, lw.Plan, lw.Synthesizer}
    cards = set(DESCRIBED)

    assert all(issubclass(kind, Displayable) for kind in cards)
    assert public < cards
