"""Croissant beside linked tables: the records of each, with its key and what its columns refer to."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.extras.connect.croissant.written import (
    LEFT_TO_THE_CERTIFICATE,
    dataset,
    distinct_ids,
    file_entry,
    file_promises,
    first_pair,
    limitations,
    record_sets,
    responsible,
    whole_text,
)
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.issued import Beside

if TYPE_CHECKING:
    from lapwing.rows.out.databases import TableOut


def linked_croissant_text(
    certificate: Certificate,
    tables: "Sequence[TableOut]",
    target: Path,
    *,
    rows: Mapping[str, Beside],
    certified: Beside | None,
) -> str:
    """Return the text of a Croissant file about linked tables; rows: the file of each table."""
    ids = distinct_ids(table.name for table in tables)
    keys = {
        table.name: f"{ids[table.name]}/{distinct_ids(field.name for field in table.fields)[table.key]}"
        for table in tables
        if table.key
    }
    records = [
        record
        for table in tables
        for record in record_sets(
            ids[table.name],
            table.fields,
            key=table.key,
            links={column: keys[other] for column, other in table.links.items() if other in keys},
        )
    ]
    parts = certificate.parts
    limits = [f"{name}: {said}" for name, part in parts.items() for said in limitations(part)]
    limits += [each.text for each in certificate.not_kept or ()]
    version, protected = certificate.lapwing, f"Protected: {certificate.protected}"
    own = first_pair(certificate.total, Fraction(0), certificate.epsilons)
    has_bought = any(part.purchases or part.dp_fields for part in parts.values())
    all_told = certificate.to_dict()
    left = {*LEFT_TO_THE_CERTIFICATE, "linked", "parts"}
    told = {key: value for key, value in all_told.items() if key not in left}
    totals = {name: part["total"] for name, part in all_told["parts"].items()}
    return whole_text(
        dataset(", ".join(rows), certificate.written_rows, certificate.text(), None),
        responsible(version, certificate.mechanism, protected, limits),
        {**file_promises(None if has_bought else own, own), **told, "parts": totals},
        [file_entry(f"{ids[name]}-file", file, target) for name, file in rows.items()],
        records,
        about=(version, target, certified),
    )
