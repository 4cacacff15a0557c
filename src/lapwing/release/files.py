"""The files of a release: where they go, and what is written to each; Python, commands and the studio share it."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.atomic import writing
from lapwing.errors import ParameterError, visible
from lapwing.on_demand import extra
from lapwing.rows.out.outputs import has_row_name, is_folder_name, is_part, rows_format

if TYPE_CHECKING:
    import polars as pl

    from lapwing.model.certificate.certificate import Certificate
    from lapwing.model.certificate.issued import Issued
    from lapwing.release.release import Release
    from lapwing.release.rows_out import RowsOut
    from lapwing.schema.schemas import Schema


STANDARD_OUTPUT = Path("-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Name the files of one release.

    has_folder: whether the rows go to a folder of Parquet files; prepared_by, approved_by: for the certificate.
    """

    rows: Path
    model: Path | None
    certificate: Path | None
    croissant: Path | None = None
    has_folder: bool = False
    prepared_by: str = ""
    approved_by: str = ""

    @property
    def in_order(self) -> list[Path]:
        """The files in the order in which they appear: a set without certificate is incomplete."""
        found = (self.model, None if self.rows == STANDARD_OUTPUT else self.rows, self.croissant, self.certificate)
        return [path for path in found if path is not None]

    @property
    def folders(self) -> list[Path]:
        """Those of them that are folders."""
        return [self.rows] if self.has_folder else []

    def replaces(self, file: Path) -> bool:
        """Return whether a file of an earlier folder may be replaced."""
        return is_part(file)

    @property
    def named(self) -> list[tuple[str, object]]:
        """What each file is, for who asked for them."""
        rows = f"{self.rows}{os.sep if self.has_folder else ''}"
        found = [("model", self.model), ("Croissant", self.croissant), ("certificate", self.certificate)]
        return [
            *([] if self.rows == STANDARD_OUTPUT else [("rows", rows)]),
            *((what, path) for what, path in found if path is not None),
        ]

    @property
    def options(self) -> list[str]:
        """The options of a command line that name the same files."""
        return ["-o", f"{self.rows}{os.sep if self.has_folder else ''}", *file_options(self, self.rows)]


def file_options(targets: Any, beside: Path | None) -> list[str]:  # noqa: ANN401 - of one table, or of several
    """Return the options that name the files other than the rows; beside: the rows where the certificate is usual."""
    certified = ["--no-certificate"] if targets.certificate is None else ["--certificate", str(targets.certificate)]
    if beside is not None and targets.certificate == _beside(beside):
        certified = []
    others = (("--model", targets.model), ("--croissant", targets.croissant))
    named = [text for name, path in others if path is not None for text in (name, str(path))]
    people = (("--prepared-by", targets.prepared_by), ("--approved-by", targets.approved_by))
    signed = [text for name, who in people if who for text in (name, who)]
    return [*named, *certified, *signed]


def read_targets(
    output: str,
    model: Path | None,
    certificate: Path | None,
    *,
    no_certificate: bool,
    croissant: Path | None = None,
    people: tuple[str | None, str | None] = (None, None),
) -> Targets:
    """Return the files that the options name; people: who prepared and who approved the release."""
    rows, has_folder = rows_place(output)
    target = certificate_target(rows, certificate, no_certificate=no_certificate)
    if croissant is not None:
        if has_folder or rows.suffix.lower() not in (".parquet", ".csv"):
            what = "is a folder" if has_folder else "is none of these"
            raise ParameterError(
                f"a Croissant file names one file of rows, and {rows} {what}; leave --croissant out, or give a "
                ".parquet or .csv file",
                code="LW316",
            )
        extra("croissant").check_beside(croissant, [rows, target])
    prepared_by, approved_by = (who or "" for who in people)
    return Targets(
        rows=rows,
        model=model,
        certificate=target,
        croissant=croissant,
        has_folder=has_folder,
        prepared_by=prepared_by,
        approved_by=approved_by,
    )


def rows_place(output: str) -> tuple[Path, bool]:
    """Return where rows go, and whether it is a folder; refuse a name that asks for neither file nor folder."""
    place, has_folder = Path(output), is_folder_name(output)
    if not has_folder and place != STANDARD_OUTPUT:
        rows_format(place)
    return place, has_folder


def certificate_target(output: Path, certificate: Path | None, *, no_certificate: bool) -> Path | None:
    """Return where the certificate of an output goes, by default beside it; None where none is wanted."""
    usual = _beside(output)
    if output == STANDARD_OUTPUT and certificate is None and not no_certificate:
        raise ParameterError(
            "a certificate stands beside a file of rows, got -o -; name it with --certificate C.json, or give "
            "--no-certificate",
            code="LW316",
        )
    if not no_certificate:
        return usual if certificate is None else certificate
    if certificate is not None:
        raise ParameterError("--certificate and --no-certificate contradict each other; give one of them", code="LW316")
    if os.path.exists(usual):
        what = "rows" if has_row_name(output) or os.path.isdir(output) else "file"
        raise ParameterError(
            f"{usual} is there from an earlier release and would not describe the new {what}; "
            "remove it, or leave out --no-certificate",
            code="LW113",
        )
    return None


def _beside(output: Path) -> Path:
    named = output if output.name not in ("", "..") else Path(os.path.abspath(output))
    return named.parent / f"{named.name}.certificate.json"


def write_rows(
    frames: Iterator["pl.DataFrame"], target: Path, place: Path, metadata: Mapping[str, str] | None = None
) -> None:
    """Write synthetic rows to the place kept for the target, a Parquet file with key-value metadata if need be."""
    from lapwing.rows.out import writers  # noqa: PLC0415

    with writing(target, stands_in=True):
        writers.write_rows(frames, place, rows_format(target), metadata=metadata)


def to_standard_output(frames: Iterable["pl.DataFrame"]) -> int:
    """Write synthetic rows to standard output as CSV; return how many there were."""
    count = 0
    for number, frame in enumerate(frames):
        text = frame.write_csv(include_header=not number)
        sys.stdout.buffer.write((visible(text) if sys.stdout.isatty() else text).encode())
        count += frame.height
    sys.stdout.buffer.flush()
    return count


def write_release_rows(rows: "RowsOut", target: Path, place: Path | None, *, quiet: bool) -> None:
    """Write rows of a release out to the place that is kept for the target, and show how far it is.

    place: None for standard output, which gets them as CSV.
    """
    from lapwing.release.rows_out import WRITING, write_to  # noqa: PLC0415
    from lapwing.release.runs.watching import shown  # noqa: PLC0415

    if place is None:
        to_standard_output(rows.frames())
        return
    with writing(target, stands_in=True), shown(not quiet and sys.stderr.isatty(), **WRITING):
        write_to(rows, place, target)


def write_files(
    release: "Release", targets: Targets, place: Mapping[Path, Path], *, rows: int | None, seed: int | None, quiet: bool
) -> None:
    """Write model, rows, Croissant file and certificate to the places that are kept for the targets."""
    if targets.model is not None:
        with writing(targets.model, stands_in=True):
            release.save(place[targets.model])
    total = release.model.rows if rows is None else rows
    drawn = release.certificate.seed if seed is None else seed  # the certificate names the seed of the rows beside it
    write_release_rows(release.rows(rows, seed=drawn), targets.rows, place.get(targets.rows), quiet=quiet)
    certificate = replace(
        release.certificate, written_rows=total, seed=drawn, issued=_issued(release, targets, place, total)
    )
    if targets.croissant is not None:
        described = _croissant(release.schema, certificate, targets, place[targets.rows])
        place[targets.croissant].write_text(described, encoding="utf-8", newline="\n")
    if targets.certificate is not None:
        # As bytes: the Croissant file names their hash, which a translated line break would change.
        place[targets.certificate].write_bytes(certificate.to_json().encode())


def _issued(release: "Release", targets: Targets, place: Mapping[Path, Path], total: int) -> "Issued":
    """Return what stands on the certificate of files in their temporary places; not of the one that names it.

    total: the number of rows that were written.
    """
    from lapwing.model.certificate.issued import Beside, Issued, inside  # noqa: PLC0415

    files = []
    if targets.rows in place:
        named = inside(targets.rows, place[targets.rows])
        counts = [_rows_of(file) if targets.has_folder else total for _, file in named]
        files += [Beside.read(Path(name), file, rows) for (name, file), rows in zip(named, counts, strict=True)]
    if targets.model is not None:
        files.append(Beside.read(Path(targets.model.name), place[targets.model]))
    ledger = release.certificate.ledger
    return Issued.now(
        files,
        table=release.schema.name if ledger is None else ledger.dataset,
        schema=release.schema.fingerprint,
        prepared_by=targets.prepared_by,
        approved_by=targets.approved_by,
    )


def _rows_of(file: Path) -> int:
    """Return how many synthetic rows a Parquet file that was just written holds."""
    import polars as pl  # noqa: PLC0415

    return int(pl.scan_parquet(file).select(pl.len()).collect().item())


def _croissant(schema: "Schema", certificate: "Certificate", targets: Targets, rows: Path) -> str:
    """Return the Croissant file about rows in their temporary place, and a certificate that is still to come."""
    from lapwing.model.certificate.issued import Beside  # noqa: PLC0415

    assert targets.croissant is not None
    certified = None
    if targets.certificate is not None:
        certified = Beside.of(targets.certificate, certificate.to_json().encode())
    found: str = extra("croissant").croissant_text(
        schema, certificate, targets.croissant, rows=Beside.read(targets.rows, rows), certified=certified
    )
    return found
