"""`lapwing studio`: the whole job in a browser."""

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.console import note
from lapwing.cli.options import option
from lapwing.errors import LapwingError, ParameterError
from lapwing.version import install_command


def studio(
    place: Annotated[
        Path,
        typer.Argument(
            metavar="PLACE",
            help="The private table, or a folder with tables; this folder by default.",
            show_default=False,
        ),
    ] = Path(),
    port: Annotated[int, option("--port", "N", "Port of this machine; any free one by default.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Make a release in your browser, on this machine."""
    if not place.exists():
        raise ParameterError(f"there is no file or folder {place}; give one that is there", code="LW115")
    try:
        import jinja2  # noqa: F401, PLC0415 - the extra `studio`
        import starlette  # noqa: F401, PLC0415
        import uvicorn  # noqa: F401, PLC0415
    except ImportError:
        is_installed = False
    else:
        is_installed = True
    if not is_installed:
        raise LapwingError(f"the studio needs packages of its own; run {install_command('studio')}", code="LW701")

    from lapwing.extras.studio.server import serve  # noqa: PLC0415

    note("The studio is at this address, for you alone; Ctrl-C closes it.")
    with contextlib.suppress(KeyboardInterrupt):
        serve(place.resolve(), port=port, opens=not no_browser, say=lambda said: print(said, flush=True))
    note("The studio is closed.")
