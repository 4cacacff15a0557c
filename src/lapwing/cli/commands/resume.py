"""`lapwing resume`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from lapwing.cli import options
from lapwing.cli.console import is_quiet, note, speaker
from lapwing.cli.linking import Into, is_text, linked_targets, private_tables, produce_linked, say_linked
from lapwing.cli.options import argument
from lapwing.cli.outputs import produce_release, resuming, summarize
from lapwing.cli.tables import Database, Sqls, file_of, given_table
from lapwing.release.files import read_targets
from lapwing.release.linked.targets import LinkedTargets, events_targets

if TYPE_CHECKING:
    from lapwing.cli.tables import Table
    from lapwing.release.linked.release import LinkedRelease
    from lapwing.release.runs.records import Records
    from lapwing.schema.linked.database import LinkedSchema


def resume(
    context: typer.Context,
    transcript: Annotated[Path, argument("T", "The transcript that `lapwing synthesize` or `lapwing link` wrote.")],
    data: Annotated[
        list[str] | None,
        argument("DATA", "The private table; of linked tables all, as `lapwing link` takes them.", is_optional=True),
    ],
    output: options.RowsPlaces = [],  # noqa: B006 - typer reads the default and passes a new list
    into: Into = None,
    sql: Sqls = [],  # noqa: B006 - likewise
    db: Database = None,
    schema: options.MendedSchema = None,
    rows: options.Rows = None,
    model: options.ModelOut = None,
    certificate: options.CertificateOut = None,
    no_certificate: options.NoCertificate = False,
    croissant: options.CroissantOut = None,
    prepared_by: options.PreparedBy = None,
    approved_by: options.ApprovedBy = None,
    seed: options.Seed = None,
    memory: options.MemoryLimit = None,
    details: options.Details = False,
    quiet: options.Quiet = False,
) -> None:
    """Finish an interrupted release without paying twice."""
    silent, say = is_quiet(context, quiet), speaker(context, quiet)
    files: dict[str, Any] = {
        "model": model,
        "certificate": certificate,
        "no_certificate": no_certificate,
        "croissant": croissant,
        "people": (prepared_by, approved_by),
    }

    from lapwing.api.running import linked_of  # noqa: PLC0415
    from lapwing.api.synthesize import resumed  # noqa: PLC0415
    from lapwing.release.runs.records import resumed_line  # noqa: PLC0415

    booked: list[str | None] = []

    def tell(settings: Any, records: "Records", answers: int) -> None:  # noqa: ANN401 - of one table or of several
        booked.append(records.ledger)
        if not silent:  # asking the ledger needs time
            note(resumed_line(settings, records, answers))

    linked = linked_of(transcript)
    if linked is not None:
        private = private_tables(data or [], sql, db, linked, context)
        several = _targets(linked, output, (into, is_text(private)), files, context)
        found = produce_linked(
            lambda: cast("LinkedRelease", resumed(transcript, dict(private), tell, schema=schema, memory=memory)),
            several,
            [*map(file_of, private.values()), transcript],
            rows=rows,
            seed=seed,
            finish=resuming(list(private.values()), several, rows=rows, seed=seed),
            quiet=silent,
        )
        say_linked(found, several, say, details=details)
        return
    table = _one_table(data or [], sql, db, context)
    targets = read_targets(options.one_place(output, into, context), **files)
    release = produce_release(
        lambda: resumed(transcript, table, tell, schema=schema, memory=memory),
        targets,
        [file_of(table), transcript, schema],
        rows=rows,
        seed=seed,
        finish=resuming([table], targets, schema, rows=rows, seed=seed, memory=memory),
        quiet=silent,
    )
    summarize(release, targets, say, details=details, ledger=booked[0])


def _targets(
    linked: "LinkedSchema",
    output: Sequence[str],
    into: tuple[str | None, bool],
    files: Mapping[str, Any],
    context: typer.Context,
) -> LinkedTargets:
    """Return the files of linked tables, or of events."""
    if linked.is_events:
        return events_targets(linked, read_targets(options.one_place(output, into[0], context), **files))
    signed = (who or "" for who in files["people"])
    return linked_targets(
        linked,
        output,
        into,
        (files["certificate"], files["no_certificate"]),
        model=files["model"],
        croissant=files["croissant"],
        **dict(zip(("prepared_by", "approved_by"), signed, strict=True)),
    )


def _one_table(data: Sequence[str], sql: Sequence[str], db: str | None, context: typer.Context) -> "Table":
    """Return the private table of a release of one."""
    if len(data) > 1 or len(sql) > 1:
        raise options.misuse("the transcript is of one table; give one DATA, or one --sql", context, code="LW903")
    return given_table(next(iter(data), None), next(iter(sql), None), db, context)
