"""What commands say on stderr. Everything here is public: settings, schema, released numbers."""

import contextlib
import sys
from collections.abc import Callable, Iterator

import typer

Say = Callable[[str], None]


def note(text: str) -> None:
    """Print one line on stderr."""
    print(f"lapwing: {text}", file=sys.stderr)


def is_quiet(context: typer.Context, quiet: bool) -> bool:
    """Return whether the command was told to be quiet, before or after its name."""
    return quiet or bool(context.find_root().obj)


def speaker(context: typer.Context, quiet: bool) -> Say:
    """Return what prints the command's notes: `note`, or nothing when it was told to be quiet."""
    return (lambda _: None) if is_quiet(context, quiet) else note


def echo(context: typer.Context, quiet: bool) -> Say:
    """Return what shows a command line as one types it, or nothing when the command was told to be quiet."""
    return (lambda _: None) if is_quiet(context, quiet) else (lambda line: print(f"$ {line}", file=sys.stderr))


@contextlib.contextmanager
def busy(what: str, *, quiet: bool) -> Iterator[None]:
    """Show on a terminal that something is being done; its length says nothing that a clock would not."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415

    with Console(stderr=True).status(what):
        yield


@contextlib.contextmanager
def counting(total: int, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show on a terminal how many of ``total`` rows are written; what is yielded is told of them, by any thread."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("writing rows", total=total)
        yield lambda rows: progress.advance(task, rows)


# -- How far a long command is, on a terminal: its step, the share that is done, elapsed and expected time.


@contextlib.contextmanager
def shown_progress(
    *, quiet: bool, first: str = "reading and counting", of: str = "of the budget spent"
) -> Iterator[None]:
    """Show on a terminal how far the work that is done inside is; elsewhere, or when quiet, show nothing.

    The remaining time is extrapolated from that part and the clock.
    """
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn  # noqa: PLC0415

    from lapwing.runs.progress import Progress as Step  # noqa: PLC0415
    from lapwing.runs.progress import watched  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}% " + of),
        TimeElapsedColumn(),
        TextColumn("elapsed, about"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(first, total=1.0)

        def show(step: Step) -> None:
            # A task that is complete stops its clock, and the last fit is still to come.
            shown.update(task, description=step.step, completed=min(step.share, _ALMOST))

        with watched(show):
            yield


_ALMOST = 0.999
