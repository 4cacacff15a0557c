"""The files of a release of linked tables, or the database in their place."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.on_demand import extra

if TYPE_CHECKING:
    from lapwing.release.linked.release import LinkedRelease
    from lapwing.release.linked.targets import LinkedTargets


def write_linked(
    release: "LinkedRelease",
    targets: "LinkedTargets",
    place: Mapping[Path, Path],
    *,
    rows: int | None,
    seed: int | None = None,
) -> None:
    """Write model, rows and certificate to the places that are kept for the targets."""
    from lapwing.model.certificate.certificate import Certificate  # noqa: PLC0415
    from lapwing.model.certificate.issued import Beside, Issued  # noqa: PLC0415

    paid = release.certificate
    drawn = paid.seed if seed is None else seed  # the certificate names the seed of the rows beside it
    if targets.model is not None:
        release.save(place[targets.model])
    counts, files = targets.write(release.frames(rows, seed=drawn), place)
    if targets.certificate is None and targets.croissant is None:
        return
    files += [] if targets.model is None else [Beside.read(Path(targets.model.name), place[targets.model])]
    issued = Issued.now(
        files,
        table="" if paid.ledger is None else paid.ledger.dataset,
        schema=release.schema.fingerprint,
        prepared_by=targets.prepared_by,
        approved_by=targets.approved_by,
    )
    written = Certificate.of_tables(
        release.linked,
        {name: replace(part, written_rows=counts.get(name), seed=drawn) for name, part in paid.parts.items()},
        requested=paid.requested,
        epsilons=paid.epsilons,
        issued=issued,
    )
    if targets.croissant is not None:
        beside = targets.certificate
        certified = None if beside is None else Beside.of(beside, written.to_json().encode())
        described = {name: Beside.read(targets.rows[name], file) for name, file in targets.placed(place).items()}
        text = extra("croissant of tables").linked_croissant_text(
            written, targets.tables, targets.croissant, rows=described, certified=certified
        )
        place[targets.croissant].write_text(text, encoding="utf-8", newline="\n")
    if targets.certificate is not None:
        # As bytes: the Croissant file names their hash, which a translated line break would change.
        place[targets.certificate].write_bytes(written.to_json().encode())
