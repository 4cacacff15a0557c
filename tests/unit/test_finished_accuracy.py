"""What is stated of a release's accuracy holds for what is released, after rules and public tables."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy.stats import wasserstein_distance

import lapwing as lw
from lapwing.model.bounds import rows_range
from lapwing.model.laws import Laws
from lapwing.model.model import Indexed, ReleasedModel, Spans
from lapwing.model.sampling.fixed import point_spans, points
from lapwing.model.sampling.marginals import marginal
from lapwing.release.runs.finishing import postprocess_model
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema

REQUIRED = {"required": True}
KINDS, SHARES = ["a", "b", "c"], [0.2, 0.4, 0.4]
FIELDS = [
    {"name": "kind", "type": "string", "categories": KINDS, "constraints": REQUIRED},
    {"name": "flag", "type": "boolean", "constraints": REQUIRED},
]
NEVER = {"never": {"kind": "c", "flag": True}}
OTHER_ROWS = {
    "columns": ["kind"],
    "cells": [["a", 1400], ["b", 300], ["c", 300]],
    "source": "another town",
    "provenance": "public",
}
SIDE = [{"name": "x", "type": "number", "constraints": {"minimum": 0, "maximum": 1} | REQUIRED}]
LOW_ONLY = {"never": {"x": {"minimum": 0.5}}}
LEFT = {
    "columns": ["x"],
    "cells": [["..0.5", 1900], [{"minimum": 0.6}, 100]],
    "complete": True,
    "source": "another town",
    "provenance": "public",
}


def rows() -> pl.DataFrame:
    """Return 2,000 rows, of which a third break the rule and half are not where the public table has them."""
    rng = np.random.default_rng(3)
    kind = rng.choice(3, 2000, p=SHARES)
    return pl.DataFrame({"kind": np.array(KINDS)[kind], "flag": rng.random(2000) < 0.8})


def line() -> pl.DataFrame:
    """Return 2,000 numbers from 0 to 1."""
    return pl.DataFrame({"x": np.random.default_rng(3).random(2000)})


def released(table: pl.DataFrame, mechanism: object, **public: object) -> lw.Release:
    """Return a release of a schema with rules or public tables."""
    fields = SIDE if table.columns == ["x"] else FIELDS
    return lw.synthesize(table, {"fields": fields, **public}, epsilon=20, mechanism=mechanism, seed=1)


def value(release: lw.Release, kind: str) -> float:
    """Return the one figure of a kind of statement."""
    (stated,) = [each for each in release.certificate.accuracy if each.code == kind]
    assert stated.value is not None
    return stated.value


def shares(table: pl.DataFrame) -> np.ndarray:
    """Return the share of the rows of each kind and flag."""
    found = [
        table.filter((pl.col("kind") == kind) & (pl.col("flag") == flag)).height
        for kind in KINDS
        for flag in (False, True)
    ]
    return np.array(found) / table.height


def law_of(release: lw.Release) -> tuple[np.ndarray, np.ndarray]:
    """Return the middle of each piece of the law of x, and its probability."""
    law, weights = release.model.laws["x"], release.model.weights / release.model.weights.sum()
    if isinstance(law, Indexed):
        weights = np.bincount(law.index, weights, law.laws.count)[law.laws.law_of_piece] * law.laws.probabilities
        law = law.laws
    assert isinstance(law, Laws | Spans)
    return (law.starts.astype(np.float64) + law.stops) / 2 / release.schema.field("x").domain.values, weights


PUBLIC = pytest.mark.parametrize("public", [{"rules": [NEVER]}, {"publicTables": [OTHER_ROWS]}], ids=["rule", "table"])


def of_model(release, *columns):
    """Return the released table itself: a query shows counts inside their ranges."""
    domains = [release.schema.field(name).domain for name in columns]
    counts = marginal(release.model, list(columns), [identity(domain) for domain in domains])
    return counts[tuple(slice(0, domain.values) for domain in domains)]


@PUBLIC
def test_a_certified_error_is_that_of_the_released_model(public):
    release = released(rows(), lw.LinearStatistics(points=500), **public)
    counts = of_model(release, "kind", "flag")
    error = np.abs(counts.ravel() / counts.sum() - shares(rows())).max()
    assert error > 0.2
    assert error <= value(release, "certified_error") + 1e-9
    of_each = release.certified_errors()["largest_error"].max()
    assert value(release, "certified_error") == pytest.approx(of_each, abs=1e-12)
    assert f"{value(release, 'certified_error'):.4g}" in release.certificate.text()


@PUBLIC
def test_bounds_of_measured_tables_hold_for_the_released_counts(public):
    release = released(rows(), "Independent", **public)
    found, counts = release.accuracy("kind"), release.query("kind", confidence=0.95)
    true = [rows().filter(pl.col("kind") == kind).height for kind in KINDS]
    error = np.abs(of_model(release, "kind") - true).max()
    assert error > (200 if "publicTables" in public else 0)
    assert error <= found.largest_error
    # What is declared of this very table is taken at its word, though it is of another town here.
    wanted = [1400, 300, 300] if "publicTables" in public else true
    assert (counts["lower"] <= wanted).all()
    assert (wanted <= counts["upper"]).all()
    (at_once,) = [each for each in release.accuracy().statements if each.code == "every_measured_count"]
    assert error <= at_once.value


@pytest.mark.parametrize("mechanism", [lw.PMM(depth=6), "PSMM"], ids=["PMM", "PSMM"])
@pytest.mark.parametrize("public", [{"rules": [LOW_ONLY]}, {"publicTables": [LEFT]}], ids=["rule", "table"])
def test_a_stated_distance_holds_for_the_released_law(mechanism, public):
    release = released(line(), mechanism, **public)
    places, weights = law_of(release)
    distance = wasserstein_distance(line()["x"], places, v_weights=weights)
    moved = value(release, "moved_in_all" if "publicTables" in public else "moved_by_rules")
    stated = value(release, "distance")
    assert distance > stated - moved  # what held before does not
    assert distance <= stated < 1
    (told,) = [each.text for each in release.accuracy().statements if each.code == "distance"]
    assert f"at most {stated:.4g}; of that, {moved:.3g} is what rules and public tables moved" in told


def test_a_bound_that_says_nothing_says_so():
    release = released(line(), lw.PMM(depth=6), rules=[{"never": {"x": {"minimum": 0.001}}}])
    (told,) = [each for each in release.certificate.accuracy if each.code == "distance"]
    assert told.value == 1.0
    assert told.text.endswith("moved so much (up to 0.999) that this says nothing.")


@pytest.mark.parametrize("mechanism", ["PrivateSampling", "KDTree"])
def test_what_is_told_of_a_mechanisms_model_says_so(mechanism):
    fields = [{"name": name, "type": "boolean", "constraints": REQUIRED} for name in "pq"]
    table = pl.DataFrame({name: np.arange(2000) % 3 == 0 for name in "pq"})
    schema = {"fields": fields, "rules": [{"never": {"p": True, "q": False}}, {"never": {"p": False, "q": True}}]}
    before = lw.synthesize(table, {"fields": fields}, epsilon=20, mechanism=mechanism, seed=1, neighbours="replace-one")
    after = lw.synthesize(table, schema, epsilon=20, mechanism=mechanism, seed=1, neighbours="replace-one")
    told = {each.code: each for each in after.certificate.accuracy}
    for each in before.certificate.accuracy:
        if each.code in {"error_of_draw", "distance"}:
            assert told[each.code].value - value(after, "moved_by_rules") == pytest.approx(each.value)
        elif each.code != "noise_on_counts":
            assert told[each.code].text.endswith("before rules and public tables are kept.")


def test_what_moved_in_all_is_the_distance_between_the_models():
    schema = Schema.from_dict({"fields": FIELDS, "rules": [NEVER], "publicTables": [OTHER_ROWS]})
    model = ReleasedModel(
        weights=np.array([1.0, 3.0, 4.0, 2.0]),
        rows=2000,
        laws={"kind": point_spans(np.array([0, 1, 2, 2])), "flag": point_spans(np.array([0, 1, 0, 1]))},
    )
    found = postprocess_model(model, schema, 1)
    masses = [
        np.bincount(codes["kind"] * 2 + codes["flag"], each.weights / each.weights.sum(), 6)
        for each in (model, found.model)
        for codes in [points(each, ["kind", "flag"])]
    ]
    distance = np.abs(masses[0] - masses[1]).sum() / 2
    assert distance > 0.59
    assert distance <= found.changed + 1e-12
    in_tables = [each.value for each in found.statements if each.code == "moved_to_table"]
    assert found.changed >= max(in_tables)


def test_a_public_number_of_rows_stands_beside_the_number_released():
    schema = {"fields": FIELDS, "publicTables": [{**OTHER_ROWS, "cells": [["a", 10], ["b", 20], ["c", 30]]}]}
    release = lw.synthesize(rows(), schema, epsilon=20, mechanism="Independent", neighbours="replace-one", seed=1)
    (told,) = [each for each in release.accuracy().statements if each.code == "other_number_of_rows"]
    assert (told.value, told.text) == (
        1940.0,
        "The number of rows of the table is public: 2000; 60 are released, 1940 off.",
    )


# -- How far a noisy number of rows may be off: said where it is told, and true.


ROWS = 400
TABLE = pl.DataFrame({"x": [n % 20 for n in range(ROWS)], "y": [n % 7 < 3 for n in range(ROWS)]})
SCHEMA = {
    "fields": [
        {"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 19}, "provenance": "public"},
        {"name": "y", "type": "boolean", "provenance": "public"},
    ]
}


def certificate(mechanism="Independent", **settings):
    return lw.synthesize(TABLE, SCHEMA, epsilon=1, mechanism=mechanism, **settings).certificate


@pytest.mark.parametrize("mechanism", ["Independent", "LinearStatistics"])
def test_most_releases_are_as_near_as_they_say(mechanism):
    found = [certificate(mechanism) for _ in range(20)]

    near = [abs(each.released_rows - ROWS) <= each.rows_within for each in found]
    assert sum(near) >= 12  # of 0.95 each: fewer in one run of 5,000,000


def test_of_one_total_it_is_the_tail_of_its_noise_at_half_the_failure():
    release = lw.synthesize(TABLE.select("x"), {"fields": SCHEMA["fields"][:1]}, rho=0.02, mechanism="Independent")
    (table,) = release.noisy

    moved = abs(release.certificate.released_rows - int(table.whole.sum()))
    tail = release.certificate.rows_within - moved
    assert tail == pytest.approx(2.24 * table.noise.sd * table.whole.size**0.5, rel=0.05)


def test_a_hundred_totals_tell_the_number_better_than_the_first():
    fields = [{**SCHEMA["fields"][1], "name": f"y{place}"} for place in range(100)]
    table = pl.DataFrame({each["name"]: TABLE["y"] for each in fields})
    release = lw.synthesize(table, {"fields": fields}, rho=0.02, mechanism="Independent")

    first = release.noisy[0]
    alone = 1.96 * first.noise.sd * first.counts.size**0.5
    assert release.certificate.rows_within < 0.4 * alone + 3
    assert abs(release.certificate.released_rows - ROWS) <= 2 * release.certificate.rows_within


def test_a_first_total_that_is_far_off_does_not_stand_against_many_that_agree():
    fields = [{**SCHEMA["fields"][1], "name": f"y{place}"} for place in range(30)]
    table = pl.DataFrame({each["name"]: TABLE["y"] for each in fields})
    first, *others = lw.synthesize(table, {"fields": fields}, rho=0.02, mechanism="Independent").noisy
    far = replace(first, whole=first.whole + round(20 * first.noise.sd))

    lower, upper, _ = rows_range((far, *others), Fraction(1, 20))

    assert upper < int(far.whole.sum()) - 2 * far.noise.sd
    assert abs((lower + upper) / 2 - ROWS) < 10 * far.noise.sd


def test_accuracy_and_report_tell_the_same_number_once():
    release = lw.synthesize(TABLE, SCHEMA, epsilon=1, mechanism="Adaptive")

    (said,) = (each for each in release.accuracy().statements if each.code == "number_of_rows")
    assert said.value == release.certificate.rows_within


def test_trees_of_other_columns_tell_other_numbers_of_rows():
    required = {"minimum": 0, "maximum": 1, "required": True}
    rows = pl.DataFrame({"x": [0.5] * 1000, "y": [0.5] * 400 + [None] * 600})
    one, other = (
        lw.synthesize(
            rows.select(name),
            {"fields": [{"name": name, "type": "number", "constraints": required}]},
            epsilon=50,
            mechanism="PMM",
            expected_rows=1000,
            misfits=1,
        ).noisy
        for name in "xy"
    )

    assert rows_range((*one, *other), Fraction(1, 20)) == rows_range(one, Fraction(1, 20))
    lower, upper, is_whole = rows_range(other, Fraction(1, 20))
    assert lower <= 400 <= upper
    assert not is_whole
