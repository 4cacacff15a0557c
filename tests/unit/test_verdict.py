"""The verdict on a release: from released numbers alone, the same everywhere, and near the truth."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import ParameterError
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.model.certificate.certificate import CERTIFICATES, Certificate
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.verdict import WORDS, Verdict, share_word, strength_word
from lapwing.model.quality import compare_quality, strength_of, trend_column
from lapwing.present.certificates import verdict_short
from lapwing.release.runs.generators import generator
from lapwing.release.runs.verdict import drawn
from lapwing.release.runs.verdict.counted import learnt_pairs, led_pairs, release_evidence
from lapwing.release.runs.verdict.expected import expected_quality
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


def measured(frame, release):
    """Return the same figures from the real rows, and the coded rows."""
    schema = release.schema
    codes = []
    for table in (frame, release.sample(frame.height, seed=2)):
        with coded_table(table, schema) as source:
            codes.append(all_codes(source, schema))
    return compare_quality(*codes, schema, rng=np.random.default_rng(0))


def codes_of(verdict):
    return {each.code for each in (*verdict.quotable, *verdict.not_for)}


@pytest.fixture(scope="module")
def precise():
    frame = chained(5000)
    return frame, lw.synthesize(frame, SCHEMA, epsilon=4, delta="1e-9", mechanism="Adaptive", seed=3)


def test_a_precise_release_is_good_and_its_figures_are_foretold(precise):
    frame, release = precise
    verdict, true = release.certificate.verdict, measured(frame, release)

    assert (verdict.shares, verdict.relations) == ("good", "good")
    assert (verdict.learnt, verdict.pairs) == (10, 10)
    assert verdict.least - 0.005 < true.score < verdict.most + 0.005
    assert verdict.most - verdict.least < 0.05
    assert true.share_error / 4 < verdict.share_error < 6 * true.share_error
    assert abs(verdict.strong - len(true.relations)) <= 3  # three pairs lie where strong ones begin
    # Nine in ten are told to be within: one more may be beyond, by chance.
    assert sum(each.error > verdict.within for each in true.relations) <= 2


def test_a_weak_relation_is_told_from_none_where_it_is_stronger_than_is_said(precise):
    """A pair without a relation stays below the figure; noise would need to be beyond the largest of eight draws."""
    frame = precise[0]
    alone = lw.synthesize(
        frame.with_columns(pl.col("a").shuffle(seed=4)), SCHEMA, epsilon=4, delta="1e-9", mechanism="Adaptive", seed=3
    )
    weakest = alone.certificate.verdict.weakest
    rows = alone.sample(5000, seed=2)
    a, e = (trend_column(rows[name].to_numpy(), alone.schema.field(name)) for name in "ae")

    assert abs(strength_of(a, e)) < 2 * weakest < 0.1


def test_few_rows_are_noise_and_the_verdict_says_so():
    frame = chained(94)
    release = lw.synthesize(
        frame, SCHEMA, epsilon="0.5", delta="1e-9", mechanism="Adaptive", seed=3, expected_rows=frame.height
    )
    verdict = release.certificate.verdict

    assert verdict.is_weak
    assert verdict.relations in ("weak", "unknown")
    assert {"not_for_relations", "not_for_anything", "not_for_weak_relations"} & codes_of(verdict)


def test_columns_alone_tell_nothing_of_relations_and_no_budget_would():
    release = lw.synthesize(chained(5000), SCHEMA, epsilon=2, mechanism="Independent", seed=3)
    verdict = release.certificate.verdict

    assert (verdict.shares, verdict.relations) == ("good", "unknown")
    assert (verdict.learnt, verdict.pairs, verdict.strong) == (0, 10, 0)
    assert "Relations unknown: no pair was counted" in verdict.text
    assert "not_for_relations" in codes_of(verdict)
    assert "quote_pairs" not in codes_of(verdict)
    assert verdict.better is None


@pytest.mark.parametrize(("epsilon", "delta"), [("1", None), ("1", "1e-9"), ("4", "1e-9")])
def test_rows_that_keep_every_strong_relation_are_never_called_weak(epsilon, delta):
    frame = chained(20_000)
    release = lw.synthesize(frame, SCHEMA, epsilon=epsilon, delta=delta, mechanism="Adaptive", seed=3)
    true = measured(frame, release)

    assert true.relations
    assert all(each.error < 0.1 for each in true.relations)
    assert release.certificate.verdict.relations in ("good", "fair")


def test_what_is_better_comes_with_the_budget_that_is_named():
    frame = chained(1000)
    release = lw.synthesize(frame, SCHEMA, epsilon="0.3", delta="1e-9", mechanism="Adaptive", seed=3)
    first = release.certificate.verdict
    epsilon = first.better.fields["cost"].rsplit(" ", 1)[1]

    more = lw.synthesize(frame, SCHEMA, epsilon=epsilon, delta="1e-9", mechanism="Adaptive", seed=3).certificate.verdict

    assert WORDS.index(more.relations) < WORDS.index(first.relations)


def test_relations_of_four_columns_are_said_to_be_absent_unless_they_were_counted(precise):
    absent = Notice("not_for_weak_four")
    tree = lw.synthesize(chained(2000), SCHEMA, epsilon=2, mechanism="PMM", expected_rows=2000, seed=3)

    assert absent in precise[1].certificate.verdict.not_for
    assert absent not in tree.certificate.verdict.not_for
    assert tree.certificate.verdict.learnt == 10


# -- A prior, which a paid answer found near or far.


def learning(prior, epsilon="0.02"):
    frame = chained(20_000)
    budget = {"epsilon": epsilon, "delta": "1e-9", "expected_rows": 20_000}
    return frame, lw.synthesize(frame, SCHEMA, mechanism="Adaptive", seed=3, prior=prior, **budget)


@pytest.fixture(scope="module")
def near():
    return learning(chained(20_000, seed=2))


def test_pairs_that_a_near_prior_told_of_are_found_though_none_was_counted(near):
    frame, release = near
    verdict, true = release.certificate.verdict, measured(frame, release)

    assert led_pairs(release.noisy, release.model, release.schema)
    assert verdict.learnt == 0
    assert 0 < len(true.relations) - 3 <= verdict.strong <= len(true.relations) + 3
    assert verdict.relations in ("good", "fair", "weak")
    assert "no pair was counted" not in verdict.text
    assert max(each.error for each in true.relations) <= verdict.within


def test_a_far_prior_tells_of_no_pair():
    turned = chained(20_000, seed=2).with_columns(pl.col("b", "d") ^ 3)
    _, release = learning(turned, epsilon="0.2")

    assert [each for each in release.noisy if isinstance(each.question, TableDistances)]
    assert not led_pairs(release.noisy, release.model, release.schema)


def test_of_several_priors_the_farthest_counts_as_no_answer_tells_which_is_followed(near):
    release = near[1]
    (asked,) = [each for each in release.noisy if isinstance(each.question, TableDistances)]
    farther = replace(asked, values=4 * abs(asked.values) + math.ceil(4 * asked.noise.sd))

    alone, both = (
        release_evidence(release.schema, answers, release.model, np.random.default_rng(1)).led
        for answers in (release.noisy, [*release.noisy, farther])
    )

    assert alone.keys() == both.keys()
    assert all(both[pair] > alone[pair] for pair in alone)


def test_where_the_answers_do_not_tell_there_is_none_and_the_text_says_so():
    release = lw.synthesize(chained(2000), SCHEMA, epsilon=2, mechanism="Microaggregation", seed=3)

    assert release.certificate.verdict is None
    assert "Verdict: none, because the noisy answers do not tell" in str(release.certificate)
    assert Certificate.from_dict(json.loads(release.certificate.to_json())).verdict is None


def test_it_is_a_function_of_released_numbers(precise):
    """The same answers and model give the same figures, and no row is at hand."""
    release = precise[1]
    found = []
    for _ in range(2):
        rng = generator(3, "verdict")
        evidence = release_evidence(release.schema, release.noisy, release.model, rng)
        found.append(expected_quality(release.schema, evidence, rng))

    assert found[0] == found[1]
    assert found[0].shape == release.certificate.verdict.shape
    assert len(learnt_pairs(release.noisy, release.schema)) == 10


def test_no_answer_is_no_forecast(precise):
    release = precise[1]
    without = [each for each in release.noisy if "c" not in each.question.columns]
    assert release_evidence(release.schema, without, release.model, np.random.default_rng(5)) is None


def test_all_stages_of_a_columns_counts_are_told_together(precise):
    """Counting a column again makes its error smaller, as the fit takes all counts together."""
    release = precise[1]
    rng = np.random.default_rng(5)
    found = release_evidence(release.schema, release.noisy, release.model, rng)
    once = {name: tuple(each for each in shown if each.cells == max(part.cells for part in shown))[:1]
            for name, shown in found.columns.items()}  # fmt: skip

    errors = [
        expected_quality(release.schema, each, np.random.default_rng(1)).share
        for each in (found, replace(found, columns=once))
    ]

    assert errors[0] < errors[1]


def test_what_is_too_large_to_be_judged_is_released_all_the_same(monkeypatch):
    monkeypatch.setattr(drawn, "_MOST_CELLS", 3)
    release = lw.synthesize(chained(500), SCHEMA, epsilon=1, mechanism="Independent", seed=3)

    assert release.certificate.verdict is None
    assert release.model.rows > 0


def test_rows_that_may_all_be_noise_are_good_for_nothing():
    """Half of all such releases have no row at all."""
    some = [lw.synthesize(chained(500), SCHEMA, epsilon="0.000001", mechanism="Independent", seed=3) for _ in range(12)]

    for release in some:
        assert release.certificate.verdict.is_weak
        assert release.certificate.verdict.relations == "unknown"
    # About one in 150 has so many rows by chance that noise alone is no explanation, and more budget is spoken of.
    explained = [release for release in some if Notice("not_for_anything") in release.certificate.verdict.not_for]
    assert not any(release.certificate.verdict.better for release in explained)
    assert len(explained) >= len(some) - 2


@pytest.mark.parametrize(("error", "word"), [(0.0, "good"), (0.01, "good"), (0.02, "fair"), (0.04, "weak")])
def test_single_columns_are_graded_by_how_far_a_typical_share_is_off(error, word):
    assert share_word(error) == word


@pytest.mark.parametrize(("error", "word"), [(0.06, "good"), (0.15, "fair"), (0.3, "weak"), (None, "unknown")])
def test_relations_are_graded_by_how_far_their_strength_is_off(error, word):
    assert strength_word(error) == word


# -- What is public is known.


def counted(frame, *columns):
    """Return the counts of some columns as a public table."""
    cells = pl.DataFrame(list(itertools.product(range(LEVELS), repeat=len(columns))), columns, orient="row")
    sizes = cells.join(frame.group_by(columns).len("count"), on=columns, how="left").fill_null(0)
    written = sizes.with_columns(pl.format("{}..{}", name, name).alias(name) for name in columns)
    return lw.PublicTable.from_frame(written, source="a register")


def test_a_public_total_is_no_noise_however_little_the_counts_tell():
    frame = chained(2000)
    few = frame.head(1000)
    for public, epsilon in ((counted(few, "a"), 1), (counted(frame, "a"), "0.01")):
        verdict = lw.synthesize(frame, SCHEMA, epsilon=epsilon, seed=3, public_tables=[public]).certificate.verdict
        assert "not_for_anything" not in codes_of(verdict)
        assert verdict.shape > 0.5


def test_a_number_of_rows_that_the_terms_make_public_is_no_noise():
    release = lw.synthesize(chained(2000), SCHEMA, epsilon="0.001", neighbours="replace-one", seed=3)
    assert "not_for_anything" not in codes_of(release.certificate.verdict)


def test_public_tables_are_exact_and_their_pairs_are_counted():
    frame = chained(2000).select("a", "b")
    schema = {"fields": SCHEMA["fields"][:2]}
    verdict = lw.synthesize(
        frame, schema, epsilon="0.01", seed=3, public_tables=[counted(frame, "a", "b")]
    ).certificate.verdict

    assert (verdict.shares, verdict.relations) == ("good", "good")
    assert (verdict.learnt, verdict.pairs, verdict.strong) == (1, 1, 1)
    assert verdict.least > 0.98
    assert "not_for_rare_values" not in codes_of(verdict)


def test_a_public_pair_tells_nothing_of_the_others():
    frame, budget = chained(2000), {"epsilon": "0.1", "delta": "1e-9", "seed": 3}
    with_pair, without = (
        lw.synthesize(frame, SCHEMA, public_tables=tables, **budget).certificate.verdict
        for tables in ([counted(frame, "a", "b")], [])
    )

    assert (with_pair.learnt, without.learnt) == (1, 0)
    assert without.trend < with_pair.trend < 0.9


def test_a_column_of_one_possible_value_is_exact_and_related_to_none():
    only = {"name": "k", "type": "integer", "constraints": {"minimum": 3, "maximum": 3, "required": True}}
    frame = chained(2000).with_columns(k=pl.lit(3))
    alone, beside = (
        lw.synthesize(frame.select(names), {"fields": fields}, epsilon=1, seed=3).certificate.verdict
        for names, fields in ((["k"], [only]), (["a", "k"], [SCHEMA["fields"][0], only]))
    )

    assert alone.shape == 1.0
    assert alone.share_error < 1e-4
    assert (alone.pairs, beside.pairs) == (0, 0)
    assert alone.relations is beside.relations is None


# -- The certificate's part of it.


def test_what_is_written_is_read_back_and_nonsense_is_refused():
    better = Notice("better_at", {"tables": "pairs", "word": "good", "cost": "epsilon 3"})
    found = {"learnt": 3, "pairs": 10, "strong": 2, "within": 0.08, "relation_error": 0.11, "weakest": 0.05}
    verdict = Verdict(least=0.91, most=0.96, shape=0.98, trend=0.9, share_error=0.0042, better=better, **found)

    assert CERTIFICATES.read(Verdict, json.loads(json.dumps(CERTIFICATES.write(verdict)))) == verdict
    assert verdict.short == verdict_short(verdict) == "quality 0.91 to 0.96, single columns good, relations fair"
    assert verdict.text == (
        "quality 0.91 to 0.96 of 1 (column shapes about 0.98, pair trends about 0.90), "
        "a forecast on SDMetrics' scale for nine in ten releases. "
        "Single columns good: a typical share is off by 0.42 points. Relations fair: 3 of 10 pairs were counted, "
        "2 strong found, most within ±0.08, some may be missed; weaker than 0.05 can hardly be told from none. "
        "Relations would be good at about epsilon 3."
    )
    for key, value in (
        ("shape", 1.5),
        ("least", 0.97),
        ("most", 1.1),
        ("share_error", float("nan")),
        ("within", -0.1),
        ("learnt", 11),
        ("strong", 11),
    ):
        with pytest.raises(ParameterError, match="a verdict"):
            CERTIFICATES.read(Verdict, CERTIFICATES.write(verdict) | {key: value})


# -- Before a row is read.


@pytest.mark.parametrize("names", [NAMES, "a"])
def test_a_plan_says_what_the_verdict_will_and_what_it_cannot_know(names):
    schema = {"fields": [field for field in SCHEMA["fields"] if field["name"] in names]}
    plan = lw.plan(schema, expected_rows=5000, epsilon=4, delta="1e-9", mechanism="Adaptive")
    verdict = lw.synthesize(
        chained(5000).select(*names), schema, epsilon=4, delta="1e-9", mechanism="Adaptive", seed=3
    ).certificate.verdict
    text = plan.text()

    assert verdict.share_error / 10 < plan.foreseen.share_error < 10 * verdict.share_error
    assert "Single columns good: a typical share is off by" in text
    assert "cannot be known before rows are counted" in text
    assert ("Relations" in text) == (plan.foreseen.weakest is not None) == (len(names) > 1)


def test_a_plan_that_counts_no_single_column_says_that_it_tells_nothing():
    plan = lw.plan(SCHEMA, expected_rows=5000, epsilon=1, mechanism="PMM")

    assert plan.foreseen.share_error is None
    assert "Verdict: unknown before rows are counted" in plan.text()
    assert "Single columns" not in plan.text()


# -- A range, and what no count found.


def test_where_nothing_was_counted_the_range_reaches_from_lost_relations_to_none():
    """Columns that are chained, and such that are not, look the same to a release that counts no pair."""
    apart = pl.DataFrame({name: chained(5000, seed).get_column("a") for seed, name in enumerate(NAMES)})
    for frame in (chained(5000), apart):
        release = lw.synthesize(frame, SCHEMA, epsilon=2, mechanism="Independent", seed=3)
        verdict = release.certificate.verdict
        assert verdict.least - 0.005 < measured(frame, release).score < verdict.most + 0.005


def test_relations_are_no_better_than_those_that_no_count_found():
    """One pair is public, and found exactly; of the others nothing tells."""
    frame = chained(2000)
    verdict = lw.synthesize(
        frame, SCHEMA, epsilon="0.1", delta="1e-9", seed=3, public_tables=[counted(frame, "a", "b")]
    ).certificate.verdict

    assert (verdict.learnt, verdict.strong) == (1, 1)
    assert verdict.within < 0.1
    assert verdict.relations == "weak"
    assert "some may be missed" in verdict.text


def test_without_noise_nothing_is_hidden_and_every_relation_that_is_kept_is_good():
    frame = chained(4000)
    release = lw.synthesize(frame, SCHEMA, epsilon=10**4, delta="1e-9", mechanism="Adaptive", seed=3)
    verdict, true = release.certificate.verdict, measured(frame, release)

    assert (verdict.shares, verdict.relations) == ("good", "good")
    assert verdict.least - 0.005 < true.score < verdict.most + 0.005
    assert verdict.most - verdict.least < 0.03


def test_rows_that_may_be_noise_alone_are_unknown_not_bad():
    verdict = lw.synthesize(chained(0), SCHEMA, epsilon=1, seed=3).certificate.verdict

    assert (verdict.least, verdict.most) == (0.0, 1.0)
    assert (verdict.shares, verdict.relations) == ("unknown", "unknown")
    assert "quality unknown" in verdict.text
    assert "0.00" not in verdict.text
