"""What is read from a saved model: `lapwing sample` with its conditions, `lapwing query` and `lapwing answers`."""

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lapwing.cli import options
from lapwing.cli.console import Say, console_progress, is_quiet, speaker
from lapwing.cli.options import flag, misuse, option, whole
from lapwing.cli.outputs import check_drawn
from lapwing.errors import DataError, ParameterError
from lapwing.release.files import write_release_rows
from lapwing.release.linked.targets import events_targets, linked_targets, write_one_into, write_tables
from lapwing.release.targets import STANDARD_OUTPUT, Targets, rows_place
from lapwing.rows.out.outputs import whole_files
from lapwing.schema.scalars import align_lines, quote

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from lapwing.release.release import Release
    from lapwing.release.rows_out import RowsOut
    from lapwing.schema.linked.database import LinkedTables
    from lapwing.schema.schemas import Schema

_NO_MODEL = "LW601"


def open_saved(model: Path) -> "Release":
    """Return the release in a model file."""
    from lapwing.release.loading import load  # noqa: PLC0415

    try:
        return load(model)
    except DataError as error:
        if error.code != _NO_MODEL:
            raise
        failure = error
    raise DataError(f"{failure}; give the file that `lapwing synthesize --model M.lapwing` wrote", code=failure.code)


Table = Annotated[str | None, option("--table", "NAME", "One of the tables, where the model has several.")]


def one_table(release: "Release", name: str | None) -> "Release":
    """Return the release of one table: the one that is named, or the only one that was given."""
    linked = release.linked
    if linked is None:
        if name is None:
            return release
        raise ParameterError(f"the model has one table, got {quote(name)}; leave --table out", code="LW301")
    given, names = linked.given, linked.names
    chosen = given[0] if name is None and len(given) == 1 else name
    if chosen not in names:
        got = "none" if name is None else quote(name)
        raise ParameterError(
            f"the model has several tables and the command is about one, got {got}; give --table with one of "
            f"{', '.join(names)}",
            code="LW301",
        )
    return release.tables[chosen]


def sample(
    context: typer.Context,
    model: options.Model,
    output: options.RowsPlaces = [],  # noqa: B006 - typer reads the default and passes a new list
    into: Annotated[
        str | None,
        option(
            "--into",
            "PLACE",
            "Instead of -o: a new .duckdb, .sqlite or .db file, or postgresql://...; of several tables also a folder.",
        ),
    ] = None,
    rows: Annotated[
        int | None,
        option("--rows", "N", "Rows to draw (linked: of the first table), at least 1; left out with --where-file."),
    ] = None,
    seed: options.Seed = None,
    where: Annotated[
        list[str],
        option(
            "--where",
            "CONDITION",
            "Only rows like this: COL=VALUE, COL=A..B with both ends, COL=A,B for any of these, COL= for missing, or "
            "such as 'age >= 65 and owner'; repeat for more. Linked: columns of the first table.",
        ),
    ] = [],  # noqa: B006 - typer reads the default and passes a new list
    where_file: Annotated[
        Path | None,
        option(
            "--where-file",
            "FILE",
            "A .csv or .parquet table of public conditions: one synthetic row for each, with its values.",
        ),
    ] = None,
    balance: Annotated[
        str | None, option("--balance", "COL", "As many rows of each of this column's values, in place of --where.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Draw rows from a saved model, at no cost."""
    for each in output:
        rows_place(each)
    _check(rows, where, where_file)
    if balance is not None and (where or where_file is not None):
        raise ParameterError("--balance says which rows to draw; leave --where and --where-file out", code="LW325")

    release: Any = open_saved(model)
    say = speaker(context, quiet)
    if release.linked is not None:
        if where_file is not None or balance is not None:
            raise ParameterError("--where-file and --balance are for releases of one table; give --where", code="LW325")
        _linked_sample(release, release.linked, model, (output, into), (rows, seed, where), say)
        return
    place = _one_place(output, into, context)
    sources, count = [model], rows or 0
    from lapwing.model.statistics.expressions import read_conditions  # noqa: PLC0415 - it imports NumPy

    given: object = read_conditions(where, release.schema)
    if where_file is not None:
        table = read_condition_rows(where_file, release.schema)
        sources, count, given = [model, where_file], table.height, table
        say(support_text(release.support(table)))
    elif given is not None:
        say(f"support: {release.support(given).text}")
    shares = None if balance is None else {balance: "equal"}
    found = release.rows(count, seed=seed, where=given, balance=shares)
    if into is not None:
        write_one_into(release.schema, found.frames(), into)
        say(f"rows: {place}")
    else:
        _write_rows(found, place, sources, say, quiet=is_quiet(context, quiet))


def _one_place(output: Sequence[str], into: str | None, context: typer.Context) -> str:
    """Return where the rows of one table go; of a server only that it is one."""
    if into is None:
        return options.one_place(output, None, context)
    from lapwing.rows.out.databases import is_database, tables_target  # noqa: PLC0415 - it imports Polars

    if output or not is_database(into):
        raise misuse("the rows of one table go to a file, -o OUT, or --into a database", context, code="LW903")
    return str(tables_target(into))


def _write_rows(rows: "RowsOut", place: str, sources: Sequence[Path], say: Say, *, quiet: bool) -> None:
    """Write the rows of one table to a file, a folder or standard output."""
    target, has_folder = rows_place(place)
    if target == STANDARD_OUTPUT:
        write_release_rows(rows, target, None, quiet=True)
        return
    with whole_files([target], sources, [target] if has_folder else []) as (kept,):
        write_release_rows(rows, target, kept, quiet=quiet)
    say(f"rows: {place}")


def _linked_sample(
    release: "Release",
    linked: "LinkedTables",
    model: Path,
    place: tuple[Sequence[str], str | None],
    asked: tuple[int | None, int | None, Sequence[str]],
    say: Say,
) -> None:
    """Draw rows of linked tables, or events, that belong together."""
    output, into = place
    rows, seed, where = asked
    if linked.is_events:
        target, has_folder = rows_place(options.one_place(output, into))
        targets = events_targets(linked, Targets(rows={"": target}, folder=target if has_folder else None))
    else:
        targets = linked_targets(linked, output, into)
    from lapwing.model.statistics.expressions import read_conditions  # noqa: PLC0415 - it imports NumPy

    first = release.tables[linked.names[0]]
    given = read_conditions(where, first.schema, linked.first_column)
    if given is not None:
        say(f"support: {first.support(given).text}")
    paths = targets.in_order
    with whole_files(paths, [model], targets.folders, targets.replaces) if paths else nullcontext(()) as places:
        write_tables(targets, release.frames(rows, seed=seed, where=given), dict(zip(paths, places, strict=True)))
    for what, path in targets.named:
        say(f"{what}: {path}")


def _check(rows: int | None, where: list[str], where_file: Path | None) -> None:
    """Refuse options that leave open how many rows are wanted, or say it twice."""
    if where_file is not None and (where or rows is not None):
        extra = "--where" if where else "--rows"
        raise ParameterError(f"--where-file gives one row for each of its conditions; leave {extra} out", code="LW325")
    if where_file is None and rows is None:
        raise ParameterError(
            "sample needs a number of rows; give --rows N, or conditions with --where-file FILE", code="LW325"
        )
    check_drawn(rows)


_DRAWN = {"atoms": "atoms that match", "sweeps": "Gibbs sweeps", "nearest": "atoms that match in some columns"}


def read_condition_rows(path: Path, schema: "Schema") -> "pl.DataFrame":
    """Return the table of conditions in a file: its values in the types of rows out."""
    from lapwing.rows.given import given_rows  # noqa: PLC0415 - it imports polars

    return given_rows(path, schema).values


def support_text(found: "pl.DataFrame") -> str:
    """Return one line on the support of a table of conditions."""
    atoms = found["effective_atoms"]
    counts = {how: int((found["drawn"] == how).sum()) for how in _DRAWN}
    said = [f"{count} drawn from {_DRAWN[how]}" for how, count in counts.items() if count]
    refused = int((found["drawn"] == "nothing").sum())
    drawn = ", ".join([*said, *([f"{refused} refused"] if refused else [])])
    middle = f", {atoms.to_numpy().mean():.1f} effective atoms on average" if len(atoms) else ""
    return f"support of {len(atoms)} condition rows{middle}: {drawn or 'none to draw'}"


LOWER = 2
"""Place of the interval's lower end among the numbers; its upper end follows."""


def number_or_measured(text: str) -> int | Literal["measured"]:
    """Return the value of ``--groups``."""
    return "measured" if text == "measured" else whole(text)


def query(
    context: typer.Context,
    model: options.Model,
    column: Annotated[
        list[str] | None, option("--column", "NAME", "A column of the table; repeat, or separate several by commas.")
    ] = None,
    mean: Annotated[
        list[str] | None,
        option("--mean", "NAME", "Instead of a table: the population's mean of a column of numbers; repeat."),
    ] = None,
    share: Annotated[
        list[str] | None,
        option("--share", "CONDITION", "Likewise the share that meets a condition, as of sample --where; repeat."),
    ] = None,
    replicates: Annotated[
        str,
        option("--replicates", "M", "Releases that are simulated for the intervals of --mean and --share, 4 or more."),
    ] = "20",
    groups: Annotated[
        str,
        option(
            "--groups",
            "N|measured",
            "Number of groups for a column with more values, or measured: those in which they were counted together.",
        ),
    ] = "20",
    table: Table = None,
    confidence: Annotated[str, option("--confidence", "C", "Confidence of each interval, between 0 and 1.")] = "0.95",
    weighted: Annotated[
        bool, flag("--weighted", "Weighted totals instead of counts, by the survey weight of the schema.")
    ] = False,
) -> None:
    """Print a contingency table of a saved model, or means and shares, each with an interval."""
    if mean or share:
        if column or weighted:
            raise misuse("--mean and --share stand alone; ask for the table by itself", context, code="LW903")
        simulated = whole(replicates)
        release = open_saved(model)
        of = _asked(release, table, mean) if mean else one_table(release, table)
        _print_estimates(of, mean or (), share or (), simulated, confidence)
        return
    if not column:
        raise misuse("missing option '--column', '--mean' or '--share'", context, code="LW903")
    wanted = number_or_measured(groups)

    from lapwing.model.evidence import measured_groupings  # noqa: PLC0415

    release = _asked(open_saved(model), table, column)
    column = options.known_names(column, [field.name for field in release.schema.fields])
    found, is_known = _queried(release, column, groups=wanted, confidence=confidence, weighted=weighted)
    print(_table_text(found, is_known))
    missing = int((~is_known).sum())
    if missing:
        counted = [*column, release.schema.weight] if weighted and release.schema.weight else column
        is_measured = wanted != "measured" and measured_groupings(release.noisy, counted) is not None
        hint = "; --groups measured shows the cells that were counted" if is_measured else ""
        speaker(context, quiet=False)(f"no noisy answer covers {missing} of {is_known.size} cells{hint}")


def _print_estimates(
    release: "Release", means: Sequence[str], shares: Sequence[str], replicates: int, confidence: str
) -> None:
    """Print what `Release.replicates` tells of the population; all is checked before anything is simulated."""
    from lapwing.model.statistics.expressions import condition_of  # noqa: PLC0415
    from lapwing.release.queries import failure_of_confidence  # noqa: PLC0415
    from lapwing.release.replicates import check_numbers  # noqa: PLC0415

    schema = release.schema
    names = options.known_names(means, [field.name for field in schema.columns])
    check_numbers(schema, names)
    for text in shares:
        condition_of(text, schema)
    level = 1 - failure_of_confidence(confidence)
    with console_progress(quiet=False):
        found = release.replicates(replicates)
    asked = [(f"mean of {name}", found.mean(name, level)) for name in names]
    asked += [(f"share of {text}", found.proportion(text, level)) for text in shares]
    keys = ("estimate", "lower", "upper", "standard_error")
    rows = [(said, *(f"{getattr(each, key):.4g}" for key in keys)) for said, each in asked]
    print(align_lines([(f"population, {confidence} each", *keys), *rows], right=range(1, 5)))


def _asked(release: "Release", table: str | None, column: Sequence[str]) -> "Release":
    """Return the release of the table that is named, or that has the columns."""
    if table is not None or release.linked is None:
        return one_table(release, table)
    known = [name for part in release.tables.values() for name in part.schema.names]
    return release.tables[release.linked.home_of(options.known_names(column, known), "query")]


def query_text(release: "Release", column: Sequence[str]) -> str:
    """Return the table of some columns of a release as aligned text."""
    return _table_text(*_queried(release, column, groups=20, confidence="0.95", weighted=False))


def _queried(release: "Release", column: Sequence[str], **asked: Any) -> "tuple[dict[str, np.ndarray], np.ndarray]":  # noqa: ANN401
    """Return the cells of `Release.query`, for which nothing loads that makes frames."""
    from lapwing.release.queries import query_table  # noqa: PLC0415 - it needs NumPy

    return query_table(release, column, **asked)


def _table_text(cells: "Mapping[str, np.ndarray]", is_known: "np.ndarray") -> str:
    """Return cells as aligned text: count with one decimal, share with four, ``-`` for an end that is unknown."""
    names = list(cells)
    labels, numbers = names[:-5], names[-5:-1]
    texts = {name: list(map(form.format, cells[name].tolist())) for form, name in zip(_NUMBERS, numbers, strict=True)}
    for name in numbers[LOWER:]:
        texts[name] = [text if known else "-" for text, known in zip(texts[name], is_known, strict=True)]
    lines = zip(*(cells[name] for name in labels), *texts.values(), cells[names[-1]], strict=True)
    return align_lines([names, *map(list, lines)], right=range(len(labels), len(labels) + len(numbers)))


_NUMBERS = ("{:.1f}", "{:.4f}", "{}", "{}")


_NAME_LENGTH = 60


def answers(
    context: typer.Context,
    model: options.Model,
    output: Annotated[Path, option("-o --output", "DIR", "A new folder: one CSV per noisy table, and index.csv.")],
    quiet: options.Quiet = False,
) -> None:
    """Write the noisy tables behind a saved model."""
    release = open_saved(model)
    with whole_files([output], folders=[output], replaces=lambda _: False) as (folder,):
        _write_tables(release.tables, folder)
    speaker(context, quiet)(f"noisy tables: {output}")


def _write_tables(parts: "Mapping[str, Release]", folder: Path) -> None:
    """Write each noisy table, and the index that says which file is which; of several tables, also of which."""
    import polars as pl  # noqa: PLC0415

    index: list[dict[str, object]] = []
    for of, release in parts.items():
        released = [(answer, each) for answer in release.noisy for each in answer.tables]
        for (name, table), (answer, counts) in zip(release.answer_tables(), released, strict=True):
            called = f"{of}-{name}" if of else name
            file = f"{len(index):04d}-{re.sub(r'[^A-Za-z0-9_-]+', '_', called)[:_NAME_LENGTH]}.csv"
            table.write_csv(folder / file)
            index.append(
                {
                    "file": file,
                    **({"table": of} if of else {}),
                    "columns": " x ".join(answer.question.columns),
                    "level": counts.level,
                    "cells": table.height,
                    "noise": counts.noise.kind,
                    "parameter": str(counts.noise.parameter),
                    "sd": counts.noise.sd,
                }
            )
    pl.DataFrame(index).write_csv(folder / "index.csv")
