"""Strata of Adaptive: each is counted by itself, and all of them for the price of one."""

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers import make
from lapwing.errors import ParameterError, SchemaError
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.mechanisms.registry import make_mechanism, settings_of

REGIONS = ["north", "south", "west"]
SCHEMA = lw.Schema.load(
    {
        "fields": [
            {"name": "region", "type": "string", "categories": REGIONS, "constraints": {"required": True}},
            *({"name": f"x{place}", "type": "boolean", "constraints": {"required": True}} for place in range(5)),
        ]
    }
)


def table(rows: int) -> pl.DataFrame:
    """Columns x0 and x1 are equal in the north, opposite in the south, and independent in the west."""
    rng = np.random.default_rng(5)
    flags = rng.random((5, rows)) < 0.5
    region = rng.integers(3, size=rows)
    flags[1] = np.choose(region, [flags[0], ~flags[0], flags[1]])
    names = pl.Series("region", np.array(REGIONS)[region])
    return pl.DataFrame({"region": names, **{f"x{place}": each for place, each in enumerate(flags)}})


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("delta", [None, "1e-9"])
def test_every_table_of_two_columns_is_counted_in_every_stratum(neighbours, delta):
    mechanism = lw.Adaptive(strata="region", particles=600, rounds=2)
    release = lw.synthesize(
        table(6000), SCHEMA, epsilon=1, delta=delta, neighbours=neighbours, mechanism=mechanism, seed=1
    )

    asked = [each.question for each in release.noisy if not isinstance(each.question, SelectWorst)]
    several = [each.columns for each in asked if len(each.columns) > 1]
    assert several
    assert all("region" in columns for columns in several if len(columns) == 2)
    inside = [each for each in asked if len(each.columns) == 3 and "region" in each.columns]
    assert inside
    for each in inside:
        place = each.columns.index("region")
        assert each.groupings[place].groups >= len(REGIONS)  # no two strata are counted together
    assert release.certificate.total.amount <= release.certificate.requested.epsilon
    assert "strata_counted" in [each.code for each in release.certificate.accuracy]


def test_relations_that_differ_by_stratum_are_kept_in_each():
    mechanism = lw.Adaptive(strata="region", rounds=1)
    rows = lw.synthesize(table(20_000), SCHEMA, epsilon=2, mechanism=mechanism, seed=1).sample(20_000)

    equal = rows.group_by("region").agg((pl.col("x0") == pl.col("x1")).mean())
    found = dict(equal.iter_rows())
    assert found["north"] > 0.9
    assert found["south"] < 0.1
    assert abs(found["west"] - 0.5) < 0.1


def test_noise_on_a_stratum_is_that_of_the_same_table_alone():
    """What a table costs and the noise on its cells do not depend on strata."""
    plain = lw.Adaptive(rounds=1, particles=400, one_way_share=0.25)
    strata = lw.Adaptive(rounds=1, particles=400, one_way_share=0.25, strata="region")
    sds = []
    for mechanism in (plain, strata):
        release = lw.synthesize(table(20_000), SCHEMA, epsilon=2, mechanism=mechanism, seed=1)
        of_pairs = [each for each in release.noisy if {"x0", "x1"} <= set(each.question.columns) and each.tables]
        sds.append(of_pairs[0].tables[0].sd)

    assert sds[0] == sds[1]


def test_settings_come_back_from_files_and_stay_out_of_those_without_strata():
    mechanism = lw.Adaptive(strata="region")

    assert make_mechanism("adaptive", settings_of(mechanism)) == mechanism
    assert "strata" not in settings_of(lw.Adaptive())


@pytest.mark.parametrize("verb", ["plan", "synthesize"])
def test_a_column_that_makes_no_strata_is_refused_before_anything_is_spent(verb, tmp_path):
    book = make.ledger(tmp_path / "budget.db")
    wide = SCHEMA.to_dict()
    wide["fields"].append({"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}})

    def call(strata: str) -> None:
        asked = {"epsilon": 1, "mechanism": lw.Adaptive(strata=strata)}
        if verb == "plan":
            lw.plan(wide, expected_rows=1000, **asked)
        else:
            lw.synthesize(table(100).with_columns(age=pl.lit(3)), wide, ledger=tmp_path / "budget.db", **asked)

    with pytest.raises(SchemaError, match=r"strata names .regoin., .* did you mean region"):
        call("regoin")
    with pytest.raises(ParameterError, match="strata must name a column of 2 to 64 values, got 'age' of 101"):
        call("age")
    with pytest.raises(ParameterError, match="strata must be the name of a column"):
        lw.Adaptive(strata=["region"])
    assert book.balance().spent == 0
