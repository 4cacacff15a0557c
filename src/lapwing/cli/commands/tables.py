"""`lapwing tables`."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from lapwing.cli import options
from lapwing.cli.console import is_quiet, repeating, speaker
from lapwing.cli.options import number, option
from lapwing.cli.outputs import produce, resuming, summarize
from lapwing.cli.tables import Tables as Data
from lapwing.cli.tables import private_tables
from lapwing.release.files import write_files
from lapwing.release.targets import read_targets

if TYPE_CHECKING:
    from lapwing.kernel.terms import Relation
    from lapwing.release.release import Release

_NAME_LENGTH = 60


def tables(
    context: typer.Context,
    data: Data,
    schema: options.SchemaFile,
    named: Annotated[Path, option("--tables", "T.json", "A list of tables: columns, or columns, groups and weight.")],
    output: Annotated[Path, option("-o --output", "DIR", "A new folder: one CSV a table, rows, model, certificate.")],
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    limit: Annotated[int | None, number("--limit", "N", "Mark released counts below this.")] = None,
    least: Annotated[str, option("--least", "WHAT", "Error that is made least: total or largest.")] = "total",
    neighbours: options.Neighbours = "add-remove",
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    transcript: options.TranscriptFile = None,
    seed: options.Seed = None,
    quiet: options.Quiet = False,
) -> None:
    """Publish exactly these tables of a private one, with intervals, and rows that meet them."""
    options.check_budget(epsilon, rho, context)
    (table,) = private_tables(data or [], [], None, None, context).values()

    from lapwing.api.synthesize import synthesize  # noqa: PLC0415
    from lapwing.mechanisms.registry import make_mechanism  # noqa: PLC0415
    from lapwing.release.fixed_tables import check_limit  # noqa: PLC0415
    from lapwing.release.runs.settings import usable_schema  # noqa: PLC0415
    from lapwing.schema.typed import read_json  # noqa: PLC0415

    check_limit(limit)
    mechanism = make_mechanism("tables", {"tables": read_json(named), "least": least})
    known = usable_schema(schema)
    inside = read_targets(
        str(output / "rows.csv"), output / "model.lapwing", output / "certificate.json", no_certificate=False
    )
    # Under a mended schema a run is finished to files beside the folder, as `resume` writes no tables.
    beside = replace(
        inside,
        rows={"": output.with_name(f"{output.name}.rows.csv")},
        model=output.with_name(f"{output.name}.lapwing"),
        certificate=output.with_name(f"{output.name}.certificate.json"),
    )

    def write(release: "Release", place: Mapping[Path, Path]) -> None:
        from lapwing.kernel.questions.marginal_counts.question import NoisyCounts  # noqa: PLC0415
        from lapwing.release.fixed_tables import tables as frames_of  # noqa: PLC0415

        folder = place[output]
        write_files(
            release,
            inside,
            {each: folder / each.name for each in inside.in_order},
            rows=None,
            seed=None,
            quiet=is_quiet(context, quiet),
        )
        joint = [each.question.columns for each in release.noisy if isinstance(each, NoisyCounts)]
        for place_in_list, (columns, frame) in enumerate(zip(joint, frames_of(release, limit=limit), strict=True), 1):
            called = re.sub(r"[^A-Za-z0-9_-]+", "_", "-".join(columns))[:_NAME_LENGTH]
            frame.write_csv(folder / f"table-{place_in_list:02d}-{called}.csv")

    release = produce(
        lambda: synthesize(
            cast("Any", table),
            known,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            mechanism=mechanism,
            neighbours=cast("Relation", neighbours),
            ledger=ledger,
            dataset=dataset,
            transcript=transcript,
            seed=seed,
        ),
        write,
        [output],
        [table.file, schema, named, options.file_of_ledger(ledger), transcript],
        finish=lambda transcript, is_mended: (resuming([table], beside) if is_mended else repeating)(
            transcript, is_mended
        ),
        quiet=is_quiet(context, quiet),
        folders=[output],
        replaces=lambda _: False,
    )
    say = speaker(context, quiet)
    summarize(release, inside, say, details=False, ledger=ledger)
    say(f"tables: {output}")
