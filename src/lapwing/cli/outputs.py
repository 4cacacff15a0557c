"""The files of a command, written as one set, whole or not at all, and what is said of them."""

import contextlib
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lapwing.cli import options
from lapwing.cli.console import Say, console_progress, interruptible, way_out
from lapwing.cli.tables import default_rows, words_of
from lapwing.errors import DataError, LapwingError, ParameterError
from lapwing.kernel.room.begun import Finish, finished_by
from lapwing.on_demand import extra
from lapwing.release.files import write_files
from lapwing.release.linked.targets import events_targets, linked_targets
from lapwing.release.targets import Targets, certificate_target, read_targets
from lapwing.rows.out.outputs import is_part, whole_files
from lapwing.schema.scalars import check_row_count

if TYPE_CHECKING:
    import typer

    from lapwing.model.certificate.certificate import Certificate
    from lapwing.release.release import Release
    from lapwing.rows.entry import Source
    from lapwing.schema.linked.database import LinkedTables


T = TypeVar("T")

_CHIEF = ("cost", "verdict", "quotable", "not_for", "recorded", "warning")
_UNRECORDED = (
    "No --ledger: this release is recorded nowhere, and nothing adds up what is spent; see `lapwing ledger init`."
)
_ASKED_FOR = (
    "The Croissant file has no license, url or creator, which Croissant asks for: write them in, or give them in "
    "Python, release.to_croissant(..., about={...})."
)


def check_drawn(rows: int | None, seed: int | None = None) -> None:
    """Refuse rows that no release could draw, before one is paid for."""
    from lapwing.release.runs.generators import checked_seed  # noqa: PLC0415

    if rows is not None:
        check_row_count("rows", rows, 1)
    checked_seed(seed)


def produce(
    make: Callable[[], T],
    write: Callable[[T, Mapping[Path, Path]], None],
    targets: Sequence[Path],
    inputs: Sequence[Path | None],
    *,
    finish: Finish,
    quiet: bool,
    folders: Sequence[Path] = (),
    replaces: Callable[[Path], bool] = is_part,
    steps: Mapping[str, str] | None = None,
) -> T:
    """Spend budget and write what comes out as one set of files, whole or not at all.

    make: spends the budget; called once the targets are known to be writable; write: writes to the places that are kept
    for the targets; inputs: files that are read, and must not be written; finish: what finishes the run where anything
    fails once the budget is spent; steps: what is shown of work that spends none.
    """
    made: T | None = None
    transcript: Path | None = None
    failure: LapwingError
    read = [path for path in inputs if path is not None]
    try:
        with (
            finished_by(finish),
            interruptible(lambda: made is not None and steps is None) as begun,
            whole_files(targets, read, folders, replaces) if targets else contextlib.nullcontext(()) as places,
        ):
            with console_progress(quiet=quiet, **steps or {}):
                made = make()
            transcript = begun[-1].transcript if begun else None
            write(made, dict(zip(targets, places, strict=True)))
    except BrokenPipeError:
        raise  # whoever read the rows has gone away
    except LapwingError as error:
        failure = error
    except MemoryError:
        failure = DataError("memory ran out; free some", code="LW501")
    except OSError as error:
        failure = DataError(f"standard output cannot be written ({error.strerror}); free some space", code="LW902")
    else:
        return made
    if made is None or steps is not None:
        raise failure
    with finished_by(finish):
        said = f"{failure}; {way_out(transcript)}"
    raise DataError(said, code=failure.code)


def read_places(
    linked: "LinkedTables | None",
    output: Sequence[str],
    into: str | None,
    tables: "Mapping[str, Source]",
    context: "typer.Context",
    *,
    model: Path | None,
    certificate: Path | None,
    no_certificate: bool,
    croissant: Path | None,
    people: tuple[str | None, str | None],
) -> "Targets":
    """Return the files that the options name; people: who prepared and who approved the release.

    tables: the private ones; a folder gets files of text where they are files of text by their names.
    """
    if linked is None or linked.is_events:
        place = options.one_place(output, into, context)
        targets = read_targets(
            place, model, certificate, no_certificate=no_certificate, croissant=croissant, people=people
        )
        return targets if linked is None else events_targets(linked, targets)
    is_text = all(default_rows(table).endswith(".csv") for table in tables.values())
    prepared_by, approved_by = (who or "" for who in people)
    found = linked_targets(
        linked,
        output,
        into,
        "csv" if is_text else "parquet",
        model=model,
        croissant=croissant,
        prepared_by=prepared_by,
        approved_by=approved_by,
    )
    beside = found.beside
    if beside is None and certificate is None and not no_certificate:
        raise ParameterError(
            "a certificate stands beside the rows, and a database server has no such place; name it "
            "with --certificate C.json, or give --no-certificate",
            code="LW316",
        )
    if beside is not None:
        certificate = certificate_target(beside, certificate, no_certificate=no_certificate)
    found = replace(found, certificate=None if no_certificate else certificate)
    found.check_croissant()
    return found


def produce_release(
    make: Callable[[], "Release"],
    targets: "Targets",
    inputs: Sequence[Path | None],
    *,
    rows: int | None,
    finish: Finish,
    quiet: bool,
    seed: int | None = None,
) -> "Release":
    """Make a release and write its files."""
    check_drawn(rows, seed)

    def make_named() -> "Release":
        with extra("policy").naming_people(preparedBy=targets.prepared_by, approvedBy=targets.approved_by):
            return make()

    def write(release: "Release", place: Mapping[Path, Path]) -> None:
        write_files(release, targets, place, rows=rows, seed=seed, quiet=quiet)

    return produce(
        make_named,
        write,
        targets.in_order,
        inputs,
        finish=finish,
        quiet=quiet,
        folders=targets.folders,
        replaces=targets.replaces,
    )


def resuming(tables: "Sequence[Source]", targets: "Targets", schema: Path | None = None, **drawn: object) -> Finish:
    """Return what says which command finishes a release to the same files.

    schema: where it is mended, if anywhere; drawn: rows, seed and memory, as far as they were asked for.
    """
    numbers = [f"--{name}={value}" for name, value in drawn.items() if value is not None]

    def finish(transcript: Path, is_mended: bool) -> str:
        under = ["--schema", str(schema)] if is_mended and schema is not None else []
        words = [str(transcript), *words_of(*tables), *targets.options, *under, *numbers]
        return f"`{shlex.join(['lapwing', 'resume', *words])}`"

    return finish


def say_paid(paid: "Certificate", say: Say, *, details: bool) -> None:
    """Say what a certificate says, or the chief of it."""
    from lapwing.present.certificates import WHOLE, describe_certificate  # noqa: PLC0415

    found = describe_certificate(paid)
    if not details:
        say(" ".join(found.lines("protected", "persons", "missing", "drawn")))
    for fact in found.all(*(WHOLE if details else _CHIEF)):
        say(_UNRECORDED if paid.ledger is None and fact.key == "recorded" else fact.line)


def summarize(
    release: "Release",
    targets: "Targets",
    say: Say,
    *,
    details: bool,
    ledger: str | os.PathLike[str] | None = None,
) -> None:
    """Say what is protected, what was spent, where that is recorded, and where the files are; warnings in any case.

    details: whether to say all that the certificate says; ledger: where it was paid; it may know others' accounts.
    """
    say_paid(release.certificate, say, details=details)
    if ledger is not None and release.certificate.ledger is not None:
        from lapwing.kernel.budget.ledger import Ledger  # noqa: PLC0415
        from lapwing.release.runs.account_terms import by_population  # noqa: PLC0415

        with contextlib.suppress(LapwingError):  # the release is done, and `lapwing ledger show` says it too
            for line in by_population(Ledger.open(ledger), [release.certificate.ledger.dataset]):
                say(line)
    if targets.croissant is not None and not targets.tables:
        say(_ASKED_FOR)
    files = [f"{what}: {file}" for what, file in targets.named]
    if files:
        say(", ".join(files))
