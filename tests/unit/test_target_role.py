"""The role "target": what models will predict, said once in the schema."""

import numpy as np
import polars as pl
import pytest

from helpers.bits import SeededBits
from helpers.pmm_runs import run
from lapwing.errors import SchemaError
from lapwing.extras.studio.rooms.fields import field_of, texts_of
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.schema.schemas import Schema

FLAG = {"type": "boolean", "constraints": {"required": True}}
BUDGET, TERMS = Budget.zcdp("0.05"), Terms(relation="add-remove", expected_rows=3000)


def schema_of(*roles):
    """Return flags with these roles."""
    fields = [{"name": f"x{place}", **FLAG, **({"role": role} if role else {})} for place, role in enumerate(roles)]
    return Schema.from_dict({"fields": fields})


def test_a_target_is_modelled_and_written_as_it_was_read() -> None:
    schema = schema_of(None, "target", None)

    assert schema.target == "x1"
    assert [field.name for field in schema.columns] == ["x0", "x1", "x2"]
    again = Schema.from_dict(schema.to_dict())
    assert (again.target, again) == ("x1", schema)
    assert schema_of(None, None).target is None
    assert schema.select(["x0", "x2"]).target is None


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ([{"name": "a", **FLAG, "role": "target"}, {"name": "b", **FLAG, "role": "target"}], "second target"),
        ([{"name": "a", **FLAG, "role": "label"}], "target"),
    ],
)
def test_a_second_target_and_an_unknown_role_are_refused(fields, word) -> None:
    with pytest.raises(SchemaError, match=word):
        Schema.from_dict({"fields": fields})


def test_the_target_of_the_schema_is_that_of_adaptive_unless_another_is_named() -> None:
    plain, marked = schema_of(*[None] * 5), schema_of(None, None, None, "target", None)

    for schema, setting, places in ((plain, None, set()), (marked, None, {3}), (marked, "x1", {1}), (plain, "x3", {3})):
        found = Adaptive(target=setting).priorities(schema)
        assert {place for each in found for place in each.columns} == places


def test_a_release_of_a_marked_schema_asks_what_the_setting_asks() -> None:
    rng = np.random.default_rng(5)
    data = pl.DataFrame({f"x{place}": rng.random(3000) < 0.3 for place in range(5)})
    plain, marked = schema_of(*[None] * 5), schema_of(None, None, None, "target", None)

    asked = [
        [
            answer.question.columns
            for answer in run(
                Adaptive(particles=200, rounds=2, target=setting), data, schema, budget=BUDGET, bits=SeededBits(1)
            )[1]
        ]
        for schema, setting in ((plain, "x3"), (marked, None), (plain, None))
    ]

    assert asked[0] == asked[1] != asked[2]


def test_a_column_of_the_studio_keeps_its_role() -> None:
    field = schema_of("target", None).fields[0]

    boxes = texts_of(field)

    assert boxes["role"] == "target"
    assert field_of(boxes, field) == field
    assert not field_of(boxes | {"role": "value"}, field).target
