"""The accuracy of a release, from released numbers, its certificate and the law of its noise alone."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lapwing.api.accuracy_statements import certificate_statements
from lapwing.budget.budget import Number
from lapwing.budget.exact import exact_number
from lapwing.errors import ParameterError
from lapwing.evaluate.accuracy import Accuracy
from lapwing.mechanisms.linear_statistics import LinearStatistics
from lapwing.release.certificate import Certificate
from lapwing.release.questions import Answer
from lapwing.sample.conditions import effective_atoms
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    from lapwing.release.model import ReleasedModel


def release_accuracy(
    model: "ReleasedModel", schema: Schema, certificate: Certificate, noisy: Sequence[Answer], confidence: Number
) -> Accuracy:
    """Return what may be said about the accuracy of a release; see `Release.accuracy`."""
    failure = 1 - exact_number("confidence", confidence)
    if not 0 < failure < 1:
        raise ParameterError(f"confidence must be above 0 and below 1, got {confidence}; 0.95 is usual")
    del schema, noisy
    return Accuracy(
        statements=certificate_statements(certificate),
        marginals=(),
        effective_rows=effective_atoms(model.weights),
        kappa=largest_density(model, certificate),
    )


def largest_density(model: "ReleasedModel", certificate: Certificate) -> float | None:
    """Return the largest density of the released law against the points that it was fitted on, or None without any."""
    if certificate.mechanism != LinearStatistics.name:
        return None
    points = certificate.settings["points"]
    assert isinstance(points, int)
    return max(1.0, float(points * model.weights.max() / model.weights.sum()))
