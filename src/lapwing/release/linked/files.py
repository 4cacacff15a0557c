"""The files of a release of linked tables."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.release.files import write_rows

if TYPE_CHECKING:
    from lapwing.release.linked.release import LinkedRelease


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedTargets:
    """Name the files of one release of linked tables.

    rows: by table; folder: the one that they lie in, where they are written as a folder.
    """

    rows: Mapping[str, Path]
    folder: Path | None
    model: Path | None
    certificate: Path | None
    prepared_by: str = ""
    approved_by: str = ""

    @property
    def in_order(self) -> list[Path]:
        """The files in the order in which they appear: a set without certificate is incomplete."""
        rows = list(self.rows.values()) if self.folder is None else [self.folder]
        return [path for path in (self.model, *rows, self.certificate) if path is not None]

    @property
    def folders(self) -> list[Path]:
        """Those of them that are folders."""
        return [] if self.folder is None else [self.folder]

    @property
    def named(self) -> list[tuple[str, Path]]:
        """What each file is, for who asked for them."""
        found = [*self.rows.items(), ("model", self.model), ("certificate", self.certificate)]
        return [(what, path) for what, path in found if path is not None]


def write_linked(
    release: "LinkedRelease", targets: LinkedTargets, place: Mapping[Path, Path], *, rows: int | None
) -> None:
    """Write model, rows and certificate to the places that are kept for the targets."""
    from lapwing.model.certificate.issued import Beside, Issued  # noqa: PLC0415

    if targets.model is not None:
        release.save(place[targets.model])
    paid = release.certificate
    drawn = list(release.frames(rows, seed=paid.first.seed))
    where = {name: place_of(targets, name, place) for name in targets.rows}
    counts = {}
    for name, path in targets.rows.items():
        frames = [chunk[name] for chunk in drawn]
        counts[name] = sum(frame.height for frame in frames)
        write_rows(iter(frames), path, where[name])
    if targets.certificate is None:
        return
    files = [Beside.read(_told(targets, path), where[name], counts[name]) for name, path in targets.rows.items()]
    files += [] if targets.model is None else [Beside.read(Path(targets.model.name), place[targets.model])]
    issued = Issued.now(
        files,
        table="" if paid.ledger is None else paid.ledger.dataset,
        schema=release.schema.fingerprint,
        prepared_by=targets.prepared_by,
        approved_by=targets.approved_by,
    )
    written = replace(paid, written_rows=counts, issued=issued)
    place[targets.certificate].write_text(written.to_json(), encoding="utf-8", newline="\n")


def place_of(targets: LinkedTargets, name: str, place: Mapping[Path, Path]) -> Path:
    """Return where the rows of a table are written before they appear."""
    path = targets.rows[name]
    return place[path] if targets.folder is None else place[targets.folder] / path.name


def _told(targets: LinkedTargets, path: Path) -> Path:
    """Return what the certificate calls a file: as seen from where it lies."""
    return Path(path.name) if targets.folder is None else Path(targets.folder.name) / path.name
