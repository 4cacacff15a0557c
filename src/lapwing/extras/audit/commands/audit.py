"""`lapwing audit`."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli import options
from lapwing.cli.console import is_quiet, note, speaker
from lapwing.cli.options import argument, number, option
from lapwing.errors import ParameterError
from lapwing.rows.out.outputs import whole_files

_BROKEN = "the audit found a broken privacy promise; please report it as SECURITY.md says, and release nothing with it"


def audit(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        argument(
            "MECHANISM",
            "Audit only these mechanisms (or learn, evaluate, link) and their questions.",
            autocompletion=options.audited_names,
        ),
    ] = None,
    runs: Annotated[
        int,
        number(
            "--runs", "N", "How often each question is asked, 300 to 100000; pairs of tables are N / 150, at least 4."
        ),
    ] = 3000,
    output: Annotated[
        Path | None, option("--json", "audit.json", "Also write all findings here, for programs.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Look for broken privacy promises of this installation, on generated tables only.

    No table, ledger or model of yours is read. Exit status 1 when anything is above its claim.
    """
    from lapwing.extras.audit.run import audit as audit_of  # noqa: PLC0415
    from lapwing.extras.audit.run import targets_of  # noqa: PLC0415

    try:
        targets_of(names or (), runs=runs)
    except ParameterError as error:
        # No status 1: a program must be able to tell a slip of the hand from a broken promise.
        raise options.misuse(str(error), context, code=error.code) from None
    with contextlib.ExitStack() as stack:
        places = stack.enter_context(whole_files([output])) if output is not None else ()
        with _shown(quiet=is_quiet(context, quiet)) as tell:
            report = audit_of(names or (), runs=runs, tell=tell)
        print(report.text())
        for place in places:
            place.write_text(json.dumps(report.to_dict(), indent=2) + "\n", encoding="utf-8", newline="\n")
    if output is not None:
        speaker(context, quiet)(f"findings: {output}")
    if not report.has_passed:
        note(_BROKEN)
        raise typer.Exit(1)


@contextlib.contextmanager
def _shown(*, quiet: bool) -> Iterator[Callable[[str, float], None] | None]:
    """Show on a terminal what is audited, and how far it is.

    An audit collects all that a run says on stdout and stderr, and compares it with the replay. So the bar is drawn
    only between runs, by no thread of its own, and on the stream that was stderr before.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from lapwing.release.runs.watching import progress_bar, terminal  # noqa: PLC0415

    own = progress_bar(
        "{task.percentage:>3.0f}%",
        console=terminal(),
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with own as shown:
        task = shown.add_task("audit", total=1.0)
        yield lambda what, share: shown.update(task, description=what, completed=share, refresh=True)
