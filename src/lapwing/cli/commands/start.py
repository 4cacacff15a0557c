"""`lapwing start`: from a file to an evaluated release by questions, each step by a command that is shown first."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lapwing.cli import options
from lapwing.cli.asking import asked, number, positive, tell, wrong
from lapwing.cli.console import aligned
from lapwing.cli.looking import remember
from lapwing.cli.options import option
from lapwing.cli.tables import stem_of
from lapwing.errors import LapwingError, ParameterError
from lapwing.schema.scalars import visible

if TYPE_CHECKING:
    from lapwing.internal.suggestions import Suggestion
    from lapwing.schema.fields import Field
    from lapwing.schema.schemas import Schema

_MOST_ROWS = 5
_BOUGHT_SHARE = 0.2
_TEXTS_SHOWN = 20
_HELP = {
    "ranged": "LOW..HIGH from public knowledge, a name of the catalogue (`list` shows it), `buy` it with budget, "
    "`id` if it names rows or people, `drop` it, `look` at the column (internal)",
    "list": "every value that can occur, with commas between, a name of the catalogue (`list` shows it), `buy` the "
    "list with budget, `id`, `drop`, `look` (internal)",
}


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of one guided start, beside each other, named after the table.

    run: runs a command line of `lapwing`.
    """

    data: Path
    folder: Path
    run: Callable[[list[str]], object]

    def __getitem__(self, ending: str) -> Path:
        return self.folder / f"{stem_of(self.data)}.{ending}"


def start(
    context: typer.Context,
    data: options.Data,
    output: Annotated[Path, option("-o --output", "DIR", "Folder for the files that are made.")] = Path(),
) -> None:
    """Go from a file to a release by questions, without editing anything."""
    app = context.find_root().command
    files = _Files(data, output, lambda command: app.main(command, "lapwing", standalone_mode=False))
    if not output.is_dir():
        raise ParameterError(
            f"the folder {output} does not exist; make it first, or give another with -o", code="LW115"
        )
    tell(
        "Each question has its answer in brackets where Enter will do. Ctrl-C ends; the same command goes on later. "
        "What is marked internal looks at the rows, costs nothing, and is for your eyes only."
    )
    schema = _schema(files)
    _step(files, "Check: which cells do not fit? (internal)", "schema", "check", files["schema.json"], data)
    if not typer.confirm("Does this look right? Misfits count as missing", default=True):
        tell(f"Correct {files['schema.json']}, or remove it, and start again.")
        raise typer.Exit
    budget = _budget(schema, files)
    _open_ledger(schema, files, budget)
    used = _learned(schema, files, budget)
    _released(used, files, budget)


# -- The schema, column by column.


def _schema(files: _Files) -> "Schema":
    """Return the schema that is there already, or the one that the answers describe."""
    from lapwing.schema.schemas import Schema  # noqa: PLC0415

    place = files["schema.json"]
    if place.exists():
        tell(f"{place} is there from an earlier start, and is used.")
        return Schema.load_draft(place)

    from lapwing.internal.suggestions import suggest  # noqa: PLC0415
    from lapwing.verbs.schemas import draft  # noqa: PLC0415

    tell(f"\n$ lapwing schema draft {shlex.quote(str(files.data))}   (internal: names, types, how the file is written)")
    drafted = draft(files.data)
    seen = {each.name: each for each in suggest(files.data, drafted).value}
    if drafted.dialect.to_dict():
        tell(f"The file is written so: {_keys(drafted.dialect.to_dict())}")
    unit = _unit([field.name for field in drafted.fields])
    fields = []
    for place_of, field in enumerate(drafted.fields, start=1):
        tell(f"\nColumn {place_of} of {len(drafted.fields)}: {field.name} ({_written(field)})")
        found = {"name": field.name, "type": "string", "role": "identifier"} if unit and field.name == unit[0] else None
        found = found or _field(files, drafted, field, seen.get(field.name))
        if found is not None:
            fields.append(found)
    described: dict[str, Any] = {"name": files.data.stem, "fields": fields}
    if drafted.dialect.to_dict():
        described["dialect"] = drafted.dialect.to_dict()
    if unit:
        described["privacyUnit"] = {"field": unit[0], "maxRows": unit[1]}
    has_blank = any(each.get("provenance") == "dp" for each in fields)
    schema = Schema.load_draft({**described, "draft": has_blank})
    schema.save(place)
    tell(f"\nWritten: {place}")
    return schema


def _written(field: "Field") -> str:
    keys = field.reading.to_dict()
    return f"{field.type}, written with {_keys(keys)}" if keys else field.type


def _keys(found: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value!r}" for key, value in found.items())


def _unit(names: Sequence[str]) -> tuple[str, int] | None:
    """Ask whose rows are protected together."""
    if typer.confirm("Is every row another person (or firm, or whatever is to be protected)?", default=True):
        return None
    column = asked(
        "Which column says whose row it is?", None, lambda text: text if text in names else wrong(", ".join(names))
    )
    most = asked("How many rows of one person are used at most?", str(_MOST_ROWS), positive)
    return column, most


def _field(files: _Files, drafted: "Schema", field: "Field", seen: "Suggestion | None") -> dict[str, Any] | None:
    """Ask for the domain of one column; None for a column that is left out."""
    from lapwing.schema.catalogue import entries_for  # noqa: PLC0415
    from lapwing.schema.files import field_to_dict  # noqa: PLC0415

    kept = {
        key: value
        for key, value in field_to_dict(field, ("",)).items()
        if key not in ("categories", "constraints", "provenance")
    }
    if field.type == "boolean":
        return {**kept, "provenance": "public"}
    known = entries_for(field.name, field.type)
    for entry in known:
        tell(f"  catalogue: {entry.name}, {entry.title} ({entry.source})")
    default = known[0].name if len(known) == 1 else "buy"
    if seen is not None and any('role "identifier"' in advice for advice in seen.advice):
        default = "id"
    kind = "list" if field.type == "string" else "ranged"

    def read(text: str) -> dict[str, Any] | None:
        if text == "look":
            _look(files, drafted, field, seen)
            wrong(_HELP[kind])
        return _described(text, field, kept)

    return asked("  What can it hold? (? for help)", default, read, help_text=_HELP[kind])


def _described(text: str, field: "Field", kept: dict[str, Any]) -> dict[str, Any] | None:
    """Return the field that an answer describes; None to leave it out."""
    from lapwing.schema.files import field_from  # noqa: PLC0415

    if text == "drop":
        return None
    if text == "buy":
        return {**kept, "provenance": "dp"}
    if text == "id":
        return {"name": field.name, "type": "integer" if field.type == "integer" else "string", "role": "identifier"}
    found = {**kept, "provenance": "public", **_domain(text, field)}
    try:
        field_from(found)
    except LapwingError as error:
        said = str(error)
    else:
        return found
    wrong(said)


def _domain(text: str, field: "Field") -> dict[str, Any]:
    """Return the keys of a field that an answer stands for: of the catalogue, a range or a list."""
    from lapwing.schema.catalogue import catalogue  # noqa: PLC0415

    if text == "list":
        lines = [(each.name, each.title, each.source) for each in catalogue().values()]
        wrong(aligned([("name", "what", "source"), *lines]))
    if text in catalogue():
        return {"domain": text}
    low, dots, high = text.partition("..")
    try:
        if dots and field.type != "string":
            return {"constraints": {"minimum": _cell(low, field), "maximum": _cell(high, field)}}
        if field.type == "string" or "," in text:
            return {"categories": [_cell(part, field) for part in text.split(",") if part.strip()]}
    except ValueError:
        pass
    wrong("write a range such as 0..120" if field.type != "string" else "write texts with commas between")


def _cell(text: str, field: "Field") -> int | float | str:
    """Return a value as the field's type wants it in a schema; a ValueError where it is none."""
    bare = text.strip()
    if field.type == "integer":
        return int(bare)
    return float(bare) if field.type == "number" else bare


def _look(files: _Files, drafted: "Schema", field: "Field", seen: "Suggestion | None") -> None:
    """Show what a column holds: internal, because its owner asked for it."""
    from lapwing.internal.suggestions import frequent_texts  # noqa: PLC0415
    from lapwing.judge.report.page import NOTICE  # noqa: PLC0415

    tell(f"  {NOTICE}")
    if seen is not None:
        within = f", within {seen.within}" if seen.within else ""
        tell(f"  {seen.cells} cells, {seen.missing} empty, {seen.distinct} values{within}")
        for advice in seen.advice:
            tell(f"  {advice}")
    if field.type == "string":
        for text, count in frequent_texts(files.data, drafted, field.name, _TEXTS_SHOWN).value:
            tell(f"  {count:>8}  {visible(text)}")
        tell("  A list that is copied from here tells of the rows: take it from a code book where you can.")


# -- Budget, ledger, purchase, release.


@dataclass(frozen=True, slots=True)
class _Budget:
    epsilon: float
    delta: str | None

    def options(self, share: float = 1.0) -> list[str]:
        """Return the options that spend a part of it."""
        delta = [] if self.delta is None else ["--delta", self.delta]
        return ["--epsilon", f"{self.epsilon * share:.12g}", *delta]


def _budget(schema: "Schema", files: _Files) -> _Budget:
    """Ask for the budget, show what it buys before any row is read, and open a ledger."""
    from lapwing.runs.learned.domains import needs_selection  # noqa: PLC0415

    tell(
        "\nThe budget: ε bounds what anybody can learn about one person, whatever else they know. 0.1 is strict, 1 "
        "usual, above 10 weak. A δ makes it more accurate at the price of a tiny chance."
    )
    epsilon = asked("ε", "1", number)
    needs_delta = any(field.blank and needs_selection(field, {}) for field in schema.columns)
    question = "δ (needed, as lists of texts are bought)" if needs_delta else "δ (0: none)"
    delta = asked(question, "1e-9", number)
    budget = _Budget(epsilon, None if delta == 0 else f"{delta:g}")
    if not any(field.blank for field in schema.columns):
        rows = asked("About how many rows are there? A public guess; nothing is read", "1000", positive)
        planned = ["plan", "--schema", files["schema.json"], "--expected-rows", rows, *budget.options()]
        _step(files, "Plan: what this budget buys (no row is read)", *planned)
        if not typer.confirm("Go on with this budget?", default=True):
            return _budget(schema, files)
    return budget


def _open_ledger(schema: "Schema", files: _Files, budget: _Budget) -> None:
    """Open a ledger of the table, unless there is one."""
    ledger = files["budget.db"]
    if ledger.exists():
        return
    limit = asked("How much ε may ever be spent on this table, by all releases together?", "10", str)
    notion = ["--unit", "pure"] if budget.delta is None else ["--unit", "zcdp", "--delta", budget.delta]
    unit = ["--neighbours", "add-remove", "--privacy-unit", schema.unit_label]
    chosen = (
        ["--selection-delta", f"{float(budget.delta) / 2:g}"] if budget.delta is not None and schema.is_draft else []
    )
    _step(
        files,
        "Ledger: it adds up what is spent",
        "ledger",
        "init",
        files.data.stem,
        *notion,
        "--limit",
        limit,
        *unit,
        *chosen,
        "--ledger",
        ledger,
    )


def _learned(schema: "Schema", files: _Files, budget: _Budget) -> Path:
    """Buy what the schema leaves open; return the schema to release under."""
    if not any(field.blank for field in schema.columns):
        return files["schema.json"]
    place = files["learned.json"]
    if place.exists():
        tell(f"{place} is there from an earlier start, and is used.")
        return place
    named = ["--ledger", files["budget.db"], "--dataset", files.data.stem]
    _step(
        files,
        f"Buy bounds and lists with {_BOUGHT_SHARE:.0%} of ε",
        *("schema", "learn", files.data, "--schema", files["schema.json"], *budget.options(_BOUGHT_SHARE), *named),
        *("-o", place),
    )
    _settled(files.data, place)
    return place


def _settled(data: Path, place: Path) -> None:
    """Leave out what was not found, so that a release can be made; the owner is told."""
    from lapwing.schema.schemas import Schema  # noqa: PLC0415

    found = Schema.load_draft(place)
    blank = [field.name for field in found.columns if field.blank]
    if blank:
        tell(f"Left out, as nothing was found: {', '.join(blank)}")
    kept = replace(found, fields=tuple(each for each in found.fields if each.name not in blank), is_draft=False)
    kept.save(place)
    remember([data], kept)  # the look at the draft was one at these columns


def _released(schema: Path, files: _Files, budget: _Budget) -> None:
    """Make the release, its report, and its comparison with the real table."""
    rows, model = files["synthetic.csv"], files["lapwing"]
    share = 1.0 if schema == files["schema.json"] else 1 - _BOUGHT_SHARE
    if rows.exists() and not typer.confirm(f"{rows} is there. Make another release, for more budget?", default=False):
        return
    named = ["--ledger", files["budget.db"], "--dataset", files.data.stem]
    _step(
        files,
        "Release: synthetic rows, model and certificate",
        *("synthesize", files.data, "--schema", schema, *budget.options(share), *named),
        *("-o", rows, "--model", model),
    )
    try:
        import altair  # noqa: F401, PLC0415 - the extra `report`
        import sklearn  # noqa: F401, PLC0415
    except ImportError:
        tell('No report: install it with pip install "lapwing[report]", then lapwing report ' + str(model))
        return
    _step(files, "Report: for anybody", "report", model, "-o", files["report.html"])
    if typer.confirm("Compare with the real rows? (internal)", default=True):
        compared = ["evaluate", files.data, rows, "--schema", schema, "--model", model]
        _step(files, "Evaluation (internal)", *compared, "-o", files["evaluation.html"])


# -- Doing.


def _step(files: _Files, title: str, *arguments: object) -> None:
    """Show a command and run it; if it is refused, so is the start, with the same line."""
    command = [str(each) for each in arguments]
    tell(f"\n{title}\n$ lapwing {shlex.join(command)}")
    try:
        files.run(command)
    except LapwingError:
        tell("Mended, `lapwing start` goes on from the files that are there.")
        raise
