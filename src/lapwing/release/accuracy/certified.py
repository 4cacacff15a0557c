"""The certified error of every statistic of a release of `LinearStatistics`."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing.errors import ParameterError
from lapwing.kernel.questions.questions import Answer
from lapwing.mechanisms.linear_statistics.certified import certified_errors, noisy_rows
from lapwing.mechanisms.linear_statistics.mechanism import LinearStatistics
from lapwing.mechanisms.linear_statistics.points import points_of
from lapwing.mechanisms.linear_statistics.workload import answered_workload, noisy_shares, workload_answers
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.model import ReleasedModel
from lapwing.schema.schemas import Schema
from lapwing.schema.values import labels

if TYPE_CHECKING:
    import polars as pl


def certified_table(
    schema: Schema, certificate: Certificate, answers: Sequence[Answer], model: ReleasedModel, confidence: float
) -> "pl.DataFrame":
    """Return the noisy and the released mean of every statistic, and a bound on the error of the latter.

    Returns one line per statistic: ``statistic``, ``noisy``, ``released``, ``largest_error``; shares of the rows, or
    means. Null where a row function is not at hand, as in a release that was read from a file.
    """
    import polars as pl  # noqa: PLC0415

    if certificate.mechanism != LinearStatistics.name:
        raise ParameterError(
            f"certified errors are known for releases of {LinearStatistics.name}, this one is of "
            f"{certificate.mechanism}; see the intervals of release.query",
            code="LW362",
        )
    is_number = isinstance(confidence, float | int) and not isinstance(confidence, bool)
    if not is_number or not 0.5 <= confidence <= 0.9999:
        raise ParameterError(
            f"confidence must lie from 0.5 to 0.9999, got {confidence!r}; 0.95 suits most uses", code="LW301"
        )
    settings: Any = certificate.settings
    workload = answered_workload(schema, settings["degree"], settings["bins"], answers)
    asked = workload_answers(answers, workload, certificate.public_rows)
    rows = noisy_rows(asked, certificate.public_rows)
    released = workload.means(points_of(model), model.weights, schema)
    bounds = certified_errors(asked, rows, released, 1 - Fraction(str(confidence)))
    texts = [
        ", ".join(f"{name}={label}" for name, label in zip(columns, cell, strict=True))
        for columns in workload.tables
        for cell in itertools.product(*(labels(workload.groupings[name], schema.field(name)) for name in columns))
    ]
    return pl.DataFrame(
        {
            "statistic": pl.Series([*texts, *(each.text for each in workload.statistics)], dtype=pl.String),
            "noisy": noisy_shares(asked, max(1.0, rows.value)),
            "released": released,
            "largest_error": bounds,
        }
    ).with_columns(pl.col("released", "largest_error").fill_nan(None))
