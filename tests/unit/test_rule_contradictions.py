"""Rules that contradict each other: found when a schema is loaded, and few are named."""

import time

import pytest

from helpers.ruled_schemas import FIELDS, bounded, schema_of
from lapwing.errors import SchemaError
from lapwing.schema.rules.search import completed
from lapwing.schema.schemas import Schema

CONTRADICTIONS = {
    "one": (
        [{"never": {"flag": [True, False]}}],
        "rule 1 (never flag is true or false): no row of the declared values",
    ),
    "two": (
        [
            {"never": {"sex": "f"}},
            {"never": {"flag": True}},
            {"when": {"flag": False}, "then": {"flag2": True}},
            {"never": {"flag2": True}},
        ],
        "rules 2 (never flag is true), 3 (when flag is false, flag2 is true) and 4 (never flag2 is true) contradict "
        "each other",
    ),
    "twice": (
        [{"never": {"sex": "f"}}, *2 * [{"never": {"flag": True}}], {"never": {"flag": False}}],
        "rules 2 (never flag is true) and 4 (never flag is false) contradict each other",
    ),
    "circle": (
        [{"order": ["a", "b", "c"]}, {"order": ["c", "a"], "strict": True}],
        "rules 1 (a <= b <= c) and 2 (c < a) contradict each other",
    ),
    "sum": (
        [
            {"sum": {"a": 1, "b": 1}, "equals": "c"},
            {"never": {"a": {"maximum": 4}}},
            {"never": {"b": {"maximum": 5}}},
            {"never": {"c": {"minimum": 11}}},
        ],
        "rules 1 (a + b = c), 2 (never a is at most 4), 3 (never b is at most 5) and 4",
    ),
    "map": (
        [
            {"determines": ["flag"], "column": "flag2", "values": [[True, False], [False, True]]},
            {"allowed": ["flag", "flag2"], "rows": [[True, True], [False, False]]},
        ],
        "rules 1 (flag determines flag2 (2 values listed)) and 2",
    ),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_few_rules_that_contradict_each_other_are_named(case: str) -> None:
    rules, sentence = CONTRADICTIONS[case]
    required = {"type": "boolean", "constraints": {"required": True}}
    fields = [
        *FIELDS,
        {"name": "flag2", **required},
        *(bounded(name, 0, 10**9) for name in ("a", "b", "c")),
    ]

    with pytest.raises(SchemaError) as error:
        Schema.from_dict({"fields": fields, "rules": rules})

    assert str(error.value).startswith(sentence)


def test_columns_that_may_be_missing_make_an_order_in_a_circle_possible() -> None:
    schema = schema_of({"order": ["day", "week"], "strict": True}, {"order": ["week", "day"], "strict": True})
    row = completed(schema, {}, ("day", "week"))

    assert row is not None
    assert row["day"] == schema.field("day").domain.last or row["week"] == schema.field("week").domain.last


def test_rules_that_a_search_cannot_decide_are_refused_when_the_schema_is_read() -> None:
    # A sum that is odd and a difference that is even: neither rule sees that by itself.
    fields = [
        *(bounded(name, 0, 10**9) for name in ("a", "b", "e", "f")),
        bounded("c", 1, 10**9 + 1, resolution=2),
        bounded("d", 0, 10**9, resolution=2),
    ]
    rules = [
        {"order": ["e", "f"]},
        {"sum": ["a", "b"], "equals": "c"},
        {"sum": {"a": 1, "b": -1}, "equals": "d"},
    ]

    with pytest.raises(SchemaError, match=r"^rules 2, 3: no row was found that keeps them all, nor that there is none"):
        Schema.from_dict({"fields": fields, "rules": rules})


def test_a_row_is_found_again_whatever_the_order_in_which_columns_are_asked_for() -> None:
    fields = [bounded(name, 0, 10**6) for name in "abc"]
    rules = [{"sum": ["a", "b"], "equals": "c"}, {"never": {"c": {"maximum": 17}}}]
    schema = Schema.from_dict({"fields": fields, "rules": rules})

    found = [completed(schema, {}, tuple(names)) for names in ("abc", "bac", "cba")]

    assert found[0] is not None
    assert found[0] == found[1] == found[2]


def test_steps_that_never_meet_a_sum_are_a_contradiction() -> None:
    fields = [bounded("a", 0, 10**9), bounded("b", 0, 10**9), bounded("c", 1, 10**9 + 1, resolution=2)]

    with pytest.raises(SchemaError, match=r"rule 1 .* no row of the declared values keeps it"):
        Schema.from_dict({"fields": fields, "rules": [{"sum": {"a": 4, "b": 2}, "equals": "c"}]})


def nests(holes: int) -> dict:
    """Return a schema in which one bird more than there are holes wants one of its own."""
    birds = [f"b{place}" for place in range(holes + 1)]
    listed = [f"h{place}" for place in range(holes)]
    pairs = [(one, two) for place, one in enumerate(birds) for two in birds[:place]]
    return {
        "fields": [
            {"name": bird, "type": "string", "categories": listed, "constraints": {"required": True}} for bird in birds
        ],
        "rules": [{"never": {one: hole, two: hole}} for one, two in pairs for hole in listed],
    }


@pytest.mark.parametrize(
    ("holes", "says"),
    [
        (
            5,
            "never b1 is h3 and b0 is h3), 5 (never b1 is h4 and b0 is h4), 6 (never b2 is h0 and b0 is h0), 7 (never ",
        ),
        (7, "rules 1, 2, 3, 4, 5, 6, 7, 8 and 188 more: no row was found"),
    ],
    ids=["five", "seven"],
)
def test_rules_that_only_many_together_contradict_are_refused_soon(holes: int, says: str) -> None:
    started = time.process_time()

    with pytest.raises(SchemaError) as error:
        Schema.from_dict(nests(holes))

    assert says in str(error.value)
    assert len(str(error.value)) < 600
    assert time.process_time() - started < 15  # a minute or more where every rule is tried to the end
