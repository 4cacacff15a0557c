"""`lapwing schema learn`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli import options
from lapwing.cli.asking import is_guided
from lapwing.cli.console import Say, is_quiet, repeating, speaker
from lapwing.cli.looking import look_first
from lapwing.cli.options import option
from lapwing.cli.outputs import produce
from lapwing.cli.tables import Data, Database, Sql, default_file, given_table, words_of
from lapwing.errors import ParameterError
from lapwing.release.targets import certificate_target
from lapwing.schema.scalars import align_lines, visible

if TYPE_CHECKING:
    from lapwing.release.runs.learned.running import LearnedDomain
    from lapwing.rows.entry import Source
    from lapwing.schema.fields import Field


_UNRECORDED = (
    "No --ledger: what was learned is recorded nowhere but in the schema, and nothing adds up what is spent; see "
    "`lapwing ledger init`."
)
_SHOWN = 6


def learn(
    context: typer.Context,
    data: Data,
    schema: Annotated[Path, option("--schema", "S.json", "What is known already; a draft may have blanks.")],
    output: Annotated[
        Path | None,
        option(
            "-o --output",
            "S2.json",
            "A new file: the schema with what was learned. Default: DATA.learned.json here.",
        ),
    ] = None,
    sql: Sql = None,
    db: Database = None,
    fields: Annotated[
        list[str],
        option(
            "--fields",
            "a ...",
            "Fields to learn, separated by spaces or commas; repeat if you like. Default: every blank field.",
        ),
    ] = [],  # noqa: B006 - typer reads the default and passes a new list
    epsilon: options.Epsilon = None,
    delta: Annotated[
        str | None, option("--delta", "D", "Needed to list texts that occur; with --epsilon the budget is (ε, δ)-DP.")
    ] = None,
    rho: options.Rho = None,
    dictionary: Annotated[
        list[str],
        option(
            "--dictionary",
            "FIELD=FILE",
            "File of public texts that may occur in a field, one per line, which needs no --delta; repeat.",
        ),
    ] = [],  # noqa: B006
    quantile: Annotated[
        str, option("--quantile", "Q", "Share of the rows that may lie beyond each bound, below 1/4.")
    ] = "0",
    neighbours: options.Neighbours = "add-remove",
    ledger: options.LedgerFile = None,
    dataset: options.Dataset = None,
    transcript: Annotated[
        Path | None,
        option("--transcript", "T", "File that keeps every answer: the same command continues from it, and pays once."),
    ] = None,
    certificate: options.CertificateOut = None,
    no_certificate: options.NoCertificate = False,
    check: options.Check = False,
    misfits: options.Misfits = "0.1",
    quiet: options.Quiet = False,
) -> None:
    """Learn blank bounds and categories with a part of the budget."""
    options.check_budget(epsilon, rho, context)
    if context.args and not fields:
        raise options.misuse(f"got unexpected extra argument ({context.args[0]})", context, code="LW903")
    table = given_table(data, sql, db, context)
    output = default_file(table, "learned.json") if output is None else output
    options.refuse_existing(output)
    target = certificate_target(output, certificate, no_certificate=no_certificate)

    from lapwing.api.learn import learn_domain  # noqa: PLC0415
    from lapwing.kernel.terms import Terms  # noqa: PLC0415
    from lapwing.release.runs.learned.running import outlook  # noqa: PLC0415
    from lapwing.release.runs.learned.settings import read_learn_settings  # noqa: PLC0415
    from lapwing.release.runs.records import RunRecords  # noqa: PLC0415
    from lapwing.schema.schemas import Schema  # noqa: PLC0415

    original = Schema.load_draft(schema)
    settings = read_learn_settings(
        original,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        fields=options.known_names([*fields, *context.args], [field.name for field in original.fields]) or None,
        dictionaries=_dictionaries(dictionary),
        quantile=quantile,
        neighbours=neighbours,
    )
    say = speaker(context, quiet)
    for line in outlook(settings, Terms(relation=settings.relation, max_rows=original.max_rows)):
        say(visible(f"At this budget {line}."))
    look_first([table], original, schema, check=check, misfits=misfits, say=say)
    book = RunRecords(ledger=ledger, dataset=dataset, transcript=transcript)
    targets = [path for path in (output, target) if path is not None]
    found = produce(
        lambda: learn_domain(table, settings, book).value,
        _write,
        targets,
        [table.file, schema, options.file_of_ledger(ledger), transcript],
        finish=repeating,
        quiet=is_quiet(context, quiet),
    )
    account = [f"--ledger {ledger}"] * (ledger is not None) + [f"--dataset {dataset}"] * (dataset is not None)
    print(visible("\n".join(_summary(found, table, output, account))))
    _tell(found, targets, say)


def _write(found: "LearnedDomain", place: Mapping[Path, Path]) -> None:
    """Write schema and certificate, which names it, to the places that are kept for them."""
    from lapwing.model.certificate.issued import Beside, IssueRecord  # noqa: PLC0415

    (target, first), *more = place.items()
    found.schema.save(first)
    for _, each in more:
        paid = found.certificate
        issued = IssueRecord.now(
            [Beside.read(Path(target.name), first)],
            table=found.schema.name if paid.ledger is None else paid.ledger.dataset,
            schema=found.schema.fingerprint,
        )
        each.write_text(replace(paid, issued=issued).to_json(), encoding="utf-8", newline="\n")


def _dictionaries(texts: Sequence[str]) -> dict[str, Path]:
    """Return the file of each field that has a dictionary."""
    found: dict[str, Path] = {}
    for text in texts:
        name, equals, file = text.partition("=")
        if not equals or not name or not file:
            raise ParameterError(
                f"dictionary must be FIELD=FILE, got {text!r}; write for example town=towns.txt", code="LW307"
            )
        if name in found:
            raise ParameterError(f"dictionary of {name} is given twice; give it once", code="LW307")
        found[name] = Path(file)
    return found


def _summary(found: "LearnedDomain", table: "Source", output: Path, account: Sequence[str]) -> list[str]:
    """Return what was learned and what it cost, what was not found, and what comes next."""
    from lapwing.present.certificates import describe_certificate  # noqa: PLC0415
    from lapwing.release.marked import NOTICE  # noqa: PLC0415

    fields = [found.schema.field(name) for name in found.names]
    lines = [(field.name, field.type, _learned(field), field.provenance) for field in fields]
    return [
        NOTICE,
        "",
        align_lines([("field", "type", "values", "provenance"), *lines]),
        "",
        *describe_certificate(found.certificate).lines("cost"),
        *(note.text for note in found.notes),
        *([] if is_guided() else [f"Next: {_next(found, ' '.join(words_of(table)), output, account)}"]),
    ]


def _learned(field: "Field") -> str:
    """Return what was learned of a field in a few words."""
    if field.blank:
        return "not found"
    if field.categories is None:
        return f"{field.minimum} to {field.maximum}"
    listed = ", ".join(map(str, field.categories[:_SHOWN])) + (", ..." if len(field.categories) > _SHOWN else "")
    count = len(field.categories)
    return f"{count} categor{'y' if count == 1 else 'ies'}: {listed}"


def _next(found: "LearnedDomain", data: str, output: Path, account: Sequence[str]) -> str:
    """Return what to do now: a release in the same notion and terms, or what makes the schema complete."""
    learned = found.certificate
    if not found.schema.is_draft:
        pure = "--epsilon E" if learned.total.notion == "pure" else "--epsilon E --delta D"
        budget = pure if learned.requested.rho is None else "--rho R"
        terms = [f"--neighbours {learned.relation}"] * (learned.relation != "add-remove")
        return " ".join([f"`lapwing synthesize {data} --schema {output}", budget, *terms, *account, "-o OUT.parquet`"])
    if not found.open:
        return f'{output} is a draft still, as its owner has marked it; remove "draft" once it is checked'
    named = ", ".join(found.open[:_SHOWN]) + (" and others" if len(found.open) > _SHOWN else "")
    return (
        f"{output} is a draft still, as its owner has yet to fill in or confirm {named}; then remove "
        f'"draft", or learn what is blank with more budget: `lapwing schema learn {data} --schema {output} ...`'
    )


def _tell(found: "LearnedDomain", targets: Sequence[Path], say: Say) -> None:
    """Say what is promised, and where the files are."""
    from lapwing.present.certificates import WHOLE, describe_certificate  # noqa: PLC0415

    known = tuple(each for each in found.certificate.warnings if each not in found.notes)
    for fact in describe_certificate(replace(found.certificate, warnings=known)).all(*WHOLE):
        if fact.key != "cost":
            say(_UNRECORDED if found.certificate.ledger is None and fact.key == "recorded" else fact.line)
    for what, path in zip(("schema", "certificate"), targets, strict=False):
        say(f"{what}: {path}")
