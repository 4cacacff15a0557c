"""Train on one coded table, test on another: the area under the ROC curve (AUC) of twelve kinds of classifier.

It says how much of what the other columns tell about a target a synthetic table has kept. The kinds are those of
Kreačić et al., "Differentially Private Synthetic Data Using KD-Trees", with histogram gradient boosting for XGBoost.
What is computed from private rows is private: no noise is added.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import LapwingError, ParameterError
from lapwing.extras.evaluate.words import say
from lapwing.maths.arrays import Cells, Codes, Floats, Ints
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.scalars import is_among, quote
from lapwing.schema.schemas import Schema
from lapwing.version import install_command

FLOOR: Final = 0.5  # AUC of scores that know nothing, such as the majority class for every row
FEATURES: Final = 256  # features for which the limits of rows are meant; with more, there are fewer rows
LISTED: Final = 32  # most categories of a column without order that have a feature of their own
FEWEST_ROWS: Final = 512  # rows that are left, if the train table has them, however many features and classes there are


@dataclass(frozen=True, slots=True)
class Classifier:
    """Say what is trained and on how many rows: for 256 features and two classes.

    is_by_class: whether each class is fitted by itself, so that more classes have fewer rows each.
    """

    name: str
    rows: int
    is_by_class: bool
    make: Callable[[int], Any]

    def limit(self, features: int, classes: int) -> int:
        """Return the most train rows for so many features and classes."""
        share = min(1, FEATURES / max(features, 1)) * (2 / max(classes, 2) if self.is_by_class else 1)
        return max(int(self.rows * share), FEWEST_ROWS)


def classifiers() -> tuple[Classifier, ...]:
    """Return the eleven kinds beside histogram gradient boosting.

    scikit-learn's defaults, but for: 20 epochs of the multi-layer perceptron instead of 200; at most 200 passes of the
    linear SVM instead of 1,000; in each split of the gradient boosting a random choice of features, as many as the
    square root of their number. All for speed: the limits of rows are such that each kind is fitted in 2 CPU seconds or
    so.
    """
    from sklearn import ensemble, naive_bayes  # noqa: PLC0415
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis  # noqa: PLC0415
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.neural_network import MLPClassifier  # noqa: PLC0415
    from sklearn.svm import LinearSVC  # noqa: PLC0415
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415

    rows, more = 2**13, 2**14
    table: tuple[tuple[str, int, bool, Callable[[int], Any]], ...] = (
        ("logistic regression", more, False, lambda _: LogisticRegression()),
        ("Gaussian naive Bayes", more, False, lambda _: naive_bayes.GaussianNB()),
        ("Bernoulli naive Bayes", more, False, lambda _: naive_bayes.BernoulliNB()),
        ("linear SVM", rows, True, lambda seed: LinearSVC(max_iter=200, random_state=seed)),
        ("decision tree", more, False, lambda seed: DecisionTreeClassifier(random_state=seed)),
        ("linear discriminant analysis", more, False, lambda _: LinearDiscriminantAnalysis()),
        ("AdaBoost", rows, False, lambda seed: ensemble.AdaBoostClassifier(random_state=seed)),
        ("bagging", rows, False, lambda seed: ensemble.BaggingClassifier(random_state=seed)),
        ("random forest", rows, False, lambda seed: ensemble.RandomForestClassifier(random_state=seed)),
        (
            "gradient boosting",
            rows,
            True,
            lambda seed: ensemble.GradientBoostingClassifier(max_features="sqrt", random_state=seed),
        ),
        ("multi-layer perceptron", rows, False, lambda seed: MLPClassifier(max_iter=20, random_state=seed)),
    )
    return tuple(Classifier(*each) for each in table)


def features(train_codes: Codes, test_codes: Codes, columns: Sequence[Field]) -> tuple[Floats, Floats]:
    """Return train and test rows as numbers, in units that the train rows give.

    Of each column: its code, in standard deviations from the mean of the train rows, where it is ordered (0 where the
    cell is not regular); else whether it is each of the 32 most common categories of the train rows (fewer where there
    are more than 8 columns: about 256 features in all); whether it is special, and whether it is missing. All are
    centred on the train rows, and features that are the same in all train rows are left out.
    """
    most = int(np.clip(FEATURES // len(columns), 2, LISTED))
    blocks = [_block((train_codes[each.name], test_codes[each.name]), each.domain, most) for each in columns]
    train, test = (np.concatenate(side, axis=1) for side in zip(*blocks, strict=True))
    is_used = train.min(axis=0, initial=np.inf) < train.max(axis=0, initial=-np.inf)
    return train[:, is_used], test[:, is_used]


def _block(both: tuple[Cells, Cells], domain: Domain, most: int) -> tuple[Floats, ...]:
    """Return the features of one column of both tables."""
    regular = both[0][both[0] < domain.values]
    if domain.ordered:
        mean, spread = (regular.mean(dtype=np.float64), regular.std(dtype=np.float64)) if len(regular) else (0.0, 1.0)
        own = [np.where(codes < domain.values, (codes - mean) / (spread or 1.0), 0.0)[:, None] for codes in both]
    else:
        values, counts = np.unique(regular, return_counts=True)
        common = values[np.argsort(-counts, kind="stable")[:most]]
        own = _centred([codes[:, None] == common for codes in both])
    is_missing = [codes == domain.last for codes in both]
    is_special = [(codes >= domain.values) & ~gaps for codes, gaps in zip(both, is_missing, strict=True)]
    gaps = _centred([np.column_stack(each) for each in zip(is_special, is_missing, strict=True)])
    return tuple(np.concatenate(each, axis=1) for each in zip(own, gaps, strict=True))


def _centred(claims: Sequence[npt.NDArray[np.bool_]]) -> list[Floats]:
    """Return claims as 1 and 0, less their mean over the train rows: above 0 exactly where they hold."""
    means = claims[0].mean(axis=0) if len(claims[0]) else np.zeros(claims[0].shape[1])
    return [each - means for each in claims]


def class_scores(kind: Classifier, train: Floats, labels: Ints, test: Floats, seed: int) -> tuple[Ints, Floats] | None:
    """Return the classes that train rows have, and the score of each for each test row, shape (m, classes).

    Probabilities, or the decision function where the kind has none; all alike where the train rows have fewer than two
    classes or no feature that varies. None where the kind cannot be trained on these rows: no more than there are
    classes, say.
    """
    known = np.unique(labels)
    if len(known) < 2 or not train.shape[1]:
        return known, np.ones((len(test), len(known)))
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - scikit-learn needs it

    classifier = kind.make(seed)
    # That a fit was stopped early, or that columns are linear combinations, is no news to who reads the figures.
    with threadpool_limits(limits=1), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            classifier.fit(train, labels)
        except (ValueError, IndexError):  # the latter from discriminants of classes that do not vary inside
            return None
        score = getattr(classifier, "predict_proba", None) or classifier.decision_function
        found = np.nan_to_num(np.asarray(score(test), dtype=np.float64))
    return known, found if found.ndim == 2 else np.column_stack((-found, found))


def mean_area(known: Ints, scores: Floats, truth: Ints) -> float:
    """Return the area under the ROC curve of each class against the rest: the mean over classes that test rows have.

    A class without scores has 0.5.
    """
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415

    present = np.unique(truth)
    by_class = dict(zip(known.tolist(), scores.T, strict=True))
    if len(present) == 2 and set(present.tolist()) == set(by_class):
        present = present[1:]  # the other class has the same area
    areas = [roc_auc_score(truth == each, by_class[each]) if each in by_class else FLOOR for each in present.tolist()]
    return float(np.mean(areas))


MAX_CLASSES: Final = 64  # most values of a target
MAX_ROWS: Final = 2**19
"""Most rows of a table that are used, times the classes where there are several: each costs trees of its own."""

BOOSTING: Final = "histogram gradient boosting"  # the kind of classifier whose area is that of `trained_auc`
TEST_ROWS: Final = 2**14  # most rows that the other kinds of classifier are tested on, where they have 256 features
_MOST_LISTED: Final = 255  # categories that the trees split in any two sets; more are split in the order of codes


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierScore:
    """Hold how well one kind of classifier predicts; auc, ceiling: trained on synthetic and on real rows, or None."""

    name: str
    auc: float | None
    ceiling: float | None
    rows: int
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Downstream:
    """Hold how well classifiers predict one column; auc, ceiling: trained on synthetic and on real rows."""

    target: str
    auc: float
    ceiling: float
    floor: float = FLOOR
    scores: tuple[ClassifierScore, ...] = ()


def trained_auc(train_codes: Codes, test_codes: Codes, schema: Schema, target: str, rng: np.random.Generator) -> float:
    """Return the test AUC of histogram gradient boosting of one column by the others.

    Rows whose target is missing (or a misfit) are left out; of more than 2**19 over the number of values, so many are
    drawn. The AUC is the probability that a row of the class is scored higher than one of the rest (ties count half):
    the mean over the classes that test rows have; for two classes that is the usual AUC. A class that no train row has
    is scored equally for all rows: 0.5.

    scikit-learn's ``HistGradientBoostingClassifier``, 100 iterations without early stopping, else its defaults. Columns
    enter as codes, so that an ordered column is split at thresholds; an unordered one with at most 255 categories is
    split in sets of categories. Missing (or misfit) is a missing value to the classifier.
    """
    check_target(schema, target)
    train, labels = _examples(train_codes, schema, target, rng)
    test, truth = _examples(test_codes, schema, target, rng)
    _check_truth(truth, target)
    domains = [column.domain for column in schema.columns if column.name != target]
    is_listed = [not domain.ordered and domain.values <= _MOST_LISTED for domain in domains]
    return mean_area(*_scores(train, labels, test, is_listed, int(rng.integers(2**31))), truth)


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

    ``scores`` has one entry for each kind, that of `trained_auc` first. The others are trained on a few thousand rows
    each and tested on at most 2**14, so that all of them take seconds: the figures of one kind are comparable, those of
    two kinds are of different rows.
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

    Each kind is trained on the first so many of the same rows in random order. At most about 30 CPU seconds for two
    tables.
    """
    check_target(schema, target)
    columns = [column for column in schema.columns if column.name != target]
    # Features are at most about 256, and three a column.
    most = min(TEST_ROWS, TEST_ROWS * FEATURES // (2 * len(columns)))
    test, truth = _drawn(test_codes, schema, target, most, rng)
    _check_truth(truth, target)
    seed, chosen = int(rng.integers(2**31)), classifiers()
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
            note=say("prediction.untrained") if auc is None or ceiling is None else "",
        )
        for kind, (auc, rows), (ceiling, other_rows) in zip(chosen, *found, strict=True)
    )


def is_target(schema: Schema, name: str | None) -> bool:
    """Tell whether a column can be predicted: it has few values, and another column to tell them by."""
    values = {column.name: _classes(column.domain) for column in schema.columns}
    return len(values) > 1 and 2 <= values.get(name or "", 0) <= MAX_CLASSES


def check_target(schema: Schema, target: str) -> None:
    """Refuse a column that cannot be a target."""
    columns = {column.name: column.domain for column in schema.columns}
    if not is_among(target, list(columns)):
        listed = ", ".join(quote(name) for name in list(columns)[:10])
        raise ParameterError(
            f"the target {quote(target)} is no modelled column of the schema; choose one of {listed}", code="LW330"
        )
    if not is_target(schema, target):
        values = _classes(columns[target])
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


def _labelled(labels: Cells, domain: Domain) -> npt.NDArray[np.intp]:
    """Return the rows that have a class."""
    return np.flatnonzero(labels < _classes(domain))


def _examples(codes: Codes, schema: Schema, target: str, rng: np.random.Generator) -> tuple[Floats, Ints]:
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
) -> tuple[dict[str, np.ndarray], Ints]:
    """Return the codes and the classes of at most so many rows that have a class, in random order."""
    rows = _labelled(codes[target], schema.field(target).domain)
    rows = rng.choice(rows, min(most, len(rows)), replace=False)
    return {column.name: codes[column.name][rows] for column in schema.columns}, codes[target][rows].astype(np.int64)


def _scores(train: Floats, labels: Ints, test: Floats, is_listed: list[bool], seed: int) -> tuple[Ints, Floats]:
    """Return the classes that the train rows have, and the probability of each for each test row."""
    known = np.unique(labels)
    # scikit-learn fails on a column without any value, and one that is missing in all train rows teaches nothing.
    used = np.flatnonzero(~np.isnan(train).all(axis=0))
    if len(known) < 2 or not used.size:
        return known, np.ones((len(test), len(known)))
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415
        from threadpoolctl import threadpool_limits  # noqa: PLC0415 - scikit-learn needs it
    except ImportError:
        raise LapwingError(
            f"the AUC of a target needs scikit-learn; run {install_command('evaluate')}", code="LW701"
        ) from None
    listed = [is_listed[place] for place in used.tolist()]
    classifier = HistGradientBoostingClassifier(early_stopping=False, categorical_features=listed, random_state=seed)
    # Threads that wait for each other on a busy machine made one fit take forty times as long.
    with threadpool_limits(limits=1, user_api="openmp"):
        classifier.fit(train[:, used], labels)
        return known, np.asarray(classifier.predict_proba(test[:, used]))


def _check_truth(truth: Ints, target: str) -> None:
    """Refuse test rows that have fewer than two classes."""
    if len(np.unique(truth)) < 2:
        raise ParameterError(
            f"the test rows have fewer than two values of the target {quote(target)}; its AUC is not defined",
            code="LW331",
        )
