"""Eleven kinds of classifier from scikit-learn, the features they are given, and the scores they give.

With the histogram gradient boosting of `lapwing.judge.prediction.downstream`, which stands for XGBoost, they are the
twelve
that are used in Kreačić et al., "Differentially Private Synthetic Data Using KD-Trees".
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import LapwingError
from lapwing.judge.metrics import Floats
from lapwing.schema.fields import Field
from lapwing.schema.groupings.domains import Domain

Codes = Mapping[str, npt.NDArray[np.integer]]
Ints = npt.NDArray[np.int64]

FLOOR: Final = 0.5
"""AUC of scores that know nothing, such as the majority class for every row."""

FEATURES: Final = 256
"""Features for which the limits of rows are meant; with more, there are fewer rows."""

LISTED: Final = 32
"""Most categories of a column without order that have a feature of their own."""

FEWEST_ROWS: Final = 512
"""Rows that are left, if the train table has them, however many features and classes there are."""

_MAKING: Final = 'classifiers need scikit-learn; install it with: pip install "lapwing[report]"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Say what is trained and on how many rows.

    rows: most train rows, for 256 features and two classes; is_by_class: whether each class is fitted by itself, so
    that more classes have fewer rows each.
    """

    name: str
    rows: int
    is_by_class: bool = False
    make: Callable[[int], Any]

    def limit(self, features: int, classes: int) -> int:
        """Return the most train rows for so many features and classes."""
        share = min(1, FEATURES / max(features, 1)) * (2 / max(classes, 2) if self.is_by_class else 1)
        return max(int(self.rows * share), FEWEST_ROWS)


def kinds() -> tuple[Kind, ...]:
    """Return the eleven kinds.

    scikit-learn's defaults, but for: 20 epochs of the multi-layer perceptron instead of 200; at most 200 passes of the
    linear SVM instead of 1,000; in each split of the gradient boosting a random choice of features, as many as the
    square root of their number. All for speed.
    The limits of rows are such that each kind is fitted within 2 CPU seconds or so.

    >>> [kind.name for kind in kinds()][:3]
    ['logistic regression', 'Gaussian naive Bayes', 'Bernoulli naive Bayes']
    """
    try:
        from sklearn import ensemble, naive_bayes  # noqa: PLC0415
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis  # noqa: PLC0415
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
        from sklearn.neural_network import MLPClassifier  # noqa: PLC0415
        from sklearn.svm import LinearSVC  # noqa: PLC0415
        from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415
    except ImportError:
        raise LapwingError(_MAKING, code="LW701") from None

    def boosting(seed: int) -> object:
        return ensemble.GradientBoostingClassifier(max_features="sqrt", random_state=seed)

    def support(seed: int) -> object:
        return LinearSVC(max_iter=200, random_state=seed)

    return (
        Kind(name="logistic regression", rows=2**14, make=lambda _: LogisticRegression()),
        Kind(name="Gaussian naive Bayes", rows=2**14, make=lambda _: naive_bayes.GaussianNB()),
        Kind(name="Bernoulli naive Bayes", rows=2**14, make=lambda _: naive_bayes.BernoulliNB()),
        Kind(name="linear SVM", rows=2**13, is_by_class=True, make=support),
        Kind(name="decision tree", rows=2**14, make=lambda seed: DecisionTreeClassifier(random_state=seed)),
        Kind(name="linear discriminant analysis", rows=2**14, make=lambda _: LinearDiscriminantAnalysis()),
        Kind(name="AdaBoost", rows=2**13, make=lambda seed: ensemble.AdaBoostClassifier(random_state=seed)),
        Kind(name="bagging", rows=2**13, make=lambda seed: ensemble.BaggingClassifier(random_state=seed)),
        Kind(name="random forest", rows=2**13, make=lambda seed: ensemble.RandomForestClassifier(random_state=seed)),
        Kind(name="gradient boosting", rows=2**13, is_by_class=True, make=boosting),
        Kind(
            name="multi-layer perceptron",
            rows=2**13,
            make=lambda seed: MLPClassifier(max_iter=20, random_state=seed),
        ),
    )


def features(train_codes: Codes, test_codes: Codes, columns: Sequence[Field]) -> tuple[Floats, Floats]:
    """Return train and test rows as numbers, in units that the train rows give.

    train_codes, test_codes: mapping of str to integers (n,) and (m,), codes of the columns. Returns train, test:
    ndarrays of float64, shapes (n, k) and (m, k), for each column: its code, in standard deviations from the mean of
    the train rows, where it is ordered (0 where the cell is not regular); else whether it is each of the 32 most common
    categories of the train rows (fewer where there are more than 8 columns: about 256 features in all); whether it is
    special, and whether it is missing. All are centred on the train rows, and features that are the same in all train
    rows are left out.

    >>> train, test = features({"a": np.array([0, 1])}, {"a": np.array([1, 2])}, [Field(name="a", type="boolean")])
    >>> train.tolist(), test.tolist()
    ([[-1.0], [1.0]], [[1.0], [0.0]])
    """
    listed = int(np.clip(FEATURES // len(columns), 2, LISTED))
    sides: tuple[list[Floats], list[Floats]] = ([], [])
    for column in columns:
        both = train_codes[column.name], test_codes[column.name]
        blocks = _ordered(*both, column.domain) if column.domain.ordered else _listed(*both, column.domain, listed)
        for side, block in zip(sides, blocks, strict=True):
            side.append(block)
    train, test = (np.concatenate(side, axis=1) for side in sides)
    is_used = train.min(axis=0, initial=np.inf) < train.max(axis=0, initial=-np.inf)
    return train[:, is_used], test[:, is_used]


def class_scores(kind: Kind, train: Floats, labels: Ints, test: Floats, seed: int) -> tuple[Ints, Floats] | None:
    """Return the classes that train rows have, and the score of each for each test row.

    train: float64 (n, k); labels: int64 (n,); test: float64 (m, k). Returns known: int64 (classes,); scores: float64
    (m, classes), probabilities, or the decision function where the kind has no probabilities. All alike where the train
    rows have fewer than two classes or no feature that varies. None where the kind cannot be trained on these rows: no
    more than there are classes, say.
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

    known: int64 (classes,), classes that have scores; scores: float64 (m, classes), the higher, the more likely; truth:
    int64 (m,), at least two classes. Returns 0 to 1. A class without scores has 0.5.

    >>> mean_area(np.array([0, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), np.array([0, 1, 1]))
    1.0
    """
    try:
        from sklearn.metrics import roc_auc_score  # noqa: PLC0415
    except ImportError:
        raise LapwingError(_MAKING, code="LW701") from None
    present = np.unique(truth)
    by_class = dict(zip(known.tolist(), scores.T, strict=True))
    if len(present) == 2 and set(present.tolist()) == set(by_class):
        present = present[1:]  # the other class has the same area
    areas = [roc_auc_score(truth == each, by_class[each]) if each in by_class else FLOOR for each in present.tolist()]
    return float(np.mean(areas))


def _ordered(train: npt.NDArray[np.integer], test: npt.NDArray[np.integer], domain: Domain) -> tuple[Floats, Floats]:
    """Return an ordered column of both tables: its code in standard deviations, is special, is missing."""
    regular = train[train < domain.values].astype(np.float64)
    mean = regular.mean() if len(regular) else 0.0
    spread = (regular.std() if len(regular) else 0.0) or 1.0
    blocks = [np.where(codes < domain.values, (codes - mean) / spread, 0.0)[:, None] for codes in (train, test)]
    train_gaps, test_gaps = _gaps(train, test, domain)
    return np.concatenate((blocks[0], train_gaps), axis=1), np.concatenate((blocks[1], test_gaps), axis=1)


def _listed(
    train: npt.NDArray[np.integer], test: npt.NDArray[np.integer], domain: Domain, most: int
) -> tuple[Floats, Floats]:
    """Return a column without order: is each common category, is special, is missing."""
    values, counts = np.unique(train[train < domain.values], return_counts=True)
    common = values[np.argsort(-counts, kind="stable")[:most]]
    blocks = _centred(train[:, None] == common, test[:, None] == common)
    train_gaps, test_gaps = _gaps(train, test, domain)
    return np.concatenate((blocks[0], train_gaps), axis=1), np.concatenate((blocks[1], test_gaps), axis=1)


def _gaps(train: npt.NDArray[np.integer], test: npt.NDArray[np.integer], domain: Domain) -> tuple[Floats, Floats]:
    """Return whether each cell is special, and whether it is missing."""
    gaps = [
        np.column_stack(((codes >= domain.values) & (codes != domain.last), codes == domain.last))
        for codes in (train, test)
    ]
    return _centred(gaps[0], gaps[1])


def _centred(train: npt.NDArray[np.bool_], test: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return claims as 1 and 0, less their mean over the train rows: above 0 exactly where they hold."""
    means = train.mean(axis=0) if len(train) else np.zeros(train.shape[1])
    return train - means, test - means
