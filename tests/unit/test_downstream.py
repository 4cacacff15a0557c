import numpy as np
import pytest

from lapwing.errors import ParameterError
from lapwing.extras.evaluate.metrics.prediction import downstream
from lapwing.extras.evaluate.metrics.prediction.downstream import trained_auc
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
    {"name": "kind", "type": "string", "categories": list("abcdefgh")},
    {"name": "yes", "type": "boolean"},
    {"name": "class", "type": "string", "categories": ["u", "v", "w"]},
    {"name": "wide", "type": "integer", "constraints": {"minimum": 0, "maximum": 64}},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})


def rows(seed, count=2000):
    rng = np.random.default_rng(seed)
    return {field.name: rng.integers(field.domain.values, size=count) for field in SCHEMA.columns}


def auc(train, test, target):
    return trained_auc(train, test, SCHEMA, target, np.random.default_rng(0))


def with_target(codes, target, values):
    return codes | {target: np.asarray(values).astype(np.int64)}


def test_a_target_that_a_threshold_tells_is_predicted_without_error():
    train, test = (with_target(codes, "yes", codes["size"] >= 40) for codes in (rows(1), rows(2)))

    assert auc(train, test, "yes") == 1


def test_shuffled_labels_teach_nothing():
    train, test = rows(1, 4000), rows(2, 4000)
    train = with_target(train, "yes", np.random.default_rng(3).permutation(train["size"] >= 40))
    test = with_target(test, "yes", test["size"] >= 40)

    # The truth is a function of one column only: a few wrong steps along it move the area by 0.03 or so.
    assert abs(auc(train, test, "yes") - 0.5) < 0.1


def test_several_classes_count_alike():
    train, test = rows(1), rows(2)
    train = with_target(train, "class", np.digitize(train["size"], [2, 50]))
    test = with_target(test, "class", np.digitize(test["size"], [2, 50]))

    perfect = auc(train, test, "class")
    half = auc(with_target(train, "class", np.where(train["class"] == 0, 1, train["class"])), test, "class")

    # A class that a narrow threshold tells costs the scores of the two others less than a thousandth.
    assert perfect > 0.999
    # The first class, never seen, is scored 0.5; it lies far on the side of the second, and costs that one little.
    assert 0.8 < half < 0.84


def test_rows_without_a_target_are_left_out():
    train, test = (with_target(codes, "yes", codes["size"] >= 40) for codes in (rows(1), rows(2)))
    missing = SCHEMA.field("yes").domain.last
    more = {name: np.concatenate((column, column)) for name, column in test.items()}
    more["yes"][len(test["yes"]) :] = missing

    assert auc(train, more, "yes") == auc(train, test, "yes") == 1
    assert auc(more, train, "yes") == 1


@pytest.mark.parametrize("count", [0, 1, 50])
def test_train_rows_of_one_class_teach_nothing(count):
    train = with_target(rows(1, count), "yes", np.ones(count))

    assert auc(train, rows(2), "yes") == 0.5


def test_test_rows_of_one_class_are_refused():
    with pytest.raises(ParameterError, match='fewer than two values of the target "yes"'):
        auc(rows(1), with_target(rows(2), "yes", np.zeros(2000)), "yes")


@pytest.mark.parametrize(("target", "why"), [("none", "no modelled column"), ("wide", "has 65 values")])
def test_a_column_that_cannot_be_a_target_is_refused(target, why):
    with pytest.raises(ParameterError, match=why):
        auc(rows(1), rows(2), target)


def test_more_rows_than_the_limit_are_sampled(monkeypatch):
    train, test = (with_target(codes, "yes", codes["size"] >= 40) for codes in (rows(1), rows(2)))
    whole = auc(train, rows(2), "class")
    monkeypatch.setattr(downstream, "MAX_ROWS", 200)

    assert auc(train, test, "yes") > 0.99
    assert auc(train, rows(2), "class") != whole
