"""Which accuracy is asked for: of a release, of one table of it, or of one count."""

from collections.abc import Sequence

from lapwing.api.accuracy import release_accuracy
from lapwing.api.accuracy_conditions import Condition
from lapwing.api.accuracy_queries import count_accuracy, table_accuracy
from lapwing.api.queries import Groups, checked_failure
from lapwing.budget.budget import Number
from lapwing.errors import ParameterError
from lapwing.evaluate.accuracy import Accuracy, CountAccuracy, TableAccuracy
from lapwing.release.certificate import Certificate
from lapwing.release.model import ReleasedModel
from lapwing.release.questions import Answer
from lapwing.schema.schemas import Schema


def chosen_accuracy(
    model: ReleasedModel,
    schema: Schema,
    certificate: Certificate,
    noisy: tuple[Answer, ...],
    *,
    columns: str | Sequence[str] | None,
    confidence: Number,
    where: Condition | None,
    groups: Groups | None,
) -> Accuracy | TableAccuracy | CountAccuracy:
    """Return what `Release.accuracy` was asked for."""
    failure = checked_failure(confidence)
    if (columns is not None and where is not None) or (groups is not None and columns is None):
        raise ParameterError(
            "accuracy is told of a table (columns, perhaps with groups) or of a condition (where); ask for each "
            "by itself",
            code="LW316",
        )
    public, of = certificate.public_rows, (model, schema, noisy)
    if where is not None:
        return count_accuracy(*of, where, failure=failure, public_rows=public)
    if columns is not None:
        return table_accuracy(*of, columns, groups=groups, failure=failure, public_rows=public)
    return release_accuracy(model, schema, certificate, noisy, failure)
