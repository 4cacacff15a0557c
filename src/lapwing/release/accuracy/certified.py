"""The certified error of every statistic of a release whose mechanism certifies them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lapwing.errors import ParameterError
from lapwing.kernel.questions.questions import Answer
from lapwing.mechanisms.registry import REGISTRATIONS, registration_named
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.model import ReleasedModel
from lapwing.schema.schemas import Schema

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

    means = registration_named(certificate.mechanism).certified_means
    if means is None:
        known = " and ".join(each.name for each in REGISTRATIONS.values() if each.certified_means is not None)
        raise ParameterError(
            f"certified errors are known for releases of {known}, this one is of "
            f"{certificate.mechanism}; see the intervals of release.query",
            code="LW362",
        )
    is_number = isinstance(confidence, float | int) and not isinstance(confidence, bool)
    if not is_number or not 0.5 <= confidence <= 0.9999:
        raise ParameterError(
            f"confidence must lie from 0.5 to 0.9999, got {confidence!r}; 0.95 suits most uses", code="LW301"
        )
    found = means(schema, certificate, answers, model, confidence)
    numbers = pl.col("released", "largest_error").fill_nan(None)
    return pl.DataFrame(found, schema_overrides={"statistic": pl.String}).with_columns(numbers)
