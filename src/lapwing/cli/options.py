"""How options are declared, and those that several commands share."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.models import ArgumentInfo, OptionInfo

from lapwing.errors import ParameterError
from lapwing.schema.scalars import quote

if TYPE_CHECKING:
    from lapwing.schema.linked.database import LinkedTables


def whole(text: str) -> int:
    """Return a whole number; 100.000 is none, which would else be read as 100."""
    try:
        return int(text)
    except ValueError:
        pass
    raise misuse(f"{text!r} is not a whole number; write it as digits alone, such as 100000", code="LW302")


def misuse(said: str, context: typer.Context | None = None, *, code: str) -> typer.BadParameter:
    """Return an error of the command line that ends it with status 2 and a code of `lapwing explain`."""
    error = typer.BadParameter(said, context)
    vars(error)["code"] = code
    return error


def option(
    names: str,
    metavar: str | None,
    said: str,
    *,
    parser: Callable[[str], object] | None = None,
    autocompletion: Callable[[str], list[str]] | None = None,
) -> OptionInfo:
    """Return an option; its names stand with spaces between."""
    made = typer.Option(*names.split(), metavar=metavar, help=said, parser=parser, autocompletion=autocompletion)
    return cast("OptionInfo", made)


def number(names: str, metavar: str, said: str) -> OptionInfo:
    """Return an option whose value is a whole number."""
    return option(names, metavar, said, parser=whole)


def flag(name: str, said: str) -> OptionInfo:
    """Return an option without a value, or whose value is one of a few words."""
    return option(name, None, said)


def argument(
    metavar: str,
    said: str,
    *,
    autocompletion: Callable[[str], list[str]] | None = None,
    is_optional: bool = False,
) -> ArgumentInfo:
    """Return an argument; an optional one is None where it is left out, also before parameters without a default."""
    made = typer.Argument(
        metavar=metavar,
        help=said,
        show_default=False,
        autocompletion=autocompletion,
        default_factory=(lambda: None) if is_optional else None,
    )
    return cast("ArgumentInfo", made)


def check_budget(epsilon: str | None, rho: str | None, context: typer.Context) -> None:
    """Refuse a command that spends budget and is given none."""
    if epsilon is None and rho is None:
        raise misuse("give a budget: --epsilon E (with --delta D or alone), or --rho R", context, code="LW310")


Data = Annotated[
    Path, argument("DATA", "The private table: a file, a folder of Parquet or CSV files, or - (CSV by standard input).")
]
SchemaFile = Annotated[Path, option("--schema", "S.json", "The schema: everything public about the table.")]
SchemaOrNone = Annotated[
    Path | None,
    option("--schema", "S.json", "The schema. Without it, a part of the budget learns what the columns hold."),
]
RowsOut = Annotated[
    Path,
    option("-o --output", "OUT", "Where the rows go: .parquet, .csv, .csv.gz, .sav or .dta; replaced if it is there."),
]
RowsPlaces = Annotated[
    list[str],
    option(
        "-o --output",
        "OUT",
        "Where the rows go: .parquet, .csv, .csv.gz, .sav or .dta, a folder OUT/ of Parquet files, or - (CSV to "
        "standard output); replaced if it is there. Linked tables: one for each, or --into.",
    ),
]
RowsPlacesOrDefault = Annotated[
    list[str],
    option(
        "-o --output",
        "OUT",
        "Where the rows go: .parquet, .csv, .csv.gz, .sav or .dta, a folder OUT/ of Parquet files, or - (CSV to "
        "standard output); replaced if it is there. Default: DATA.synthetic.csv or .parquet here, if new. Linked "
        "tables: one for each, or --into.",
    ),
]
Into = Annotated[
    str | None,
    option(
        "--into",
        "PLACE",
        "Where all tables go: a folder, a new .duckdb, .sqlite or .db file, or postgresql://...",
    ),
]
Rows = Annotated[
    int | None,
    number("--rows", "N", "Rows to write (linked: of the first table), at least 1. Default: the released number."),
]
Seed = Annotated[int | None, number("--seed", "K", "Seed of the rows drawn, 0 to 2^128 - 1. The noise has no seed.")]
ModelOut = Annotated[Path | None, option("--model", "M.lapwing", "Also save the model here, to draw more rows later.")]
CertificateOut = Annotated[
    Path | None, option("--certificate", "C.json", "Where the certificate goes. Default: OUT.certificate.json.")
]
CroissantOut = Annotated[
    Path | None, option("--croissant", "F.json", "Also describe the rows and the promise here, in Croissant.")
]
NoCertificate = Annotated[bool, flag("--no-certificate", "Write no certificate.")]
MemoryLimit = Annotated[str | None, option("--memory", "SIZE", "Memory limit, such as 4GB; it changes no result.")]
PreparedBy = Annotated[str | None, option("--prepared-by", "NAME", "Who prepared the release, for its certificate.")]
ApprovedBy = Annotated[str | None, option("--approved-by", "NAME", "Who approved the release, for its certificate.")]
Check = Annotated[
    bool, flag("--check", "Internal: check the table first, and stop before anything is spent if cells do not fit.")
]
Misfits = Annotated[
    str,
    option(
        "--misfits",
        "SHARE",
        "Largest allowed share of invalid values in a column, by --check or by noisy counts.",
    ),
]
MendedSchema = Annotated[
    Path | None,
    option("--schema", "S", "A corrected schema, if the release ended because of invalid values."),
]
Details = Annotated[bool, flag("--details", "Print the whole certificate, and what a delta would gain.")]
Quiet = Annotated[bool, flag("--quiet", "Show only warnings and errors.")]
Model = Annotated[Path, argument("M.lapwing", "A saved model.")]


def known_names(texts: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the names that texts give; a text that is no known name is a list with commas."""
    names = set(known)
    found: list[str] = []
    for text in texts:
        found += [text] if text in names else [name.strip() for name in text.split(",") if name.strip()] or [text]
    return found


def one_place(output: Sequence[str], into: str | None, context: typer.Context | None = None) -> str:
    """Return where the rows of one table, or of events, go."""
    if into is not None:
        raise ParameterError(
            "one table goes to a file; give -o OUT, and `lapwing sample M.lapwing --into` for a database",
            code="LW252",
        )
    if len(output) != 1:
        raise misuse("the rows of one table go to one place; give -o OUT", context, code="LW903")
    return output[0]


def by_table(what: str, texts: Sequence[str], names: Sequence[str], *, is_for_all: bool = False) -> dict[str, str]:
    """Return settings by table, which are given as TABLE=VALUE, or as VALUE for every table where this may be."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals and not is_for_all:
            way_out = f"name the table, one of {', '.join(names)}"
            raise ParameterError(f"{what} must be TABLE=VALUE, got {quote(text)}; {way_out}", code="LW307")
        found |= {name: value} if equals else dict.fromkeys(names, text)
    return found


def expected_of(texts: Sequence[str], linked: "LinkedTables | None", context: typer.Context) -> Any:  # noqa: ANN401
    """Return the expected number of rows of one table, N; of linked ones by table, each as TABLE=N."""
    if linked is None:
        if len(texts) != 1:
            raise misuse("the schema is of one table; give --expected-rows N once", context, code="LW903")
        return whole(texts[0])
    if linked.is_events and len(texts) == 1 and "=" not in texts[0]:
        texts = [f"{linked.given[0]}={texts[0]}"]
    found = by_table("expected-rows", texts, linked.names)
    for text in (each for each in found.values() if not each.isdecimal()):
        raise ParameterError(f"expected rows must be whole, got {quote(text)}; give a public guess", code="LW315")
    return {name: int(text) for name, text in found.items()}


def refuse_existing(output: Path, what: str = "may have been edited") -> None:
    """Refuse to replace a schema, or another file that nobody has named."""
    if os.path.exists(output):
        raise ParameterError(f"{output} is there already and {what}; give a new file, or remove it", code="LW113")


def check_html(path: Path) -> None:
    """Refuse to write a report into a file whose name says that it is something else."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(
            f"a report must be written to a file that ends in .html, got {quote(path.name or str(path))}; name one",
            code="LW114",
        )


# -- What a shell is offered at TAB. Names are read as text, because a TAB must not wait for NumPy and Polars.


RELATIONS = ("add-remove", "replace-one")
NOTIONS = ("pure", "zcdp")


def mechanism_names(incomplete: str) -> list[str]:
    """Offer names of mechanisms, in lower case to those who type lower case."""
    return _that_begin(incomplete, _mechanisms())


def audited_names(incomplete: str) -> list[str]:
    """Offer what `lapwing audit` takes."""
    return _that_begin(incomplete, (*_mechanisms(), "learn", "evaluate", "link", "mend", "large"))


def relations(incomplete: str) -> list[str]:
    """Offer the neighbour relations."""
    return _that_begin(incomplete, RELATIONS)


def notions(incomplete: str) -> list[str]:
    """Offer what a ledger counts in."""
    return _that_begin(incomplete, NOTIONS)


def _mechanisms() -> list[str]:
    """Return the names that the folders of the mechanisms state."""
    files = Path(__file__).parents[1].glob("mechanisms/**/mechanism.py")
    found = (name for file in files for name in _STATED_NAME.findall(file.read_text(encoding="utf-8")))
    return sorted(found, key=str.lower)


_STATED_NAME = re.compile(r'^    name: ClassVar\[str\] = "(\w+)"$', re.MULTILINE)


def _that_begin(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin with a text as they are written or, else, in lower case."""
    cased = (name if name.startswith(incomplete) else name.lower() for name in names)
    return [name for name in cased if name.startswith(incomplete)]


# -- Options of commands that spend budget.


Epsilon = Annotated[str | None, option("--epsilon", "E", "Privacy budget ε, above 0. Alone: pure ε-DP.")]
Delta = Annotated[str | None, option("--delta", "D", "With --epsilon: (ε, δ)-DP through zCDP, 0 up to below 1.")]
Rho = Annotated[str | None, option("--rho", "R", "zCDP budget ρ, above 0, instead of --epsilon.")]
Mechanisms = Annotated[
    list[str],
    option(
        "--mechanism",
        "[TABLE=]M",
        "See `lapwing mechanisms`. Default: chosen from the schema alone.",
        autocompletion=mechanism_names,
    ),
]
Shares = Annotated[
    list[str], option("--share", "TABLE=P", "Part of the budget for one linked table; the parts sum to 1.")
]
ExpectedRows = Annotated[
    int | None, number("--expected-rows", "N", "Your public guess of the number of rows, made without the data.")
]
ExpectedRowsOfEach = Annotated[
    list[str],
    option(
        "--expected-rows",
        "[TABLE=]N",
        "Your public guess of the number of rows, made without the data; linked: of each table, and of persons.",
    ),
]
Neighbours = Annotated[
    str,
    option("--neighbours --neighbors", "R", "Neighbour relation: add-remove or replace-one.", autocompletion=relations),
]
LedgerFile = Annotated[
    str | None, option("--ledger", "L", "Debit this ledger (see `lapwing ledger init`) before any noise is drawn.")
]


def file_of_ledger(ledger: str | None) -> Path | None:
    """Return the file of a ledger that is one, which no output may replace."""
    from lapwing.kernel.budget.store import is_address  # noqa: PLC0415

    return None if ledger is None or is_address(ledger) else Path(ledger)


Dataset = Annotated[
    str | None,
    option("--dataset", "NAME", "The data set's name in the ledger; not needed if it has only one."),
]
TranscriptFile = Annotated[
    Path | None, option("--transcript", "T", "New file that keeps every answer, for `lapwing resume`.")
]
PriorFiles = Annotated[
    list[Path],
    option("--prior", "FILE", "A saved release, or public rows, to start from; repeat: the nearest one is used."),
]
PublicTableFiles = Annotated[
    list[Path],
    option(
        "--public-table",
        "FILE",
        "A published table that rows must match: JSON as in the schema, or CSV with a column count; repeat.",
    ),
]
PublicSource = Annotated[
    str | None, option("--public-source", "TEXT", "Who published the CSV files of --public-table.")
]
MechanismSettings = Annotated[list[str], option("--set", "KEY=VALUE", "A setting of the mechanism, or `help`; repeat.")]
