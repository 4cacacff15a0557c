"""Record and replay of linear statistics, and of the mechanism that asks them, over generated neighbours."""

import numpy as np
import pytest

import lapwing as lw
from helpers.audits import under_one_relation_each
from helpers.linear_runs import FORMS, SIGN, AskingSums
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.extras.audit.replay import audit_pair
from mechanism_checks import run, settings_for

SOME = ("truths", "both")


def asking(*forms):
    """Return a mechanism that asks for some forms, for any schema."""
    return lambda schema: AskingSums(forms)


def linear(form=None, **settings):
    """Return the mechanism with statistics of some form, small, for any schema."""
    return lambda schema: lw.LinearStatistics(
        statistics=tuple(FORMS[form](schema)) if form else (), bins=2, points=20, **settings
    )


def public_rows(schema):
    """Return the mechanism on points near public rows, among them some that do not fit."""
    text = {"boolean": "true", "date": "2020-02-02"}
    rows = {field.name: [text.get(field.type, "1"), None, "?"] for field in schema.columns}
    rows = {name: values if schema.field(name).domain.missing else values[:1] * 3 for name, values in rows.items()}
    return lw.LinearStatistics(points=20, bins=2, degree=1, statistics=(SIGN,), mu=_coded(rows, schema))


def _coded(rows, schema):
    """Return rows as points, as the api makes them of a frame."""
    import polars as pl

    from lapwing.release.runs.public_rows import with_public_points

    frame = pl.DataFrame(rows, schema=dict.fromkeys(rows, pl.String))
    return with_public_points(lw.LinearStatistics(mu=frame), schema, 0).mu


MECHANISMS = {
    "default": lambda schema: lw.LinearStatistics.small(),
    "one-way tables": linear(degree=1, mu="uniform", mix_uniform=0.5),
    "statistics alone": linear("both", degree=0, mu="adaptive"),
    "statistics with tables": linear("both", degree=1, mu="independent", variant="paper"),
}
MORE_MECHANISMS = MECHANISMS | {
    "one statistic": linear("one number", degree=0, mu="uniform"),
    "functions alone": linear("functions", degree=0, mu="uniform", mu_share=0.9),
    "three-way tables": linear("truths", degree=3, mu="microaggregation", mu_share=0.05),
    "numbers near pairs": linear("numbers", degree=1, mu="adaptive", variant="paper", confidence=0.5),
    "twice the same": linear("twice the same", degree=0, mu="independent", mix_uniform=0),
    "public rows": public_rows,
}


def audited(make, relation, max_rows, pairs):
    """Return the broken promises over generated pairs of neighbours; the first must be released."""
    rng = np.random.default_rng([max_rows, len(relation), pairs])
    flagged = []
    for number in range(pairs):
        pair = neighbour_pair(rng, relation, max_rows)
        times = int(rng.choice([1, 10, 1000]))
        settings = settings_for(make(pair.schema), pair.schema, relation, pure=number % 2 == 0, times=times)
        if number == 0:
            run(settings, pair.data)
        flagged += audit_pair(pair.data, pair.neighbour, settings)
    return flagged


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_no_pair_is_flagged(relation, max_rows):
    assert audited(asking(*SOME), relation, max_rows, pairs=2) == []


@pytest.mark.parametrize(("make", "relation"), under_one_relation_each(MECHANISMS))
def test_no_pair_is_flagged_of_the_mechanism(make, relation):
    assert [flag for rows in (1, 3) for flag in audited(make, relation, rows, pairs=1)] == []


@pytest.mark.full
@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("form", FORMS)
def test_none_of_many_pairs_is_flagged(form, relation, max_rows):
    assert audited(asking(form), relation, max_rows, pairs=100) == []


@pytest.mark.full
@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("make", MORE_MECHANISMS.values(), ids=MORE_MECHANISMS)
def test_none_of_many_pairs_is_flagged_of_the_mechanism(make, relation, max_rows):
    assert audited(make, relation, max_rows, pairs=40) == []
