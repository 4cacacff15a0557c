"""One of every public object, from a table with planted cells, whose columns would like to run in a browser."""

import numpy as np
import polars as pl

import lapwing as lw
from helpers.canary import NUMBER, TEXT
from helpers.linked_homes import SCHEMA as HOMES
from helpers.linked_homes import tables

HOSTILE = "</style></table><script>alert(1)</script>&\"'"
BUDGET = {"epsilon": 1, "delta": 1e-9}
FITTING = 739.173917
PLANTED = (TEXT, TEXT.rpartition("-")[2], str(FITTING)[:-2])


def schema_of_people():
    return lw.Schema.load(
        {
            "name": HOSTILE,
            "fields": [
                {"name": "id", "type": "string", "role": "identifier"},
                {"name": HOSTILE, "type": "string", "categories": [HOSTILE, "plain", "other"]},
                {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
                {"name": "income", "type": "number", "constraints": {"minimum": 0, "maximum": 1000}},
                {"name": "flag", "type": "boolean"},
            ],
        }
    )


def people(rows=400):
    """Return rows that hold the canary: as identifiers, as a text that is not listed, out of bounds and within them."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "id": [f"{TEXT}-{row}" for row in range(rows)],
            HOSTILE: rng.choice([HOSTILE, "plain", "other"], rows),
            "age": rng.integers(0, 100, rows),
            "income": rng.uniform(0, 1000, rows),
            "flag": rng.random(rows) < 0.3,
        }
    )
    planted, near = pl.int_range(rows) < 5, pl.int_range(rows) < 10
    return frame.with_columns(
        pl.when(planted).then(pl.lit(TEXT)).otherwise(pl.col(HOSTILE)).alias(HOSTILE),
        pl.when(planted).then(pl.lit(NUMBER)).when(near).then(pl.lit(FITTING)).otherwise("income").alias("income"),
    )


def with_cards():
    """Return objects that have a card, by name."""
    schema, real = schema_of_people(), people()
    release = lw.synthesize(real, schema, **BUDGET, seed=1)
    homes = tables(60)
    linked = lw.synthesize(homes, HOMES, **BUDGET, mechanism={"parent": "Independent"})
    fitted = lw.Synthesizer(schema, epsilon=1, mechanism="Independent").fit(real)
    draft = lw.Schema.load_draft({"fields": [{"name": HOSTILE, "type": "integer"}], "questions": [HOSTILE]})
    return {
        "schema": schema,
        "draft": draft,
        "linked schema": linked.schema,
        "plan": lw.plan(schema, expected_rows=400, **BUDGET),
        "linked plan": lw.plan(linked.schema, expected_rows={"parent": 60, "child": 150}, **BUDGET),
        "release": release,
        "certificate": release.certificate,
        "accuracy": release.accuracy(),
        "table accuracy": release.accuracy(["age", HOSTILE]),
        "count accuracy": release.accuracy(where={HOSTILE: HOSTILE}),
        "linked release": linked,
        "linked certificate": linked.certificate,
        "linked evaluation": lw.evaluate(homes, homes, HOMES),
        "evaluation": lw.evaluate(real, release.sample(seed=1), schema),
        "bought evaluation": lw.evaluate(real, release.sample(seed=1), schema, epsilon=1),
        "anonymous table": lw.anonymize(real, schema, min_group_size=5, seed=1),
        "settings": lw.Synthesizer(schema, **BUDGET),
        "fitted": fitted,
    }


def without_cards(release):
    """Return objects that show themselves as text alone, by name."""
    replicates = release.replicates(4, rows=50, seed=1)
    public = lw.PublicTable(
        columns=("age",), cells=tuple((age, 10) for age in range(100)), source="x", provenance="public"
    )
    moments = lw.synthesize(people(), schema_of_people(), epsilon=50, mechanism="Microaggregation")
    return {
        "field": release.schema.field(HOSTILE),
        "verdict": release.certificate.verdict,
        "cost line": release.certificate.lines[1],
        "model": release.model,
        "rows": release.rows(3),
        "support": release.support({"age": 3}),
        "replicates": replicates,
        "estimate": replicates.mean("age"),
        "covariance": lw.covariance(moments),
        "public table": public,
        "between": lw.between(1, 2),
        "statistic": lw.stat("age >= 65"),
        "row function": lw.row_function(len),
        "query": lw.Query("select 1", "sqlite:///people.db"),
        "trusted": lw.Trusted(lw.PMM(depth=3)),
    }
