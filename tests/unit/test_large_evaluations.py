"""lw.evaluate of tables with more rows than are looked at: counted whole, sampled, and said to be."""

import tracemalloc

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers import evaluations
from lapwing.extras.evaluate.internal import evaluation, sampled
from lapwing.extras.evaluate.metrics.tables import variation

LOOKED_AT, ROWS = 400, 1500
EXACT = {"k_marginal_2", "k_marginal_3", "workload_error"}
SCHEMA = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "special": [-1]},
        {"name": "sex", "type": "string", "categories": ["f", "m"]},
        {"name": "rich", "type": "boolean"},
        {"name": "height", "type": "number", "constraints": {"minimum": 0, "maximum": 3}},
    ]
}


@pytest.fixture
def few(monkeypatch):
    """Look at so few rows that small tables are large."""
    monkeypatch.setattr(sampled, "MOST_ROWS", LOOKED_AT)


def table(seed, rows=ROWS):
    return evaluations.table(seed, rows)


def variations(found):
    return {name: [each.distances.tolist() for each in group] for name, group in found.findings.tables.items()}


def test_tables_of_columns_are_those_of_all_rows(monkeypatch):
    rows = table(1), table(2)
    whole = variations(lw.evaluate(*rows, SCHEMA))
    monkeypatch.setattr(sampled, "MOST_ROWS", LOOKED_AT)

    found = variations(lw.evaluate(*rows, SCHEMA))

    assert found["synthetic"] == [pytest.approx(each, abs=1e-12) for each in whole["synthetic"]]
    assert found["independent"][0] == [0, 0, 0, 0]
    # The references are drawn cell by cell, of as many rows: as far as rows are, but for chance.
    for name in ("bootstrap", "independent"):
        for own, other in zip(found[name], whole[name], strict=True):
            assert np.mean(own) == pytest.approx(np.mean(other), rel=0.25)


@pytest.mark.usefixtures("few")
def test_every_figure_of_a_sample_says_so(tmp_path):
    found = lw.evaluate(table(1), table(2), SCHEMA, target="rich", by="sex")

    record = found.to_dict()
    assert record["rows"] == {"real": ROWS, "synthetic": ROWS, "sampled": LOOKED_AT}
    assert {each["key"] for each in record["metrics"] if each["rows"] is None} == EXACT
    assert all(each["rows"] <= LOOKED_AT for each in record["metrics"] if each["rows"] is not None)
    risks = {each["key"]: each for each in record["disclosure"]["risks"]}
    assert risks["exact_copies"]["attacks"] == ROWS
    assert record["disclosure"]["rows"] == LOOKED_AT
    assert sum(group["rows"] for group in record["subgroups"]) == LOOKED_AT
    said = "figures use at most 400 rows of each table"
    found.to_html(tmp_path / "report.html")
    assert said in record["notes"][0]
    assert said in found.summary(details=True)
    assert said in (tmp_path / "report.html").read_text()


@pytest.mark.usefixtures("few")
def test_a_table_that_is_the_real_one_is_at_no_distance_and_all_copies():
    record = lw.evaluate(table(1), table(1), SCHEMA, test=table(1)).to_dict()

    assert [each["mean"] for each in record["total_variation"]["synthetic"]] == [0, 0, 0]
    assert all(each["numbers"]["wasserstein"] == 0 for each in record["columns"]["synthetic"] if each["numbers"])
    assert next(each for each in record["disclosure"]["risks"] if each["key"] == "exact_copies")["rate"] == 1
    assert any("the test rows are the real rows" in note for note in record["notes"])


@pytest.mark.usefixtures("few")
def test_a_copied_row_is_found_among_all_rows():
    real, fresh = table(1), table(2)

    record = lw.evaluate(real, pl.concat([fresh[:-1], real[7]]), SCHEMA).to_dict()

    copies = next(each for each in record["disclosure"]["risks"] if each["key"] == "exact_copies")
    assert copies["successes"] == 1


@pytest.mark.usefixtures("few")
def test_rows_read_anew_by_every_pass_have_the_same_figures(monkeypatch, tmp_path):
    for seed, name in ((1, "real"), (2, "synthetic")):
        table(seed, 9000).write_parquet(tmp_path / f"{name}.parquet")
    paths = tmp_path / "real.parquet", tmp_path / "synthetic.parquet"
    kept = lw.evaluate(*paths, SCHEMA).to_dict()
    monkeypatch.setattr(evaluation, "_CODES", 0)

    assert lw.evaluate(*paths, SCHEMA).to_dict() == kept


@pytest.mark.usefixtures("few")
def test_tables_of_too_many_cells_are_those_of_the_sample_and_said_to_be(monkeypatch):
    rows = table(1), table(2)
    whole = variations(lw.evaluate(*rows, SCHEMA))
    monkeypatch.setattr(variation, "MOST_CELLS", 300)

    found = lw.evaluate(*rows, SCHEMA)

    # Of 102, 3, 3 and 65 cells: the pairs with age, and all triples.
    assert "tables of columns with more than 300 cells, here 7, are those of the rows drawn" in found.findings.notes
    few, many = variations(found)["synthetic"], whole["synthetic"]
    assert few[0] == many[0]
    assert np.mean(few[2]) > np.mean(many[2])


@pytest.mark.usefixtures("few")
def test_one_pass_counts_as_many_tables_as_memory_holds(monkeypatch):
    rows = table(1), table(2)
    at_once = variations(lw.evaluate(*rows, SCHEMA))
    monkeypatch.setattr(variation, "_AT_ONCE", 400)

    assert variations(lw.evaluate(*rows, SCHEMA))["synthetic"] == at_once["synthetic"]


def test_totals_by_weight_are_those_of_the_whole_table(monkeypatch):
    weight = {"name": "w", "type": "integer", "constraints": {"minimum": 1, "maximum": 9}}
    schema = {"weight": "w", "fields": [SCHEMA["fields"][2], weight]}
    rng = np.random.default_rng(5)
    rows = pl.DataFrame({"rich": rng.random(ROWS) < 0.5, "w": rng.integers(1, 10, ROWS)})
    monkeypatch.setattr(sampled, "MOST_ROWS", LOOKED_AT)

    found = lw.evaluate(rows, rows, schema).findings.weighted

    # Mean 5 and deviation 2.6: of 400 rows a total is within 6 %, six standard deviations and more.
    assert found.total == pytest.approx(rows["w"].sum(), rel=0.06)


@pytest.mark.usefixtures("few")
def test_memory_is_a_few_bytes_a_row():
    rows = 150_000
    rng = np.random.default_rng(1)
    names = [f"c{place}" for place in range(5)]
    schema = {"fields": [{"name": name, "type": "boolean"} for name in names]}
    tables = [pl.DataFrame({name: rng.random(rows) < 0.5 for name in names}) for _ in range(2)]
    lw.evaluate(*(each.head(1000) for each in tables), schema)  # all is imported
    tracemalloc.start()
    try:
        lw.evaluate(*tables, schema)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    # Of eight columns 66 when this was written; 832 where reference rows were drawn of all rows.
    assert peak < 200 * rows


@pytest.mark.usefixtures("few")
def test_a_column_without_a_value_is_told_by_all_rows():
    real, one = table(1), pl.Series("rich", [None] * ROWS, dtype=pl.Boolean)
    said = 'no cell of the synthetic column "rich" has a value that fits the schema'

    assert said in lw.evaluate(real, real.with_columns(one), SCHEMA).findings.notes
    drawn = set(sampled._drawn_places(ROWS, 0).tolist())
    unseen = next(place for place in range(ROWS) if place not in drawn)
    one[unseen] = True
    assert said not in lw.evaluate(real, real.with_columns(one), SCHEMA).findings.notes
