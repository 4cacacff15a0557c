"""Settings of Adaptive: ranges, texts of the command line, JSON, and the rule that makes it the default."""

import json

import pytest

import lapwing as lw
from lapwing.errors import ParameterError, SchemaError
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.registry import default_mechanism, make_mechanism, settings_of, why_default
from lapwing.schema.schemas import Schema

FLAG = {"name": "flag", "type": "boolean"}
KIND = {"name": "kind", "type": "string", "categories": ["a", "b", "c"]}
AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}


def schema_of(*fields):
    return Schema.from_dict({"fields": list(fields)})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"one_way_share": 0}, "one_way_share must be a number from 0.001 to 0.999, got 0"),
        ({"selection_share": 1}, "selection_share must be a number from 0.001 to 0.999"),
        ({"selection_share": "half"}, "selection_share must be a number"),
        ({"one_way_share": True}, "one_way_share must be a number"),
        ({"resolutions": ()}, "resolutions must be 1 to 6 decreasing numbers from 2 to 64"),
        ({"resolutions": (4, 8)}, "resolutions must be"),
        ({"resolutions": (8, 8)}, "resolutions must be"),
        ({"resolutions": (65,)}, "resolutions must be"),
        ({"resolutions": (64, 32)}, "the last at most 16"),
        ({"resolutions": 16}, "resolutions must be a list, got 16"),
        ({"workload": "age"}, "workload must be a list, got 'age'"),
        ({"resolutions": (8, 1)}, "resolutions must be"),
        ({"resolutions": (8.5, 4)}, "resolutions must be"),
        ({"resolutions": (64, 32, 16, 8, 4, 3, 2)}, "resolutions must be"),
        ({"particles": 15}, "particles must be a whole number from 16 to 400000, got 15"),
        ({"particles": 400_001}, "particles must be"),
        ({"particles": 100.0}, "particles must be"),
        ({"rounds": 0}, "rounds must be a whole number from 1 to 1000, got 0"),
        ({"rounds": True}, "rounds must be"),
        ({"workload": (3,)}, "workload must list columns, or tables as lists of columns, got 3"),
        ({"workload": ((),)}, "workload must list columns"),
        ({"workload": (("age", 1),)}, "workload must list columns"),
    ],
)
def test_a_setting_outside_its_range_is_refused_in_one_sentence(settings, message):
    with pytest.raises(ParameterError, match=message) as caught:
        Adaptive(**settings)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "settings", [{"workload": ("weight",)}, {"workload": (("age", "weight"),)}, {"target": "weight"}]
)
def test_a_column_that_the_schema_lacks_is_named(settings):
    with pytest.raises(SchemaError, match="workload or target names 'weight', which is no modelled column"):
        lw.plan(schema_of(FLAG, KIND, AGE), expected_rows=100, epsilon=1, mechanism=Adaptive(**settings))


@pytest.mark.parametrize(
    ("texts", "settings"),
    [
        ({"resolutions": "16,8,4"}, {"resolutions": (16, 8, 4)}),
        ({"resolutions": " 16, 8 "}, {"resolutions": (16, 8)}),
        ({"resolutions": "16"}, {"resolutions": (16,)}),
        ({"resolutions": "[16, 8]"}, {"resolutions": (16, 8)}),
        ({"workload": "age,sex"}, {"workload": ("age", "sex")}),
        ({"workload": '[["age", "sex"], "income"]'}, {"workload": (("age", "sex"), "income")}),
        ({"workload": '["with, comma"]'}, {"workload": ("with, comma",)}),
        ({"target": "7"}, {"target": "7"}),
        ({"rounds": "12", "one_way_share": "0.25"}, {"rounds": 12, "one_way_share": 0.25}),
    ],
)
def test_settings_are_read_from_texts(texts, settings):
    assert make_mechanism("adaptive", texts) == Adaptive(**settings)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"resolutions": "16,many"}, r"setting resolutions must be a list, got '16,many'; write .* resolutions=16,8,4"),
        ({"resolutions": "[16"}, "setting resolutions must be a list"),
        ({"resolutions": "16.5"}, "setting resolutions must be a list"),
        ({"resolutions": ""}, "resolutions must be 1 to 6 decreasing numbers"),
        ({"workload": "[[" * 100_000}, "setting workload must be a list"),
        ({"workload": "[1]"}, "workload must list columns"),
        ({"rounds": "many"}, "setting rounds must be a whole number, got 'many'; write rounds=NUMBER"),
        ({"one_way_share": "a third"}, "setting one_way_share must be a number"),
    ],
)
def test_a_text_that_is_no_such_setting_is_refused_by_its_key(texts, message):
    with pytest.raises(ParameterError, match=message):
        make_mechanism("adaptive", texts)


def test_settings_come_back_from_their_json_form():
    settings = Adaptive(resolutions=(16, 4), workload=(("age", "kind"), "day"), target="flag", particles=1000)

    written = settings_of(settings)

    assert json.loads(json.dumps(written)) == written
    assert make_mechanism("Adaptive", written) == settings
    assert make_mechanism("Adaptive", settings_of(Adaptive())) == Adaptive()


def test_it_is_the_default_from_three_columns_on_by_the_schema_alone():
    three, two = schema_of(FLAG, KIND, AGE), schema_of(FLAG, KIND)
    hidden = schema_of(FLAG, KIND, {"name": "id", "type": "integer", "role": "identifier"})

    assert default_mechanism(three) == Adaptive()
    assert default_mechanism(two).name == default_mechanism(hidden).name == "PMM"
    assert why_default(three).startswith("Adaptive is the default for 3 columns: ")
    assert why_default(two).startswith("PMM is the default for 2 columns: ")
