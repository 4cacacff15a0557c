"""The releasable report of a release, as one HTML file."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lapwing.api.released_columns import released_columns, released_maps
from lapwing.evaluate.accuracy import Accuracy
from lapwing.evaluate.kinds import Releasable
from lapwing.release.certificate import Certificate
from lapwing.release.questions import Answer
from lapwing.report.page import render
from lapwing.report.released import released_sections
from lapwing.report.released_columns import MOST_COLUMNS
from lapwing.report.sections import Page, Section
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    from lapwing.release.model import ReleasedModel


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
        columns=released_columns(model, schema, noisy, names, certificate.public_rows),
        maps=released_maps(model, schema),
    )
