"""`lapwing link`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli import options
from lapwing.cli.console import interruptible, is_quiet, repeated_line, shown_progress, speaker
from lapwing.cli.outputs import certificate_target, check_rows, write_rows
from lapwing.errors import DataError, LapwingError
from lapwing.rows.out.outputs import whole_files
from lapwing.rows.out.row_files import rows_format

if TYPE_CHECKING:
    from lapwing.verbs.linked_release import LinkedRelease


Parent = Annotated[
    Path, typer.Argument(metavar="PARENT", help="The private table of parents: Parquet or CSV.", show_default=False)
]
Child = Annotated[
    Path, typer.Argument(metavar="CHILD", help="The private table of children: Parquet or CSV.", show_default=False)
]
LinkedSchemaFile = Annotated[
    Path, typer.Option("--schema", metavar="L.json", help="Schemas of both tables, their key, and maxChildren.")
]
BothOut = Annotated[
    tuple[Path, Path],
    typer.Option(
        "-o",
        "--output",
        metavar="PARENTS CHILDREN",
        help="Where the rows go: two .parquet or .csv files, replaced if there.",
    ),
]


def link(
    context: typer.Context,
    parent: Parent,
    child: Child,
    schema: LinkedSchemaFile,
    output: BothOut,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    parent_share: Annotated[
        str, typer.Option("--parent-share", metavar="P", help="The parents' part of the budget, above 0 and below 1.")
    ] = "0.5",
    parent_mechanism: Annotated[
        str | None,
        typer.Option(
            "--parent-mechanism",
            metavar="M",
            help="Mechanism of the parent part.",
            autocompletion=options.mechanism_names,
        ),
    ] = None,
    child_mechanism: Annotated[
        str | None,
        typer.Option(
            "--child-mechanism",
            metavar="M",
            help="Mechanism of the child part.",
            autocompletion=options.mechanism_names,
        ),
    ] = None,
    parents: Annotated[
        int | None,
        typer.Option(
            "--parents",
            metavar="N",
            parser=options.whole,
            help="Parents to write, at least 1. Default: the noisy number.",
        ),
    ] = None,
    expected_parents: Annotated[
        int | None,
        typer.Option(
            "--expected-parents", metavar="N", parser=options.whole, help="Your public guess of how many there are."
        ),
    ] = None,
    expected_children: Annotated[
        int | None,
        typer.Option(
            "--expected-children", metavar="N", parser=options.whole, help="Your public guess of how many there are."
        ),
    ] = None,
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    transcript: Annotated[
        Path | None,
        typer.Option(
            "--transcript", metavar="T", help="Keeps every answer; the same command goes on from it, free of charge."
        ),
    ] = None,
    seed: options.Seed = None,
    model: options.ModelOut = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate", metavar="C.json", help="Where the certificate goes. Default: PARENTS.certificate.json."
        ),
    ] = None,
    no_certificate: options.NoCertificate = False,
    quiet: options.Quiet = False,
) -> None:
    """Turn two linked private tables into synthetic parents, each with its children."""
    options.check_budget(epsilon, rho, context)
    say = speaker(context, quiet)
    check_rows(parents)
    for rows in output:
        rows_format(rows)
    told = certificate_target(output[0], certificate, no_certificate=no_certificate)
    targets = [path for path in (model, *output, told) if path is not None]

    from lapwing.verbs.linked import synthesize_linked  # noqa: PLC0415

    def made() -> "LinkedRelease":
        return synthesize_linked(
            parent,
            child,
            schema,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            parent_share=parent_share,
            parent_mechanism=parent_mechanism,
            child_mechanism=child_mechanism,
            expected_parents=expected_parents,
            expected_children=expected_children,
            ledger=ledger,
            dataset=dataset,
            transcript=transcript,
            seed=seed,
        )

    release = None
    try:
        kept = [path for path in (parent, child, schema, ledger, transcript) if path is not None]
        with interruptible(lambda: release is not None, repeated_line), whole_files(targets, kept) as places:
            with shown_progress(quiet=is_quiet(context, quiet)):
                release = made()
            place = dict(zip(targets, places, strict=True))
            _write(release, output, place, model, told, parents)
    except LapwingError as error:
        if release is None:
            raise
        raise DataError(f"{error}; {_way_out(release, ledger, transcript)}", code=error.code) from None
    for line in release.certificate.text().splitlines():
        say(line)
    for what, path in (("parents", output[0]), ("children", output[1]), ("model", model), ("certificate", told)):
        if path is not None:
            say(f"{what}: {path}")


def _way_out(release: "LinkedRelease", ledger: Path | None, transcript: Path | None) -> str:
    """Say how to go on when the budget is spent and the files could not be written."""
    from lapwing.kernel.room.holds import transcripts_of  # noqa: PLC0415

    entry = release.certificate.ledger
    if transcript is None and ledger is not None and entry is not None:
        transcript = transcripts_of(ledger) / f"{entry.release_id}.jsonl"
    return repeated_line(transcript)


def _write(
    release: "LinkedRelease",
    output: tuple[Path, Path],
    place: dict[Path, Path],
    model: Path | None,
    certificate: Path | None,
    parents: int | None,
) -> None:
    """Write model, rows and certificate to the places that are kept for the targets."""
    if model is not None:
        release.save(place[model])
    drawn = list(release.frames(parents, seed=release.certificate.parent.seed))
    for path, frames in zip(output, zip(*drawn, strict=True), strict=True):
        write_rows(iter(frames), path, place[path])
    if certificate is not None:
        heights = [sum(frame.height for frame in frames) for frames in zip(*drawn, strict=True)]
        written = replace(release.certificate, written_rows=(heights[0], heights[1]))
        place[certificate].write_text(written.to_json(), encoding="utf-8", newline="\n")
