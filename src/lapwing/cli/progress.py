"""How far a release is, on a terminal: its step, the share of the budget spent, elapsed and expected time."""

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def release_progress(*, quiet: bool) -> Iterator[None]:
    """Show on a terminal how far the release that is made inside is; elsewhere, or when quiet, show nothing.

    Parameters
    ----------
    quiet : bool
        Whether the command was told to be quiet.

    Notes
    -----
    The remaining time is extrapolated from the budget spent and the clock.
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
        TextColumn("{task.percentage:>3.0f}% of the budget spent"),
        TimeElapsedColumn(),
        TextColumn("elapsed, about"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("reading and counting", total=1.0)

        def show(step: Step) -> None:
            # A task that is complete stops its clock, and the last fit is still to come.
            shown.update(task, description=step.step, completed=min(step.share, _ALMOST))

        with watched(show):
            yield


_ALMOST = 0.999
