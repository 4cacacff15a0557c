"""Priors: how they are read, what is said of them, and what they do to a release."""

import os
import warnings

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.linked_homes import SCHEMA as LINKED
from helpers.linked_homes import tables
from lapwing.errors import DataError, LapwingWarning, ParameterError
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.release.runs.public_rows import prior_digests, with_priors

SCHEMA = lw.Schema.from_dict(
    {
        "name": "visits",
        "fields": [
            {"name": "sex", "type": "string", "categories": ["f", "m"]},
            {"name": "ward", "type": "string", "categories": list("abcdefgh"), "constraints": {"required": True}},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
            {"name": "ill", "type": "boolean", "constraints": {"required": True}},
        ],
    }
)


def visits(rows, seed, turned=False):
    """Return rows in which ward, age and ill depend on each other; turned: in another way."""
    rng = np.random.default_rng(seed)
    ward = rng.integers(0, 8, rows)
    age = np.clip(rng.normal(12 * ward + 5, 6), 0, 99).astype(int)
    ill = rng.random(rows) < np.where((ward < 4) ^ turned, 0.9, 0.1)
    sex = np.where(rng.random(rows) < 0.2 + 0.6 * ill, "f", "m")
    return pl.DataFrame(
        {"sex": sex, "ward": np.array(list("abcdefgh"))[7 - ward if turned else ward], "age": age, "ill": ill}
    )


def released(rows, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LapwingWarning)
        return lw.synthesize(
            rows, SCHEMA, **({"delta": "1e-9", "seed": 1, "misfits": 1} | more), mechanism=lw.Adaptive()
        )


def error_of(release, rows):
    """Return the mean total variation distance of ward and ill, and of ward and age in tens."""
    made = release.sample(20_000, seed=2)
    found = []
    for columns in (["ward", "ill"], ["ward", "age"]):
        shares = [
            frame.select(columns)
            .with_columns(pl.col("age") // 10 if "age" in columns else pl.col("ill"))
            .group_by(columns)
            .len("rows")
            .with_columns(pl.col("rows") / frame.height)
            for frame in (rows, made)
        ]
        both = shares[0].join(shares[1], on=columns, how="full").fill_null(0.0)
        found.append(float((both["rows"] - both["rows_right"]).abs().sum()) / 2)
    return float(np.mean(found))


# -- What it does
def test_a_near_prior_more_than_halves_the_error_and_a_wrong_one_costs_little():
    rows = visits(6000, 1)
    without, near, wrong = (
        np.mean([error_of(released(rows, epsilon=0.15, seed=seed, prior=prior), rows) for seed in range(3)])
        for prior in (None, visits(6000, 2), visits(6000, 3, turned=True))
    )

    assert near < 0.5 * without
    assert wrong < 1.4 * without


def test_one_question_is_paid_for_each_prior_at_two_percent():
    release = released(
        visits(3000, 1), epsilon=1, delta=None, prior=[visits(500, 2), visits(500, 3)], expected_rows=3000
    )

    asked = [line for line in release.certificate.lines if line.question == TableDistances.kind]
    assert [round(float(line.cost.amount), 4) for line in asked] == [0.02, 0.02]
    assert release.certificate.total.amount == 1
    assert sum(line.cost.amount for line in release.certificate.lines) <= 1


PLACES = lw.Schema.from_dict(
    {
        "fields": [
            {"name": name, "type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}}
            for name in ("x", "y")
        ]
    }
)


def places(rows, seed, turned=False):
    """Return rows in five clusters; turned: in the opposite corners."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.1, 0.2], [0.3, 0.15], [0.25, 0.6], [0.8, 0.3], [0.15, 0.85]])
    points = np.clip(centres[rng.integers(5, size=rows)] + rng.normal(0, 0.03, (rows, 2)), 0, 1)
    return pl.DataFrame(1 - points if turned else points, schema=["x", "y"])


def misplaced(mechanism, rows, prior, **more):
    """Return the total variation distance of the shares of sixteenths by sixteenths, over three releases."""
    edges, found = np.linspace(0, 1, 17), []
    for seed in range(3):
        made = lw.synthesize(
            rows, PLACES, epsilon=0.1, mechanism=mechanism, prior=prior, seed=seed, expected_rows=rows.height, **more
        ).sample(40_000, seed=2)
        shares = [np.histogram2d(*each.to_numpy().T, [edges, edges])[0] / each.height for each in (rows, made)]
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


@pytest.mark.parametrize("mechanism", [lw.KDTree(), lw.PMM()])
def test_a_tree_is_nearer_with_a_near_prior_and_loses_little_with_a_wrong_one(mechanism):
    rows = places(3000, 1)
    without, near, wrong = (
        misplaced(mechanism, rows, prior) for prior in (None, places(3000, 2), places(3000, 3, turned=True))
    )

    assert near < 0.95 * without
    assert wrong < 1.5 * without


@pytest.mark.parametrize("mechanism", [lw.KDTree(), lw.PMM()])
def test_a_prior_without_a_column_says_nothing_of_it_and_costs_little(mechanism):
    rows = places(3000, 1)
    with pytest.warns(LapwingWarning, match="lacks 1 of the schema's columns: y"):
        part = misplaced(mechanism, rows, places(3000, 2).select("x"))

    assert part < 1.5 * misplaced(mechanism, rows, None)


@pytest.mark.parametrize("mechanism", [lw.KDTree(), lw.PMM()])
def test_a_tree_asks_the_same_with_a_prior_and_its_certificate_names_it(mechanism):
    rows, prior = places(500, 1), places(500, 2)
    with_prior, without = (
        lw.synthesize(rows, PLACES, epsilon=1, mechanism=mechanism, prior=each, expected_rows=500).certificate
        for each in (prior, None)
    )

    assert [line.question for line in with_prior.lines] == [line.question for line in without.lines]
    assert with_prior.total == without.total
    assert any("the prior (a frame) is public" in each.text for each in with_prior.assumed)
    planned = lw.plan(PLACES, expected_rows=500, epsilon=1, mechanism=mechanism, prior=prior)
    assert [line.question for line in planned.lines] == [line.question for line in with_prior.lines]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda prior: lw.PMM(variant="paper", prior=prior), "variant='paper' takes no prior"),
        (lambda prior: lw.KDTree(variant="paper", prior=prior), "variant='paper' takes no prior"),
    ],
)
def test_published_fits_take_no_prior(make, said):
    with pytest.raises(ParameterError, match=said):
        make(places(9, 1))


# -- What is read
def test_the_certificate_says_what_the_prior_was_paid_with_and_its_fingerprint(tmp_path):
    released(visits(2000, 2), epsilon=1).save(tmp_path / "last.lapwing")

    assumed = released(visits(2000, 1), epsilon=1, prior=tmp_path / "last.lapwing").certificate.assumed

    (said,) = [each.text for each in assumed if each.code == "prior_released"]
    assert "the prior last.lapwing is a release at ε = 1, δ = 1e-9" in said
    assert "protected by the sum of both budgets" in said
    mechanism = with_priors(lw.Adaptive(prior=str(tmp_path / "last.lapwing")), SCHEMA)
    assert prior_digests(mechanism)[0][:16] in said


def test_a_release_in_memory_and_its_file_are_the_same_prior(tmp_path):
    last = released(visits(2000, 2), epsilon=1)
    last.save(tmp_path / "last.lapwing")

    digests = {
        *prior_digests(with_priors(lw.Adaptive(), SCHEMA, last)),
        *prior_digests(with_priors(lw.Adaptive(), SCHEMA, tmp_path / "last.lapwing")),
    }

    assert len(digests) == 1


def test_what_a_prior_lacks_or_names_otherwise_is_said_and_never_guessed():
    prior = visits(1000, 2).drop("age").with_columns(pl.lit("female").alias("sex"))

    with pytest.warns(LapwingWarning) as said:
        (read,) = with_priors(lw.Adaptive(), SCHEMA, prior).priors

    assert sorted(read.codes) == ["ill", "ward"]
    assert [str(each.message).split("\n")[0] for each in said] == [
        "100% of the values of sex in prior are invalid; the column is left out",
        "prior lacks 1 of the schema's columns: age",
    ]


def test_rows_of_a_prior_that_do_not_fit_are_left_out():
    prior = visits(1000, 2).with_columns(
        pl.when(pl.int_range(pl.len()) < 100).then(pl.lit("z")).otherwise("ward").alias("ward")
    )

    with pytest.warns(LapwingWarning, match="10% of the values of ward in prior are invalid; their rows"):
        (read,) = with_priors(lw.Adaptive(), SCHEMA, prior).priors

    assert read.rows == 900


@pytest.mark.parametrize("given", [lambda each: each, lw.Trusted])
def test_linked_tables_take_no_prior_and_nothing_is_debited(tmp_path, given):
    homes, people = tables(20)
    place = tmp_path / "t.jsonl"
    with pytest.raises(ParameterError, match="releases of linked tables take no prior"):
        lw.synthesize([homes, people], LINKED, epsilon=1, mechanism=given(lw.Adaptive(prior=people)), transcript=place)
    assert not place.exists()


def test_replicates_of_a_release_with_a_prior_are_refused():
    with pytest.raises(ParameterError, match="prior"):
        released(visits(300, 1), epsilon=1, prior=visits(300, 2)).replicates(20)


@pytest.mark.parametrize("link", [False, True])
def test_the_private_table_is_no_prior_of_its_own(tmp_path, link):
    rows = visits(100, 1)
    rows.write_parquet(tmp_path / "rows.parquet")
    given = tmp_path / "rows.parquet"
    if link:
        given = tmp_path / "link.parquet"
        os.link(tmp_path / "rows.parquet", given)

    for data, prior in ((rows, rows), (tmp_path / "rows.parquet", given), (rows, [visits(9, 2), rows])):
        with pytest.raises(ParameterError, match="the prior is the private table itself"):
            released(data, epsilon=1, prior=prior)
    with pytest.raises(ParameterError, match="the prior is the private table itself"):
        lw.synthesize(given, SCHEMA, epsilon=1, mechanism=lw.Adaptive(prior=str(given)))


def test_a_file_of_the_private_folder_is_no_prior_and_a_release_beside_it_is(tmp_path):
    visits(200, 1).write_parquet(tmp_path / "one.parquet")
    released(visits(200, 2), epsilon=1).save(tmp_path / "last.lapwing")

    with pytest.raises(ParameterError, match="or a file of it"):
        released(tmp_path, epsilon=1, prior=tmp_path / "one.parquet")
    assert released(tmp_path, epsilon=1, prior=tmp_path / "last.lapwing").certificate.total.amount > 0


@pytest.mark.parametrize(
    ("prior", "mechanism", "said"),
    [
        ("nowhere.parquet", lw.Adaptive(), "there is no prior nowhere.parquet"),
        (pl.DataFrame({"other": [1]}), lw.Adaptive(), "prior has none of the schema's columns by name"),
        ([], lw.Adaptive(), "prior must be 1 to 8 releases or tables, got 0"),
        (visits(9, 1), lw.Independent(), "Independent takes no prior; leave it out, or use Adaptive or PMM or KDTree"),
        (visits(9, 1), lw.Adaptive(prior=visits(9, 2)), "prior is given twice"),
        (visits(9, 1)[:0], lw.Adaptive(), "prior has no row"),
    ],
)
def test_what_is_no_prior_is_refused_before_anything_is_read(prior, mechanism, said):
    with pytest.raises((ParameterError, DataError), match=said):
        lw.plan(SCHEMA, expected_rows=100, epsilon=1, mechanism=mechanism, prior=prior)


@pytest.mark.filterwarnings("ignore::lapwing.errors.LapwingWarning")
@pytest.mark.parametrize(
    ("rows", "schema", "mechanism"), [(visits, SCHEMA, lw.Adaptive.small()), (places, PLACES, lw.PMM())]
)
def test_a_release_with_a_prior_is_resumed_with_the_same_prior_alone(tmp_path, rows, schema, mechanism):
    data, prior, whole, half = rows(500, 1), tmp_path / "prior.parquet", tmp_path / "t.jsonl", tmp_path / "half.jsonl"
    rows(500, 2).write_parquet(prior)
    made = lw.synthesize(data, schema, epsilon=1, mechanism=mechanism, prior=prior, transcript=whole, seed=1)
    lines = whole.read_bytes().splitlines(keepends=True)
    half.write_bytes(b"".join(lines[: len(lines) // 2]))

    assert lw.resume(whole, data).sample(50, seed=3).equals(made.sample(50, seed=3))
    rows(500, 5).write_parquet(prior)
    with pytest.raises(DataError, match="a prior that the transcript"):
        lw.resume(half, data)
