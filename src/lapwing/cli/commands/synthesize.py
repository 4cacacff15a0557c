"""`lapwing synthesize`, its plan and the demonstration of it."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from lapwing.cli import options
from lapwing.cli.commands.saved import query_text
from lapwing.cli.console import Say, echo, is_quiet, speaker
from lapwing.cli.linking import Shares, by_table, expected_by_table, produce_linked, say_linked
from lapwing.cli.looking import recommendation, said_in_time
from lapwing.cli.options import option
from lapwing.cli.outputs import produce_release, resuming, summarize
from lapwing.cli.tables import Data, Database, Sql, default_rows, file_of, given_table
from lapwing.errors import DataError, LapwingError, ParameterError
from lapwing.kernel.budget.budget import requested_budget
from lapwing.on_demand import extra
from lapwing.release.files import Targets, read_targets
from lapwing.release.linked.targets import events_targets
from lapwing.rows.out.outputs import whole_files
from lapwing.schema.scalars import aligned, nearest

if TYPE_CHECKING:
    from lapwing.cli.tables import Table
    from lapwing.mechanisms.shared.registration import Mechanism
    from lapwing.model.certificate.certificate import Certificate
    from lapwing.release.linked.release import LinkedRelease
    from lapwing.release.release import Release
    from lapwing.schema.linked.database import LinkedSchema
    from lapwing.schema.schemas import Schema


_WORTH_SAYING = 0.95


def synthesize(
    context: typer.Context,
    data: Data,
    schema: options.SchemaFile,
    output: options.RowsPlaceOrDefault = None,
    sql: Sql = None,
    db: Database = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    mechanism: options.MechanismName = None,
    rows: options.Rows = None,
    expected_rows: options.ExpectedRows = None,
    neighbours: options.Neighbours = "add-remove",
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    transcript: options.TranscriptFile = None,
    seed: options.Seed = None,
    settings: options.MechanismSettings = [],  # noqa: B006 - typer reads the default and passes a new list
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
    """Turn a private table into synthetic rows."""
    options.check_budget(epsilon, rho, context)
    table = given_table(data, sql, db, context)
    say, silent = speaker(context, quiet), is_quiet(context, quiet)
    place = _new_place(table) if output is None else output
    asked: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "rho": rho,
        "neighbours": neighbours,
        "expected_rows": expected_rows,
        "ledger": ledger,
        "dataset": dataset,
        "transcript": transcript,
        "seed": seed,
        "prior": prior or None,
        "memory": memory,
    }
    inputs = [file_of(table), schema, options.file_of_ledger(ledger), transcript, *public_table, *prior]
    targets = read_targets(
        place,
        model,
        certificate,
        no_certificate=no_certificate,
        croissant=croissant,
        people=(prepared_by, approved_by),
    )

    from lapwing.schema.linked.database import is_linked  # noqa: PLC0415

    if is_linked(schema):
        linked = _events_of(schema)
        asked |= {
            "mechanism": _mechanism_if_asked(mechanism, settings),
            "public_tables": public_table or None,
        }
        hint = recommendation([table], linked, schema, check=check, misfits=misfits)
        with said_in_time(hint, say):
            _release_events(table, linked, targets, asked, inputs, rows=rows, say=say, quiet=silent, details=details)
        return

    from lapwing.api.synthesize import synthesize as release_of  # noqa: PLC0415
    from lapwing.release.runs.public_tables import read_public_tables  # noqa: PLC0415
    from lapwing.release.runs.settings import usable_schema  # noqa: PLC0415

    checked = usable_schema(schema)
    asked |= {
        "mechanism": mechanism_with(mechanism, settings),
        "public_tables": [each for path in public_table for each in read_public_tables(path, public_source)],
        "misfits": misfits,
    }
    with said_in_time(recommendation([table], checked, schema, check=check, misfits=misfits), say):
        release = produce_release(
            lambda: release_of(table, checked, **asked),
            targets,
            inputs,
            rows=rows,
            seed=None,
            finish=resuming([table], targets, schema, rows=rows, memory=memory),
            quiet=silent,
        )
    summarize(release, targets, say, details=details, ledger=ledger)
    if details and epsilon is not None and delta is None:
        _say_what_delta_gains(say, release.certificate, epsilon)


def _new_place(table: "Table") -> str:
    """Return where rows go where nothing is said, if nothing is there."""
    place = default_rows(table)
    options.refuse_existing(Path(place), "holds an earlier release")
    return place


def _events_of(schema: Path) -> "LinkedSchema":
    """Return the schema of events; one of several tables is refused."""
    from lapwing.schema.linked.database import LinkedSchema  # noqa: PLC0415

    linked = LinkedSchema.load(schema)
    if linked.is_events:
        return linked
    raise ParameterError(
        f"{schema} describes linked tables, {', '.join(linked.given)}; `lapwing link` takes them all", code="LW252"
    )


def _mechanism_if_asked(name: str | None, settings: Sequence[str]) -> "Mechanism | None":
    """Return the mechanism, if one is asked for."""
    return None if name is None and not settings else mechanism_with(name, settings)


def _release_events(
    table: "Table",
    linked: "LinkedSchema",
    targets: Targets,
    asked: Mapping[str, Any],
    inputs: Sequence[Path | None],
    *,
    rows: int | None,
    say: Say,
    quiet: bool,
    details: bool,
) -> None:
    """Release events of persons, and write what one table has."""
    from lapwing.api.synthesize import synthesize as release_of  # noqa: PLC0415

    events = events_targets(linked, targets)
    release = produce_linked(
        lambda: cast("LinkedRelease", release_of(table, linked, **asked)),
        events,
        inputs,
        rows=rows,
        finish=resuming([table], targets, rows=rows),
        quiet=quiet,
    )
    say_linked(release, events, say, details=details)


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
    from lapwing.kernel.noise_law import calibrated  # noqa: PLC0415
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
        gaussian = calibrated(line.sensitivity, granted * (line.cost.amount / certificate.total.amount)).sd
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
    mechanism: options.MechanismName = None,
    neighbours: options.Neighbours = "add-remove",
    settings: options.MechanismSettings = [],  # noqa: B006 - typer reads the default and passes a new list
    public_table: options.PublicTableFiles = [],  # noqa: B006 - likewise
    public_source: options.PublicSource = None,
    prior: options.PriorFiles = [],  # noqa: B006 - likewise
    memory: options.MemoryLimit = None,
    share: Shares = [],  # noqa: B006 - likewise
) -> None:
    """Show cost, expected error, time and memory before any row is read."""
    options.check_budget(epsilon, rho, context)

    from lapwing.api.plan import plan as plan_of  # noqa: PLC0415
    from lapwing.release.runs.public_tables import read_public_tables  # noqa: PLC0415
    from lapwing.release.runs.settings import usable_schema  # noqa: PLC0415
    from lapwing.schema.linked.database import LinkedSchema, is_linked  # noqa: PLC0415

    asked: dict[str, Any] = {"neighbours": neighbours, "prior": prior or None, "memory": memory}
    checked: Schema | LinkedSchema
    if is_linked(schema):
        checked = LinkedSchema.load(schema)
        asked["expected_rows"] = expected_by_table(expected_rows, checked.names)
        asked["shares"] = by_table("share", share, checked.names) or None
    else:
        checked = usable_schema(schema)
        asked["expected_rows"] = options.one_number(expected_rows, context)
    tables = [each for path in public_table for each in read_public_tables(path, public_source)]
    planned = plan_of(
        checked,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        mechanism=_mechanism_if_asked(mechanism, settings),
        public_tables=tables or None,
        **asked,
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
        seed=None,
        finish=lambda *_: "`lapwing demo`",
        quiet=is_quiet(context, quiet),
    )
    summarize(release, targets, say, details=False)
    shown = release.sample(_DEMO_ROWS, seed=1).select(_DEMO_COLUMNS).cast(str)
    say(f"{_DEMO_ROWS} more synthetic rows, of {len(release.schema.columns)} columns these:")
    for line in aligned([_DEMO_COLUMNS, *(list(map(str, row)) for row in shown.iter_rows())]).splitlines():
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
