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
