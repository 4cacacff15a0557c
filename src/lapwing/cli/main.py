"""The command `lapwing`: finds the command that was meant, and turns every failure into one clear line."""

import errno
import gc
import io
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO, cast

import typer
from typer.core import TyperGroup

from lapwing.cli.commands.anonymize import anonymize
from lapwing.cli.commands.explain import explain, mechanisms
from lapwing.cli.commands.ledger import ledger_app
from lapwing.cli.commands.resume import resume
from lapwing.cli.commands.saved import answers, query, sample
from lapwing.cli.commands.schema_learn import learn
from lapwing.cli.commands.synthesize import demo, plan, synthesize
from lapwing.cli.commands.tables import tables
from lapwing.cli.console import (
    ASKED,
    INTERRUPT_STATUS,
    NOTHING_SPENT,
    NOTHING_SPENT_CODE,
    SPENT_CODE,
    TERMINATED_STATUS,
    Interrupted,
    PlainStream,
    interrupt_at_termination,
    note,
)
from lapwing.cli.examples import examples
from lapwing.cli.options import option
from lapwing.errors import CertificateWarning, LapwingError, LapwingWarning
from lapwing.kernel.room.begun import collect_runs
from lapwing.on_demand import extra
from lapwing.version import VERSION, code_fingerprint

_PACKAGE = Path(__file__).resolve().parents[1]
_SHORT = 90
_OBJECTS = 50_000  # looked through for cycles at a time: by default 700, which takes a sixth of a short command
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


class _Panels(TyperGroup):
    """Lists commands by what they are for, in plain text, as typer does in colours alone."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002 - typer has its own click
        """Write a section for each panel."""
        for panel in _PANELS:
            with formatter.section(panel):
                inside = [each for each in self.commands.values() if getattr(each, "rich_help_panel", None) == panel]
                formatter.write_dl([(each.name, each.get_short_help_str(_SHORT)) for each in inside])


app = typer.Typer(
    name="lapwing",
    cls=_Panels,
    help="Make differentially private synthetic data from a private table.",
    epilog="Exit status: 0 done, 1 refused or failed (one line on stderr), 2 wrong usage, 130 interrupted (Ctrl-C), "
    "143 terminated.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 120},
    invoke_without_command=True,
)
schema_app = typer.Typer(name="schema", help="Draft and check the description of a table.", rich_markup_mode=None)
_PANELS = {
    "Start": (extra("start command"), extra("studio command"), demo, mechanisms, explain),
    "Schemas": (schema_app,),
    "Budget": (ledger_app,),
    "Release": (plan, synthesize, tables, resume),
    "Use a release": (sample, query, answers, extra("report command"), extra("certificate command")),
    "Internal, never publish": (extra("evaluate command"),),
    "Beside releases": (anonymize, extra("audit command")),
}
for command in (extra("draft command"), extra("check command"), extra("convert command")):
    schema_app.command(epilog=examples(f"schema {command.__name__}"))(command)
schema_app.command(
    epilog=examples("schema learn"),
    context_settings={"allow_extra_args": True},  # names after --fields
)(learn)
for panel, commands in _PANELS.items():
    for command in commands:
        if isinstance(command, typer.Typer):
            app.add_typer(command, rich_help_panel=panel)
        else:
            app.command(epilog=examples(command.__name__), rich_help_panel=panel)(command)


@app.callback()
def lapwing(
    context: typer.Context,
    quiet: bool = typer.Option(False, "--quiet", help="Print only errors, also in the command that follows."),
    policy: Annotated[
        Path | None,
        option("--policy", "FILE", "Rules for what may be spent, beside those of LAPWING_POLICY."),
    ] = None,
    version: bool = typer.Option(
        False, "--version", help="Print the version and the fingerprint of the code, and exit."
    ),
) -> None:
    """Make differentially private synthetic data from a private table."""
    context.obj = quiet
    if policy is not None:
        context.with_resource(extra("policy").under(policy))
    if version:
        print(f"{VERSION}\ncode {code_fingerprint()}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def run() -> NoReturn:
    """Run the command line of this process and exit with its status."""
    gc.set_threshold(_OBJECTS)
    sys.excepthook = _last_resort
    _keep_own_stderr()
    terminations = interrupt_at_termination()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that knows no Greek shows a sign for ε instead of failing; stderr does so by default.
        sys.stdout.reconfigure(errors="backslashreplace")
    status = execute(sys.argv[1:])
    _drop_what_is_unwritten()
    sys.exit(TERMINATED_STATUS if status == INTERRUPT_STATUS and terminations else status)


def _keep_own_stderr() -> None:
    """Print on a descriptor of our own: on 2, which leads nowhere from here on, compiled libraries quote cells."""
    if isinstance(sys.stderr, io.TextIOWrapper):
        own = os.dup(sys.stderr.fileno())
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        sys.stderr = os.fdopen(own, "w", encoding=sys.stderr.encoding, errors="backslashreplace", buffering=1)


def _drop_what_is_unwritten() -> None:
    """Leave nothing for the interpreter to write at its end: what stdout did not take before it will not take then."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def execute(arguments: Sequence[str]) -> int:
    """Run one command line.

    Returns 0 done, 1 refused or failed, 2 wrong usage, 130 interrupted; unless 0, one line on stderr says why.
    """
    shown = [cast("TextIO", PlainStream(stream)) for stream in (sys.stdout, sys.stderr)]
    with redirect_stdout(shown[0]), redirect_stderr(shown[1]), warnings.catch_warnings():
        # Warnings of other libraries may quote cells.
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", LapwingWarning)
        warnings.simplefilter("ignore", CertificateWarning)  # they stand in the summary
        warnings.showwarning = _show_warning
        with collect_runs() as begun:
            ASKED.set(arguments)
            try:
                status = int(_commands(app).main(list(arguments), "lapwing", standalone_mode=False) or 0)
                sys.stdout.flush()  # a full disk shows here, not after the status was given
                line, code = "", ""
            except (Exception, KeyboardInterrupt) as error:
                line, code, status = _verdict(error)
        if status == INTERRUPT_STATUS and not line:  # Typer turns an interrupt into this status
            line, code = ("interrupted", SPENT_CODE) if begun else (NOTHING_SPENT, NOTHING_SPENT_CODE)
        if line:
            note(f"{line} [{code}]")
    return status


@cache
def _commands(of: typer.Typer) -> Any:  # noqa: ANN401 - typer has its own click
    """Return the tree of all commands, which takes longer to build than a short command to run."""
    return typer.main.get_command(of)


def _verdict(error: Exception | KeyboardInterrupt) -> tuple[str, str, int]:
    """Return the line that may be shown for an exception, the code of its rule, and the exit status."""
    if isinstance(error, LapwingError):
        return str(error), error.code, 1
    if isinstance(error, Interrupted):
        return str(error), error.code, INTERRUPT_STATUS
    if isinstance(error, typer.Abort | KeyboardInterrupt):
        return "", "", INTERRUPT_STATUS
    if isinstance(error, type(typer.BadParameter("")).__mro__[1]):
        return _usage(error), getattr(error, "code", "LW903"), 2
    if isinstance(error, OSError) and error.errno in _UNWRITABLE:
        reason = os.strerror(error.errno)
        line = f"standard output, or a temporary file, cannot be written ({reason}); give it a place with free space"
        return line, "LW902", 1
    if isinstance(error, BrokenPipeError):
        return "", "", 1  # whoever read the output has gone away, and needs no word
    place = "an unknown place"
    for frame, number in traceback.walk_tb(error.__traceback__):
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(_PACKAGE):
            place = f"{path.relative_to(_PACKAGE.parent).as_posix()}:{number}"
    return f"unexpected {type(error).__name__} at {place}; please report it", "LW901", 1


def _usage(error: Exception) -> str:
    """Return what is wrong with the command line, and where help is."""
    said = " ".join(str(error.format_message()).split()).rstrip(".")  # type: ignore[attr-defined]
    said = said.removeprefix("Invalid value: ").replace(": Value error, ", ": ")
    wrong = getattr(error, "option_name", None)
    if wrong is not None and " (Possible options: " in said:
        near = [each for each in error.possibilities or () if each.startswith(wrong)]  # type: ignore[attr-defined]
        said = said.partition(" (Possible options: ")[0] + (f"; did you mean {' or '.join(near)}?" if near else "")
    if said.startswith("Missing option '--schema'"):
        said += ", which describes the table; `lapwing start DATA` asks for it, `lapwing schema draft DATA` drafts it"
    elif said.startswith("Missing "):
        described = str(getattr(getattr(error, "param", None), "help", None) or "").rstrip(".")
        said += f": {described[:1].lower()}{described[1:]}" if described else ""
    context = getattr(error, "ctx", None)
    path = "lapwing" if context is None else context.command_path
    return f"{said[:1].lower()}{said[1:]}; see '{path} --help'"


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Show one of our warnings as one line."""
    note(str(message))


def _last_resort(kind: type[BaseException], *_: object) -> None:
    """Say that something ended the program that is no ordinary exception, without its text."""
    is_interrupt = issubclass(kind, KeyboardInterrupt)
    line = f"interrupted [{SPENT_CODE}]" if is_interrupt else f"unexpected {kind.__name__}; please report it [LW901]"
    print(f"lapwing: {line}", file=sys.stderr)
