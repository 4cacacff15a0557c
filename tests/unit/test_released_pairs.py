"""How columns of a released model depend on each other, as the public report shows it."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.findings import texts
from lapwing.extras.evaluate.report.released_pairs import counted_pairs, pairs_section, released_pairs
from lapwing.present.document import Chart


def related(mechanism, rows=2000):
    """Return a release of a table whose columns a and b are one, and c is by itself."""
    fields = [{"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 3}} for name in "abc"]
    data = pl.DataFrame({"a": [at % 4 for at in range(rows)], "c": [at // 4 % 4 for at in range(rows)]})
    data = data.select("a", pl.col("a").alias("b"), "c")
    return lw.synthesize(data, {"fields": fields}, epsilon=20, delta="1e-9", mechanism=mechanism, seed=1)


def test_the_report_shows_which_columns_depend_on_each_other_and_whether_they_were_counted_together():
    release = related("adaptive")

    found = released_pairs(release.model, release.schema)
    section = pairs_section(found, release.certificate, 3)

    assert found.columns == ("a", "b", "c")
    assert found.strengths[0, 1] == pytest.approx(1, abs=0.05)
    assert max(found.strengths[0, 2], found.strengths[1, 2]) < 0.2
    assert found.tables[0].columns == ("a", "b")
    assert found.tables[0].rows.sum() == pytest.approx(release.model.rows, rel=0.01)
    charts = [part for part in section.parts if isinstance(part, Chart)]
    assert [chart.title for chart in charts][:2] == ["All pairs of columns", "a × b"]
    assert "the strongest is a × b" in charts[0].meaning
    assert charts[1].meaning.endswith("The two were counted together.")


def test_relations_that_nobody_counted_are_not_made_up():
    release = related("independent")

    found = released_pairs(release.model, release.schema)

    assert found.tables == ()
    assert (found.strengths == np.eye(3)).all()
    assert counted_pairs(release.certificate, "abc") == set()
    assert "0 of 3 pairs were counted together" in " ".join(texts(pairs_section(found, release.certificate, 3)))


def test_no_rows_or_one_column_have_no_pairs():
    release = related("independent")

    assert released_pairs(replace(release.model, rows=1), release.schema) is None
    assert released_pairs(release.model, replace(release.schema, fields=release.schema.fields[:1])) is None


def test_a_column_of_which_no_value_is_expected_has_a_report():
    fields = [{"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 3}} for name in "ab"]
    data = pl.DataFrame({"a": [0, 1] * 500, "b": [None] * 1000}, schema={"a": pl.Int64, "b": pl.Int64})
    release = lw.synthesize(data, {"fields": fields}, epsilon=1000, mechanism="Independent", seed=1)

    assert release.sample()["b"].null_count() == release.model.rows
    found = released_pairs(release.model, release.schema)
    assert found is not None
    assert found.columns == ("a", "b")
