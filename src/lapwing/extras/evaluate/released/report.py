"""DOC."""

from lapwing.extras.evaluate.report.page import render
from lapwing.extras.evaluate.report.released import released_sections
from lapwing.extras.evaluate.report.released_columns import MOST_COLUMNS, released_columns, released_maps
from lapwing.extras.evaluate.report.released_pairs import released_pairs
from lapwing.extras.evaluate.words import say
from lapwing.mechanisms.registry import kind_named
from lapwing.model.accuracy import Accuracy
from lapwing.present.document import Page, Section
from lapwing.release.marked import Releasable
from lapwing.release.queries import Parts


def release_html(release: Parts, accuracy: Accuracy, *, name: str = "") -> str:
    """Return the releasable report of a release; see `Release.to_html`.

    name: of the data set, where neither certificate nor schema has one.
    """
    issued, ledger = release.certificate.issued, release.certificate.ledger
    known = (issued and issued.table) or release.schema.name or (ledger and ledger.dataset) or name
    title = say("page.title_of", table=known) if known else say("page.title")
    return render(Releasable(Page(title=title, sections=release_sections(release, accuracy))))


def release_sections(release: Parts, accuracy: Accuracy) -> tuple[Section, ...]:
    """Return the sections of that report, made from released numbers only."""
    schema, model, certificate, noisy = release.schema, release.model, release.certificate, release.noisy
    names = [field.name for field in schema.columns[:MOST_COLUMNS]]
    return released_sections(
        schema,
        model,
        certificate,
        noisy,
        accuracy,
        did=kind_named(certificate.mechanism).report,
        columns=released_columns(model, schema, noisy, names, certificate.public_rows),
        maps=released_maps(model, schema),
        pairs=released_pairs(model, schema),
    )
