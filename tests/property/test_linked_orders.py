"""Rows that follow one another keep the released table of the column that they are in order of."""

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.cases import spread
from lapwing.errors import CertificateWarning
from lapwing.model.sampling.marginals import marginal
from lapwing.schema.groupings.grouping import identity

PERSONS = 700
DAYS = 730
START = date(2022, 1, 1)
WHO = {"name": "who", "type": "integer", "role": "identifier"}
KIND = {"name": "kind", "type": "string", "categories": ["a", "b", "c"], "constraints": {"required": True}}


def even(rng, rows):
    """Return days that have nothing to do with each other, anywhere in the range."""
    return rng.integers(0, DAYS, rows)


def early(rng, rows):
    """Return days that are mostly early in the range: steps from row to row are small beside it."""
    return (DAYS * rng.beta(1.5, 5, rows)).astype(int)


def steady(rng, rows):
    """Return days that follow one another after about three weeks."""
    return np.minimum(rng.integers(0, DAYS // 2) + np.cumsum(rng.geometric(1 / 20, rows)), DAYS - 1)


LAWS = {"even": even, "early": early, "steady": steady}


def visits(law, column):
    """Return up to five visits of each person, with the day in the type of a column."""
    rng = np.random.default_rng(3)
    counts = rng.integers(1, 6, PERSONS)
    days = np.concatenate([LAWS[law](rng, count) for count in counts]).tolist()
    when = [START + timedelta(days=day) for day in days] if column == "date" else days
    kinds = rng.choice(["a", "b", "c"], len(days), p=(0.6, 0.3, 0.1))
    return pl.DataFrame({"who": np.repeat(np.arange(PERSONS), counts), "when": when, "kind": kinds})


def schema(column, *, descending):
    """Return the schema of events in their order."""
    ends = (str(START), str(START + timedelta(days=DAYS - 1))) if column == "date" else (0, DAYS - 1)
    bounds = dict(zip(("minimum", "maximum"), ends, strict=True))
    when = {"name": "when", "type": column, "constraints": {**bounds, "required": True}}
    return {
        "privacyUnit": {"field": "who", "maxRows": 5},
        "order": {"by": "when", "descending": descending},
        "fields": [WHO, when, KIND],
    }


def reached(release, rows):
    """Return the share of rows up to each day, of rows and of the released model."""
    part = release.tables["events"]
    domain = part.schema.field("when").domain
    released = marginal(part.model, ["when"], [identity(domain)])[: domain.values]
    place = [(each - START).days if isinstance(each, date) else each for each in rows["when"].to_list()]
    drawn = np.bincount(np.asarray(place, dtype=int), minlength=domain.values)
    return (np.cumsum(each / each.sum()) for each in (drawn, released))


@spread(
    ("law", list(LAWS)),
    ("budget", [1, 5]),
    ("of", [("adaptive", "date", False), ("independent", "integer", True)]),
    at_least=6,
)
def test_an_ordered_column_has_the_released_table_after_rows_followed_one_another(law, budget, of):
    mechanism, column, descending = of

    found = lw.synthesize(
        visits(law, column), schema(column, descending=descending), epsilon=budget, delta="1e-6", mechanism=mechanism,
        seed=1,
    )  # fmt: skip
    told = [each.fields["share"] for each in found.certificate.warnings if each.code == "order_not_kept"]

    rows, released = reached(found, found.sample(3000))

    # 9,000 rows of 3,000 persons: chance moves the largest difference to 0.02 or so.
    assert np.abs(rows - released).max() < 0.03 + (told[0] if told else 0.05)
    assert not told or mechanism == "independent"


def test_what_cannot_be_kept_is_told_by_the_certificate():
    """All persons come twice in the first half of the range, and a rule says that more than half of it is between."""
    rng = np.random.default_rng(1)
    days = (rng.integers(0, 100, (PERSONS, 2)) + np.array([0, 200])).ravel()
    table = pl.DataFrame({"who": np.repeat(np.arange(PERSONS), 2), "when": days, "kind": ["a"] * days.size})
    ruled = {**schema("integer", descending=False), "rules": [{"never": {"gap.when": {"maximum": 450}}}]}

    with pytest.warns(CertificateWarning, match="do not keep the counts of 'when'"):
        found = lw.synthesize(table, ruled, epsilon=5, delta="1e-6", seed=1)

    (told,) = (each for each in found.certificate.warnings if each.code == "order_not_kept")
    assert (told.table, told.fields["column"]) == ("events", "when")
    rows, released = reached(found, found.sample(3000))
    assert np.abs(np.abs(rows - released).max() - told.fields["share"]) < 0.05
