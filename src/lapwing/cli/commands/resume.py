"""`lapwing resume`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lapwing.cli import options
from lapwing.cli.console import is_quiet, note, speaker
from lapwing.cli.options import argument
from lapwing.cli.outputs import produce_release, read_places, resuming, summarize
from lapwing.cli.tables import Database, Sqls, Tables, private_tables

if TYPE_CHECKING:
    from lapwing.release.runs.records import Records


def resume(
    context: typer.Context,
    transcript: Annotated[Path, argument("T", "The transcript that `lapwing synthesize` wrote.")],
    data: Tables,
    output: options.RowsPlaces = [],  # noqa: B006 - typer reads the default and passes a new list
    into: options.Into = None,
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
    from lapwing.api.running import linked_of  # noqa: PLC0415
    from lapwing.api.synthesize import resume_run  # noqa: PLC0415
    from lapwing.release.runs.records import resumed_line  # noqa: PLC0415

    booked: list[str | None] = []

    def tell(settings: Any, records: "Records", answers: int) -> None:  # noqa: ANN401 - of one table or of several
        booked.append(records.ledger)
        if not silent:  # asking the ledger needs time
            note(resumed_line(settings, records, answers))

    linked = linked_of(transcript)
    tables = private_tables(data or [], sql, db, linked, context)
    targets = read_places(
        linked,
        output,
        into,
        tables,
        context,
        model=model,
        certificate=certificate,
        no_certificate=no_certificate,
        croissant=croissant,
        people=(prepared_by, approved_by),
    )
    private = list(tables.values())
    given: Any = private[0] if linked is None else tables
    release = produce_release(
        lambda: resume_run(transcript, given, tell, schema=schema, memory=memory),
        targets,
        [*(each.file for each in private), transcript, schema],
        rows=rows,
        seed=seed,
        finish=resuming(private, targets, schema, rows=rows, seed=seed, memory=memory),
        quiet=silent,
    )
    summarize(release, targets, say, details=details, ledger=booked[0])
