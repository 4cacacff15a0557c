"""`lapwing resume`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli.console import is_quiet, note, speaker
from lapwing.cli.options import (
    CertificateOut,
    CroissantOut,
    Data,
    MemoryLimit,
    ModelOut,
    NoCertificate,
    Quiet,
    Rows,
    RowsPlace,
    Seed,
)
from lapwing.cli.outputs import check_rows, produce, read_targets, resume_line, summarize

if TYPE_CHECKING:
    from lapwing.runs.records import Records
    from lapwing.runs.settings import Settings


def resume(
    context: typer.Context,
    transcript: Annotated[
        Path, typer.Argument(metavar="T", help="The transcript that `lapwing synthesize` wrote.", show_default=False)
    ],
    data: Data,
    output: RowsPlace,
    rows: Rows = None,
    model: ModelOut = None,
    certificate: CertificateOut = None,
    no_certificate: NoCertificate = False,
    croissant: CroissantOut = None,
    seed: Seed = None,
    memory: MemoryLimit = None,
    quiet: Quiet = False,
) -> None:
    """Finish an interrupted release without paying twice."""
    check_rows(rows)
    targets = read_targets(output, model, certificate, no_certificate=no_certificate, croissant=croissant)

    from lapwing.runs.resumable import resumed_line  # noqa: PLC0415
    from lapwing.verbs.synthesize import resumed  # noqa: PLC0415

    def tell(settings: "Settings", records: "Records", answers: int) -> None:
        if not is_quiet(context, quiet):  # asking the ledger needs time
            note(resumed_line(settings, records, answers))

    release = produce(
        lambda: resumed(transcript, data, tell, memory=memory),
        targets,
        [data, transcript],
        rows=rows,
        seed=seed,
        way_out=lambda _: resume_line(transcript, data, targets, rows=rows, seed=seed, memory=memory),
        quiet=is_quiet(context, quiet),
    )
    summarize(release, targets, speaker(context, quiet))
