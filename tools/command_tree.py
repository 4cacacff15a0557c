"""The commands of `lapwing` as typer has them, for the pages that are generated from them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer

from lapwing.cli.main import app


@dataclass(frozen=True, slots=True)
class Shown:
    """One command, in the words of its `--help`."""

    name: str
    """All of it, such as ``lapwing ledger init``."""
    usage: str
    text: str
    arguments: tuple[tuple[str, str], ...]
    options: tuple[tuple[str, str], ...]
    epilog: str
    commands: tuple[str, ...]
    """Names of its own commands, where it is a group."""


def shown_commands() -> Iterator[Shown]:
    """Yield `lapwing` itself and then every command below it, in the order of `--help`."""
    yield from _walk(typer.main.get_command(app), "lapwing", None)


def _walk(command: Any, name: str, parent: Any) -> Iterator[Shown]:  # noqa: ANN401 - typer brings its own click
    context = command.make_context(name.rpartition(" ")[2], [], parent=parent, resilient_parsing=True)
    records = [(each.param_type_name, each.get_help_record(context)) for each in command.get_params(context)]
    inner = getattr(command, "commands", {})
    yield Shown(
        name=name,
        usage=" ".join([name, *command.collect_usage_pieces(context)]),
        text=command.help or "",
        arguments=tuple(record for kind, record in records if kind == "argument" and record),
        options=tuple(record for kind, record in records if kind == "option" and record),
        epilog=command.epilog or "",
        commands=tuple(inner),
    )
    for each, its in inner.items():
        yield from _walk(its, f"{name} {each}", context)
