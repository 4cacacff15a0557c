"""Train on one coded table, test on another: the area under the ROC curve (AUC) of gradient-boosted trees.

It says how much of what the other columns tell about a target a synthetic table has kept. What is computed from private
rows is private: nothing here adds noise.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lapwing.errors import LapwingError, ParameterError
from lapwing.evaluate.checks import Floats
from lapwing.schema.domains import Domain
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

Codes = Mapping[str, npt.NDArray[np.integer]]

FLOOR: Final = 0.5
"""AUC of scores that know nothing, such as the majority class for every row."""

MAX_CLASSES: Final = 64
"""Most values of a target."""

MAX_ROWS: Final = 2**19
"""Most rows of a table that are used."""

_MOST_LISTED: Final = 255  # categories that the trees split in any two sets; more are split in the order of codes


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifierScore:
    """Hold how well one kind of classifier predicts a column of the same test rows.

    Parameters
    ----------
    name : str
        Of the kind, for people.
    auc : float or None
        Of the classifier trained on synthetic rows, 0 to 1; None where it could not be trained.
    ceiling : float or None
        Of the same classifier trained on real rows.
    rows : int
        Most rows that either was trained on.
    note : str, default ""
        Why there is no figure, in public words.
    """

    name: str
    auc: float | None
    ceiling: float | None
    rows: int
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Downstream:
    """Hold how well classifiers predict one column of the same test rows.

    Parameters
    ----------
    target : str
        The column.
    auc : float
        Of the classifier trained on synthetic rows, 0 to 1.
    ceiling : float
        Of the same classifier trained on real rows.
    floor : float, default 0.5
        Of the majority class.
    scores : tuple of ClassifierScore, default ()
        The same of other kinds of classifier, on fewer rows.
    """

    target: str
    auc: float
    ceiling: float
    floor: float = FLOOR
    scores: tuple[ClassifierScore, ...] = ()


def trained_auc(train_codes: Codes, test_codes: Codes, schema: Schema, target: str, rng: np.random.Generator) -> float:
    """Return the test AUC of a classifier of one column by the others.

    Parameters
    ----------
    train_codes, test_codes : mapping of str to ndarray of integers, shape (n,) and (m,)
        Codes of every modelled column. Rows whose target is missing (or a misfit) are left out.
    schema : Schema
        Gives the columns, at least two.
    target : str
        A modelled column with 2 to 64 values, special values included.
    rng : Generator
        Chooses the rows where there are more than 2**19, and seeds the classifier.

    Returns
    -------
    float
        0 to 1: of a row drawn from the class and one drawn from the rest, the probability that the classifier scores
        the first higher (ties count half); the mean over the classes that test rows have. For two classes that is the
        usual AUC. A class that no train row has is scored equally for all rows: 0.5.

    Raises
    ------
    ParameterError
        If the target cannot be predicted, or the test rows have fewer than two classes.
    LapwingError
        If scikit-learn is not installed: it comes with the extra ``report``.

    Notes
    -----
    scikit-learn's ``HistGradientBoostingClassifier``, 100 iterations without early stopping, else its defaults. Columns
    enter as codes, so that an ordered column is split at thresholds; an unordered one with at most 255 categories is
    split in sets of categories. Missing (or misfit) is a missing value to the classifier.

    Examples
    --------
    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]})
    >>> rows = {"a": np.arange(100) % 2, "b": np.arange(100) % 2}
    >>> trained_auc(rows, rows, schema, "b", np.random.default_rng(0))
    1.0
    """
    check_target(schema, target)
    train, labels = _examples(train_codes, schema, target, rng)
    test, truth = _examples(test_codes, schema, target, rng)
    present = np.unique(truth)
    if len(present) < 2:
        raise ParameterError(
            f"the test rows have fewer than two values of the target {quote(target)}; its AUC is not defined"
        )
    known, scores = _scores(train, labels, test, _is_listed(schema, target), int(rng.integers(2**31)))
    by_class = dict(zip(known.tolist(), scores.T, strict=True))
    if len(present) == 2 and set(present.tolist()) == set(by_class):
        present = present[1:]  # the other class has the same area
    return float(np.mean([_area(truth == label, by_class.get(label)) for label in present.tolist()]))


def check_target(schema: Schema, target: str) -> None:
    """Refuse a column that cannot be a target.

    Parameters
    ----------
    schema : Schema
        Gives the columns.
    target : str
        The column.

    Raises
    ------
    ParameterError
        If it is no modelled column, the only one, or has fewer than 2 or more than 64 values.

    Examples
    --------
    >>> schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]})
    >>> check_target(schema, "c")
    Traceback (most recent call last):
    lapwing.errors.ParameterError: the target "c" is no modelled column of the schema; choose one of "a", "b"
    """
    columns = {column.name: column.domain for column in schema.columns}
    if target not in columns:
        listed = ", ".join(quote(name) for name in list(columns)[:10])
        raise ParameterError(f"the target {quote(target)} is no modelled column of the schema; choose one of {listed}")
    values = _classes(columns[target])
    if not 2 <= values <= MAX_CLASSES or len(columns) < 2:
        raise ParameterError(
            f"a target needs 2 to {MAX_CLASSES} values and a second column, {quote(target)} has {values} values; "
            "choose another target"
        )


def _classes(domain: Domain) -> int:
    """Return the number of values that a target can have: all codes but the last."""
    return domain.size - 1


def _examples(
    codes: Codes, schema: Schema, target: str, rng: np.random.Generator
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the features and the classes of the rows that have a class."""
    rows = np.flatnonzero(codes[target] < _classes(schema.field(target).domain))
    if len(rows) > MAX_ROWS:
        rows = rng.choice(rows, MAX_ROWS, replace=False)
    others = [column for column in schema.columns if column.name != target]
    features = np.empty((len(rows), len(others)))
    for position, column in enumerate(others):
        chosen = codes[column.name][rows]
        features[:, position] = np.where(chosen == column.domain.last, np.nan, chosen)
    return features, codes[target][rows].astype(np.int64)


def _is_listed(schema: Schema, target: str) -> list[bool]:
    """Return, for each feature, whether the trees treat it as a list of categories without order."""
    domains = [column.domain for column in schema.columns if column.name != target]
    return [not domain.ordered and domain.values <= _MOST_LISTED for domain in domains]


def _scores(
    train: Floats, labels: npt.NDArray[np.int64], test: Floats, is_listed: list[bool], seed: int
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return the classes that the train rows have, and the probability of each for each test row."""
    known = np.unique(labels)
    if len(known) < 2:
        return known, np.ones((len(test), len(known)))
    make, _, limited = _learners()
    classifier = make(early_stopping=False, categorical_features=is_listed, random_state=seed)
    # Threads that wait for each other on a busy machine made one fit take forty times as long.
    with limited(limits=1, user_api="openmp"):
        classifier.fit(train, labels)
        return known, np.asarray(classifier.predict_proba(test))


def _area(is_class: npt.NDArray[np.bool_], scores: Floats | None) -> float:
    """Return the area under the ROC curve of the scores of one class."""
    _, area, _ = _learners()
    return FLOOR if scores is None else float(area(is_class, scores))


def _learners() -> tuple[Any, Any, Any]:
    """Return scikit-learn's classifier and area under a curve, and what limits the threads of both."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415
        from sklearn.metrics import roc_auc_score  # noqa: PLC0415
        from threadpoolctl import threadpool_limits  # noqa: PLC0415 - scikit-learn needs it
    except ImportError:
        raise LapwingError(
            'the AUC of a target needs scikit-learn; install it with: pip install "lapwing[report]"'
        ) from None
    return HistGradientBoostingClassifier, roc_auc_score, threadpool_limits
