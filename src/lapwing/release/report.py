"""The releasable report of a release, as one HTML file."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lapwing.judge.metrics import Releasable
from lapwing.judge.report.page import Page, Section, render
from lapwing.judge.report.released.columns import MOST_COLUMNS
from lapwing.judge.report.released.made import released_columns, released_maps
from lapwing.judge.report.released.report import released_sections
from lapwing.kernel.questions.questions import Answer
from lapwing.mechanisms.registry import registration_named
from lapwing.model.accuracy import Accuracy
from lapwing.model.certificate.certificate import Certificate
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    from lapwing.model.model import ReleasedModel


def release_html(
    schema: Schema,
    model: "ReleasedModel",
    certificate: Certificate,
    noisy: Sequence[Answer],
    accuracy: Accuracy,
) -> str:
    """Return the releasable report of a release; see `Release.to_html`."""
    title = f"Synthetic data: {schema.name}" if schema.name else "Synthetic data"
    return render(Releasable(Page(title=title, sections=release_sections(schema, model, certificate, noisy, accuracy))))


def release_sections(
    schema: Schema,
    model: "ReleasedModel",
    certificate: Certificate,
    noisy: Sequence[Answer],
    accuracy: Accuracy,
) -> tuple[Section, ...]:
    """Return the sections of that report, made from released numbers only."""
    names = [field.name for field in schema.columns[:MOST_COLUMNS]]
    return released_sections(
        schema,
        model,
        certificate,
        noisy,
        accuracy,
        did=registration_named(certificate.mechanism).report,
        columns=released_columns(model, schema, noisy, names, certificate.public_rows),
        maps=released_maps(model, schema),
    )
