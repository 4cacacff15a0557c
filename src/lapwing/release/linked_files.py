"""Model files of two linked tables: both releases in one ``.lapwing`` file, safe to load from strangers.

The file is a zip as that of one release: the documents of both parts, ``parent-...`` and ``child-...``, with
``manifest.json``, ``linked.json`` (the linked schema) and ``certificate.json``. It holds public settings and released
numbers only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lapwing.errors import ParameterError
from lapwing.release.files import SavedRelease, documents_of, read_documents, saved_of, write_documents
from lapwing.release.linked_certificate import LinkedCertificate
from lapwing.release.plain import read_key
from lapwing.schema.linked import LinkedSchema

FORMAT: Final = 1
_KIND: Final = "lapwing linked release"
_PARTS: Final = ("parent", "child")
_EACH: Final = ("schema.json", "certificate.json", "model.json", "answers.json")
_DOCUMENTS: Final = (
    "manifest.json",
    "linked.json",
    "certificate.json",
    *(f"{part}-{name}" for part in _PARTS for name in _EACH),
)
_WITH_ARRAYS: Final = tuple(f"{part}-{name}" for part in _PARTS for name in _EACH[2:])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SavedLinked:
    """Hold what a model file of two linked tables holds.

    Parameters
    ----------
    schema : LinkedSchema
        The public schema.
    parent, child : SavedRelease
        Of ``schema.counted`` and ``schema.joined``.
    certificate : LinkedCertificate
        Of both.

    Raises
    ------
    ParameterError
        If a part is of another schema or certificate.
    """

    schema: LinkedSchema
    parent: SavedRelease
    child: SavedRelease
    certificate: LinkedCertificate

    def __post_init__(self) -> None:
        told = self.certificate
        parts = (
            (self.parent, self.schema.counted, told.parent),
            (self.child, self.schema.joined, told.child),
        )
        for part, schema, certificate in parts:
            if part.schema != schema or part.certificate.to_dict() != certificate.to_dict():
                raise ParameterError(
                    "a part of the linked tables does not belong to their schema or certificate", code="LW621"
                )
        linked = (self.schema.key, self.schema.max_children, self.schema.count)
        if linked != (told.key, told.max_children, told.count):
            raise ParameterError("the certificate is of other linked tables than the schema", code="LW621")


def save_linked(saved: SavedLinked, path: Path) -> None:
    """Write a model file, which appears whole or not at all; as `lapwing.release.files.save_release`."""
    documents: dict[str, Any] = {
        "manifest.json": {"kind": _KIND, "format": FORMAT, "lapwing": saved.parent.certificate.lapwing},
        "linked.json": saved.schema.to_dict(),
        "certificate.json": saved.certificate.to_dict(),
    }
    for part, release in zip(_PARTS, (saved.parent, saved.child), strict=True):
        documents |= {f"{part}-{name}": tree for name, tree in documents_of(release).items()}
    write_documents(path, documents)


def load_linked(path: Path) -> SavedLinked:
    """Read a model file that anybody may have written; as `lapwing.release.files.load_release`."""
    return read_documents(path, (_KIND, FORMAT), (_DOCUMENTS, _WITH_ARRAYS), _saved)


def _saved(trees: Mapping[str, Any]) -> SavedLinked:
    """Read back all documents."""
    parent, child = (saved_of({name: trees[f"{part}-{name}"] for name in _EACH}) for part in _PARTS)
    return SavedLinked(
        schema=LinkedSchema.load(read_key(trees, "linked.json", dict)),
        parent=parent,
        child=child,
        certificate=LinkedCertificate.from_dict(trees["certificate.json"]),
    )
