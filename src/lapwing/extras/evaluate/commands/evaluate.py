"""`lapwing evaluate`."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from lapwing.cli import options
from lapwing.cli.console import is_quiet, repeating, speaker
from lapwing.cli.options import argument, option
from lapwing.cli.outputs import produce
from lapwing.cli.tables import Database, Sql, given_table, linked_schema, optional_table, stem_of
from lapwing.extras.evaluate.words import say

if TYPE_CHECKING:
    from lapwing.extras.evaluate.bought import BoughtEvaluation
    from lapwing.extras.evaluate.internal.evaluation import Evaluation
    from lapwing.schema.schemas import Schema


def evaluate(
    context: typer.Context,
    real: Annotated[
        str,
        argument(
            "REAL", "The private table: a file, folder or address; leave it out with --sql. Linked ones: a folder."
        ),
    ],
    synthetic: Annotated[str | None, argument("SYNTHETIC", "The synthetic table, likewise.", is_optional=True)],
    schema: Annotated[Path | None, option("--schema", "S.json", "The schema; without it, that of --model.")] = None,
    sql: Sql = None,
    db: Database = None,
    model: Annotated[
        Path | None,
        option("--model", "M.lapwing", "The release that SYNTHETIC was drawn from: for the report, and its schema."),
    ] = None,
    report: Annotated[
        Path | None,
        option("-o --output", "report.html", "A report: one HTML file, replaced if there (needs lapwing[evaluate])."),
    ] = None,
    metrics: Annotated[Path | None, option("--json", "metrics.json", "Also write all figures here (internal).")] = None,
    target: Annotated[
        str | None,
        option(
            "--target",
            "COLUMN",
            "Also train on synthetic rows to predict this column, and test on real ones (needs lapwing[evaluate]).",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        option(
            "--by",
            "COLUMN",
            "Also compare within the groups of this column; repeat, or separate by commas, to cross columns.",
        ),
    ] = None,
    test: Annotated[
        Path | None,
        option(
            "--test",
            "FILE",
            "Real rows that SYNTHETIC was not made from, to test predictions and attacks.",
        ),
    ] = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    rho: options.Rho = None,
    expected_rows: options.ExpectedRows = None,
    neighbours: options.Neighbours = "add-remove",
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    transcript: options.TranscriptFile = None,
    seed: Annotated[int, option("--seed", "K", "Seed of the 3-way tables and of the comparison rows.")] = 0,
    details: Annotated[bool, options.flag("--details", "Print every figure.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare synthetic tables with the real ones (internal; with a budget, releasable)."""
    from lapwing.extras.evaluate.report.page import check_installed  # noqa: PLC0415
    from lapwing.extras.evaluate.verb import evaluate as evaluation_of  # noqa: PLC0415

    if report is not None:
        options.check_html(report)
        check_installed()
    if synthetic is None and sql is None:
        raise options.misuse("missing argument 'SYNTHETIC': the synthetic table", context, code="LW903")
    own = real if synthetic is not None else None
    table, made, checked = _tables(
        own, real if synthetic is None else synthetic, _schema(schema, model, context), (sql, db), context
    )
    schemas = checked.tables if checked.linked is None else checked.linked.coded
    groups = options.known_names(by or (), [name for each in schemas.values() for name in each.names])
    forms = [(path, form) for path, form in ((metrics, _json), (report, _html)) if path is not None]
    inputs = [
        path
        for path in (*_files(table), *_files(made), schema, model, test, options.file_of_ledger(ledger), transcript)
        if path is not None
    ]
    bought: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "rho": rho,
        "expected_rows": expected_rows,
        "neighbours": neighbours,
        "ledger": ledger,
        "dataset": dataset,
        "transcript": transcript,
    }
    is_bought = epsilon is not None or rho is not None
    file = next(iter(_files(table)), None)
    if checked.linked is None and not is_bought and not checked.name and file is not None:
        checked = replace(checked, name=stem_of(file))  # for the heading of the report

    def compared() -> "Evaluation | BoughtEvaluation":
        return cast(
            "BoughtEvaluation",
            evaluation_of(table, made, checked, target=target, by=groups, test=test, model=model, seed=seed, **bought),
        )

    def write(found: "Evaluation | BoughtEvaluation", place: Mapping[Path, Path]) -> None:
        print(found.summary(details=details))  # first: what was bought is not lost with a file that cannot be written
        for path, form in forms:
            place[path].write_text(form(found), encoding="utf-8", newline="\n")

    _ = produce(
        compared,
        write,
        [path for path, _ in forms],
        inputs,
        finish=repeating,
        quiet=is_quiet(context, quiet),
        steps=None if is_bought else {"first": "reading", "of": say("step.of")},
    )
    for path, form in forms:
        speaker(context, quiet)(f"{_KINDS[form]}: {path}")
    if ledger is None and is_bought:
        speaker(context, quiet)(say("bought.unrecorded"))


def _schema(schema: Path | None, model: Path | None, context: typer.Context) -> "Path | Schema":
    """Return what describes the tables; the schema of the model where no other is given."""
    from lapwing.release.loading import load  # noqa: PLC0415

    if schema is not None:
        return schema
    if model is None:
        raise options.misuse("missing option '--schema', or --model with one", context, code="LW903")
    return load(model).schema


def _tables(
    real: str | None,
    synthetic: str,
    schema: "Path | Schema",
    query: tuple[str | None, str | None],
    context: typer.Context,
) -> tuple[Any, Any, "Schema"]:
    """Return both tables and their schema; linked tables by name, from a folder or database of them all."""
    from lapwing.release.runs.settings import usable_schema  # noqa: PLC0415
    from lapwing.rows.elsewhere import tables_from  # noqa: PLC0415
    from lapwing.rows.entry import tables_by_name  # noqa: PLC0415
    from lapwing.schema.schemas import Schema  # noqa: PLC0415

    sql, db = query
    if isinstance(schema, Schema):
        linked = schema.linked
    else:
        linked = linked_schema(schema, [real] if real else [], [sql] if sql else [], db, context)
    if linked is not None and not linked.is_events:
        if real is None:
            raise options.misuse("linked tables are of a folder or database; leave --sql out", context, code="LW903")
        columns = {name: each.names for name, each in linked.written.items()}
        tables = [tables_by_name(tables_from(each, columns), linked.given) for each in (real, synthetic)]
        return tables[0], tables[1], Schema(linked=linked)
    table, made = given_table(real, sql, db, context), optional_table(synthetic, None, None, context)
    return table, made, usable_schema(schema) if linked is None else Schema(linked=linked)


def _files(table: Any) -> list[Path | None]:  # noqa: ANN401 - a table, or several by name
    """Return the files that tables are read from."""
    return [each.file for each in (table.values() if isinstance(table, dict) else [table])]


def _json(found: "Evaluation | BoughtEvaluation") -> str:
    return json.dumps(found.to_dict(), indent=2) + "\n"


def _html(found: "Evaluation | BoughtEvaluation") -> str:
    return found.html()


_KINDS = {_json: "figures", _html: "report"}
