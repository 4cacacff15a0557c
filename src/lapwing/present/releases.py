"""What a release says: its certificate, its columns, and what its promise takes as given."""

from dataclasses import replace

from lapwing.present.certificates import assumed_points, cost_section, describe_certificate, not_for_section
from lapwing.present.document import Document, Section, Text
from lapwing.present.messages import say
from lapwing.present.plans import changed_settings
from lapwing.present.schemas import fields_sections, fields_table
from lapwing.present.stated import label_facts
from lapwing.release.release import Release


def describe_release(release: Release) -> Document:
    """Return what a release says."""
    found = describe_certificate(release.certificate)
    if release.linked is not None:
        kept, *whole = found.sections
        return replace(found, kind="Release", sections=(kept, *fields_sections(release.schema), *whole))
    schema, paid = release.schema, release.certificate
    names = ", ".join(field.name for field in schema.columns)
    more = label_facts(
        columns=f"{len(schema.columns):,}: {names}", settings=changed_settings(paid.mechanism, paid.settings)
    )
    return replace(
        found,
        facts=(*found.facts, *more),
        kind="Release",
        name=schema.name,
        short=(*found.short, "settings", "columns"),
        sections=(
            *not_for_section(paid.verdict),
            cost_section(paid),
            Section("assumed", say("release.assumed"), (Text("", tuple(assumed_points(schema, paid))),)),
            Section("fields", f"Columns ({len(schema.columns):,})", (fields_table(schema),)),
        ),
        hint=say("release.hint"),
    )
