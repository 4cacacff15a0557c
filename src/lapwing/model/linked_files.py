"""The certificate of linked tables: all parts, what they cost together, and what synthetic rows do not keep."""

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
from lapwing.schema.linked.database import LinkedSchema
from lapwing.schema.scalars import visible

_refused = partial(ParameterError, code="LW621")

CERTIFICATE_FORMAT = 2
ONE_OF_SEVERAL = (
    "this is one of the parts of a release of linked tables: the others spend on the same people too, and the "
    "certificate of all adds them up"
)
"""What the certificate of each part warns of, as it may be met without the others."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinkedCertificate:
    """Certify a release of linked tables.

    linked: the tables, their keys and how many rows of each parent are used; parts: the certificate of each table.
    Their costs are for the same people and add up; requested_epsilon, requested_delta, requested_rho: what the caller
    asked for, for all parts together; epsilons: for zCDP: what all parts together mean as (ε, δ). Empty for pure ε;
    written_rows: how many rows of each table were written with this certificate; issued: when and with which files, and
    by whom.
    """

    linked: LinkedSchema
    parts: Mapping[str, Certificate]
    requested_epsilon: Fraction | None
    requested_delta: Fraction | None
    requested_rho: Fraction | None
    epsilons: tuple[tuple[Fraction, Fraction], ...] = ()
    written_rows: Mapping[str, int] | None = None
    issued: Issued | None = None

    def __post_init__(self) -> None:
        if tuple(self.parts) != self.linked.names:
            raise _refused("the certificate of linked tables must have a part for each table")
        for name, part in self.parts.items():
            unit = self.linked.coded[name].unit_label
            if (part.privacy_unit, part.relation) != (unit, "add-remove"):
                raise _refused(f"the part {name} of linked tables must protect {unit}, got {part.privacy_unit}")
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
    def first(self) -> Certificate:
        """The part of the first table."""
        return next(iter(self.parts.values()))

    @property
    def total(self) -> Budget:
        """What all parts cost together: amounts for the same people are added."""
        first, *others = (part.total for part in self.parts.values())
        return sum(others, first)

    @property
    def privacy_unit(self) -> str:
        """The privacy unit as the ledger writes it, ``KEY:K`` for the most rows of a table."""
        return max((self.linked.coded[name] for name in self.parts), key=lambda schema: schema.max_rows).unit_label

    @property
    def relation(self) -> str:
        """The neighbour relation."""
        return self.first.relation

    @property
    def ledger(self) -> LedgerEntry | None:
        """Where the release was recorded, once for all parts."""
        return self.first.ledger

    @property
    def protected(self) -> str:
        """What is protected, in two sentences."""
        return self.linked.protected

    @property
    def kept(self) -> tuple[str, ...]:
        """What synthetic rows keep by construction."""
        linked = self.linked
        keys = ", ".join(
            f"each row of {table.name} belongs to a row of {table.parent}, which has 0 to {table.max_rows} of them"
            for table in linked.tables[1:]
        )
        ordered = tuple(
            f"rows of {table.name} come in the order of {table.order.by}"
            for table in linked.tables
            if table.order is not None
        )
        public = tuple(
            f"{column} of {table.name} is a key of the public table {lookup}"
            for table in linked.tables
            for column, lookup in table.lookups.items()
        )
        return (
            keys,
            *ordered,
            *public,
            f"values of {linked.key} and of other keys are fresh numbers, and rows out of one value follow the noisy "
            "answers alone",
        )

    @property
    def not_kept(self) -> tuple[str, ...]:
        """What synthetic rows do not keep: whole sentences."""
        linked = self.linked
        with_prior = [table.name for table in linked.tables[1:] if table.schema.public_tables]
        prior = (
            f"public tables of {', '.join(with_prior)} are where the model starts; rows follow their parents, and come "
            "only near them"
        )
        exact = (
            f"public totals of {linked.names[0]} hold but for rows whom rules leave none of their own: others stand in "
            "for them, who may stand in other cells where too few are like them"
        )
        has_rules = any(linked.coded[name].rules for name in linked.names[1:])
        return (
            "each row is drawn given the row before it, those of its parents and the numbers of rows: what it has to "
            "do with rows before that, beyond these, is lost",
            *(
                f"rows of {table.name} are in no declared order: each is drawn given one other, not all of them"
                for table in linked.tables
                if table.parent is not None and table.max_rows > 1 and table.order is None
            ),
            "rows depend on those columns with which theirs were measured, and through them on others: the "
            "certificate's cost lines of each part list the tables",
            *(
                f"what rows of {table.parent} had beyond {table.max_rows} rows of {table.name} is cut"
                for table in linked.tables[1:]
            ),
            "totals over a parent's rows, such as a sum of incomes, agree with no column of it unless each row does",
            *((prior,) if with_prior else ()),
            *((exact,) if linked.tables[0].schema.public_tables and has_rules else ()),
            "rows whose key has no parent row, further rows of one key, and the values of all identifiers are not used",
        )

    def __repr__(self) -> str:
        rows = ", ".join(f"{part.released_rows} {name}" for name, part in self.parts.items())
        mechanisms = " and ".join(dict.fromkeys(part.mechanism for part in self.parts.values()))
        asked = asked_text(self.total, self.requested_epsilon, self.requested_delta)
        return f"LinkedCertificate({mechanisms}, {asked}, {rows})"

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Return a short plain summary: what is protected, at which cost, and what is kept and what is not."""
        parts = {
            name: [line for line in part.text().splitlines() if not line.startswith(_SAID)]
            for name, part in self.parts.items()
        }
        in_all = [line for line in parts[self.linked.names[0]] if all(line in lines for lines in parts.values())]
        lines = [
            f"Protected: {self.protected}",
            self._price(),
            f"Kept: {'; '.join(self.kept)}.",
            "Not kept: what rows have to do with others than their parents and the row before, rows beyond those that "
            f"are used, sums over them; {len(self.not_kept)} sentences of the certificate (not_kept) say it in full.",
            *in_all,
            *(f"{name}: {line}" for name, each in parts.items() for line in each if line not in in_all),
        ]
        if self.ledger is None:
            lines.append("Recorded in no ledger.")
        else:
            lines.append(f"Recorded in the ledger under {self.ledger.dataset}, release {self.ledger.release_id}.")
        lines += [] if self.issued is None else self.issued.lines()
        return "\n".join(visible(line).replace("\n", " ") for line in lines) + "\n"

    def _price(self) -> str:
        """Say what all parts cost together."""
        parts = ", ".join(f"{part.total} for {name}" for name, part in self.parts.items())
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
            "notion": self.total.notion,
            "total": rational_text(self.total.amount),
            "requested": {key: None if value is None else rational_text(value) for key, value in asked.items()},
            "epsilons": pairs_to_dict(self.epsilons),
            "relation": self.relation,
            "privacy_unit": self.privacy_unit,
            "protected": self.protected,
            "kept": list(self.kept),
            "not_kept": list(self.not_kept),
            "written_rows": None if self.written_rows is None else dict(self.written_rows),
            "ledger": ledger,
            "linked": self.linked.to_dict(),
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
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
        rows, parts = read_optional(values, "written_rows", dict), read_key(values, "parts", dict)
        linked = LinkedSchema.from_dict(read_key(values, "linked", dict))
        return cls(
            linked=linked,
            parts={name: Certificate.from_dict(read_key(parts, name, dict)) for name in linked.names},
            epsilons=pairs_from(values),
            written_rows=None if rows is None else {name: read_key(rows, name, int) for name in rows},
            issued=read_issued(values),
            **exact,
        )


_SAID = ("Protected:", "Rows without", "Rows out are drawn", "Cost:", "Recorded in", f"Warning: {ONE_OF_SEVERAL}")


# -- Model files of linked tables: all releases in one ``.lapwing`` file, safe to load from strangers.


FORMAT: Final = 2
_KIND: Final = "lapwing linked release"
_WITH_ARRAYS: Final = ("models.json", "answers.json")
_DOCUMENTS: Final = ("manifest.json", "certificate.json", *_WITH_ARRAYS)


def save_linked(certificate: LinkedCertificate, parts: Mapping[str, SavedRelease], path: Path) -> None:
    """Write a model file, which appears whole or not at all; as `lapwing.model.files.save_release`."""
    each = [documents_of(part) for part in parts.values()]
    documents: dict[str, Any] = {
        "manifest.json": {"kind": _KIND, "format": FORMAT, "lapwing": certificate.first.lapwing},
        "certificate.json": certificate.to_dict(),
        "models.json": [documents["model.json"] for documents in each],
        "answers.json": [documents["answers.json"] for documents in each],
    }
    write_documents(path, documents)


def load_linked(path: Path) -> tuple[LinkedCertificate, dict[str, SavedRelease]]:
    """Read a model file that anybody may have written; as `lapwing.model.files.load_release`."""
    return read_documents(path, (_KIND, FORMAT), (_DOCUMENTS, _WITH_ARRAYS), _saved)


def _saved(trees: Mapping[str, Any]) -> tuple[LinkedCertificate, dict[str, SavedRelease]]:
    """Read back all documents."""
    certificate = LinkedCertificate.from_dict(trees["certificate.json"])
    names = certificate.linked.names
    models, answers = read_list(trees, "models.json", dict), read_list(trees, "answers.json", list)
    if not len(models) == len(answers) == len(names):
        raise _refused("a model file of linked tables must have a model, and answers, for each table")
    parts = {}
    for name, model, answer in zip(names, models, answers, strict=True):
        documents = {
            "schema.json": certificate.linked.coded[name].to_dict(),
            "certificate.json": certificate.parts[name].to_dict(),
            "model.json": model,
            "answers.json": answer,
        }
        parts[name] = saved_of(documents)
    return certificate, parts
