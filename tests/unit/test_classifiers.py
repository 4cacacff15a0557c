"""Twelve kinds of classifier: the features they get, the limits they keep, and what they say of hard cases."""

import warnings

import numpy as np
import pytest

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
from lapwing.schema.schemas import Schema

AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "special": [-1]}
KIND = {"name": "kind", "type": "string", "categories": list("abcdefgh")}
YES = {"name": "yes", "type": "boolean"}
CLASS = {"name": "class", "type": "string", "categories": ["u", "v", "w"]}
SCHEMA = Schema.from_dict({"fields": [AGE, KIND, YES, CLASS]})
SPECIAL, MISSING = 100, 101


def rows(seed, count=600):
    rng = np.random.default_rng(seed)
    return {column.name: rng.integers(column.domain.values, size=count) for column in SCHEMA.columns}


def scores(train, real, test, target):
    return compare_classifiers(train, real, test, SCHEMA, target, rng=np.random.default_rng(0))


def learnable(seed, count=600):
    codes = rows(seed, count)
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
    train, real, test = rows(3), learnable(1), learnable(2)

    found = compare_downstream(train, real, test, SCHEMA, "yes", rng=np.random.default_rng(0))

    names = [each.name for each in found.scores]
    assert len(set(names)) == 12
    assert names[0] == "histogram gradient boosting"
    assert (found.scores[0].auc, found.scores[0].ceiling, found.scores[0].rows) == (found.auc, found.ceiling, 600)
    assert found.auc == trained_auc(train, test, SCHEMA, "yes", np.random.default_rng(0))


@pytest.mark.parametrize("count", [0, 1, 50])
def test_train_rows_of_one_class_teach_no_kind_anything(count: int) -> None:
    one_class = rows(1, count) | {"yes": np.ones(count, dtype=int)}

    assert {each.auc for each in scores(one_class, learnable(1, 50), learnable(2, 50), "yes")} == {0.5}


def test_a_kind_that_cannot_be_trained_says_so_and_others_go_on() -> None:
    # Two rows of two classes: too few for discriminants.
    few = {column.name: np.array([0, 1]) for column in SCHEMA.columns}

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

    found = features(train, test, SCHEMA.columns[:2])

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
