"""Similarity of columns and pairs against SDMetrics, in an environment of its own.

python3.11 -m venv /tmp/sdmetrics
/tmp/sdmetrics/bin/python -m pip install --require-hashes -r requirements/oracle-sdmetrics.txt
PYTHONPATH=src /tmp/sdmetrics/bin/python -m pytest tests/oracle/test_similarity_against_sdmetrics.py \
    -o junit_family=xunit1 --junit-xml=/tmp/sdmetrics.xml

The properties in /tmp/sdmetrics.xml are the figures.
"""

import numpy as np
import pytest

from lapwing.extras.evaluate.metrics.associations import compare_correlations
from lapwing.extras.evaluate.metrics.columns import compare_columns
from lapwing.extras.evaluate.metrics.prediction.detection import propensity_scores
from lapwing.extras.evaluate.metrics.tables.variation import compare_tables
from lapwing.model.quality import compare_quality
from lapwing.schema.schemas import Schema

column_pairs = pytest.importorskip("sdmetrics.column_pairs", reason="needs requirements/oracle-sdmetrics.txt")
single_column = pytest.importorskip("sdmetrics.single_column")
single_table = pytest.importorskip("sdmetrics.single_table")
reports = pytest.importorskip("sdmetrics.reports.single_table")
pd = pytest.importorskip("pandas")

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
    {"name": "hours", "type": "integer", "constraints": {"minimum": 0, "maximum": 60}},
    {"name": "city", "type": "string", "categories": [f"c{place}" for place in range(12)]},
    {"name": "sex", "type": "string", "categories": ["f", "m"]},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})
SEEDS = range(5)
# Both sides are exact up to the rounding of sums of a few thousand floats of size 1.
ROUNDING = 1e-9


def table(seed: int, tilt: float, gaps: float, count: int = 3000):
    """Return codes of a table, and the same table for pandas: missing cells are nan."""
    rng = np.random.default_rng(seed)
    ground = rng.beta(2, 2 + tilt, size=count)
    codes = {}
    for column in SCHEMA.columns:
        mixed = np.where(rng.random(count) < 0.5, ground, rng.beta(2, 2, size=count))
        regular = (mixed * column.domain.values).astype(np.int64)
        codes[column.name] = np.where(rng.random(count) < gaps, column.domain.last, regular)
    frame = pd.DataFrame(
        {
            column.name: np.where(codes[column.name] < column.domain.values, codes[column.name], np.nan)
            for column in SCHEMA.columns
        }
    )
    return codes, frame


def pair(seed: int, gaps: float = 0.1):
    """Return codes of two tables, and their frames."""
    (real, real_frame), (other, other_frame) = table(seed, 0.0, gaps), table(seed + 100, 1.0, 2 * gaps, 2000)
    return real, other, real_frame, other_frame


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("coefficient", ["Pearson", "Spearman"])
def test_the_difference_of_correlations_is_twice_what_their_similarity_lacks(
    seed, coefficient, record_property
) -> None:
    # They rank within the rows that both columns have, we within the column: the same where nothing is missing.
    real, other, real_frame, other_frame = pair(seed, gaps=0.1 if coefficient == "Pearson" else 0.0)
    names = ["age", "hours"]
    theirs = column_pairs.CorrelationSimilarity.compute(real_frame[names], other_frame[names], coefficient)

    found = compare_correlations(real, {"synthetic": other}, SCHEMA, rng=np.random.default_rng(0))

    ours = found[coefficient == "Spearman"].values["synthetic"].value
    record_property("difference", ours - 2 * (1 - theirs))
    assert ours == pytest.approx(2 * (1 - theirs), abs=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("names", [("city", "sex"), ("age", "city")])
def test_total_variation_of_two_columns_is_what_their_contingency_similarity_lacks(
    seed, names, record_property
) -> None:
    real, other, real_frame, other_frame = pair(seed, gaps=0.0)
    theirs = column_pairs.ContingencySimilarity.compute(real_frame[list(names)], other_frame[list(names)])

    ours = compare_tables(real, other, SCHEMA, [[names]])[0].maximum

    record_property("difference", ours - (1 - theirs))
    assert ours == pytest.approx(1 - theirs, abs=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_distribution_functions_and_missing_shares_agree(seed, record_property) -> None:
    real, other, real_frame, other_frame = pair(seed)

    found = {each.column: each for each in compare_columns(real, other, SCHEMA)}

    for name in ("age", "hours"):
        theirs = single_column.KSComplement.compute(real_frame[name], other_frame[name])
        record_property(f"difference of {name}", found[name].numbers.kolmogorov - (1 - theirs))
        assert found[name].numbers.kolmogorov == pytest.approx(1 - theirs, abs=ROUNDING)
    for name, errors in found.items():
        theirs = single_column.MissingValueSimilarity.compute(real_frame[name], other_frame[name])
        assert abs(errors.missing) == pytest.approx(1 - theirs, abs=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_the_headline_is_that_of_their_quality_report(seed, gaps, record_property) -> None:
    # Columns that follow one ground are strong pairs of both kinds; one follows nothing, and its pairs do not count.
    frames, codes = [], []
    for place, (count, spread) in enumerate(((3000, 0.1), (2000, 0.2))):
        rng = np.random.default_rng([seed, place])
        ground = rng.beta(2, 2, size=count)
        own = {}
        for column in SCHEMA.columns:
            points = rng.random(count) if column.name == "sex" else ground + rng.normal(0, spread, count)
            points = np.clip(points, 0, 0.999)
            regular = (points * column.domain.values).astype(np.int64)
            own[column.name] = np.where(rng.random(count) < gaps, column.domain.last, regular)
        codes.append(own)
        last = {column.name: column.domain.last for column in SCHEMA.columns}
        frames.append(pd.DataFrame({name: np.where(each < last[name], each, np.nan) for name, each in own.items()}))
    kinds = {"age": "numerical", "hours": "numerical", "city": "categorical", "sex": "categorical"}
    theirs = reports.QualityReport()
    theirs.generate(*frames, {"columns": {name: {"sdtype": kind} for name, kind in kinds.items()}}, verbose=False)

    ours = compare_quality(*codes, SCHEMA, rng=np.random.default_rng(0))

    shape, trend = theirs.get_properties()["Score"]
    details = theirs.get_details("Column Pair Trends")
    strong = details[details["Meets Threshold?"].fillna(False)]
    assert 1 < len(strong) < len(details)
    assert {each.columns for each in ours.relations} == set(zip(strong["Column 1"], strong["Column 2"], strict=True))
    record_property("difference", ours.score - theirs.get_score())
    assert (ours.shape, ours.trend, ours.score) == pytest.approx((shape, trend, theirs.get_score()), abs=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_their_logistic_detection_ranks_rows_as_our_propensity_scores_do(seed, record_property) -> None:
    _, _, real_frame, other_frame = pair(seed, gaps=0.0)
    names = ["age", "hours"]
    np.random.seed(seed)  # noqa: NPY002 - theirs splits rows by the global generator
    theirs = single_table.LogisticDetection.compute(real_frame[names], other_frame[names])
    points = np.concatenate((real_frame[names].to_numpy(), other_frame[names].to_numpy()))
    points = (points - points.mean(axis=0)) / points.std(axis=0)
    is_other = np.repeat([False, True], [len(real_frame), len(other_frame)])

    scores = propensity_scores(points, is_other)

    ranks = np.argsort(np.argsort(scores + 1e-12 * np.arange(len(scores)))) + 1.0
    ours = (ranks[is_other].mean() - (len(other_frame) + 1) / 2) / len(real_frame)
    # Their score is 1 - (2 AUC - 1), the mean over three folds that were not trained on; ours is of all rows. Three
    # parameters are fitted to 5000 rows, and the standard error of the AUC is 0.008.
    record_property("difference", ours - (2 - theirs) / 2)
    assert ours == pytest.approx((2 - theirs) / 2, abs=0.015)
