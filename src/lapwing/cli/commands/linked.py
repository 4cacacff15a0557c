"""`lapwing link`."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli import options
from lapwing.cli.console import is_quiet, repeated_line, speaker
from lapwing.cli.looking import recommendation, said_in_time
from lapwing.cli.options import (
    argument,
    number,
    option,
)
from lapwing.cli.outputs import check_rows, produce
from lapwing.cli.tables import Database, Sqls, file_of, optional_tables
from lapwing.release.files import certificate_target, write_rows
from lapwing.rows.out.outputs import rows_format

if TYPE_CHECKING:
    from lapwing.verbs.linked_release import LinkedRelease


_TWO = 2
_WAY_OUT = "give PARENT and CHILD, or --sql twice and --db"

Parent = Annotated[str | None, argument("PARENT", "The private table of parents, as DATA.", is_optional=True)]
Child = Annotated[str | None, argument("CHILD", "The private table of children, likewise.", is_optional=True)]
LinkedSchemaFile = Annotated[Path, option("--schema", "L.json", "Schemas of both tables, their key, and maxChildren.")]
BothOut = Annotated[
    tuple[Path, Path],
    option("-o --output", "PARENTS CHILDREN", "Where the rows go: two .parquet or .csv files, replaced if there."),
]


def link(
    context: typer.Context,
    parent: Parent,
    child: Child,
    schema: LinkedSchemaFile,
    output: BothOut,
    sql: Sqls = [],  # noqa: B006 - typer reads the default and passes a new list
    db: Database = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    parent_share: Annotated[
        str, option("--parent-share", "P", "The parents' part of the budget, above 0 and below 1.")
    ] = "0.5",
    parent_mechanism: Annotated[
        str | None,
        option("--parent-mechanism", "M", "Mechanism of the parent part.", autocompletion=options.mechanism_names),
    ] = None,
    child_mechanism: Annotated[
        str | None,
        option("--child-mechanism", "M", "Mechanism of the child part.", autocompletion=options.mechanism_names),
    ] = None,
    parents: Annotated[
        int | None, number("--parents", "N", "Parents to write, at least 1. Default: the noisy number.")
    ] = None,
    expected_parents: Annotated[
        int | None, number("--expected-parents", "N", "Your public guess of how many there are.")
    ] = None,
    expected_children: Annotated[
        int | None, number("--expected-children", "N", "Your public guess of how many there are.")
    ] = None,
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    transcript: Annotated[
        Path | None,
        option("--transcript", "T", "Keeps every answer; the same command goes on from it, free of charge."),
    ] = None,
    seed: options.Seed = None,
    model: options.ModelOut = None,
    certificate: Annotated[
        Path | None, option("--certificate", "C.json", "Where the certificate goes. Default: PARENTS.certificate.json.")
    ] = None,
    no_certificate: options.NoCertificate = False,
    prepared_by: options.PreparedBy = None,
    approved_by: options.ApprovedBy = None,
    check: options.Check = False,
    misfits: options.Misfits = "0.1",
    quiet: options.Quiet = False,
) -> None:
    """Turn two linked private tables into synthetic parents, each with its children."""
    options.check_budget(epsilon, rho, context)
    tables = optional_tables((parent, child), sql, db, context)
    if len(tables) != _TWO:
        raise options.misuse(f"link takes two tables, got {len(tables)}; {_WAY_OUT}", context, code="LW903")
    first, second = tables
    say = speaker(context, quiet)
    check_rows(parents)
    for rows in output:
        rows_format(rows)
    told = certificate_target(output[0], certificate, no_certificate=no_certificate)
    targets = [path for path in (model, *output, told) if path is not None]

    from lapwing.runs.policy import named  # noqa: PLC0415
    from lapwing.schema.linked import LinkedSchema  # noqa: PLC0415
    from lapwing.verbs.linked import synthesize_linked  # noqa: PLC0415

    def made() -> "LinkedRelease":
        linked = LinkedSchema.load(schema)
        hint = recommendation(tables, linked, schema, check=check, misfits=misfits)
        with said_in_time(hint, say), named(preparedBy=prepared_by, approvedBy=approved_by):
            return of_linked(linked)

    def of_linked(linked: LinkedSchema) -> "LinkedRelease":
        return synthesize_linked(
            first,
            second,
            linked,
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

    release = produce(
        made,
        lambda release, place: _write(release, output, place, model, told, parents, (prepared_by, approved_by)),
        targets,
        [*map(file_of, tables), schema, ledger, transcript],
        way_out=repeated_line,
        quiet=is_quiet(context, quiet),
    )
    for line in release.certificate.text().splitlines():
        say(line)
    for what, path in (("parents", output[0]), ("children", output[1]), ("model", model), ("certificate", told)):
        if path is not None:
            say(f"{what}: {path}")


def _write(
    release: "LinkedRelease",
    output: tuple[Path, Path],
    place: Mapping[Path, Path],
    model: Path | None,
    certificate: Path | None,
    parents: int | None,
    people: tuple[str | None, str | None],
) -> None:
    """Write model, rows and certificate to the places that are kept for the targets."""
    from lapwing.model.certificate.issued import Beside, Issued  # noqa: PLC0415

    if model is not None:
        release.save(place[model])
    drawn = list(release.frames(parents, seed=release.certificate.parent.seed))
    for path, frames in zip(output, zip(*drawn, strict=True), strict=True):
        write_rows(iter(frames), path, place[path])
    if certificate is not None:
        heights = [sum(frame.height for frame in frames) for frames in zip(*drawn, strict=True)]
        files = [Beside.read(Path(path.name), place[path], rows) for path, rows in zip(output, heights, strict=True)]
        files += [] if model is None else [Beside.read(Path(model.name), place[model])]
        ledger = release.certificate.ledger
        issued = Issued.now(
            files,
            table="" if ledger is None else ledger.dataset,
            schema=release.schema.fingerprint,
            prepared_by=people[0] or "",
            approved_by=people[1] or "",
        )
        written = replace(release.certificate, written_rows=(heights[0], heights[1]), issued=issued)
        place[certificate].write_text(written.to_json(), encoding="utf-8", newline="\n")
