"""The files of a release: what is written to each."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.atomic import writing
from lapwing.on_demand import extra
from lapwing.release.linked.targets import write_tables
from lapwing.release.targets import Targets, staging_places
from lapwing.rows.out.outputs import rows_format, to_standard_output

if TYPE_CHECKING:
    import polars as pl

    from lapwing.model.certificate.certificate import Certificate
    from lapwing.model.certificate.issued import Beside
    from lapwing.release.release import Release
    from lapwing.release.rows_out import RowsOut
    from lapwing.schema.schemas import Schema


def write_rows(
    frames: Iterator["pl.DataFrame"], schema: "Schema", target: Path, place: Path, metadata: Mapping[str, str]
) -> None:
    """Write synthetic rows to the place kept for the target, a Parquet file with key-value metadata."""
    from lapwing.rows.out import writers  # noqa: PLC0415

    with writing(target, stands_in=True):
        writers.write_rows(frames, place, rows_format(target), fields=schema.fields, metadata=metadata)


def write_release_rows(rows: "RowsOut", target: Path, place: Path | None, *, quiet: bool) -> None:
    """Write rows of a release out to the place that is kept for the target, and show how far it is.

    place: None for standard output, which gets them as CSV.
    """
    from lapwing.release.rows_out import WRITING, write_to  # noqa: PLC0415
    from lapwing.release.runs.watching import show_progress  # noqa: PLC0415

    if place is None:
        to_standard_output(rows.frames())
        return
    with writing(target, stands_in=True), show_progress(not quiet and sys.stderr.isatty(), **WRITING):
        write_to(rows, place, target)


def write_files(
    release: "Release", targets: Targets, place: Mapping[Path, Path], *, rows: int | None, seed: int | None, quiet: bool
) -> None:
    """Write model, rows, Croissant file and certificate to the places that are kept for the targets."""
    from lapwing.model.certificate.issued import Beside, IssueRecord  # noqa: PLC0415

    paid = release.certificate
    drawn = paid.seed if seed is None else seed  # the certificate names the seed of the rows beside it
    if targets.model is not None:
        with writing(targets.model, stands_in=True):
            release.save(place[targets.model])
    if paid.linked is None:
        counts, files = _write_one(release, targets, place, rows=rows, seed=drawn, quiet=quiet)
    else:
        found, files = write_tables(targets, release.frames(rows, seed=drawn), place)
        counts = {name: found[name] for name in release.schema.tables}
    if targets.certificate is None and targets.croissant is None:
        return
    files += [] if targets.model is None else [Beside.read(Path(targets.model.name), place[targets.model])]
    issued = IssueRecord.now(
        files,
        table=release.schema.name if paid.ledger is None else paid.ledger.dataset,
        schema=release.schema.fingerprint,
        prepared_by=targets.prepared_by,
        approved_by=targets.approved_by,
    )
    written = paid.written(counts, drawn, issued)
    # As bytes: the Croissant file names their hash, which a translated line break would change.
    content = written.to_json().encode()
    if targets.croissant is not None:
        certified = None if targets.certificate is None else Beside.of(targets.certificate, content)
        described = _croissant(release.schema, written, targets, place, certified)
        place[targets.croissant].write_text(described, encoding="utf-8", newline="\n")
    if targets.certificate is not None:
        place[targets.certificate].write_bytes(content)


def _write_one(
    release: "Release", targets: Targets, place: Mapping[Path, Path], *, rows: int | None, seed: int | None, quiet: bool
) -> "tuple[dict[str, int], list[Beside]]":
    """Write the rows of one table; return how many there are, and what the certificate says of their files."""
    from lapwing.model.certificate.issued import Beside, inside  # noqa: PLC0415

    (target,), total = targets.rows.values(), release.model.rows if rows is None else rows
    write_release_rows(release.rows(rows, seed=seed), target, place.get(target), quiet=quiet)
    if target not in place:
        return {"": total}, []
    named = inside(target, place[target])
    counts = [total if targets.folder is None else _rows_of(file) for _, file in named]
    files = [Beside.read(Path(name), file, count) for (name, file), count in zip(named, counts, strict=True)]
    return {"": total}, files


def _rows_of(file: Path) -> int:
    """Return how many synthetic rows a Parquet file that was just written holds."""
    import polars as pl  # noqa: PLC0415

    return int(pl.scan_parquet(file).select(pl.len()).collect().item())


def _croissant(
    schema: "Schema",
    certificate: "Certificate",
    targets: Targets,
    place: Mapping[Path, Path],
    certified: "Beside | None",
) -> str:
    """Return the Croissant file about rows in their temporary places, and a certificate that is still to come."""
    from lapwing.model.certificate.issued import Beside  # noqa: PLC0415

    if certificate.linked is None:
        (target,) = targets.rows.values()
        rows, known = Beside.read(target, place[target]), {"certified": certified}
        found: str = extra("croissant").croissant_text(schema, certificate, targets.croissant, rows=rows, **known)
        return found
    described = {name: Beside.read(targets.rows[name], file) for name, file in staging_places(targets, place).items()}
    text: str = extra("croissant of tables").linked_croissant_text(
        certificate, targets.tables, targets.croissant, rows=described, certified=certified
    )
    return text
