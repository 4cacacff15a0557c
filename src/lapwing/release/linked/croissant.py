"""Croissant beside linked tables: the records of each, with its key and what its columns refer to."""

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.model.certificate.issued import Beside
from lapwing.model.linked_files import LinkedCertificate
from lapwing.release.croissant import (
    CONFORMS_TO,
    CONTEXT,
    LEFT_TO_THE_CERTIFICATE,
    above,
    content_url,
    dataset,
    distinct_ids,
    file_entry,
    first_pair,
    limitations,
    record_sets,
    responsible,
)

if TYPE_CHECKING:
    from lapwing.rows.out.databases import TableOut


def linked_croissant_text(
    certificate: LinkedCertificate,
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
    written = certificate.written_rows
    files = [file_entry(f"{ids[name]}-file", file, target) for name, file in rows.items()]
    found = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        **dataset(", ".join(rows), None if written is None else sum(written.values()), certificate.text(), None),
        **_responsible(certificate),
        "differentialPrivacy": _statement(certificate, target, certified),
        "distribution": files if certified is None else [*files, file_entry("certificate-file", certified, target)],
        "recordSet": records,
    }
    return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _responsible(certificate: LinkedCertificate) -> dict[str, Any]:
    """Return what is said of responsible use."""
    parts = certificate.parts
    mechanisms = " and ".join(dict.fromkeys(part.mechanism for part in parts.values()))
    limits = [f"{name}: {said}" for name, part in parts.items() for said in limitations(part)]
    return responsible(
        certificate.first.lapwing, mechanisms, f"Protected: {certificate.protected}", [*limits, *certificate.not_kept]
    )


def _statement(certificate: LinkedCertificate, target: Path, certified: Beside | None) -> dict[str, Any]:
    """Return the statement of differential privacy, in the words of the certificate; of each part its total."""
    own = first_pair(certificate.total, Fraction(0), certificate.epsilons)
    has_bought = any(part.purchases or part.dp_fields for part in certificate.parts.values())
    whole = None if has_bought else own
    told = certificate.to_dict()
    left = {*LEFT_TO_THE_CERTIFICATE, "linked", "parts"}
    return {
        "epsilon": whole and above(whole[1]),
        "delta": whole and above(whole[0]),
        "epsilon_of_this_release": own and above(own[1]),
        "delta_of_this_release": own and above(own[0]),
        **{key: value for key, value in told.items() if key not in left},
        "parts": {name: part["total"] for name, part in told["parts"].items()},
        "software": {"name": "lapwing", "version": certificate.first.lapwing},
        "certificate": certified and {"file": content_url(certified.target, target), "sha256": certified.sha256},
    }
