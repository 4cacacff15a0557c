"""`lapwing synthesize`, its plan and the demonstration of it."""

import inspect
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from lapwing.cli import options
from lapwing.cli.commands.saved import query_text
from lapwing.cli.console import Say, echo, is_quiet, speaker
from lapwing.cli.looking import announce, recommendation
from lapwing.cli.options import option
from lapwing.cli.outputs import produce_release, read_places, resuming, summarize
from lapwing.cli.tables import Database, Sqls, Tables, default_rows, linked_schema, private_tables
from lapwing.errors import DataError, LapwingError, ParameterError
from lapwing.kernel.budget.budget import requested_budget
from lapwing.on_demand import extra
from lapwing.release.targets import read_targets
from lapwing.rows.out.outputs import whole_files
from lapwing.schema.scalars import align_lines, nearest

if TYPE_CHECKING:
    from lapwing.kernel.terms import Relation
    from lapwing.mechanisms.shared.base import Mechanism
    from lapwing.model.certificate.certificate import Certificate
    from lapwing.release.release import Release
    from lapwing.rows.entry import Source
    from lapwing.schema.linked.database import LinkedTables
    from lapwing.schema.public_tables.tables import PublicTable


_WORTH_SAYING = 0.95
_WITHOUT_SCHEMA = (
    "No --schema: the names and types of the columns are taken as public, and each row as one person's. What the "
    "columns hold is learned with a part of the budget; `lapwing schema draft` makes a schema to be filled in."
)


def synthesize(
    context: typer.Context,
    data: Tables,
    schema: options.SchemaOrNone = None,
    output: options.RowsPlacesOrDefault = [],  # noqa: B006 - typer reads the default and passes a new list
    into: options.Into = None,
    sql: Sqls = [],  # noqa: B006 - likewise
    db: Database = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    share: options.Shares = [],  # noqa: B006 - likewise
    mechanism: options.Mechanisms = [],  # noqa: B006 - likewise
    rows: options.Rows = None,
    expected_rows: options.ExpectedRowsOfEach = [],  # noqa: B006 - likewise
    neighbours: options.Neighbours = "add-remove",
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    transcript: options.TranscriptFile = None,
    seed: options.Seed = None,
    settings: options.MechanismSettings = [],  # noqa: B006 - likewise
    public_table: options.PublicTableFiles = [],  # noqa: B006 - likewise
    public_source: options.PublicSource = None,
    prior: options.PriorFiles = [],  # noqa: B006 - likewise
    model: options.ModelOut = None,
    certificate: options.CertificateOut = None,
    no_certificate: options.NoCertificate = False,
    croissant: options.CroissantOut = None,
    prepared_by: options.PreparedBy = None,
    approved_by: options.ApprovedBy = None,
    memory: options.MemoryLimit = None,
    check: options.Check = False,
    misfits: options.Misfits = "0.1",
    details: options.Details = False,
    quiet: options.Quiet = False,
) -> None:
    """Turn a private table, or linked ones, into synthetic rows."""
    options.check_budget(epsilon, rho, context)
    say, silent = speaker(context, quiet), is_quiet(context, quiet)
    if schema is None and check:
        raise options.misuse("--check goes with --schema; leave it out, or give one", context, code="LW903")
    linked = None if schema is None else linked_schema(schema, data or [], sql, db, context)
    tables = private_tables(data or [], sql, db, linked, context)
    private = list(tables.values())
    is_one = linked is None or linked.is_events
    targets = read_places(
        linked,
        [_new_place(private[0])] if is_one and not output and into is None else output,
        into,
        tables,
        context,
        model=model,
        certificate=certificate,
        no_certificate=no_certificate,
        croissant=croissant,
        people=(prepared_by, approved_by),
    )

    from lapwing.api.synthesize import synthesize as release_of  # noqa: PLC0415
    from lapwing.release.runs.settings import usable_schema  # noqa: PLC0415
    from lapwing.schema.schemas import Schema  # noqa: PLC0415

    checked = None if schema is None else usable_schema(schema) if linked is None else Schema(linked=linked)
    asked: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "rho": rho,
        "mechanism": _mechanisms(mechanism, settings, linked, context),
        "neighbours": neighbours,
        "expected_rows": options.expected_of(expected_rows, linked, context) if expected_rows else None,
        "ledger": ledger,
        "dataset": dataset,
        "transcript": transcript,
        "seed": seed,
        "public_tables": _public_tables(public_table, public_source),
        "prior": prior or None,
        "memory": memory,
        "shares": _shares(share, linked),
    }
    if linked is None or not check:  # of linked tables only the look takes another share
        asked["misfits"] = misfits
    given: Any = private[0] if linked is None else tables
    said = _WITHOUT_SCHEMA
    if schema is not None and checked is not None:
        said = recommendation(private, checked, schema, check=check, misfits=misfits)
    with announce(said, say):
        release = produce_release(
            lambda: release_of(given, checked, **asked),
            targets,
            [
                *(each.file for each in private),
                schema,
                options.file_of_ledger(ledger),
                transcript,
                *public_table,
                *prior,
            ],
            rows=rows,
            finish=resuming(private, targets, schema, rows=rows, memory=memory),
            quiet=silent,
        )
    summarize(release, targets, say, details=details, ledger=ledger)
    if details and epsilon is not None and delta is None and linked is None:
        _say_what_delta_gains(say, release.certificate, epsilon)


def _new_place(table: "Source") -> str:
    """Return where rows go where nothing is said, if nothing is there."""
    place = default_rows(table)
    options.refuse_existing(Path(place), "holds an earlier release")
    return place


def _shares(texts: Sequence[str], linked: "LinkedTables | None") -> Any:  # noqa: ANN401 - what one table does not take
    """Return each table's part of the budget, if it is given."""
    return (texts if linked is None else options.by_table("share", texts, linked.names)) or None


def _public_tables(files: Sequence[Path], source: str | None) -> "list[PublicTable] | None":
    """Return the public tables of files, if there are any."""
    from lapwing.release.runs.public_tables import read_public_tables  # noqa: PLC0415

    return [each for path in files for each in read_public_tables(path, source)] or None


def _mechanisms(
    names: Sequence[str], settings: Sequence[str], linked: "LinkedTables | None", context: typer.Context
) -> "Mechanism | dict[str, Mechanism] | None":
    """Return the mechanism that is asked for, of linked tables also by table; None where none is."""
    if not names and not settings:
        return None
    if linked is None and len(names) > 1:
        raise options.misuse("the schema is of one table; give --mechanism M once", context, code="LW903")
    if linked is None or (len(names) <= 1 and not any("=" in name for name in names)):
        return mechanism_with(next(iter(names), None), settings)
    if settings:
        raise ParameterError(
            "--set is of one mechanism, and --mechanism names several; give --mechanism M once, for all tables",
            code="LW305",
        )
    named = options.by_table("mechanism", names, linked.names, is_for_all=True)
    return {table: mechanism_with(name, ()) for table, name in named.items()}


def mechanism_with(name: str | None, settings: Sequence[str]) -> "Mechanism":
    """Return the mechanism with its settings as the command line gives them."""
    from lapwing.mechanisms.registry import MECHANISMS, default_mechanism, make_mechanism  # noqa: PLC0415

    chosen = default_mechanism().name if name is None else name
    kind = MECHANISMS.get(chosen.lower())
    if kind is None:
        _guess(f"there is no mechanism {chosen!r}", chosen, [each.name for each in MECHANISMS.values()], "LW305")
    if "help" in settings:
        print(_settings_text(type(make_mechanism(chosen, {}))))
        raise typer.Exit
    values: dict[str, str] = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ParameterError(f"set must be key=value, got {text!r}; `--set help` lists the keys", code="LW307")
        if key in values:
            raise ParameterError(f"setting {key} is given twice; give it once", code="LW307")
        values[key] = value
        keys = [] if kind is None else [each.name for each in fields(cast("Any", kind))]
        if key not in keys:
            _guess(f"{chosen} has no setting {key!r}", key, keys, "LW306")
    return make_mechanism(chosen, values)


def _guess(said: str, text: str, known: Sequence[str], code: str) -> None:
    """Refuse a text that is nearly a known one, and name that; others are refused where all are listed."""
    near = nearest(text, known)
    if near:
        raise ParameterError(f"{said}; did you mean {' or '.join(near)}?", code=code)


def _settings_text(kind: type) -> str:
    """Return the settings of a mechanism as its docstring explains them."""
    parts = (inspect.getdoc(kind) or "").split("Parameters\n----------\n")
    return f"Settings of {kind.__name__}, each as --set KEY=VALUE:\n\n" + parts[-1].split("\n\n")[0]


def _say_what_delta_gains(say: Say, certificate: "Certificate", epsilon: str) -> None:
    """Say by how much a δ would lower the noise on the first table; a tree is `lapwing plan`'s matter."""
    from lapwing.kernel.noise_law import calibrate_noise  # noqa: PLC0415
    from lapwing.kernel.questions.misfit_rows.question import MisfitRows  # noqa: PLC0415
    from lapwing.kernel.questions.sparse_counts.question import SparseCounts  # noqa: PLC0415
    from lapwing.release.runs.shares import USUAL_DELTA  # noqa: PLC0415

    lines = [each for each in certificate.lines if each.question != MisfitRows.kind]
    line = next(each for each in lines if each.columns)
    is_other = any(each.level is not None or each.question == SparseCounts.kind for each in lines)
    if line.noise is None or is_other:
        return
    try:
        granted = requested_budget(epsilon=epsilon, delta=USUAL_DELTA)
        gaussian = calibrate_noise(line.sensitivity, granted * (line.cost.amount / certificate.total.amount)).sd
    except ParameterError:
        return  # of an ε this small nothing is left under zCDP
    if gaussian < _WORTH_SAYING * line.noise.sd:
        where = "" if all(each.noise == line.noise for each in lines) else " of the first table"
        gain = f"from sd {line.noise.sd:.1f} to sd {gaussian:.1f}"
        say(f"Pure ε: noise per count{where} would fall {gain} with --delta {USUAL_DELTA}.")


def plan(
    context: typer.Context,
    schema: options.SchemaFile,
    expected_rows: options.ExpectedRowsOfEach,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    mechanism: options.Mechanisms = [],  # noqa: B006 - typer reads the default and passes a new list
    neighbours: options.Neighbours = "add-remove",
    settings: options.MechanismSettings = [],  # noqa: B006 - likewise
    public_table: options.PublicTableFiles = [],  # noqa: B006 - likewise
    public_source: options.PublicSource = None,
    prior: options.PriorFiles = [],  # noqa: B006 - likewise
    memory: options.MemoryLimit = None,
    share: options.Shares = [],  # noqa: B006 - likewise
) -> None:
    """Show cost, expected error, time and memory before any row is read."""
    options.check_budget(epsilon, rho, context)

    from lapwing.api.plan import plan as plan_of  # noqa: PLC0415
    from lapwing.release.runs.settings import usable_schema  # noqa: PLC0415
    from lapwing.schema.schemas import Schema  # noqa: PLC0415

    linked = linked_schema(schema, [], [], None, context)
    planned = plan_of(
        usable_schema(schema) if linked is None else Schema(linked=linked),
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        mechanism=_mechanisms(mechanism, settings, linked, context),
        neighbours=cast("Relation", neighbours),
        expected_rows=options.expected_of(expected_rows, linked, context),
        public_tables=_public_tables(public_table, public_source),
        prior=prior or None,
        memory=memory,
        shares=_shares(share, linked),
    )
    print(planned.text(), end="")


_DEMO_ROWS = 3
_DEMO_COLUMNS = ["age", "sex", "education", "occupation", "hours_per_week", "income"]
_EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def demo(
    context: typer.Context,
    output: Annotated[Path, option("-o --output", "DIR", "Folder for the files, replaced if they are there.")] = Path(
        "lapwing-demo"
    ),
    quiet: options.Quiet = False,
) -> None:
    """Make synthetic rows of a bundled sample at ε = 1."""
    from lapwing.api.synthesize import synthesize  # noqa: PLC0415

    say, show = speaker(context, quiet), echo(context, quiet)
    data, schema = _EXAMPLES / "adult.parquet", _EXAMPLES / "adult.schema.json"
    _make_folder(output)
    rows = output / "adult.parquet"
    targets = read_targets(str(rows), output / "adult.lapwing", None, no_certificate=False)
    show(f"lapwing synthesize {data} --schema {schema} --epsilon 1 -o {rows} --model {targets.model}")
    release = produce_release(
        lambda: synthesize(data, schema, epsilon=1),
        targets,
        [data, schema],
        rows=None,
        finish=lambda *_: "`lapwing demo`",
        quiet=is_quiet(context, quiet),
    )
    summarize(release, targets, say, details=False)
    shown = release.sample(_DEMO_ROWS, seed=1).select(_DEMO_COLUMNS).cast(str)
    say(f"{_DEMO_ROWS} more synthetic rows, of {len(release.schema.columns)} columns these:")
    for line in align_lines([_DEMO_COLUMNS, *(list(map(str, row)) for row in shown.iter_rows())]).splitlines():
        say(line)
    show(f"lapwing query {targets.model} --column sex")
    for line in query_text(release, ["sex"]).splitlines():
        say(line)
    _report(release, output / "adult.report.html", str(targets.model), say, show)
    say("Now your own file: `lapwing start FILE` asks for what it needs, and goes on to the release.")


def _report(release: "Release", place: Path, model: str, say: Say, show: Say) -> None:
    """Write a report where the extra for it is installed, and say how to install it where it is not."""
    try:
        extra("page").check_installed()
    except LapwingError as error:
        say(f"No report: {error}.")
        return
    show(f"lapwing report {model} -o {place}")
    with whole_files([place]) as (temporary,):
        release.to_html(temporary)
    say(f"report: {place}")


def _make_folder(folder: Path) -> None:
    """Make the folder, if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror
    else:
        return
    raise DataError(f"the folder {folder} cannot be made ({reason}); give another one with -o", code="LW115")
