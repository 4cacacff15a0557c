"""Metrics that predict: detection, disclosure, classifiers, and what is learned downstream."""

import math
import sys
import warnings

import numpy as np
import pytest
from scipy.stats import binomtest

from lapwing.errors import LapwingError, ParameterError
from lapwing.extras.evaluate.metrics.disclosure import disclosure
from lapwing.extras.evaluate.metrics.disclosure.disclosure import compare_disclosure
from lapwing.extras.evaluate.metrics.metric import excess, wilson
from lapwing.extras.evaluate.metrics.prediction import detection, downstream
from lapwing.extras.evaluate.metrics.prediction.detection import (
    area_error,
    compare_detection,
    compare_propensity,
    propensity_scores,
)
from lapwing.extras.evaluate.metrics.prediction.downstream import (
    FEWEST_ROWS,
    Classifier,
    class_scores,
    classifiers,
    compare_classifiers,
    compare_downstream,
    features,
    mean_area,
    trained_auc,
)
from lapwing.extras.evaluate.words import say
from lapwing.schema.schemas import Schema

AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "special": [-1]}
WIDE = {"name": "wide", "type": "number", "constraints": {"minimum": 0, "maximum": 1}}
CITY = {"name": "city", "type": "string", "categories": [f"c{place}" for place in range(40)]}
FLAG = {"name": "flag", "type": "boolean"}
SCHEMA = Schema.from_dict({"fields": [AGE, WIDE, CITY, FLAG]})
ONE_FLAG = Schema.from_dict({"fields": [FLAG]})
SPECIAL, MISSING = 100, 101


def told(schema, real, other, seed=0):
    """Return pMSE and its ratio."""
    found = compare_propensity(real, {"synthetic": other}, schema, rng=np.random.default_rng(seed))
    return [each.values["synthetic"].value for each in found]


def rows(seed, count=2000):
    rng = np.random.default_rng(seed)
    codes = {}
    for column in SCHEMA.columns:
        regular = (rng.beta(2, 3, size=count) * column.domain.values).astype(np.int64)
        codes[column.name] = np.where(rng.random(count) < 0.05, column.domain.last, regular)
    return codes


def flags(*shares, count=1000):
    """Return a table of one Boolean column for each share of 1."""
    return [{"flag": (np.arange(count) < share * count).astype(np.int64)} for share in shares]


def test_one_boolean_column_has_the_closed_form() -> None:
    real, other = flags(0.5, 0.2)

    score, ratio = told(ONE_FLAG, real, other)

    # Fitted shares of synthetic rows: 2/7 of the 700 rows with 1, 8/13 of the 1300 with 0.
    expected = (700 * (2 / 7 - 1 / 2) ** 2 + 1300 * (8 / 13 - 1 / 2) ** 2) / 2000
    assert score == pytest.approx(expected, rel=1e-5)
    # Snoke et al., theorem 1, with two parameters and c = 1/2: (2 - 1) (1 - c)**2 c / N.
    assert ratio == pytest.approx(expected / (0.25 * 0.5 / 2000), rel=1e-5)


def test_probabilities_are_those_that_newton_steps_find() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(3000, 5)) @ rng.normal(size=(5, 5))
    is_other = rng.random(3000) < 1 / (1 + np.exp(-points[:, 0]))
    design, weights = np.column_stack((np.ones(3000), points)), np.zeros(6)
    for _ in range(30):
        fitted = 1 / (1 + np.exp(-design @ weights))
        curvature = (design * (fitted * (1 - fitted))[:, None]).T @ design
        weights += np.linalg.solve(curvature, design.T @ (is_other - fitted))

    # A gradient of 1e-8, where L-BFGS stops, over curvatures of 1e-3 and more.
    assert propensity_scores(points, is_other) == pytest.approx(fitted, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "code"), [("age", SPECIAL), ("age", MISSING), ("city", 40), ("flag", 2), ("wide", 2**32)]
)
def test_what_is_missing_or_special_in_one_table_only_is_seen(name: str, code: int) -> None:
    real = rows(1)
    other = real | {name: np.where(np.arange(2000) % 2, code, real[name])}

    assert told(SCHEMA, real, other)[0] > 0.03


def test_ratios_of_bootstraps_are_1_on_average_and_those_of_fresh_rows_2() -> None:
    schema = Schema.from_dict({"fields": [AGE, FLAG, WIDE]})
    bootstraps, fresh = [], []
    for seed in range(60):
        real, drawn = rows(2 * seed), np.random.default_rng(seed).integers(2000, size=2000)
        bootstraps.append(told(schema, real, {name: column[drawn] for name, column in real.items()})[1])
        fresh.append(told(schema, real, rows(2 * seed + 1))[1])

    # k - 1 = 6 parameters: a ratio has variance 2/6, so a mean of 60 has 0.075; four of them, and twice that for fresh.
    assert np.mean(bootstraps) == pytest.approx(1, abs=0.3)
    assert np.mean(fresh) == pytest.approx(2, abs=0.6)


def test_drawn_rows_have_a_standard_error_that_covers_other_draws(monkeypatch) -> None:
    real, other = rows(1, 20_000), rows(2, 20_000)
    other["age"] = np.minimum(other["age"] + 5, MISSING)
    monkeypatch.setattr(detection, "MOST_PROPENSITY_ROWS", 2000)
    draws = [
        compare_propensity(real, {"synthetic": other}, SCHEMA, rng=np.random.default_rng(seed))[0] for seed in range(12)
    ]

    values = [each.values["synthetic"].value for each in draws]
    errors = [each.values["synthetic"].standard_error for each in draws]

    assert {each.rows for each in draws} == {2000}
    # Errors from four quarters are each off by half; the mean of twelve, and the spread of twelve, by a sixth.
    assert 0.4 < np.std(values, ddof=1) / np.sqrt(np.mean(np.square(errors))) < 2.5


def test_columns_join_while_there_is_room_for_their_parameters(monkeypatch) -> None:
    fields = [CITY | {"name": f"city{place}"} for place in range(30)]
    schema = Schema.from_dict({"fields": fields})
    tables = [
        {column.name: np.random.default_rng(seed).integers(40, size=4000) for column in schema.columns}
        for seed in (1, 2)
    ]

    found = compare_propensity(tables[0], {"synthetic": tables[1]}, schema, rng=np.random.default_rng(0))

    # Of 192 parameters, each column takes 16.
    assert found[0].columns == 12
    # 192 parameters of fresh rows: 2, and a standard deviation of 0.2.
    assert found[1].values["synthetic"].value == pytest.approx(2, abs=0.8)


TWO_FIELDS = [{"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 9}} for name in ("a", "b")]
TWO = Schema.from_dict({"fields": TWO_FIELDS})


def uniform(seed, count=600):
    rng = np.random.default_rng(seed)
    return {"a": rng.integers(10, size=count), "b": rng.integers(10, size=count)}


def told_by_trees(real, other, schema=TWO):
    return compare_detection(real, {"synthetic": other}, schema, rng=np.random.default_rng(0))


def test_what_only_two_columns_together_show_is_seen() -> None:
    real = uniform(1) | {"b": uniform(1)["a"]}

    # A tenth of the shuffled rows have equal columns too.
    assert told_by_trees(real, uniform(2)).values["synthetic"].value == pytest.approx(0.95, abs=0.04)


def test_a_column_named_like_the_target_is_no_leak() -> None:
    fields = [TWO_FIELDS[0], TWO_FIELDS[1] | {"name": "is synthetic"}]
    real, other = ({"a": each["a"], "is synthetic": each["b"]} for each in (uniform(1), uniform(2)))

    found = told_by_trees(real, other, Schema.from_dict({"fields": fields}))

    assert found.values["synthetic"].value == told_by_trees(uniform(1), uniform(2)).values["synthetic"].value
    assert found.columns == 2


def test_one_row_has_no_figure() -> None:
    assert told_by_trees(uniform(1, 1), uniform(2)) is None


def test_of_many_rows_and_columns_some_are_used(monkeypatch) -> None:
    monkeypatch.setattr(detection, "MOST_ROWS", 100)
    monkeypatch.setattr(detection, "MOST_COLUMNS", 1)

    found = told_by_trees(uniform(1), uniform(2))

    assert (found.rows, found.columns) == (100, 1)


def test_the_error_of_an_area_is_that_of_drawn_scores() -> None:
    rng = np.random.default_rng(1)
    # Hanley and McNeil's approximation is exact for exponential scores: an area of 0.8 for a rate of 1/4.
    areas = []
    for _ in range(4000):
        low, high = rng.exponential(1, size=20), rng.exponential(4, size=20)
        areas.append((low[:, None] < high).mean())

    assert np.mean(areas) == pytest.approx(0.8, abs=0.01)
    # A standard deviation from 4000 draws is off by one in ninety; four times that.
    assert np.std(areas) == pytest.approx(area_error(0.8, 20), rel=0.045)


FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}, "special": [-1]},
    {"name": "place", "type": "string", "categories": [f"p{number}" for number in range(40)]},
    {"name": "height", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
    {"name": "flag", "type": "boolean"},
]
DISCLOSURE_SCHEMA = Schema.from_dict({"fields": FIELDS})
KEYS = ["exact_copies", "copies", "closer_to_real", *["inference"] * 4, "singling_out_one", "singling_out_several"]


def drawn(seed, rows=300, schema=DISCLOSURE_SCHEMA):
    """Draw rows whose columns depend on each other, a tenth of the cells missing."""
    rng = np.random.default_rng(seed)
    level = rng.random(rows)
    found = {}
    for column in schema.columns:
        place = np.clip(level + rng.normal(0, 0.15, rows), 0, 0.999999)
        codes = (place * column.domain.values).astype(np.int64)
        found[column.name] = np.where(rng.random(rows) < 0.1, column.domain.last, codes).astype(column.domain.dtype)
    return found


def compare(real, synthetic, holdout=None, schema=DISCLOSURE_SCHEMA, **settings):
    return compare_disclosure(real, synthetic, schema, holdout_codes=holdout, rng=np.random.default_rng(3), **settings)


def by_key(found):
    return {each.key if each.column is None else each.column: each for each in found.risks}


def test_a_copied_table_is_found_by_every_attack():
    real = drawn(1)

    found = compare(real, real, drawn(2))

    assert [each.key for each in found.risks] == KEYS
    assert found.distances.real == (0.0,) * 7
    assert found.distances.holdout[3] > 0
    for each in found.risks:
        assert each.rate > 0.9, each.key
        if each.key not in ("exact_copies", "closer_to_real"):
            assert each.excess > 0.8, each.key
            assert each.excess_interval[0] > 0.5, each.key
    assert by_key(found)["exact_copies"].rate == 1


def test_a_fresh_sample_is_not_flagged():
    found = by_key(compare(drawn(1), drawn(6), drawn(2)))

    # A few rows at the ends of all columns agree by chance.
    assert found["exact_copies"].rate < 0.03
    assert found["closer_to_real"].lower < 0.5 < found["closer_to_real"].upper
    for key, each in found.items():
        if key not in ("exact_copies", "closer_to_real"):
            assert each.excess_interval[0] <= 0 <= each.excess_interval[1], key


@pytest.mark.parametrize("holdout", [None, 2])
def test_singling_out_stands_beside_what_rows_of_other_people_show(holdout):
    real, control = drawn(1), None if holdout is None else drawn(holdout)

    fresh, copied = (by_key(compare(real, synthetic, control)) for synthetic in (drawn(4), real))

    for key in ("singling_out_one", "singling_out_several"):
        # A fresh sample is one of other people too: three standard deviations of a share of some hundred are 0.12.
        assert fresh[key].rate == pytest.approx(fresh[key].baseline, abs=0.12)
        assert copied[key].lower > 0.6 > copied[key].baseline_interval[1]


def test_a_smaller_holdout_takes_as_many_real_rows():
    real = drawn(1)

    found = compare(real, real, drawn(2, 100))

    assert found.rows == 100
    assert by_key(found)["exact_copies"].rate == 1
    # A third of the real rows is there to be found.
    assert by_key(found)["copies"].rate == pytest.approx(1 / 3, abs=0.01)


def test_without_holdout_what_needs_one_is_left_out_and_the_notes_say_so():
    found = compare(drawn(1), drawn(4))

    assert [each.key for each in found.risks] == [each for each in KEYS if each not in ("copies", "closer_to_real")]
    assert not found.has_holdout
    assert found.distances.holdout is None
    assert all(each.control is each.excess is None for each in found.risks)
    assert {say("attack_note.no_holdout"), say("attack_note.no_proof")} <= set(found.notes)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("holdout", [None, 1, 3])
def test_tables_of_one_row_and_one_column_are_tried(rows, holdout):
    for schema in (DISCLOSURE_SCHEMA, Schema.from_dict({"fields": FIELDS[1:2]})):
        control = None if holdout is None else drawn(2, holdout, schema)

        found = compare(drawn(1, rows, schema), drawn(4, rows, schema), control, schema)

        assert {"exact_copies", "singling_out_one"} <= {each.key for each in found.risks}
        assert all(0 <= each.lower <= each.rate <= each.upper <= 1 for each in found.risks)
        assert any("one column" in note for note in found.notes) == (len(schema.columns) == 1)


def test_tables_without_any_value_are_tried():
    missing = {column.name: np.full(50, column.domain.last) for column in DISCLOSURE_SCHEMA.columns}

    found = compare(missing, missing, missing)

    rates = by_key(found)
    assert rates["exact_copies"].rate == rates["exact_copies"].baseline == 1
    assert rates["closer_to_real"].rate == 0.5
    assert rates["closer_to_real"].ties == 50
    assert rates["age"].rate == rates["age"].baseline == rates["age"].control == 1
    assert rates["age"].excess is None
    # No description fits one row only.
    assert sum("could not be tried" in note for note in found.notes) == 2


def test_large_tables_are_searched_in_part_and_say_so(monkeypatch):
    monkeypatch.setattr(disclosure, "MOST_SEARCHED", 200)
    monkeypatch.setattr(disclosure, "TARGETS", 20)
    real = drawn(1)

    found = compare(real, real, drawn(2))

    assert any("tables are large" in note for note in found.notes)
    assert by_key(found)["closer_to_real"].attacks == 20
    assert by_key(found)["age"].attacks == 10


@pytest.mark.parametrize("which", ["real", "synthetic", "holdout"])
def test_a_table_without_rows_is_refused(which):
    tables = {"real": drawn(1), "synthetic": drawn(4), "holdout": drawn(2)}
    tables[which] = drawn(1, 0)

    with pytest.raises(ParameterError, match=f'the {which} table needs codes of column "age", at least one row'):
        compare(*tables.values())


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.neighbors", None)

    with pytest.raises(LapwingError, match=r'pip install .*\[evaluate\]"'):
        compare(drawn(1), drawn(4))


@pytest.mark.parametrize(("successes", "trials"), [(0, 1), (1, 1), (0, 40), (3, 40), (20, 40), (40, 40), (999, 1000)])
def test_wilson_intervals_are_those_of_scipy(successes, trials):
    found = wilson(successes, trials)

    theirs = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    assert found.rate == successes / trials
    # Both are a few roundings of numbers below 1.
    assert found.lower == pytest.approx(theirs.low, abs=1e-12)
    assert found.upper == pytest.approx(theirs.high, abs=1e-12)


@pytest.mark.parametrize(("successes", "trials"), [(1, 0), (-1, 5), (6, 5), (math.nan, 5), (1, math.nan)])
def test_impossible_counts_are_refused(successes, trials):
    with pytest.raises(ParameterError, match="successes must be from 0 to trials"):
        wilson(successes, trials)


def test_an_attack_that_always_succeeds_takes_all_that_was_left():
    value, (lower, upper) = excess(wilson(50, 50), wilson(20, 50))

    assert (value, upper) == (1, 1)
    assert 0.8 < lower < 1


def test_where_every_control_succeeds_nothing_was_left():
    assert excess(wilson(5, 5), wilson(5, 5)) is None


@pytest.mark.parametrize("trials", [1, 2, 7])
def test_the_interval_holds_the_value_for_all_small_counts(trials):
    for successes in range(trials + 1):
        for controls in range(trials):
            value, (lower, upper) = excess(wilson(successes, trials), wilson(controls, trials))

            assert lower <= value + 1e-12
            assert value <= upper + 1e-12
            assert upper <= 1


@pytest.mark.parametrize(("attack", "control"), [(0.3, 0.3), (0.95, 0.9), (0.5, 0.2), (0.04, 0.02)])
def test_intervals_cover_the_truth_as_often_as_they_say(attack, control):
    rng = np.random.default_rng([7, int(100 * attack)])
    truth = (attack - control) / (1 - control)

    pairs = zip(rng.binomial(500, attack, 2000), rng.binomial(500, control, 2000), strict=True)
    found = [excess(wilson(int(a), 500), wilson(int(b), 500))[1] for a, b in pairs]

    # Standard deviation of a share of 2000 at 0.95: 0.005. Four of them, and half a percent for the approximation.
    assert abs(np.mean([lower <= truth <= upper for lower, upper in found]) - 0.95) < 0.025


KIND = {"name": "kind", "type": "string", "categories": list("abcdefgh")}
YES = {"name": "yes", "type": "boolean"}
CLASS = {"name": "class", "type": "string", "categories": ["u", "v", "w"]}
CLASSIFIERS_SCHEMA = Schema.from_dict({"fields": [AGE, KIND, YES, CLASS]})


def classifiers_rows(seed, count=600):
    rng = np.random.default_rng(seed)
    return {column.name: rng.integers(column.domain.values, size=count) for column in CLASSIFIERS_SCHEMA.columns}


def scores(train, real, test, target):
    return compare_classifiers(train, real, test, CLASSIFIERS_SCHEMA, target, rng=np.random.default_rng(0))


def learnable(seed, count=600):
    codes = classifiers_rows(seed, count)
    return codes | {"yes": (codes["age"] + 5 * codes["kind"] >= 60).astype(int)}


def test_every_kind_learns_what_there_is_to_learn_and_the_wrong_way_round_too() -> None:
    real, test = learnable(1), learnable(2)

    found = scores(real | {"yes": 1 - real["yes"]}, real, test, "yes")

    assert len(found) == 11
    for each in found:
        assert each.auc < 0.15
        assert each.ceiling > 0.85
        assert (each.rows, each.note) == (600, "")


def test_the_boosting_comes_first_and_has_the_figures_of_trained_auc() -> None:
    train, real, test = classifiers_rows(3), learnable(1), learnable(2)

    found = compare_downstream(train, real, test, CLASSIFIERS_SCHEMA, "yes", rng=np.random.default_rng(0))

    names = [each.name for each in found.scores]
    assert len(set(names)) == 12
    assert names[0] == "histogram gradient boosting"
    assert (found.scores[0].auc, found.scores[0].ceiling, found.scores[0].rows) == (found.auc, found.ceiling, 600)
    assert found.auc == trained_auc(train, test, CLASSIFIERS_SCHEMA, "yes", np.random.default_rng(0))


@pytest.mark.parametrize("count", [0, 1, 50])
def test_train_rows_of_one_class_teach_no_kind_anything(count: int) -> None:
    one_class = classifiers_rows(1, count) | {"yes": np.ones(count, dtype=int)}

    assert {each.auc for each in scores(one_class, learnable(1, 50), learnable(2, 50), "yes")} == {0.5}


def test_a_kind_that_cannot_be_trained_says_so_and_others_go_on() -> None:
    # Two rows of two classes: too few for discriminants.
    few = {column.name: np.array([0, 1]) for column in CLASSIFIERS_SCHEMA.columns}

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = {each.name: each for each in scores(few, learnable(1), learnable(2), "yes")}

    assert found["linear discriminant analysis"].auc is None
    assert found["linear discriminant analysis"].ceiling > 0.85
    assert "cannot be trained" in found["linear discriminant analysis"].note
    assert sum(each.auc is None for each in found.values()) == 1


def test_ordered_codes_are_in_deviations_and_categories_are_claims() -> None:
    train = {"age": np.array([10, 20, 30, MISSING]), "kind": np.array([1, 1, 4, 1])}
    test = {"age": np.array([20, SPECIAL, MISSING]), "kind": np.array([4, 7, 8])}

    found = features(train, test, CLASSIFIERS_SCHEMA.columns[:2])

    spread = np.sqrt(200 / 3)
    # The age, is it missing, is it a "b", is it an "e": in the train rows none is special, and no kind is missing.
    assert found[0] == pytest.approx(
        np.array(
            [
                [-10 / spread, -0.25, 0.25, -0.25],
                [0, -0.25, 0.25, -0.25],
                [10 / spread, -0.25, -0.75, 0.75],
                [0, 0.75, 0.25, -0.25],
            ]
        )
    )
    assert found[1] == pytest.approx(
        np.array([[0, -0.25, -0.75, 0.75], [0, -0.25, -0.75, -0.25], [0, 0.75, -0.75, -0.25]])
    )


def test_many_columns_share_the_features() -> None:
    cities = [
        {"name": f"city{place}", "type": "string", "categories": [f"c{each}" for each in range(100)]}
        for place in range(64)
    ]
    schema = Schema.from_dict({"fields": cities})
    table = {column.name: np.random.default_rng(1).integers(100, size=500) for column in schema.columns}

    assert features(table, table, schema.columns)[0].shape == (500, 256)
    assert features(table, table, schema.columns[:1])[0].shape == (500, 32)


def test_more_features_and_more_classes_mean_fewer_rows() -> None:
    plain = Classifier("", 8000, False, lambda _: None)
    by_class = Classifier("", 8000, True, lambda _: None)

    assert [plain.limit(*each) for each in [(1, 2), (256, 64), (512, 2), (10**6, 2)]] == [8000, 8000, 4000, FEWEST_ROWS]
    assert [by_class.limit(*each) for each in [(1, 2), (256, 4), (512, 4)]] == [8000, 4000, 2000]


def test_a_kind_without_probabilities_is_scored_by_its_decisions() -> None:
    svm = next(kind for kind in classifiers() if kind.name == "linear SVM")
    points = np.linspace(-1, 1, 50)[:, None]

    known, found = class_scores(svm, points, (points[:, 0] > 0).astype(np.int64), points, 0)

    assert known.tolist() == [0, 1]
    assert (np.diff(found[:, 1]) > 0).all()
    assert mean_area(known, found, (points[:, 0] > 0).astype(np.int64)) == 1


def test_the_mean_area_counts_classes_alike() -> None:
    truth = np.array([0, 1, 2, 2])
    found = np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.5, 0.5]])

    # 0 against the rest: 1. 1 against the rest: 1. 2 has no scores: 1/2.
    assert mean_area(np.array([0, 1]), found, truth) == pytest.approx((1 + 1 + 0.5) / 3)


DOWNSTREAM_FIELDS = [
    {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
    {"name": "kind", "type": "string", "categories": list("abcdefgh")},
    {"name": "yes", "type": "boolean"},
    {"name": "class", "type": "string", "categories": ["u", "v", "w"]},
    {"name": "wide", "type": "integer", "constraints": {"minimum": 0, "maximum": 64}},
]
DOWNSTREAM_SCHEMA = Schema.from_dict({"fields": DOWNSTREAM_FIELDS})


def downstream_rows(seed, count=2000):
    rng = np.random.default_rng(seed)
    return {field.name: rng.integers(field.domain.values, size=count) for field in DOWNSTREAM_SCHEMA.columns}


def auc(train, test, target):
    return trained_auc(train, test, DOWNSTREAM_SCHEMA, target, np.random.default_rng(0))


def with_target(codes, target, values):
    return codes | {target: np.asarray(values).astype(np.int64)}


def test_a_target_that_a_threshold_tells_is_predicted_without_error():
    train, test = (with_target(codes, "yes", codes["size"] >= 40) for codes in (downstream_rows(1), downstream_rows(2)))

    assert auc(train, test, "yes") == 1


def test_several_classes_count_alike():
    train, test = downstream_rows(1), downstream_rows(2)
    train = with_target(train, "class", np.digitize(train["size"], [2, 50]))
    test = with_target(test, "class", np.digitize(test["size"], [2, 50]))

    perfect = auc(train, test, "class")
    half = auc(with_target(train, "class", np.where(train["class"] == 0, 1, train["class"])), test, "class")

    # A class that a narrow threshold tells costs the scores of the two others less than a thousandth.
    assert perfect > 0.999
    # The first class, never seen, is scored 0.5; it lies far on the side of the second, and costs that one little.
    assert 0.8 < half < 0.84


def test_rows_without_a_target_are_left_out():
    train, test = (with_target(codes, "yes", codes["size"] >= 40) for codes in (downstream_rows(1), downstream_rows(2)))
    missing = DOWNSTREAM_SCHEMA.field("yes").domain.last
    more = {name: np.concatenate((column, column)) for name, column in test.items()}
    more["yes"][len(test["yes"]) :] = missing

    assert auc(train, more, "yes") == auc(train, test, "yes") == 1
    assert auc(more, train, "yes") == 1


def test_test_rows_of_one_class_are_refused():
    with pytest.raises(ParameterError, match='fewer than two values of the target "yes"'):
        auc(downstream_rows(1), with_target(downstream_rows(2), "yes", np.zeros(2000)), "yes")


@pytest.mark.parametrize(("target", "why"), [("none", "no modelled column"), ("wide", "has 65 values")])
def test_a_column_that_cannot_be_a_target_is_refused(target, why):
    with pytest.raises(ParameterError, match=why):
        auc(downstream_rows(1), downstream_rows(2), target)


def test_more_rows_than_the_limit_are_sampled(monkeypatch):
    train, test = (with_target(codes, "yes", codes["size"] >= 40) for codes in (downstream_rows(1), downstream_rows(2)))
    whole = auc(train, downstream_rows(2), "class")
    monkeypatch.setattr(downstream, "MAX_ROWS", 200)

    assert auc(train, test, "yes") > 0.99
    assert auc(train, downstream_rows(2), "class") != whole
