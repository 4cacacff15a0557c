"""The arena's tables: what rivals are given says the same as the native rows, and nothing else."""

import itertools
import json

import numpy as np
import polars as pl
import pytest

from helpers.arena import codings, measures, plan, recipes, tables
from lapwing.schema.schemas import Schema

SMALL = ("icu-physionet2012", "mimic-demo-admissions", "nist-ma2019", "tarragona")
FIELDS = [
    {"name": "flag", "type": "boolean"},
    {"name": "wide", "type": "integer", "constraints": {"minimum": 0, "maximum": 999, "required": True}},
    {"name": "height", "type": "number", "constraints": {"minimum": -1, "maximum": 1}, "special": [-9]},
    {"name": "day", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}},
    {"name": "place", "type": "string", "categories": [f"p{number}" for number in range(40)]},
]
CODING = codings.coding_of(Schema.from_dict({"fields": FIELDS}))


def test_numbers_have_32_parts_and_categories_and_what_is_not_regular_codes_of_their_own():
    assert CODING.domain == {"flag": 3, "wide": 32, "height": 34, "day": 33, "place": 41}


def test_codes_come_back_as_values_that_have_them():
    rng = np.random.default_rng(1)
    codes = pl.DataFrame({name: rng.integers(size, size=500) for name, size in CODING.domain.items()})

    rows = CODING.decode(codes)

    assert CODING.encode(rows).equals(codes.cast(pl.Int32))
    assert rows.equals(CODING.decode(codes))
    assert not rows.equals(CODING.decode(codes, seed=1))


def test_values_are_drawn_uniformly_within_a_part():
    """100,000 draws from the first of 32 parts of 0 to 999, which is 0 to 30: within six deviations."""
    codes = pl.DataFrame({name: np.zeros(100_000, dtype=np.int32) for name in CODING.domain})

    counts = CODING.decode(codes)["wide"].value_counts()

    assert sorted(counts["wide"]) == list(range(31))
    assert (counts["count"] - 100_000 / 31).abs().max() < 6 * np.sqrt(100_000 / 31)


@pytest.mark.parametrize("code", [-1, 32])
def test_a_code_outside_the_domain_is_refused(code):
    codes = pl.DataFrame({name: [0] for name in CODING.domain}).with_columns(wide=pl.lit(code))

    with pytest.raises(ValueError, match="column wide has codes outside 0 to 31"):
        CODING.decode(codes)


def test_the_schema_of_codes_allows_exactly_the_codes():
    schema = Schema.from_dict(CODING.schema_of_codes)

    assert {field.name: field.domain.values for field in schema.columns} == CODING.domain
    assert [field.name for field in schema.columns if not field.domain.ordered] == ["flag", "place"]


@pytest.mark.parametrize("name", SMALL)
def test_a_shared_table_is_split_and_coded(shared_data, tmp_path, name):
    table = tables.made(name, tmp_path)

    train, held, codes = (pl.read_parquet(path) for path in (table.train, table.held, table.codes))
    source = pl.read_parquet(shared_data / name / "data.parquet").select(train.columns)
    columns = list(train.columns)
    assert pl.concat([train, held]).sort(columns).equals(source.sort(columns))
    assert codes.columns == columns == list(table.domain) == [field["name"] for field in table.schema["fields"]]
    assert all(codes[column].min() >= 0 and codes[column].max() < size for column, size in table.domain.items())
    assert table._coding.encode(table.decode(codes)).equals(codes)
    assert table._coding.encode(held).equals(pl.read_parquet(table.held_codes))
    assert table.schema["target"] in columns


def test_rows_of_one_person_stay_together(shared_data, tmp_path):
    """Admissions of 100 patients: those of 80 are fitted on."""
    rows = pl.read_parquet(shared_data / "mimic-demo-admissions" / "data.parquet")
    patients = rows["subject_id"].unique().sort()

    table = tables.made("mimic-demo-admissions", tmp_path)

    kept = rows.filter(pl.col("subject_id").is_in(patients.gather(tables.train_test(len(patients))[0]).implode()))
    train = pl.read_parquet(table.train)
    assert train.equals(kept.select(train.columns))
    assert "privacyUnit" not in table.schema
    assert not {"subject_id", "hadm_id"} & set(train.columns)


def test_declared_rules_are_part_of_the_schema_and_real_rows_keep_them(shared_data, tmp_path):
    table = tables.made("mimic-demo-admissions", tmp_path)

    found = measures.measured(table.train, table.held, table.held, table.schema)

    assert len(table.schema["rules"]) == 8
    assert found["broken_rules"] == found["broken_rules_train"] == 0


def test_a_table_that_is_there_is_not_made_again(shared_data, tmp_path):
    first = tables.made("tarragona", tmp_path)
    written = first.codes.stat().st_mtime_ns

    again = tables.made("tarragona", tmp_path)

    assert again.codes.stat().st_mtime_ns == written
    assert again.schema == first.schema == json.loads((tmp_path / "tarragona" / "schema.json").read_text())


def test_an_unknown_table_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"there is no table gauss-11; choose one of .*gauss-10"):
        tables.made("gauss-11", tmp_path)


def test_there_are_26_shared_tables_and_17_of_recipes(shared_data):
    assert len(tables.names()) == len(set(tables.names())) == 43


def test_the_first_run_is_of_tables_that_are_there(shared_data):
    """Every stage is repeated for each run, and no cell is in two stages."""
    cells = [
        cell
        for stage in plan.STAGES
        for cell in itertools.product(stage.tables, stage.forms, stage.epsilons, stage.deltas)
    ]

    assert {cell[0] for cell in cells} <= set(tables.names())
    assert len(set(cells)) == len(cells)
    assert len(list(plan.commands())) == plan.RUNS * len(plan.STAGES)
    assert next(plan.commands()).endswith("--forms codes --epsilons 1 --deltas 1e-9 0 --runs 1 --limit 600")


@pytest.mark.parametrize("name", ["xor-1", "xor-3", "xor-7", "parity-1", "parity-4", "parity-7"])
def test_a_target_is_the_parity_and_fewer_columns_do_not_tell(tmp_path, name):
    """The mean of the target given any two of its bits is a half, within six deviations of 12,500 rows."""
    order = int(name.split("-")[1])

    rows, schema = recipes.drawn(name)

    bits = rows.select(schema["parity"]).to_numpy() > 0
    target = rows["target"].to_numpy()
    assert bits.shape == (50_000, order)
    assert np.array_equal(bits.sum(axis=1) % 2, target)
    for one, other in itertools.combinations(range(order), 2):
        if order > 2:
            assert abs(target[bits[:, one] & bits[:, other]].mean() - 0.5) < 6 * 0.5 / np.sqrt(12_000)


@pytest.mark.parametrize("width", recipes.WIDTHS)
def test_gaussians_have_unit_variance_and_all_hang_together(width):
    """Of a normal law, cut off at four deviations; every column has a correlation above a quarter with another."""
    rows, schema = recipes.drawn(f"gauss-{width}")

    points = rows.to_numpy()
    matrix = np.corrcoef(points.T) - np.eye(width)
    assert points.shape == (50_000, width)
    assert np.abs(points).max() == recipes.REACH
    # The standard error of a variance of 50,000 normal numbers is 0.0063; 0.03 is 4.7 of them.
    assert points.var(axis=0) == pytest.approx(1, abs=0.03)
    assert np.abs(points.mean(axis=0)).max() < 0.03
    assert np.abs(matrix).max(axis=1).min() > 0.25
    assert [field["name"] for field in schema["fields"]] == rows.columns
