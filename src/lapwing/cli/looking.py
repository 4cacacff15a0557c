"""The look at private tables before anything is spent: asked for by `--check`, else recommended by name."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.cli.console import Say
from lapwing.cli.tables import words_of
from lapwing.errors import ParameterError
from lapwing.schema.scalars import quote

if TYPE_CHECKING:
    from lapwing.cli.tables import Table
    from lapwing.schema.linked import LinkedSchema
    from lapwing.schema.schemas import Schema


def look_first(
    data: "Sequence[Table | Path]", schema: "Schema | LinkedSchema", named: Path, *, check: bool, misfits: str, say: Say
) -> None:
    """Look at private tables where it is asked for, or recommend it where nobody has looked at these.

    named: the schema's file, for the command that is recommended.
    """
    said = recommendation(data, schema, named, check=check, misfits=misfits)
    if said:
        say(said)


def recommendation(
    data: "Sequence[Table | Path]", schema: "Schema | LinkedSchema", named: Path, *, check: bool, misfits: str
) -> str:
    """Look at private tables where it is asked for; return what recommends it where nobody has looked at these."""
    most = _share(misfits)

    from lapwing.internal.looks import is_remembered, refuse_misfits, remember  # noqa: PLC0415
    from lapwing.schema.linked import LinkedSchema  # noqa: PLC0415

    parts = [schema.parent, schema.child] if isinstance(schema, LinkedSchema) else [schema]
    if check:
        for path, part in zip(data, parts, strict=True):
            refuse_misfits(path, part, most)
        remember(data, schema)
        return ""
    if is_remembered(data, schema):
        return ""
    command = " ".join(["lapwing schema check", str(named), *(word for each in data for word in words_of(each))])
    return f"Not looked at yet: `{command}` shows which cells fit nothing, free and for your eyes; so does --check."


@contextmanager
def said_before_debit(said: str, say: Say) -> Iterator[None]:
    """Say something once all settings are checked, before anything is spent; a refusal is one line alone."""
    from lapwing.runs.progress import Progress, watched  # noqa: PLC0415

    left = [said] if said else []

    def tell(_: Progress) -> None:
        while left:
            say(left.pop())

    with watched(tell):
        yield


def _share(text: str) -> float:
    """Return a share from 0 to 1."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise ParameterError(
            f"misfits must be a share from 0 to 1, got {quote(text)}; write for example 0.05", code="LW304"
        )
    return found
