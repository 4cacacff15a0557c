"""`lapwing demo`."""

from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.commands.query import table_text
from lapwing.cli.console import echo, is_quiet, speaker
from lapwing.cli.options import Quiet
from lapwing.cli.outputs import Targets, produce, summarize
from lapwing.errors import DataError

_EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def demo(
    context: typer.Context,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the files, replaced if they are there.")
    ] = Path("lapwing-demo"),
    quiet: Quiet = False,
) -> None:
    """Make synthetic rows of a bundled sample at ε = 1."""
    from lapwing.verbs.synthesize import synthesize  # noqa: PLC0415

    say, show = speaker(context, quiet), echo(context, quiet)
    data, schema = _EXAMPLES / "adult.parquet", _EXAMPLES / "adult.schema.json"
    _make_folder(output)
    rows = output / "adult.parquet"
    targets = Targets(
        rows=rows, model=output / "adult.lapwing", certificate=rows.with_name(rows.name + ".certificate.json")
    )
    show(f"lapwing synthesize {data} --schema {schema} --epsilon 1 -o {rows} --model {targets.model}")
    release = produce(
        lambda: synthesize(data, schema, epsilon=1),
        targets,
        [data, schema],
        rows=None,
        seed=None,
        way_out=lambda _: "run `lapwing demo` again",
        quiet=is_quiet(context, quiet),
    )
    summarize(release, targets, say)
    show(f"lapwing query {targets.model} --column sex")
    for line in table_text(release.query(["sex"]), 1).splitlines():
        say(line)


def _make_folder(folder: Path) -> None:
    """Make the folder, if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror
    else:
        return
    raise DataError(f"the folder {folder} cannot be made ({reason}); give another one with -o", code="LW115")
