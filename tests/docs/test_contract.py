"""The public names and the command line are those that stay the same between versions (docs/project/package.md)."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lapwing as lw
from helpers.command import lapwing

# Command, its line, and whether it is built. A command that is built offers the options of its line and those of MORE,
# and --help; one that is not yet built is not shown.
CONTRACT = {
    "start": ("start DATA", True),
    "studio": ("studio PLACE", True),
    "demo": ("demo", True),
    "mechanisms": ("mechanisms", True),
    "explain": ("explain CODE", True),
    "schema draft": ("schema draft DATA -o S.json (internal)", True),
    "schema check": ("schema check S.json [DATA] (internal with DATA)", True),
    "schema convert": ("schema convert FOREIGN -o S.json", True),
    "schema learn": (
        "schema learn DATA --schema S.json --epsilon E [--delta D] --fields a ... -o S2.json",
        True,
    ),
    "plan": (
        "lapwing plan --schema S.json --expected-rows N --epsilon E [--delta D] [--mechanism M]",
        True,
    ),
    "synthesize": (
        "lapwing synthesize DATA --schema S.json (--epsilon E [--delta D] | --rho R) [--mechanism M] [--rows N] "
        "[--expected-rows N] [--neighbours R] [--ledger L --dataset NAME] [--transcript T] [--seed K] "
        "[--set key=value ...] -o OUT.(parquet|csv) [--model M.lapwing] [--certificate C.json | --no-certificate]",
        True,
    ),
    "tables": ("lapwing tables DATA --schema S.json --tables T.json --epsilon E -o DIR", True),
    "resume": ("lapwing resume T ...", True),
    "certificate show": ("certificate show C.json [--details] [--json] [--page C.html]", True),
    "certificate compose": ("certificate compose C.json... [--disjoint] [--json]", True),
    "certificate sign": ("certificate sign C.json --key KEY", True),
    "certificate verify": ("certificate verify C.json FILES [--schema S.json] [--key K.pub [--signature C.sig]]", True),
    "answers": ("answers M.lapwing -o DIR", True),
    "sample": ("sample M.lapwing --rows N [--seed K] [--where col=value ...] -o OUT", True),
    "query": ("query M.lapwing --column a --column b", True),
    "evaluate": (
        "lapwing evaluate REAL SYNTHETIC --schema S.json [--model M.lapwing] -o report.html [--json metrics.json] "
        "(internal)",
        True,
    ),
    "report": ("report M.lapwing -o report.html (releasable)", True),
    "anonymize": ("lapwing anonymize DATA --schema S.json --min-group-size K -o OUT", True),
    "ledger init": (
        "lapwing ledger init NAME --unit pure|zcdp --limit X [--delta D] --neighbours R "
        "--privacy-unit row|FIELD:MAXROWS",
        True,
    ),
    "ledger show": ("| show |", True),
    "ledger history": ("| history |", True),
    "ledger limit": ("| limit", True),
    "ledger verify": ("lapwing ledger verify [--hash H]", True),
    "audit": ("lapwing audit [MECHANISM ...] [--runs N]", True),
}

OF_SHELLS = {"--install-completion", "--show-completion"}
"""What every typer offers beside the commands, as it offers `--help`."""

# What the lines leave open. `-o` is also spelt `--output`.
MORE = {
    "start": "-o --sql --db",
    "studio": "--port --no-browser",
    "demo": "-o --quiet",
    "explain": "--list",
    "schema check": "--sql --db --quiet",
    "schema draft": "--sql --db",
    "schema convert": "--table --quiet",
    "schema learn": "--sql --db --rho --dictionary --quantile --neighbours --ledger --dataset --transcript "
    "--certificate --no-certificate --check --misfits --quiet",
    "plan": "--rho --neighbours --set --public-table --public-source --prior --memory --share",
    "synthesize": "--sql --db --into --share --check --misfits --croissant --details --quiet --public-table "
    "--public-source --prior --memory --prepared-by --approved-by",
    "tables": "--delta --rho --limit --least --neighbours --ledger --dataset --transcript --seed --quiet",
    "resume": "--sql --db -o --into --rows --model --certificate --no-certificate --croissant --seed --details --quiet "
    "--memory --schema --prepared-by --approved-by",
    "answers": "--quiet",
    "sample": "--into --where-file --balance --quiet",
    "report": "--quiet",
    "query": "--mean --share --replicates --table --groups --confidence --weighted",
    "evaluate": "--sql --db --target --by --test --epsilon --delta --rho --neighbours --expected-rows --ledger "
    "--dataset --transcript --seed --details --quiet",
    "anonymize": "--sql --db --variant --partition --no-improve --draw --categories --rows --seed --quiet",
    "audit": "--json --quiet",
    "ledger init": "--selection-delta --policy --population --ledger --quiet",
    "ledger show": "--ledger --together",
    "ledger history": "--json --ledger",
    "ledger limit": "--ledger --quiet",
    "ledger verify": "--ledger",
}

NAMES = {
    "Adaptive",
    "AnonymousTable",
    "BudgetError",
    "CapacityError",
    "DataError",
    "Independent",
    "LapwingError",
    "LapwingWarning",
    "LinearStatistics",
    "PMM",
    "PSMM",
    "Grid",
    "KDTree",
    "Mechanism",
    "Microaggregation",
    "ParameterError",
    "Plan",
    "PrivateSampling",
    "PublicTable",
    "Query",
    "Release",
    "Schema",
    "SchemaError",
    "Synthesizer",
    "Tables",
    "Trusted",
    "anonymize",
    "between",
    "covariance",
    "estimate",
    "evaluate",
    "load",
    "plan",
    "resume",
    "row_function",
    "rows_from_tables",
    "stat",
    "synthesize",
    "tables",
    "theorems",
}

SYNTHESIZE = [
    "data",
    "schema",
    "epsilon",
    "delta",
    "rho",
    "mechanism",
    "neighbours",
    "expected_rows",
    "ledger",
    "dataset",
    "transcript",
    "seed",
]


def options_in(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])(?:-o|--[a-z][a-z-]*)", text))


def options_offered(command: str) -> set[str]:
    """Return the options that a command's help lists, one of each line."""
    said = lapwing(command, "--help")
    assert (said.status, said.err) == (0, ""), said
    lists = re.findall(r"^  (-[a-z-]+(?:, -[a-z-]+)*)", said.out, re.MULTILINE)
    return {names.split(", ")[0] for names in lists}


def commands_shown(*group: str) -> set[str]:
    listed = lapwing(*group, "--help").out.partition("Options:\n")[2].partition("\n\n")[2]
    return set(re.findall(r"^  ([a-z]+)  ", listed, re.MULTILINE))


@pytest.mark.parametrize("command", [command for command, (_, built) in CONTRACT.items() if built])
def test_a_built_command_offers_its_options_and_no_other(command):
    line, _ = CONTRACT[command]

    built = options_in(line)
    expected = built | options_in(MORE.get(command, "")) | {"--help"}

    assert options_offered(command) == expected


def test_help_shows_the_built_commands_and_no_other():
    built = {command for command, (_, is_built) in CONTRACT.items() if is_built}
    groups = {command.split()[0] for command in built if " " in command}

    shown = commands_shown() - groups | {f"{group} {name}" for group in groups for name in commands_shown(group)}

    assert shown == built
    assert options_offered("") == {"--quiet", "--policy", "--version", "--help"} | OF_SHELLS


@pytest.mark.parametrize("command", [command for command, (_, built) in CONTRACT.items() if not built])
def test_what_is_not_built_yet_is_refused(command):
    said = lapwing(command)

    assert said.status == 2
    assert "no such command" in said.error


def test_every_help_text_says_something_on_every_option():
    for command in CONTRACT:
        if CONTRACT[command][1]:
            out = lapwing(command, "--help").out
            bare = re.findall(r"^  (--?[a-z]\S*(?: [A-Z]\S*)?)\s*$(?!\n {10,}\S)", out, re.MULTILINE)
            assert bare == [], command


@pytest.mark.parametrize("command", ["synthesize", "resume", "sample", "anonymize", "report", "evaluate", "demo"])
def test_the_help_says_where_an_existing_file_is_replaced(command):
    said = " ".join(lapwing(command, "--help").out.split())

    assert re.search(r"-o, --output [^[]*?replaced if (it is |they are )?there", said)


def test_the_public_names_are_those_of_the_contract():
    assert set(lw.__all__) == NAMES
    assert lw.__all__ == sorted(lw.__all__)
    assert all(getattr(lw, name) is not None for name in NAMES)


def test_checkers_of_types_see_the_names_that_are_loaded_when_they_are_used():
    root = ast.parse(Path(lw.__file__).read_text(encoding="utf-8"))
    shown = {
        alias.asname or alias.name: f"{line.module}{'.' if line.module == 'lapwing' else ':'}{alias.name}"
        for block in root.body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for line in block.body
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }

    assert shown == lw._HOMES
    assert set(shown) == {name for name in NAMES if not name.endswith(("Error", "Warning"))}


def test_the_import_loads_no_library_of_numbers_or_frames():
    program = "import sys, lapwing; print(sorted({'numpy', 'polars', 'scipy', 'narwhals'} & set(sys.modules)))"

    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)

    assert said.stdout == "[]\n"


def test_evaluate_takes_the_settings_of_the_contract():
    internal, bought = ["target", "by", "test", "model"], [name for name in SYNTHESIZE[2:-1] if name != "mechanism"]
    settings = ["real", "synthetic", "schema", *internal, *bought, "seed", "progress"]
    assert list(inspect.signature(lw.evaluate).parameters) == settings


def test_synthesize_takes_the_settings_of_the_contract():
    settings = [*SYNTHESIZE, "public_tables", "prior", "memory", "misfits", "shares", "progress"]
    assert list(inspect.signature(lw.synthesize).parameters) == settings


def test_anonymize_takes_the_settings_of_the_contract_and_returns_what_it_says():
    settings = [
        "data",
        "schema",
        "min_group_size",
        "variant",
        "partition",
        "improve",
        "output",
        "categories",
        "rows",
        "seed",
    ]
    assert list(inspect.signature(lw.anonymize).parameters) == settings
    assert inspect.signature(lw.anonymize).parameters["min_group_size"].default == 10
    for name in ("data", "information_loss", "covariance_loss", "notice"):
        assert name in dir(lw.AnonymousTable)


def test_learn_takes_the_settings_of_the_contract():
    budget, books = ["epsilon", "delta", "rho"], ["ledger", "dataset", "transcript", "certificate"]
    settings = ["data", "schema", *budget, "fields", "dictionaries", "quantile", "neighbours", *books, "progress"]
    assert list(inspect.signature(lw.Schema.learn).parameters) == settings


def test_a_release_offers_what_is_promised():
    for name in ("sample", "support", "model", "certificate", "answers", "query", "save", "to_html", "to_croissant"):
        assert hasattr(lw.Release, name)
    described = inspect.signature(lw.Release.to_croissant).parameters
    assert list(described) == ["self", "path", "rows", "certificate", "about"]
    assert list(inspect.signature(lw.Release.sample).parameters) == ["self", "n", "seed", "where", "like", "balance"]
    assert callable(lw.Schema.draft)
    assert list(inspect.signature(lw.Schema.from_foreign).parameters) == ["path", "table"]
