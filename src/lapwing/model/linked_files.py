"""The certificate of two linked tables: both parts, what they cost together, and what synthetic rows do not keep."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.plain import at_least, rational_text, read_key, read_list, read_optional, read_rational
from lapwing.model.certificate.certificate import Certificate, LedgerEntry
from lapwing.model.certificate.cost_lines import asked_text
from lapwing.model.certificate.issued import Issued, read_issued
from lapwing.model.certificate.promise import check_pairs, pairs_from, pairs_to_dict, told_pairs
from lapwing.model.files import SavedRelease, documents_of, read_documents, saved_of, write_documents
from lapwing.schema.linked import LinkedSchema
from lapwing.schema.scalars import visible

_refused = partial(ParameterError, code="LW621")

CERTIFICATE_FORMAT = 1
ONE_OF_TWO = (
    "this is one of two parts of a release of linked tables: the other one spends on the same people too, and the "
    "certificate of both adds them up"
)
"""What the certificate of each part warns of, as it may be met without the other."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinkedCertificate:
    """Certify a release of two linked tables.

    max_children: children of one parent that are used at most: K; parent, child: of the two parts. Their costs are for
    the same people and add up; requested_epsilon, requested_delta, requested_rho: what the caller asked for, for both
    parts together; epsilons: for zCDP: what both parts together mean as (ε, δ). Empty for pure ε; written_rows: how
    many parents and children were written with this certificate; issued: when and with which files, and by whom.
    """

    key: str
    max_children: int
    count: str
    parent: Certificate
    child: Certificate
    requested_epsilon: Fraction | None
    requested_delta: Fraction | None
    requested_rho: Fraction | None
    epsilons: tuple[tuple[Fraction, Fraction], ...] = ()
    written_rows: tuple[int, int] | None = None
    issued: Issued | None = None

    def __post_init__(self) -> None:
        for part, rows in ((self.parent, 1), (self.child, self.max_children)):
            if (part.privacy_unit, part.relation) != (f"{self.key}:{rows}", "add-remove"):
                raise _refused(f"a part of linked tables must protect {self.key}:{rows}, got {part.privacy_unit}")
        if (self.requested_epsilon is None) == (self.requested_rho is None):
            raise _refused("a certificate needs the requested epsilon or the requested rho, not both")
        is_pure = self.requested_epsilon is not None and self.requested_delta is None
        limit = self.requested_epsilon if is_pure else self.requested_rho
        stated = dict(self.epsilons).get(self.requested_delta) if self.requested_delta is not None else None
        is_more = limit is not None and self.total.amount > limit
        if self.requested_epsilon is not None and self.requested_delta is not None:
            is_more = stated is None or stated > self.requested_epsilon
        if is_pure != (self.total.notion == "pure") or is_more:
            raise _refused("the parts of a linked release cost more than, or in other terms than, was requested")
        check_pairs(self.epsilons, self.total, Fraction(0), (self.requested_epsilon, self.requested_delta))

    @property
    def total(self) -> Budget:
        """What both parts cost together: amounts for the same people are added."""
        return self.parent.total + self.child.total

    @property
    def privacy_unit(self) -> str:
        """The privacy unit as the ledger writes it, ``KEY:K``."""
        return self.child.privacy_unit

    @property
    def ledger(self) -> LedgerEntry | None:
        """Where the release was recorded, once for both parts."""
        return self.parent.ledger

    @property
    def protected(self) -> str:
        """What is protected, in two sentences."""
        return (
            f"All rows that share one value of {self.key}: the one parent row and at most {self.max_children} child "
            "rows that are used, whether they are in the tables, and what they say (add-remove neighbours). Rows "
            f"without {self.key} are protected together only, as if they shared one more value."
        )

    @property
    def kept(self) -> tuple[str, ...]:
        """What synthetic rows keep by construction."""
        return (
            f"every child has a parent, and every parent has exactly as many children as its {self.count} says, 0 to "
            f"{self.max_children}",
            f"values of {self.key} are fresh numbers, and rows out of one value follow the noisy answers alone",
        )

    @property
    def not_kept(self) -> tuple[str, ...]:
        """What synthetic rows do not keep: whole sentences."""
        prior = (
            "public tables of the child schema are where the child model starts; rows follow their parents, and come "
            "only near them"
        )
        exact = (
            "public totals of parents hold but for parents whom rules leave no child: others stand in for them, who "
            "may stand in other cells where too few are like them"
        )
        return (
            f"children of one parent are drawn one by one, given the parent's columns and {self.count}: how they "
            "depend on each other beyond these is lost, such as that no two of them are the eldest, or that spouses "
            "are of like age",
            "children have no order: what of them comes first, and how one changes into the next, is lost",
            "children depend on those of the parent's columns with which they were measured, and through them on "
            "others: the certificate's cost lines of the child part list the tables",
            f"what parents with more than {self.max_children} children had beyond them is cut: their {self.count} is "
            f"{self.max_children}",
            "totals over the children of a parent, such as a sum of incomes, agree with no column of the parent "
            "unless each child does",
            *((prior,) if self.child.public_tables else ()),
            *((exact,) if self.parent.public_tables and self.child.rules else ()),
            "child rows whose key has no parent row, further parent rows of a key, and the values of all identifiers "
            "are not used",
            "a third table, such as the children of children, is no part of this release",
        )

    def __repr__(self) -> str:
        rows = f"{self.parent.released_rows} parents, {self.child.released_rows} children"
        asked = asked_text(self.total, self.requested_epsilon, self.requested_delta)
        return f"LinkedCertificate({self.parent.mechanism} and {self.child.mechanism}, {asked}, {rows})"

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Return a short plain summary: what is protected, at which cost, and what is kept and what is not."""
        parent, child = (
            [line for line in part.text().splitlines() if not line.startswith(_SAID)]
            for part in (self.parent, self.child)
        )
        both = [line for line in parent if line in child]
        lines = [
            f"Protected: {self.protected}",
            self._price(),
            f"Kept: {'; '.join(self.kept)}.",
            f"Not kept: what siblings have to do with each other, their order, children beyond {self.max_children}, "
            f"sums over them; {len(self.not_kept)} sentences of the certificate under not_kept say it in full.",
            *both,
            *(f"Parents: {line}" for line in parent if line not in both),
            *(f"Children: {line}" for line in child if line not in both),
        ]
        if self.ledger is None:
            lines.append("Recorded in no ledger.")
        else:
            lines.append(f"Recorded in the ledger under {self.ledger.dataset}, release {self.ledger.release_id}.")
        lines += [] if self.issued is None else self.issued.lines()
        return "\n".join(visible(line).replace("\n", " ") for line in lines) + "\n"

    def _price(self) -> str:
        """Say what both parts cost together."""
        parts = f"{self.parent.total} for parents and {self.child.total} for children"
        if self.total.notion == "pure":
            return f"Cost: {self.total} in all ({parts}), pure differential privacy."
        pairs = [
            f"epsilon {at_least(eps, 4)} at delta {at_least(delta, 3)}" for delta, eps in told_pairs(self.epsilons)
        ]
        return f"Cost: {self.total} in all ({parts}), zero-concentrated differential privacy: {'; '.join(pairs)}."

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain JSON values, always in the same order."""
        asked = {"epsilon": self.requested_epsilon, "delta": self.requested_delta, "rho": self.requested_rho}
        ledger = self.ledger and asdict(self.ledger)
        return {
            "format": CERTIFICATE_FORMAT,
            "issued": self.issued and self.issued.to_dict(),
            "key": self.key,
            "max_children": self.max_children,
            "count": self.count,
            "notion": self.total.notion,
            "total": rational_text(self.total.amount),
            "requested": {key: None if value is None else rational_text(value) for key, value in asked.items()},
            "epsilons": pairs_to_dict(self.epsilons),
            "relation": self.parent.relation,
            "privacy_unit": self.privacy_unit,
            "protected": self.protected,
            "kept": list(self.kept),
            "not_kept": list(self.not_kept),
            "written_rows": None if self.written_rows is None else list(self.written_rows),
            "ledger": ledger,
            "parent": self.parent.to_dict(),
            "child": self.child.to_dict(),
        }

    def to_json(self) -> str:
        """Return the certificate as the text of a JSON file."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Read back what `to_dict` wrote; a ParameterError where it is something else."""
        if read_key(values, "format", int) != CERTIFICATE_FORMAT:
            raise ParameterError(
                f"the certificate must be of format {CERTIFICATE_FORMAT}; update lapwing to read newer ones",
                code="LW604",
            )
        asked = read_key(values, "requested", dict)
        amounts = {key: read_optional(asked, key, dict) for key in ("epsilon", "delta", "rho")}
        exact = {f"requested_{key}": None if each is None else read_rational(each) for key, each in amounts.items()}
        rows = None if read_optional(values, "written_rows", list) is None else read_list(values, "written_rows", int)
        if rows is not None and len(rows) != 2:
            raise _refused("written_rows of linked tables must be two numbers")
        return cls(
            key=read_key(values, "key", str),
            max_children=read_key(values, "max_children", int),
            count=read_key(values, "count", str),
            parent=Certificate.from_dict(read_key(values, "parent", dict)),
            child=Certificate.from_dict(read_key(values, "child", dict)),
            epsilons=pairs_from(values),
            written_rows=None if rows is None else (rows[0], rows[1]),
            issued=read_issued(values),
            **exact,
        )


_SAID = ("Protected:", "Rows without", "Rows out are drawn", "Cost:", "Recorded in", f"Warning: {ONE_OF_TWO}")


# -- Model files of two linked tables: both releases in one ``.lapwing`` file, safe to load from strangers.


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
    """Hold what a model file of two linked tables holds."""

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
                raise _refused("a part of the linked tables does not belong to their schema or certificate")
        linked = (self.schema.key, self.schema.max_children, self.schema.count)
        if linked != (told.key, told.max_children, told.count):
            raise _refused("the certificate is of other linked tables than the schema")


def save_linked(saved: SavedLinked, path: Path) -> None:
    """Write a model file, which appears whole or not at all; as `lapwing.model.files.save_release`."""
    documents: dict[str, Any] = {
        "manifest.json": {"kind": _KIND, "format": FORMAT, "lapwing": saved.parent.certificate.lapwing},
        "linked.json": saved.schema.to_dict(),
        "certificate.json": saved.certificate.to_dict(),
    }
    for part, release in zip(_PARTS, (saved.parent, saved.child), strict=True):
        documents |= {f"{part}-{name}": tree for name, tree in documents_of(release).items()}
    write_documents(path, documents)


def load_linked(path: Path) -> SavedLinked:
    """Read a model file that anybody may have written; as `lapwing.model.files.load_release`."""
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
