"""`lapwing synthesize`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli import options as completing
from lapwing.cli.console import Say, is_quiet, speaker
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
    SchemaFile,
    Seed,
    check_budget,
    whole,
)
from lapwing.cli.outputs import check_rows, produce, read_targets, resume_line, summarize
from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import requested_budget

if TYPE_CHECKING:
    from lapwing.mechanisms.shared.registration import Mechanism
    from lapwing.model.certificate.certificate import Certificate
    from lapwing.schema.schemas import Schema


_SUGGESTED_DELTA = "1e-9"
_WORTH_SAYING = 0.95

Epsilon = Annotated[
    str | None, typer.Option("--epsilon", metavar="E", help="Privacy budget ε, above 0. Alone: pure ε-DP.")
]
Delta = Annotated[
    str | None, typer.Option("--delta", metavar="D", help="With --epsilon: (ε, δ)-DP through zCDP, 0 up to below 1.")
]
Rho = Annotated[str | None, typer.Option("--rho", metavar="R", help="zCDP budget ρ, above 0, instead of --epsilon.")]
MechanismName = Annotated[
    str | None,
    typer.Option(
        "--mechanism",
        metavar="M",
        help="See `lapwing mechanisms`. Default: chosen from the schema alone.",
        autocompletion=completing.mechanism_names,
    ),
]
ExpectedRows = Annotated[
    int | None,
    typer.Option(
        "--expected-rows",
        metavar="N",
        parser=whole,
        help="Your public guess of the number of rows, made without the data.",
    ),
]
Neighbours = Annotated[
    str,
    typer.Option(
        "--neighbours",
        metavar="R",
        help="Neighbour relation: add-remove or replace-one.",
        autocompletion=completing.relations,
    ),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger", metavar="L", help="Debit this ledger (see `lapwing ledger init`) before any noise is drawn."
    ),
]
Dataset = Annotated[
    str | None,
    typer.Option(
        "--dataset", metavar="NAME", help="The data set's name in the ledger; may be left out when the ledger has one."
    ),
]
TranscriptFile = Annotated[
    Path | None,
    typer.Option("--transcript", metavar="T", help="New file that keeps every answer, for `lapwing resume`."),
]
PublicTableFiles = Annotated[
    list[Path],
    typer.Option(
        "--public-table",
        metavar="FILE",
        help="A public cross-table that rows hold: JSON as in the schema, or CSV with a column count. Repeat for more.",
    ),
]
PublicSource = Annotated[
    str | None,
    typer.Option("--public-source", metavar="TEXT", help="Who published the CSV files of --public-table."),
]
Settings = Annotated[
    list[str], typer.Option("--set", metavar="KEY=VALUE", help="A setting of the mechanism; repeat for more.")
]


def synthesize(
    context: typer.Context,
    data: Data,
    schema: SchemaFile,
    output: RowsPlace,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    mechanism: MechanismName = None,
    rows: Rows = None,
    expected_rows: ExpectedRows = None,
    neighbours: Neighbours = "add-remove",
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    transcript: TranscriptFile = None,
    seed: Seed = None,
    settings: Settings = [],  # noqa: B006 - typer reads the default and passes a new list
    public_table: PublicTableFiles = [],  # noqa: B006 - likewise
    public_source: PublicSource = None,
    model: ModelOut = None,
    certificate: CertificateOut = None,
    no_certificate: NoCertificate = False,
    croissant: CroissantOut = None,
    memory: MemoryLimit = None,
    quiet: Quiet = False,
) -> None:
    """Turn a private table into synthetic rows."""
    check_budget(epsilon, rho, context)
    say = speaker(context, quiet)
    silent = is_quiet(context, quiet)
    check_rows(rows)
    targets = read_targets(output, model, certificate, no_certificate=no_certificate, croissant=croissant)

    from lapwing.runs.public_tables import read_public_tables, refuse_private_tables  # noqa: PLC0415
    from lapwing.runs.settings import usable_schema  # noqa: PLC0415
    from lapwing.verbs.synthesize import synthesize as release_of  # noqa: PLC0415

    checked = usable_schema(schema)
    chosen = mechanism_with(mechanism, settings, checked)
    refuse_private_tables(public_table, data)
    tables = [each for path in public_table for each in read_public_tables(path, public_source)]
    release = produce(
        lambda: release_of(
            data,
            checked,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            mechanism=chosen,
            neighbours=neighbours,
            expected_rows=expected_rows,
            ledger=ledger,
            dataset=dataset,
            transcript=transcript,
            seed=seed,
            public_tables=tables,
            memory=memory,
        ),
        targets,
        [data, schema, ledger, transcript, *public_table],
        rows=rows,
        seed=None,
        way_out=lambda kept: resume_line(kept, data, targets, rows=rows, seed=None, memory=memory),
        quiet=silent,
    )
    summarize(release, targets, say)
    if epsilon is not None and delta is None:
        _say_what_delta_gains(say, release.certificate, epsilon)


def mechanism_with(name: str | None, settings: Sequence[str], schema: "Schema") -> "Mechanism":
    """Return the mechanism with its settings as the command line gives them."""
    from lapwing.mechanisms.registry import default_mechanism, make_mechanism  # noqa: PLC0415

    values: dict[str, str] = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ParameterError(f"set must be key=value, got {text!r}; write for example groups=64", code="LW307")
        if key in values:
            raise ParameterError(f"setting {key} is given twice; give it once", code="LW307")
        values[key] = value
    return make_mechanism(default_mechanism(schema).name if name is None else name, values)


def _say_what_delta_gains(say: Say, certificate: "Certificate", epsilon: str) -> None:
    """Say by how much a δ would lower the noise on the first table; a tree is `lapwing plan`'s matter."""
    from lapwing.kernel.noise_law import calibrated  # noqa: PLC0415
    from lapwing.kernel.questions.sparse_counts.question import SparseCounts  # noqa: PLC0415

    line = next(each for each in certificate.lines if each.columns)
    is_other = any(each.level is not None or each.question == SparseCounts.kind for each in certificate.lines)
    if line.noise is None or is_other:
        return
    try:
        granted = requested_budget(epsilon=epsilon, delta=_SUGGESTED_DELTA)
        gaussian = calibrated(line.sensitivity, granted * (line.cost.amount / certificate.total.amount)).sd
    except ParameterError:
        return  # of an ε this small nothing is left under zCDP
    if gaussian < _WORTH_SAYING * line.noise.sd:
        where = "" if all(each.noise == line.noise for each in certificate.lines) else " of the first table"
        gain = f"from sd {line.noise.sd:.1f} to sd {gaussian:.1f}"
        say(f"Pure ε: noise per count{where} would fall {gain} with --delta {_SUGGESTED_DELTA}.")
