"""lw.plan of tables whose people own several rows: what is protected, and what another maxRows would change."""

import pytest

import lapwing as lw

ROWS = 300
MIXED = {
    "fields": [
        {"name": "id", "type": "integer", "role": "identifier"},
        {"name": "kind", "type": "string", "categories": ["a", "b", "c"]},
        {"name": "size", "type": "number", "constraints": {"minimum": -1, "maximum": 1}, "special": [99]},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 30, "required": True}},
    ]
}
OWNED = {**MIXED, "privacyUnit": {"field": "id", "maxRows": 3}}


def test_more_rows_per_unit_multiply_the_noise_and_the_plan_says_by_how_much():
    settings = {"expected_rows": ROWS, "rho": 1, "mechanism": "Independent"}

    one, three = (lw.plan(schema, **settings) for schema in (MIXED, OWNED))

    assert [each.lines[0].question for each in (one, three)] == ["MisfitRows"] * 2
    assert (1 - share(three)) * three.lines[1].noise.sd ** 2 == pytest.approx(
        9 * (1 - share(one)) * one.lines[1].noise.sd ** 2
    )
    assert "At the same cost, the noise on a count is 3 times that for one row per unit." in three.text()
    assert "At the same cost" not in one.text()


def share(planned):
    return float(planned.lines[0].cost.amount / planned.total.amount)


def owned(max_rows, fields=MIXED["fields"]):
    return {"fields": fields, "privacyUnit": {"field": "id", "maxRows": max_rows}}


@pytest.mark.parametrize(
    ("mechanism", "neighbours", "own", "values"),
    [
        (lw.Independent(groups=8), "add-remove", 3, [1, 2, 3, 6]),
        (lw.Independent(groups=8), "replace-one", 8, [1, 2, 4, 8, 16]),
        (lw.PMM(depth=6), "replace-one", 1, [1, 2]),
        (lw.Adaptive(), "add-remove", 1, [1, 2]),
        (lw.Adaptive(), "replace-one", 2, [1, 2, 4]),
    ],
    ids=str,
)
def test_the_plan_shows_what_another_max_rows_would_cost(mechanism, neighbours, own, values):
    settings = {"mechanism": mechanism, "neighbours": neighbours, "expected_rows": 10**6, "epsilon": 1}

    planned = lw.plan(owned(own), **settings)

    assert [effect.max_rows for effect in planned.max_rows_effects] == values
    for effect in planned.max_rows_effects:
        alone = lw.plan(owned(effect.max_rows), **settings)
        lines, own_lines = ([line for line in each.lines if line.question != "MisfitRows"] for each in (alone, planned))
        assert effect.noise_sd == lines[0].noise.sd
        assert effect.tables == sum(line.noise is not None for line in lines)
        assert effect.noise_times == pytest.approx(effect.noise_sd / own_lines[0].noise.sd)
        assert effect.stated in alone.accuracy
    (own_figure,) = (each.stated.value for each in planned.max_rows_effects if each.max_rows == own)
    assert [each.error_times for each in planned.max_rows_effects] == pytest.approx(
        [each.stated.value / own_figure for each in planned.max_rows_effects]
    )
