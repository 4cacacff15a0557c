"""The files of a release of linked tables, or the database in their place."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

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
    from lapwing.model.certificate.issued import Beside, Issued  # noqa: PLC0415

    paid = release.certificate
    if seed is not None:  # the certificate names the seed of the rows beside it
        paid = replace(paid, parts={**paid.parts, paid.linked.names[0]: replace(paid.first, seed=seed)})
    if targets.model is not None:
        release.save(place[targets.model])
    counts, files = targets.write(release.frames(rows, seed=paid.first.seed), place)
    if targets.certificate is None:
        return
    files += [] if targets.model is None else [Beside.read(Path(targets.model.name), place[targets.model])]
    issued = Issued.now(
        files,
        table="" if paid.ledger is None else paid.ledger.dataset,
        schema=release.schema.fingerprint,
        prepared_by=targets.prepared_by,
        approved_by=targets.approved_by,
    )
    private = {name: counts[name] for name in release.schema.given}
    written = replace(paid, written_rows=private, issued=issued)
    place[targets.certificate].write_text(written.to_json(), encoding="utf-8", newline="\n")
