"""The sections of the internal report: what they say, in which order, and what they say where they do not apply."""

import json
import warnings

import numpy as np
import pytest

from helpers.findings import compared, findings, schema_of, texts
from lapwing.extras.evaluate.metrics.disclosure.disclosure import Disclosure, Risk
from lapwing.extras.evaluate.metrics.disclosure.nearest_rows import ClosestDistances
from lapwing.extras.evaluate.metrics.metric import Estimate
from lapwing.extras.evaluate.metrics.prediction.downstream import ClassifierScore, Downstream
from lapwing.extras.evaluate.metrics.prediction.subgroups import SubgroupAccuracy
from lapwing.extras.evaluate.report.compared import compared_sections
from lapwing.present.document import Chart

KEYS = [
    "at-a-glance",
    "single-columns",
    "pairs",
    "worst-tables",
    "maps",
    "missing-cells",
    "prediction",
    "groups",
    "disclosure",
]
AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "special": [-1]}
SEX = {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}}
PLACE = {"name": "place", "type": "string", "categories": [f"p{number}" for number in range(30)]}
LON, LAT = ({"name": name, "type": "number", "constraints": {"minimum": 0, "maximum": 1}} for name in ("lon", "lat"))
SCHEMA = schema_of(AGE, SEX, PLACE, LON, LAT)


def rows(schema=SCHEMA, seed=0, count=400):
    """Return codes with reserved ones among them."""
    rng = np.random.default_rng(seed)
    codes = {}
    for column in schema.columns:
        domain = column.domain
        regular = (domain.values * rng.random(count) ** 2).astype(np.int64)
        gaps = rng.integers(domain.values, domain.size, count)
        codes[column.name] = np.where(rng.random(count) < 0.1, gaps, regular)
    return codes


def sections(schema=SCHEMA, real=None, synthetic=None, **more):
    found = findings(
        schema, rows(schema, 1) if real is None else real, rows(schema, 2) if synthetic is None else synthetic, **more
    )
    return {each.key: each for each in compared_sections(found, schema)}


def parts(section, kind):
    return [part for part in (*section.parts, *section.folded) if isinstance(part, kind)]


RISK = Risk(
    key="inference",
    title="Guessing",
    attacks=100,
    successes=60,
    rate=0.6,
    lower=0.55,
    upper=0.69,
    baseline=0.4,
    baseline_interval=(0.31, 0.5),
    meaning="How often a guess is right.",
)
CLOSEST = ClosestDistances(percents=(1, 50), real=(0.0, 0.1), holdout=None)
GROUPS = tuple(
    SubgroupAccuracy(
        columns=("sex",),
        labels=(label,),
        rows=count,
        synthetic_rows=count,
        variation=Estimate(value=value, standard_error=0.01),
        bootstrap=Estimate(value=0.05, standard_error=0.0),
        is_too_small=count < 10,
    )
    for label, count, value in (("f", 200, 0.2), ("m", 3, 0.9))
)
SCORES = (
    ClassifierScore(name="logistic regression", auc=0.7, ceiling=0.8, rows=100),
    ClassifierScore(name="linear SVM", auc=None, ceiling=0.8, rows=100, note="one class only"),
)


@pytest.fixture(scope="module")
def full():
    """Sections with everything in them."""
    return sections(
        metrics=[compared(0.3, 0.1, 1.1, errors=(0.05, 0, 0))],
        downstream=Downstream(target="sex", auc=0.71, ceiling=0.82, scores=SCORES),
        subgroups=GROUPS,
        disclosure=Disclosure(risks=(RISK,), rows=400, has_holdout=False, notes=("A note.",), distances=CLOSEST),
    )


def test_every_chart_says_in_a_sentence_what_it_shows_and_has_its_figures(full):
    charts = [chart for each in full.values() for chart in parts(each, Chart)]

    assert len(charts) >= 5 + 3 + 3 + 4
    for chart in charts:
        assert chart.meaning.rstrip().endswith((".", "!", "?")) or "The schema says" in chart.meaning
        assert any(letter.isdigit() for letter in chart.meaning)
        assert chart.figures is not None
        assert json.loads(json.dumps(chart.spec)) == chart.spec


@pytest.mark.parametrize("chosen", [["real"], ["synthetic"], ["real", "synthetic"]])
@pytest.mark.parametrize("code", [0, "last"])
def test_one_row_and_a_table_of_missing_cells_only_have_all_sections(chosen, code):
    table = {each.name: np.full(1, each.domain.last if code == "last" else code) for each in SCHEMA.columns}

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sections(**dict.fromkeys(chosen, table))

    assert list(found) == KEYS


def test_hostile_names_are_cut_and_stay_data():
    evil = "</script><b>" + "x" * 500
    schema = schema_of(
        {"name": evil, "type": "string", "categories": [evil, "", " ", "2 others", "missing cells"]},
        {"name": "datum.value", "type": "boolean"},
    )

    found = sections(schema)
    charts = [chart for each in found.values() for chart in parts(each, Chart)]

    assert max(map(len, texts([found[key].title for key in KEYS]))) < 60
    assert all("x" * 100 not in text for text in texts([each.parts for each in found.values()]))
    assert any('"label": "\\"\\""' in json.dumps(chart.spec) for chart in charts)
