"""The files of a command, written as one set, whole or not at all, and what is said of them."""

import contextlib
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lapwing.cli.console import Say, interruptible, repeated_line, shown_progress
from lapwing.cli.tables import words_of
from lapwing.errors import DataError, LapwingError, ParameterError
from lapwing.release.files import STANDARD_OUTPUT, Targets, write_files
from lapwing.rows.out.outputs import is_part, whole_files

if TYPE_CHECKING:
    from lapwing.cli.tables import Table
    from lapwing.model.certificate.certificate import Certificate
    from lapwing.model.linked_files import LinkedCertificate
    from lapwing.release.release import Release


T = TypeVar("T")

_CHIEF = ("Recorded in", "Verdict: ", "Do not use for: ", "Warning: ")
_UNRECORDED = (
    "No --ledger: this release is recorded nowhere, and nothing adds up what is spent; see `lapwing ledger init`."
)
_ASKED_FOR = (
    "The Croissant file has no license, url or creator, which Croissant asks for: write them in, or give them in "
    "Python, release.to_croissant(..., about={...})."
)


def check_rows(rows: int | None) -> None:
    """Refuse a number of rows below 1."""
    if rows is not None and rows < 1:
        raise ParameterError(f"rows must be at least 1, got {rows}; give a number such as 1000", code="LW325")


def produce(
    make: Callable[[], T],
    write: Callable[[T, Mapping[Path, Path]], None],
    targets: Sequence[Path],
    inputs: Sequence[Path | None],
    *,
    way_out: Callable[[Path | None], str],
    quiet: bool,
    folders: Sequence[Path] = (),
    replaces: Callable[[Path], bool] = is_part,
) -> T:
    """Spend budget and write what comes out as one set of files, whole or not at all.

    make: spends the budget; called once the targets are known to be writable; write: writes to the places that are kept
    for the targets; inputs: files that are read, and must not be written; way_out: says how to go on when the budget is
    spent and the files could not be written, from the transcript, if any.
    """
    made = transcript = None
    read = [path for path in inputs if path is not None]
    try:
        with (
            interruptible(lambda: made is not None, way_out) as begun,
            whole_files(targets, read, folders, replaces) if targets else contextlib.nullcontext(()) as places,
        ):
            with shown_progress(quiet=quiet):
                made = make()
            transcript = begun[-1].transcript if begun else None
            write(made, dict(zip(targets, places, strict=True)))
    except LapwingError as error:
        failure = error
    else:
        return made
    if made is None:
        raise failure
    raise DataError(f"{failure}; {way_out(transcript)}", code=failure.code)


def produce_release(
    make: Callable[[], "Release"],
    targets: Targets,
    inputs: Sequence[Path | None],
    *,
    rows: int | None,
    seed: int | None,
    way_out: Callable[[Path | None], str],
    quiet: bool,
) -> "Release":
    """Make a release and write its files."""
    from lapwing.runs.policy import named  # noqa: PLC0415

    def make_named() -> "Release":
        with named(preparedBy=targets.prepared_by, approvedBy=targets.approved_by):
            return make()

    def write(release: "Release", place: Mapping[Path, Path]) -> None:
        write_files(release, targets, place, rows=rows, seed=seed, quiet=quiet)

    return produce(make_named, write, targets.in_order, inputs, way_out=way_out, quiet=quiet, folders=targets.folders)


def resume_line(
    transcript: Path | None, table: "Table", targets: Targets, *, rows: int | None, seed: int | None, memory: str | None
) -> str:
    """Say how to go on, to the same files, when the budget is spent and the files could not be written.

    rows, seed: of the rows drawn, where they were asked for.
    """
    if transcript is None:
        return repeated_line(None)
    given = (("--rows", rows), ("--seed", seed), ("--memory", memory))
    numbers = [f"{name}={value}" for name, value in given if value is not None]
    command = shlex.join(["lapwing", "resume", str(transcript), *words_of(table), *targets.options, *numbers])
    return f"the answers are kept: `{command}` finishes free of charge"


def say_paid(paid: "Certificate | LinkedCertificate", say: Say, *, details: bool, parts: Sequence[str] = ()) -> None:
    """Say what a certificate says, or the chief of it.

    parts: of linked tables, whose lines begin with their names.
    """
    lines = paid.text().splitlines()
    if not details:
        cost = next(place for place, line in enumerate(lines) if line.startswith("Cost: "))
        chief = tuple(f"{part}{said}" for part in ("", *(f"{part}: " for part in parts)) for said in _CHIEF)
        protected = lines[: 1 if parts else cost]
        lines = [" ".join(protected), lines[cost], *(line for line in lines[cost:] if line.startswith(chief))]
    for line in lines:
        say(_UNRECORDED if paid.ledger is None and line.startswith("Recorded in") else line)


def summarize(
    release: "Release", targets: Targets, say: Say, *, details: bool, ledger: str | os.PathLike[str] | None = None
) -> None:
    """Say what is protected, what was spent, where that is recorded, and where the files are; warnings in any case.

    details: whether to say all that the certificate says; ledger: where it was paid; it may know others' accounts.
    """
    say_paid(release.certificate, say, details=details)
    if ledger is not None and release.certificate.ledger is not None:
        from lapwing.kernel.budget.ledger import Ledger  # noqa: PLC0415
        from lapwing.runs.account_terms import by_population  # noqa: PLC0415

        with contextlib.suppress(LapwingError):  # the release is done, and `lapwing ledger show` says it too
            for line in by_population(Ledger.open(ledger), [release.certificate.ledger.dataset]):
                say(line)
    if targets.croissant is not None:
        say(_ASKED_FOR)
    rows = None if targets.rows == STANDARD_OUTPUT else f"{targets.rows}{os.sep if targets.has_folder else ''}"
    named = {
        "rows": rows,
        "model": targets.model,
        "Croissant": targets.croissant,
        "certificate": targets.certificate,
    }
    files = [f"{what}: {file}" for what, file in named.items() if file is not None]
    if files:
        say(", ".join(files))
