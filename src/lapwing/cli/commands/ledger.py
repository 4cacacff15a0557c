"""`lapwing ledger`: the persistent account of what was spent on each data set."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from lapwing.cli import options
from lapwing.cli.console import first_lines, speaker
from lapwing.cli.examples import examples
from lapwing.cli.options import argument, option
from lapwing.kernel.budget.accounts import Balance, delta_text
from lapwing.kernel.budget.budget import Notion, as_text
from lapwing.kernel.budget.ledger import Ledger
from lapwing.on_demand import extra
from lapwing.rows.out.outputs import write_output
from lapwing.schema.scalars import align_lines

if TYPE_CHECKING:
    from lapwing.kernel.budget.chain import Entry
    from lapwing.kernel.terms import Relation


ledger_app = typer.Typer(name="ledger", help="Keep account of the spent privacy budget.", rich_markup_mode=None)

LedgerFile = Annotated[str, option("--ledger", "L", "The ledger: a file, or postgresql://USER@HOST/NAME.")]
Name = Annotated[str, argument("NAME", "The data set's name.")]
AnyName = Annotated[str | None, argument("[NAME]", "The data set; not needed if the ledger has only one.")]
_BOOK = "budget.db"
_LAST = ("release", "details")


@ledger_app.command(epilog=examples("ledger init"))
def init(
    context: typer.Context,
    name: Name,
    unit: Annotated[
        str, option("--unit", "pure|zcdp", "Count in ε (pure) or in ρ (zcdp).", autocompletion=options.notions)
    ],
    limit: Annotated[str, option("--limit", "X", "Limit on all that is ever spent: ε, or ρ; with --delta an ε.")],
    neighbours: Annotated[
        str,
        option("--neighbours", "R", "Neighbour relation: add-remove or replace-one.", autocompletion=options.relations),
    ],
    privacy_unit: Annotated[
        str, option("--privacy-unit", "row|FIELD:MAXROWS", "Whose records are protected together.")
    ],
    delta: Annotated[str | None, option("--delta", "D", "With zcdp: --limit is the ε at this δ, 0 to below 1.")] = None,
    selection_delta: Annotated[
        str | None,
        option(
            "--selection-delta",
            "D",
            "The δ for learning category lists; with --delta a part of it. Default: 0, none may be learned.",
        ),
    ] = None,
    policy: Annotated[
        Path | None, option("--policy", "FILE", "Rules for what may be spent, kept in the account for good.")
    ] = None,
    population: Annotated[
        str | None, option("--population", "NAME", "The people in the data; accounts with this name are summed.")
    ] = None,
    ledger: LedgerFile = _BOOK,
    quiet: options.Quiet = False,
) -> None:
    """Open the account of a data set."""
    from lapwing.release.runs.account_terms import open_account, promise_text  # noqa: PLC0415

    balance = open_account(
        ledger,
        name,
        unit=cast("Notion", unit),
        limit=limit,
        delta=delta,
        selection_delta=selection_delta,
        relation=neighbours,
        privacy_unit=privacy_unit,
        policy=policy,
        population=population,
    )

    from lapwing.present.promises import protected_facts  # noqa: PLC0415

    say = speaker(context, quiet)
    say(f"{_may_spend(balance)}; ledger: {ledger}")
    if balance.selection_delta > 0:
        say(f"Together, all that is released from it will be within {promise_text(balance)}.")
    say(next(protected_facts(cast("Relation", balance.relation), balance.privacy_unit)).line)


@ledger_app.command(epilog=examples("ledger show"))
def show(
    name: AnyName = None,
    ledger: LedgerFile = _BOOK,
    together: Annotated[
        list[str], option("--together", "NAME", "Sum what was spent on people who are in several data sets; repeat.")
    ] = [],  # noqa: B006 - typer reads the default and passes a new list
) -> None:
    """Print limit, spending and what is left, by data set and population."""
    from lapwing.release.runs.account_terms import by_population  # noqa: PLC0415
    from lapwing.release.runs.account_terms import together as spent_together  # noqa: PLC0415

    book = Ledger.open(ledger)
    if together:
        print(spent_together([book.balance(each) for each in dict.fromkeys(together)]))
        return
    names = book.datasets() if name is None else (name,)
    accounts = [_balance_text(book.balance(each), book.opening(each)) for each in names]
    print("\n\n".join([*accounts, *by_population(book, names)]))


@ledger_app.command(epilog=examples("ledger history"))
def history(
    name: AnyName = None,
    ledger: LedgerFile = _BOOK,
    json_file: Annotated[
        Path | None, option("--json", "FILE", "Write the entries with their hashes here instead; without NAME, all.")
    ] = None,
) -> None:
    """Print every entry of a data set in order."""
    book = Ledger.open(ledger)
    if json_file is not None:
        write_output(json_file, json.dumps(book.export(name), indent=2) + "\n")
        return
    account = book.balance(name)
    lines: list[tuple[str, ...]] = [
        ("number", "time", "what", "epsilon" if account.unit == "pure" else "rho", "selections", *_LAST)
    ]
    for entry in book.history(name):
        delta = f"delta {delta_text(entry.selection_delta)}" if entry.selection_delta else ""
        first = (str(entry.number), entry.at, entry.kind, as_text(entry.amount))
        lines.append((*first, delta, entry.release_id or "", _about(entry.details)))
    if account.selection_delta == 0:
        lines = [(*line[:4], *line[5:]) for line in lines]
    print(align_lines(lines, right=[0, 3]))


@ledger_app.command(epilog=examples("ledger verify"))
def verify(
    kept: Annotated[
        str | None, option("--hash", "H", "A hash that this command printed earlier: its entry must still be there.")
    ] = None,
    ledger: LedgerFile = _BOOK,
) -> None:
    """Check that nobody tampered with the ledger."""
    from lapwing.release.runs.transcripts import lost_debit_error, unpaid_transcripts  # noqa: PLC0415

    book = Ledger.open(ledger)
    head = book.head(kept)
    lost = unpaid_transcripts(ledger)
    if lost:
        raise lost_debit_error(lost[0])
    print(align_lines([("ledger", str(ledger)), ("entries", f"{head.entries}, all fit"), ("hash", head.hash)]))
    if head.kept is not None:
        print(f"\nThe hash that you kept is that of entry {head.kept}: up to there nothing was changed.")
    now = datetime.now(UTC).isoformat()
    if ahead := [str(entry.number) for each in book.datasets() for entry in book.history(each) if entry.at > now]:
        numbers = ", ".join(first_lines(ahead, 10))
        print(f"\nDated after now: entry {numbers}. A clock was ahead, and caps of a year go by what it said.")


@ledger_app.command(epilog=examples("ledger limit"))
def limit(
    context: typer.Context,
    name: Name,
    limit: Annotated[str, argument("X", "The new limit, as at `ledger init`.")],
    ledger: LedgerFile = _BOOK,
    quiet: options.Quiet = False,
) -> None:
    """Change the limit of a data set."""
    from lapwing.release.runs.account_terms import change_limit  # noqa: PLC0415

    speaker(context, quiet)(_may_spend(change_limit(ledger, name, limit)))


def _may_spend(balance: Balance) -> str:
    """Say what an account may spend in all."""
    text = f"data set {balance.dataset!r} may spend {balance.describe(balance.limit)}"
    if balance.selection_delta > 0:
        text += f", and delta {delta_text(balance.selection_delta)} on selections"
    return text


def _balance_text(balance: Balance, opened: "Entry") -> str:
    """Return the state of one account as aligned text."""
    from lapwing.release.runs.account_terms import population_of  # noqa: PLC0415

    population = population_of(opened)
    selections = [
        ("limit for selections", f"delta {delta_text(balance.selection_delta)}"),
        ("spent on selections", f"delta {delta_text(balance.selection_spent)}"),
        ("left for selections", f"delta {delta_text(balance.selection_left)}"),
    ]
    return align_lines(
        [
            ("data set", balance.dataset),
            ("limit", balance.describe(balance.limit)),
            ("spent", balance.describe(balance.spent)),
            ("left", balance.describe(balance.left)),
            *(selections if balance.selection_delta > 0 else ()),
            ("neighbours", balance.relation),
            ("privacy unit", balance.privacy_unit),
            *([] if population is None else [("population", population)]),
            *(("policy", each.file) for each in extra("policy").recorded_policy(opened)),
        ]
    )


def _about(details: Mapping[str, object]) -> str:
    """Return the mechanism of a release, where the entry names one."""
    description = details.get("description")
    return str(description.get("mechanism", "")) if isinstance(description, Mapping) else ""
