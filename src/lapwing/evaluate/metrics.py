"""What a metric is, and how one table's figure stands among those of the tables it is read against."""

from collections.abc import Mapping
from dataclasses import dataclass

from lapwing.evaluate.estimates import Estimate

SYNTHETIC = "synthetic"
BOOTSTRAP = "bootstrap"
INDEPENDENT = "independent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """Say what a figure measures.

    Parameters
    ----------
    key : str
        Its name in files: lower case, with underscores.
    title : str
        Its name in tables, at most 40 characters.
    unit : str
        Such as ``"share of rows"``.
    meaning : str
        One sentence for a reader who has never met it, with the figure's range.
    best : float
        The value for equal tables.
    reference : str
        Where it was defined.
    """

    key: str
    title: str
    unit: str
    meaning: str
    best: float
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Hold a metric of several tables, each against the real one.

    Parameters
    ----------
    metric : Metric
        What is measured.
    values : mapping of str to Estimate
        By the name of the table: ``synthetic``, ``bootstrap`` (the sampling floor) and ``independent`` (columns
        shuffled by themselves, the lazy baseline). An estimate has standard error 0 where it is exact.
    rows : int or None
        Rows of each table that were used, where not all were.
    columns : int
        Columns that took part.
    """

    metric: Metric
    values: Mapping[str, Estimate]
    rows: int | None
    columns: int
