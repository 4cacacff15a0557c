"""Train on one coded table, test on another: the area under the ROC curve (AUC) of twelve kinds of classifier.

It says how much of what the other columns tell about a target a synthetic table has kept. What is computed from private
rows is private: nothing here adds noise.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import LapwingError, ParameterError
from lapwing.judge.metrics import Floats
from lapwing.judge.prediction.classifiers import FEATURES, FLOOR, class_scores, features, kinds, mean_area
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.scalars import is_among, quote
from lapwing.schema.schemas import Schema

Codes = Mapping[str, npt.NDArray[np.integer]]

MAX_CLASSES: Final = 64
"""Most values of a target."""

MAX_ROWS: Final = 2**19
"""Most rows of a table that are used, times the classes where there are several: each costs trees of its own."""

BOOSTING: Final = "histogram gradient boosting"
"""The kind of classifier whose area is that of `trained_auc`."""

TEST_ROWS: Final = 2**14
"""Most rows that the other kinds of classifier are tested on, where they have 256 features."""

UNTRAINED: Final = "this kind of classifier cannot be trained on these rows"
"""Why a kind has no figure."""

_MOST_LISTED: Final = 255  # categories that the trees split in any two sets; more are split in the order of codes


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierScore:
    """Hold how well one kind of classifier predicts a column of the same test rows.

    auc: of the classifier trained on synthetic rows, 0 to 1; None where it could not be trained.
    """

    name: str
    auc: float | None
    ceiling: float | None
    rows: int
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Downstream:
    """Hold how well classifiers predict one column of the same test rows.

    auc: of the classifier trained on synthetic rows, 0 to 1; scores: the same of other kinds of classifier, on fewer
    rows.
    """

    target: str
    auc: float
    ceiling: float
    floor: float = FLOOR
    scores: tuple[ClassifierScore, ...] = ()


def trained_auc(train_codes: Codes, test_codes: Codes, schema: Schema, target: str, rng: np.random.Generator) -> float:
    """Return the test AUC of a classifier of one column by the others.

    train_codes, test_codes: mapping of str to integers (n,) and (m,), codes of every modelled column. Rows whose target
    is missing (or a misfit) are left out; target: a modelled column with 2 to 64 values, special values included; rng:
    chooses the rows where there are more than 2**19 over the number of values, and seeds the classifier. Returns 0 to
    1: of a row drawn from the class and one drawn from the rest, the probability that the classifier scores the first
    higher (ties count half); the mean over the classes that test rows have. For two classes that is the usual AUC. A
    class that no train row has is scored equally for all rows: 0.5.

    scikit-learn's ``HistGradientBoostingClassifier``, 100 iterations without early stopping, else its defaults. Columns
    enter as codes, so that an ordered column is split at thresholds; an unordered one with at most 255 categories is
    split in sets of categories. Missing (or misfit) is a missing value to the classifier.

    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]})
    >>> rows = {"a": np.arange(100) % 2, "b": np.arange(100) % 2}
    >>> trained_auc(rows, rows, schema, "b", np.random.default_rng(0))
    1.0
    """
    check_target(schema, target)
    train, labels = _examples(train_codes, schema, target, rng)
    test, truth = _examples(test_codes, schema, target, rng)
    _check_truth(truth, target)
    known, scores = _scores(train, labels, test, _is_listed(schema, target), int(rng.integers(2**31)))
    return mean_area(known, scores, truth)


def compare_downstream(
    synthetic_codes: Codes,
    real_codes: Codes,
    test_codes: Codes,
    schema: Schema,
    target: str,
    *,
    rng: np.random.Generator,
) -> Downstream:
    """Return how well twelve kinds of classifier predict one column, trained on synthetic and on real rows.

    synthetic_codes, real_codes, test_codes: mapping of str to integers, codes of every modelled column: what is trained
    on, what the ceiling is trained on, and what both are tested on. Returns ``auc`` and ``ceiling`` are those of
    `trained_auc`; ``scores`` has one entry for each kind, that one first.

    References
    ----------
    The kinds are those that Kreačić et al., "Differentially Private Synthetic Data Using KD-Trees", use, with
    scikit-learn's histogram gradient boosting for XGBoost.

    The eleven others are trained on a few thousand rows each and tested on at most 2**14, so that all of them take
    seconds. The figures of one kind are comparable; those of two kinds are of different rows.

    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]})
    >>> rows = {"a": np.arange(100) % 2, "b": np.arange(100) % 2}
    >>> found = compare_downstream(rows, rows, rows, schema, "b", rng=np.random.default_rng(0))
    >>> found.auc, found.ceiling, len(found.scores), found.scores[1].auc
    (1.0, 1.0, 12, 1.0)
    """
    trains = synthetic_codes, real_codes
    auc, ceiling = (trained_auc(train, test_codes, schema, target, rng) for train in trains)
    domain = schema.field(target).domain
    rows = max(len(_labelled(train[target], domain)) for train in trains)
    first = ClassifierScore(name=BOOSTING, auc=auc, ceiling=ceiling, rows=min(rows, _most_rows(domain)))
    scores = (first, *compare_classifiers(*trains, test_codes, schema, target, rng=rng))
    return Downstream(target=target, auc=auc, ceiling=ceiling, scores=scores)


def compare_classifiers(
    synthetic_codes: Codes,
    real_codes: Codes,
    test_codes: Codes,
    schema: Schema,
    target: str,
    *,
    rng: np.random.Generator,
) -> tuple[ClassifierScore, ...]:
    """Return how well the eleven kinds of classifier beside `trained_auc` predict one column.

    Features as `lapwing.judge.prediction.classifiers.features` makes them. Each kind is trained on the first so many
    of the
    same rows in random order, and tested on the same rows. Time about 30 CPU seconds at most for two tables.

    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]})
    >>> rows = {"a": np.arange(100) % 2, "b": np.arange(100) % 2}
    >>> compare_classifiers(rows, rows, rows, schema, "b", rng=np.random.default_rng(0))[3]
    ClassifierScore(name='linear SVM', auc=1.0, ceiling=1.0, rows=100, note='')
    """
    check_target(schema, target)
    columns = [column for column in schema.columns if column.name != target]
    # Features are at most about 256, and three a column.
    most = min(TEST_ROWS, TEST_ROWS * FEATURES // (2 * len(columns)))
    test, truth = _drawn(test_codes, schema, target, most, rng)
    _check_truth(truth, target)
    seed, chosen = int(rng.integers(2**31)), kinds()
    found: list[list[tuple[float | None, int]]] = []
    for codes in (synthetic_codes, real_codes):
        train, labels = _drawn(codes, schema, target, most, rng)
        points, test_points = features(train, test, columns)
        areas: list[tuple[float | None, int]] = []
        for kind in chosen:
            rows = min(kind.limit(points.shape[1], _classes(schema.field(target).domain)), len(labels))
            scores = class_scores(kind, points[:rows], labels[:rows], test_points, seed)
            areas.append((None if scores is None else mean_area(*scores, truth), rows))
        found.append(areas)
    return tuple(
        ClassifierScore(
            name=kind.name,
            auc=auc,
            ceiling=ceiling,
            rows=max(rows, other_rows),
            note=UNTRAINED if auc is None or ceiling is None else "",
        )
        for kind, (auc, rows), (ceiling, other_rows) in zip(chosen, *found, strict=True)
    )


def check_target(schema: Schema, target: str) -> None:
    """Refuse a column that cannot be a target.

    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]})
    >>> check_target(schema, "c")
    Traceback (most recent call last):
    lapwing.errors.ParameterError: the target "c" is no modelled column of the schema; choose one of "a", "b"
    `lapwing explain LW330` says why, and what to do
    """
    columns = {column.name: column.domain for column in schema.columns}
    if not is_among(target, list(columns)):
        listed = ", ".join(quote(name) for name in list(columns)[:10])
        raise ParameterError(
            f"the target {quote(target)} is no modelled column of the schema; choose one of {listed}", code="LW330"
        )
    values = _classes(columns[target])
    if not 2 <= values <= MAX_CLASSES or len(columns) < 2:
        fitting = [quote(name) for name, domain in columns.items() if 2 <= _classes(domain) <= MAX_CLASSES][:10]
        raise ParameterError(
            f"a target needs 2 to {MAX_CLASSES} values and a second column, {quote(target)} has {values} values by the "
            f"schema; choose one of {', '.join(fitting) if len(columns) > 1 and fitting else 'more columns'}",
            code="LW331",
        )


def _classes(domain: Domain) -> int:
    """Return the number of values that a target can have: all codes but the last."""
    return domain.size - 1


def _most_rows(domain: Domain) -> int:
    """Return the most rows of a table that the boosting of a target uses."""
    return MAX_ROWS // _classes(domain)


def _labelled(labels: npt.NDArray[np.integer], domain: Domain) -> npt.NDArray[np.intp]:
    """Return the rows that have a class."""
    return np.flatnonzero(labels < _classes(domain))


def _examples(
    codes: Codes, schema: Schema, target: str, rng: np.random.Generator
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the features and the classes of the rows that have a class."""
    domain = schema.field(target).domain
    rows = _labelled(codes[target], domain)
    if len(rows) > _most_rows(domain):
        rows = rng.choice(rows, _most_rows(domain), replace=False)
    others = [column for column in schema.columns if column.name != target]
    points = np.empty((len(rows), len(others)))
    for position, column in enumerate(others):
        chosen = codes[column.name][rows]
        points[:, position] = np.where(chosen == column.domain.last, np.nan, chosen)
    return points, codes[target][rows].astype(np.int64)


def _drawn(
    codes: Codes, schema: Schema, target: str, most: int, rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], npt.NDArray[np.int64]]:
    """Return the codes and the classes of at most so many rows that have a class, in random order."""
    rows = _labelled(codes[target], schema.field(target).domain)
    rows = rng.choice(rows, min(most, len(rows)), replace=False)
    return {column.name: codes[column.name][rows] for column in schema.columns}, codes[target][rows].astype(np.int64)


def _is_listed(schema: Schema, target: str) -> list[bool]:
    """Return, for each feature, whether the trees treat it as a list of categories without order."""
    domains = [column.domain for column in schema.columns if column.name != target]
    return [not domain.ordered and domain.values <= _MOST_LISTED for domain in domains]


def _scores(
    train: Floats, labels: npt.NDArray[np.int64], test: Floats, is_listed: list[bool], seed: int
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the classes that the train rows have, and the probability of each for each test row."""
    known = np.unique(labels)
    # scikit-learn fails on a column without any value, and one that is missing in all train rows teaches nothing.
    used = np.flatnonzero(~np.isnan(train).all(axis=0))
    if len(known) < 2 or not used.size:
        return known, np.ones((len(test), len(known)))
    make, limited = _learners()
    listed = [is_listed[place] for place in used.tolist()]
    classifier = make(early_stopping=False, categorical_features=listed, random_state=seed)
    # Threads that wait for each other on a busy machine made one fit take forty times as long.
    with limited(limits=1, user_api="openmp"):
        classifier.fit(train[:, used], labels)
        return known, np.asarray(classifier.predict_proba(test[:, used]))


def _check_truth(truth: npt.NDArray[np.int64], target: str) -> None:
    """Refuse test rows that have fewer than two classes."""
    if len(np.unique(truth)) < 2:
        raise ParameterError(
            f"the test rows have fewer than two values of the target {quote(target)}; its AUC is not defined",
            code="LW331",
        )


def _learners() -> tuple[Any, Any]:
    """Return scikit-learn's classifier, and what limits its threads."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415
        from threadpoolctl import threadpool_limits  # noqa: PLC0415 - scikit-learn needs it
    except ImportError:
        raise LapwingError(
            'the AUC of a target needs scikit-learn; install it with: pip install "lapwing[report]"',
            code="LW701",
        ) from None
    return HistGradientBoostingClassifier, threadpool_limits
