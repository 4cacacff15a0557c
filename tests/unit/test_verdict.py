"""The verdict on a release: from released numbers alone, the same everywhere, and near the truth."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import ParameterError
from lapwing.extras.evaluate.metrics.tables.variation import compare_tables
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.model import compared
from lapwing.model.certificate.certificate import CERTIFICATES, Certificate
from lapwing.model.certificate.verdict import WORDS, Grade, Verdict
from lapwing.model.compared import choose_tables
from lapwing.release.runs.generators import generator
from lapwing.release.runs.judged import NO_ROW
from lapwing.release.runs.verdict.expected import expected_error, graded
from lapwing.release.runs.verdict.terms import Terms, led_pairs, terms_of
from lapwing.rows.source import all_codes, coded_table

NAMES = "abcde"
LEVELS = 4
SCHEMA = {
    "fields": [
        {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": LEVELS - 1, "required": True}}
        for name in NAMES
    ]
}


def chained(rows, seed=1):
    """Return columns of which each is mostly the one before."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, LEVELS, rows)]
    for _ in NAMES[1:]:
        columns.append(np.where(rng.random(rows) < 0.7, columns[-1], rng.integers(0, LEVELS, rows)))
    return pl.DataFrame(dict(zip(NAMES, columns, strict=True)))


def true_errors(frame, release):
    schema = release.schema
    rows = release.sample(frame.height, seed=2)
    codes = []
    for table in (frame, rows):
        with coded_table(table, schema) as source:
            codes.append(all_codes(source, schema))
    tables = choose_tables(schema, rng=np.random.default_rng(0))
    return {found.ways: found.mean for found in compare_tables(*codes, schema, tables)}


def words(release):
    return {grade.ways: grade.word for grade in release.certificate.verdict.grades}


@pytest.fixture(scope="module")
def precise():
    frame = chained(5000)
    return frame, lw.synthesize(frame, SCHEMA, epsilon=4, delta="1e-9", mechanism="Adaptive", seed=3)


def test_a_precise_release_is_good_and_its_error_is_foretold(precise):
    frame, release = precise
    true = true_errors(frame, release)

    assert words(release) == {1: "good", 2: "good", 3: "good"}
    assert release.certificate.verdict.learnt == 10
    for grade in release.certificate.verdict.grades:
        near = 5 if grade.ways == 1 else 3  # few tables of one column: their errors differ from release to release
        assert true[grade.ways] / near < grade.error < near * true[grade.ways]


def test_few_rows_are_noise_and_the_verdict_says_so():
    frame = chained(94)
    release = lw.synthesize(
        frame, SCHEMA, epsilon="0.5", delta="1e-9", mechanism="Adaptive", seed=3, expected_rows=frame.height
    )
    verdict, true = release.certificate.verdict, true_errors(frame, release)

    assert true[2] > 0.4
    assert words(release)[2] == words(release)[3] == "none"
    assert words(release)[1] != "good"
    assert {"how columns depend on each other", NO_ROW} & set(verdict.not_for)


def test_columns_alone_never_give_pairs_and_no_budget_would():
    release = lw.synthesize(chained(5000), SCHEMA, epsilon=2, mechanism="Independent", seed=3)
    verdict = release.certificate.verdict

    assert words(release) == {1: "good", 2: "none", 3: "none"}
    assert (verdict.learnt, verdict.pairs) == (0, 10)
    assert "pairs none (none was counted), triples none (none was counted); 0 of 10" in verdict.line
    assert "No budget" in verdict.better
    assert "pairs" in verdict.better


def test_the_next_grade_comes_with_the_budget_that_is_named():
    frame = chained(5000)
    release = lw.synthesize(frame, SCHEMA, epsilon="0.2", delta="1e-9", mechanism="Adaptive", seed=3)
    first = release.certificate.verdict
    assert " would be " in first.better
    ways = {"Pairs": 2, "Single columns": 1, "Triples": 3}[first.better.split(" would be ")[0]]
    epsilon = first.better.rsplit(" ", 1)[1]

    more = lw.synthesize(frame, SCHEMA, epsilon=epsilon, delta="1e-9", mechanism="Adaptive", seed=3)

    assert WORDS.index(words(more)[ways]) < WORDS.index(words(release)[ways])


# -- A prior, which a paid answer found near or far.


def learning(prior, epsilon="0.02"):
    frame = chained(20_000)
    budget = {"epsilon": epsilon, "delta": "1e-9", "expected_rows": 20_000}
    return frame, lw.synthesize(frame, SCHEMA, mechanism="Adaptive", seed=3, prior=prior, **budget)


@pytest.fixture(scope="module")
def near():
    return learning(chained(20_000, seed=2))


def errors_of(release, answers):
    """Return what would be expected by other answers; the rows that are drawn for it are those of the certificate."""
    terms = terms_of(release.schema, answers, release.model, generator(3, "verdict"))
    return {each.ways: expected_error(each) for each in terms}


def without_the_question(release):
    """Return what would be expected if nothing had been asked of the prior."""
    return errors_of(release, [each for each in release.noisy if not isinstance(each.question, TableDistances)])


def test_a_near_prior_counts_as_near_as_it_was_found_to_be(near):
    """The grade is that of the answer, never worse than without, and better if the answer is nearer than is usual.

    Its noise made the answer of 13 in 200 releases farther than that, so one as near as noise lets it tell is put in
    its place. What else is asked fails by chance less than once in 10,000 runs: of these 200 releases the true error
    was at most 1.12, 0.80 and 0.65 of the grade's; as a lognormal law it is beyond a limit once in 4 million.
    """
    frame, release = near
    true, told, blind = true_errors(frame, release), errors_of(release, release.noisy), without_the_question(release)
    (place,) = [place for place, each in enumerate(release.noisy) if isinstance(each.question, TableDistances)]
    found = [*release.noisy]
    found[place] = replace(found[place], values=found[place].values * 0)
    nearest = errors_of(release, found)

    assert led_pairs(release.noisy, release.model)
    for grade in release.certificate.verdict.grades:
        assert true[grade.ways] / (3 if grade.ways == 1 else 1.5) < grade.error
        assert grade.error == told[grade.ways] <= blind[grade.ways]
        assert grade.ways == 1 or nearest[grade.ways] < 0.9 * blind[grade.ways]


def test_where_the_answers_do_not_tell_there_is_none_and_the_text_says_so():
    release = lw.synthesize(chained(2000), SCHEMA, epsilon=2, mechanism="Microaggregation", seed=3)

    assert release.certificate.verdict is None
    assert "Verdict: none, because the noisy answers do not tell" in str(release.certificate)
    assert Certificate.from_dict(json.loads(release.certificate.to_json())).verdict is None


def test_what_is_too_large_to_be_judged_is_released_all_the_same(monkeypatch):
    monkeypatch.setattr(compared, "_MOST_CELLS", 10)
    release = lw.synthesize(chained(500), SCHEMA, epsilon=1, mechanism="Independent", seed=3)

    assert release.certificate.verdict is None
    assert release.model.rows > 0


# -- Grades, by their thresholds.

PAIR = Terms(ways=2, chance=0, columns=0, tables=0, finer=0, unmeasured=0, fresh=0.01, independent=0.21)


def with_error(terms, error):
    """Return terms whose expected error is this."""
    part = replace(terms, columns=1.0)
    return replace(part, columns=error / expected_error(replace(part, columns=0.1)) * 0.1)


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (0.0, "good"),
        (0.016, "good"),
        (0.024, "good"),
        (0.03, "fair"),
        (0.06, "fair"),
        (0.07, "weak"),
        (0.157, "weak"),
        (0.161, "none"),
    ],
)
def test_pairs_are_placed_between_fresh_rows_and_independent_columns(error, word):
    assert graded(with_error(PAIR, error)).word == word


# -- The certificate's part of it.


def test_what_is_written_is_read_back_and_nonsense_is_refused():
    grade = Grade(ways=2, word="fair", error=0.031, fresh=0.01, independent=0.2)
    verdict = Verdict(grades=(grade,), learnt=3, pairs=10, better="Pairs would be good at about epsilon 3")

    assert CERTIFICATES.read(Verdict, json.loads(json.dumps(CERTIFICATES.write(verdict)))) == verdict
    assert verdict.line == (
        "Verdict: pairs fair (expected error 3.1 %, fresh rows 1.0 %); 3 of 10 pairs learnt. "
        "Pairs would be good at about epsilon 3."
    )
    for key, value in (("word", "great"), ("error", 1.5), ("error", float("nan")), ("ways", 4)):
        wrong = CERTIFICATES.write(verdict) | {"grades": [CERTIFICATES.write(verdict)["grades"][0] | {key: value}]}
        with pytest.raises(ParameterError, match="grade"):
            CERTIFICATES.read(Verdict, wrong)
    with pytest.raises(ParameterError, match="pairs learnt"):
        CERTIFICATES.read(Verdict, CERTIFICATES.write(verdict) | {"learnt": 11})
