"""How far a long command is, on a terminal: its step, the share that is done, elapsed and expected time."""

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def shown_progress(
    *, quiet: bool, first: str = "reading and counting", of: str = "of the budget spent"
) -> Iterator[None]:
    """Show on a terminal how far the work that is done inside is; elsewhere, or when quiet, show nothing.

    Parameters
    ----------
    quiet : bool
        Whether the command was told to be quiet.
    first : str
        What is going on before anything is told.
    of : str
        What the percentage is a part of.

    Notes
    -----
    The remaining time is extrapolated from that part and the clock.
    """
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn  # noqa: PLC0415

    from lapwing.api.progress import Progress as Step  # noqa: PLC0415
    from lapwing.api.progress import watched  # noqa: PLC0415

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
