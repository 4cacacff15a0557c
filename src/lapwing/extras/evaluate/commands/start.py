"""`lapwing start`: from a file to an evaluated release by questions, each step by a command that is shown first."""

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli.asking import above_zero, ask_until_answered, guiding, number, positive, tell, wrong
from lapwing.cli.looking import remember
from lapwing.cli.options import misuse, option
from lapwing.cli.tables import Data, Database, Sql, given_table, given_words, words_of
from lapwing.errors import DataError, LapwingError, ParameterError
from lapwing.extras.evaluate.commands.describing import StartFiles, column_or_none, described_schema, schema_asked_again
from lapwing.extras.evaluate.words import say
from lapwing.version import install_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapwing.model.certificate.notices import Notice
    from lapwing.schema.purchases import Purchase
    from lapwing.schema.schemas import Schema

_MOST_MISFITS = 0.05  # fewer than end a release, by noisy counts
_MOST_HIDDEN = 0.25  # of the rows, at one end of a column or in one value


def start(
    context: typer.Context,
    data: Data,
    output: Annotated[Path, option("-o --output", "DIR", "Folder for the files that are made.")] = Path(),
    sql: Sql = None,
    db: Database = None,
) -> None:
    """Answer questions about your table, and get a release."""
    if data == "-":
        raise misuse("the answers are read from standard input; save the rows in a file", context, code="LW316")
    app = context.find_root().command
    table = given_table(data, sql, db, context)
    files = StartFiles(table, output, lambda command: app.main(command, "lapwing", standalone_mode=False))
    if not output.is_dir():
        raise ParameterError(
            f"the folder {output} does not exist; make it first, or give another with -o", code="LW115"
        )
    tell(say("start.begin"))
    schema = _fitting(files, described_schema(files))
    _refuse_other(schema, files)
    schema, budget = _budget(schema, files)
    _open_ledger(schema, files, budget)
    used = _learned(schema, files, budget)
    _released(used, files, budget)


def _fitting(files: StartFiles, schema: "Schema") -> "Schema":
    """Count what does not fit, and ask again about these columns alone, until all do; internal."""
    from lapwing.extras.evaluate.internal.looks import faults  # noqa: PLC0415

    _step(files, say("start.check"), "schema", "check", files["schema.json"], files.table)
    why = faults(files.table, schema, _MOST_MISFITS)
    if not why:
        name = column_or_none(say("start.right"), [field.name for field in schema.columns])
        if name is None:
            return schema
        why = {name: ""}
    return _fitting(files, schema_asked_again(files, schema, why))


def _refuse_other(schema: "Schema", files: StartFiles) -> None:
    """Refuse what an earlier start learned under another schema: it says who is protected, and what columns hold."""
    from lapwing.release.runs.learned.domains import is_learned_from  # noqa: PLC0415
    from lapwing.schema.schemas import Schema  # noqa: PLC0415

    place = files["learned.json"]
    if not any(field.blank for field in schema.columns) or not place.exists():
        return
    if not is_learned_from(Schema.load_draft(place), schema):
        raise DataError(
            f"{place} was not learned from {files['schema.json']} as it is now; move it away to learn anew, which is "
            "debited anew, or put the schema back",
            code="LW113",
        )


# -- Budget, ledger, learning, release.


@dataclass(frozen=True, slots=True)
class _Budget:
    epsilon: str
    delta: str | None
    lists: bool  # whether lists of texts are learned

    def spent_by_release(self, bought: "Sequence[Purchase]" = ()) -> list[str]:
        """Return the options that spend what learning leaves of it."""
        from lapwing.release.runs.shares import left_for_release  # noqa: PLC0415

        return _options(left_for_release(self.epsilon, self.delta, bought), self.delta)

    def of_purchase(self) -> tuple[str, str | None]:
        """Return ε and δ of the part that is spent on bounds and lists."""
        from lapwing.release.runs.shares import bought_share  # noqa: PLC0415

        return bought_share(self.epsilon, self.delta, lists=self.lists)


def _options(epsilon: str, delta: str | None) -> list[str]:
    return ["--epsilon", epsilon, *([] if delta is None else ["--delta", delta])]


def _budget(schema: "Schema", files: StartFiles) -> "tuple[Schema, _Budget]":
    """Ask for the budget, and show what it gives before any row is read; return it with the schema that it is for."""
    from lapwing.release.runs.learned.domains import needs_selection  # noqa: PLC0415
    from lapwing.release.runs.shares import USUAL_DELTA  # noqa: PLC0415

    to_learn = any(field.blank for field in schema.columns) and not files["learned.json"].exists()
    tell(say("start.budget"))
    if to_learn:
        tell(say("start.two_debits"))
    epsilon = ask_until_answered("ε", "1", number)
    needs_delta = any(field.blank and needs_selection(field, {}) for field in schema.columns)
    question = say("start.delta_for_lists" if needs_delta else "start.delta")
    delta = ask_until_answered(question, USUAL_DELTA, above_zero if needs_delta else number)
    budget = _Budget(f"{epsilon:.12g}", None if delta == 0 else f"{delta:g}", needs_delta)
    if not to_learn and any(field.blank for field in schema.columns):
        return schema, budget
    rows = ask_until_answered(say("start.rows"), "1000", positive)
    if to_learn:
        return _foreseen(schema, files, budget, rows)
    planned = ["plan", "--schema", files["schema.json"], "--expected-rows", rows]
    _step(files, say("start.plan"), *planned, *budget.spent_by_release(schema.purchases))
    return (schema, budget) if typer.confirm(say("start.go_on"), default=True) else _budget(schema, files)


def _foreseen(schema: "Schema", files: StartFiles, budget: _Budget, rows: int) -> "tuple[Schema, _Budget]":
    """Say where noise would hide much of what is to be learned, by settings alone, and ask what to do then."""
    notices = _outlook(schema, budget)
    hidden = [each for each in notices if each.fields["rows"] > _MOST_HIDDEN * rows]
    if not hidden:
        return schema, budget
    for each in hidden:
        tell(say("start.hidden", said=each.text, rows=rows))
    worst = max(each.fields["rows"] for each in hidden)
    enough = float(f"{float(budget.epsilon) * worst / (_MOST_HIDDEN * rows):.1g}")
    unit = schema.privacy_unit
    ways = ["one"] * (unit is not None and unit.max_rows > 1) + ["given", "budget", "on"]
    for way in ways:
        tell(f"  {way}: {say(f'start.way.{way}', epsilon=enough)}")
    usual = "one" if "one" in ways else "on"
    way = ask_until_answered(
        say("start.what_then"), usual, lambda text: text if text in ways else wrong(", ".join(ways))
    )
    if way == "one" and unit is not None:
        schema = replace(schema, privacy_unit=replace(unit, max_rows=1))
        schema.save(files["schema.json"])
        remember([files.table], schema)  # the look was at the same cells
        return _foreseen(schema, files, budget, rows)
    if way == "given":
        named = {name: "" for each in hidden for name in each.fields["fields"]}
        return _budget(_fitting(files, schema_asked_again(files, schema, named)), files)
    return (schema, budget) if way == "on" else _budget(schema, files)


def _outlook(schema: "Schema", budget: _Budget) -> "tuple[Notice, ...]":
    """Return what learning would notice; nothing where it will be refused, in its own words."""
    from lapwing.kernel.terms import Terms  # noqa: PLC0415
    from lapwing.release.runs.learned.running import outlook  # noqa: PLC0415
    from lapwing.release.runs.learned.settings import read_learn_settings  # noqa: PLC0415

    try:
        epsilon, delta = budget.of_purchase()
        settings = read_learn_settings(
            schema,
            epsilon=epsilon,
            delta=delta,
            rho=None,
            fields=None,
            dictionaries=None,
            quantile="0",
            neighbours="add-remove",
        )
        return outlook(settings, Terms(relation=settings.relation, max_rows=schema.max_rows))
    except LapwingError:
        return ()


def _open_ledger(schema: "Schema", files: StartFiles, budget: _Budget) -> None:
    """Open a ledger of the table, unless there is one."""
    from lapwing.release.runs.shares import selection_delta  # noqa: PLC0415

    ledger = files["budget.db"]
    if ledger.exists():
        return
    limit = ask_until_answered(say("start.limit"), "10", str)
    notion = ["--unit", "pure"] if budget.delta is None else ["--unit", "zcdp", "--delta", budget.delta]
    unit = ["--neighbours", "add-remove", "--privacy-unit", schema.unit_label]
    chosen = ["--selection-delta", selection_delta(budget.delta)] if budget.delta is not None and budget.lists else []
    _step(
        files,
        say("start.ledger"),
        "ledger",
        "init",
        files.name,
        *notion,
        "--limit",
        limit,
        *unit,
        *chosen,
        "--ledger",
        ledger,
    )


def _learned(schema: "Schema", files: StartFiles, budget: _Budget) -> Path:
    """Learn what the schema leaves open; return the schema to release under."""
    if not any(field.blank for field in schema.columns):
        return files["schema.json"]
    place = files["learned.json"]
    if place.exists():
        tell(say("start.using", place=place))
        return place
    named = ["--ledger", files["budget.db"], "--dataset", files.name]
    _step(
        files,
        say("start.learn"),
        *("schema", "learn", files.table, "--schema", files["schema.json"], *_options(*budget.of_purchase()), *named),
        *("-o", place),
    )
    _settled(files, place)
    return place


def _settled(files: StartFiles, place: Path) -> None:
    """Leave out what was not found, so that a release can be made; the owner is told."""
    from lapwing.release.runs.learned.domains import UNLISTED  # noqa: PLC0415
    from lapwing.schema.schemas import Schema  # noqa: PLC0415

    found = Schema.load_draft(place)
    blank = [each.name for each in found.columns if each.blank]
    poor = [each.name for each in found.columns if each.categories == (UNLISTED,)]
    if len(blank) + len(poor) < len(found.columns):  # else there would be no column
        blank += poor
    if blank:
        tell(say("start.left_out", fields=", ".join(blank)))
    kept = replace(found, fields=tuple(each for each in found.fields if each.name not in blank), is_draft=False)
    kept.save(place)
    remember([files.table], kept)  # the look at the draft was one at these columns


def _released(schema: Path, files: StartFiles, budget: _Budget) -> None:
    """Make the release, its report, and its comparison with the real table."""
    from lapwing.schema.schemas import Schema  # noqa: PLC0415

    rows, model = files["synthetic.csv"], files["lapwing"]
    is_again = rows.exists()
    if is_again and not typer.confirm(say("start.again", rows=rows), default=False):
        return
    options = budget.spent_by_release(() if is_again else Schema.load(schema).purchases)
    named = ["--ledger", files["budget.db"], "--dataset", files.name]
    _step(
        files,
        say("start.release"),
        *("synthesize", files.table, "--schema", schema, *options, *named),
        *("-o", rows, "--model", model),
    )
    try:
        import altair  # noqa: F401, PLC0415 - the extra `evaluate`
        import sklearn  # noqa: F401, PLC0415
    except ImportError:
        tell(say("start.no_report", install=install_command("evaluate"), model=model))
        return
    _step(files, say("start.report"), "report", model, "-o", files["report.html"])
    if typer.confirm(say("start.compare"), default=True):
        compared = ["evaluate", files.table, rows, "--schema", schema, "--model", model]
        _step(files, say("start.evaluation"), *compared, "-o", files["evaluation.html"])


# -- Doing.


def _step(files: StartFiles, title: str, *arguments: object) -> None:
    """Show a command and run it; if it is refused, so is the start, with the same line."""

    def command(table: list[str]) -> list[str]:
        return [word for each in arguments for word in (table if each is files.table else [str(each)])]

    tell(f"\n{title}\n$ lapwing {shlex.join(command(words_of(files.table)))}")
    try:
        with guiding():
            files.run(command(given_words(files.table)))
    except LapwingError:
        tell(say("start.goes_on"))
        raise
