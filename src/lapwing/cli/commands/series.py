"""`lapwing series`: releases of a table that comes back, and what moved between two of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from lapwing.cli import options
from lapwing.cli.console import aligned, is_quiet, speaker
from lapwing.cli.examples import examples
from lapwing.cli.options import argument, option
from lapwing.cli.outputs import produce_release, resuming, summarize
from lapwing.cli.tables import Data, Database, Sql, default_rows, file_of, given_table
from lapwing.release.files import read_targets

if TYPE_CHECKING:
    from lapwing.kernel.terms import Relation

series_app = typer.Typer(name="series", help="Release a table that comes back, year by year.", rich_markup_mode=None)

Releases = Annotated[int, option("--releases", "T", "How many releases the whole budget is for.")]
FirstShare = Annotated[str, option("--first-share", "X", "Part of the budget for the first of three releases or more.")]
_OTHERS = 2  # the third release and those after it are planned alike


@series_app.command(epilog=examples("series plan"))
def plan(
    context: typer.Context,
    schema: options.SchemaFile,
    releases: Releases,
    expected_rows: options.ExpectedRowsNeeded,
    prior: options.PriorFiles = [],  # noqa: B006 - typer reads the default and passes a new list
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    first_share: FirstShare = "0.5",
    mechanism: options.MechanismName = None,
    neighbours: options.Neighbours = "add-remove",
) -> None:
    """Show what each release of a series would cost, ask and miss, before any row is read."""
    options.check_budget(epsilon, rho, context)

    from lapwing.kernel.budget.budget import read_request  # noqa: PLC0415
    from lapwing.kernel.plain import at_least  # noqa: PLC0415
    from lapwing.model.certificate.cost_lines import asked_text, counted_lines  # noqa: PLC0415
    from lapwing.runs.settings import usable_schema  # noqa: PLC0415
    from lapwing.verbs.series import Series  # noqa: PLC0415

    series = Series(
        schema=usable_schema(schema),
        releases=releases,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        first_share=first_share,
        mechanism=mechanism,
        neighbours=cast("Relation", neighbours),
    )
    found = [
        series.plan(expected_rows=expected_rows, number=number, prior=None if number else prior or None)
        for number in range(min(releases, _OTHERS + 1))
    ]
    named = [str(number + 1) for number in range(len(found))]
    if releases > len(found):
        named[-1] += f" to {releases}"
    lines = [("release", "cost", "asks", found[0].accuracy[0].kind)]
    for name, each in zip(named, found, strict=True):
        amount = f"{'epsilon' if each.total.notion == 'pure' else 'rho'} {at_least(each.total.amount, 4)}"
        lines.append((name, amount, counted_lines(each.lines), each.accuracy[0].figure))
    whole = read_request(epsilon=epsilon, delta=delta, rho=rho)
    print(aligned(lines))
    print(f"Together {asked_text(whole.budget, whole.epsilon, whole.delta)}, for whoever is in all tables.")
    for name, each in zip(named, found, strict=True):
        print(f"\nRelease {name}:\n\n{each.text()}", end="")


@series_app.command(name="next", epilog=examples("series next"))
def following(
    context: typer.Context,
    data: Data,
    schema: options.SchemaFile,
    releases: Releases,
    output: options.RowsPlaceOrDefault = None,
    sql: Sql = None,
    db: Database = None,
    before: Annotated[
        list[Path],
        option("--before", "FILE", "The releases of the series so far (.lapwing), in their order; repeat for each."),
    ] = [],  # noqa: B006 - typer reads the default and passes a new list
    prior: options.PriorFiles = [],  # noqa: B006 - likewise
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    first_share: FirstShare = "0.5",
    mechanism: options.MechanismName = None,
    neighbours: options.Neighbours = "add-remove",
    rows: options.Rows = None,
    expected_rows: options.ExpectedRows = None,
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    transcript: options.TranscriptFile = None,
    seed: options.Seed = None,
    model: options.ModelOut = None,
    certificate: options.CertificateOut = None,
    details: options.Details = False,
    quiet: options.Quiet = False,
) -> None:
    """Make the next release of a series under one total budget, learning from those before."""
    options.check_budget(epsilon, rho, context)
    table = given_table(data, sql, db, context)
    place = default_rows(table) if output is None else output
    if output is None:
        options.refuse_existing(Path(place), "holds an earlier release")
    targets = read_targets(place, model, certificate, no_certificate=False)

    from lapwing.runs.settings import usable_schema  # noqa: PLC0415
    from lapwing.verbs.series import Series  # noqa: PLC0415

    series = Series(
        schema=usable_schema(schema),
        releases=releases,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        first_share=first_share,
        mechanism=mechanism,
        neighbours=cast("Relation", neighbours),
        ledger=ledger,
        dataset=dataset,
    )
    release = produce_release(
        lambda: series.release(
            table, before, prior=prior or None, expected_rows=expected_rows, transcript=transcript, seed=seed
        ),
        targets,
        [file_of(table), schema, options.file_of_ledger(ledger), transcript, *before, *prior],
        rows=rows,
        seed=None,
        finish=resuming([table], targets, schema, rows=rows),
        quiet=is_quiet(context, quiet),
    )
    summarize(release, targets, speaker(context, quiet), details=details, ledger=ledger)


@series_app.command(epilog=examples("series changes"))
def changes(
    before: Annotated[Path, argument("BEFORE", "A saved release.")],
    after: Annotated[Path, argument("AFTER", "A later one of the same columns.")],
    columns: Annotated[
        list[str], option("--column", "NAME[,NAME]", "A column, or some together; repeat. Default: each by itself.")
    ] = [],  # noqa: B006 - typer reads the default and passes a new list
    groups: Annotated[int, option("--groups", "N", "About how many groups an ordered column is shown in.")] = 10,
    everything: Annotated[bool, typer.Option("--all", help="Also show what did not move beyond noise.")] = False,
) -> None:
    """Show what moved between two releases beyond the noise of both; costs nothing."""
    from lapwing.release.changes import changes as changes_of  # noqa: PLC0415
    from lapwing.release.loading import load  # noqa: PLC0415

    asked = [each.split(",") for each in columns] or None
    found = changes_of(load(before), load(after), asked, groups=groups)
    shown = found if everything else found.filter(found["moved"])
    lines = [("column", "value", "before", "after", "change", "between")]
    for column, value, was, now, change, lower, upper, _ in shown.iter_rows():
        between = "-" if lower is None else f"{lower:+.1%} {upper:+.1%}"
        lines.append((column, value, f"{was:.1%}", f"{now:.1%}", f"{change:+.1%}", between))
    if shown.height:
        print(aligned(lines, right=[2, 3, 4, 5]))
    moved, untold = int(found["moved"].sum()), found["moved"].null_count()
    said = f"{moved} of {found.height} shares moved beyond the noise of both releases, with 95 % confidence in all"
    print(f"{said}{f'; {untold} are told by no noisy count' if untold else ''}.")
