"""The certificate of linked tables: all parts, what they cost together, and what synthetic rows do not keep."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from lapwing.errors import DataError, ParameterError
from lapwing.kernel.budget.budget import Budget, Notion
from lapwing.kernel.codec import SELDOM, Codec
from lapwing.kernel.plain import rational_text, read_key, read_list, read_rational
from lapwing.kernel.terms import Relation
from lapwing.model.certificate.certificate import CERTIFICATES, Certificate, LedgerEntry
from lapwing.model.certificate.cost_lines import Requested, asked_text
from lapwing.model.certificate.issued import Issued
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.promise import check_pairs, uncovered_warnings
from lapwing.model.files import SavedRelease, documents_of, read_documents, saved_of, write_documents
from lapwing.on_demand import Shown
from lapwing.schema.files import is_of_several
from lapwing.schema.linked.database import LinkedTables

_refused = partial(ParameterError, code="LW621")

CERTIFICATE_FORMAT = 1
ONE_OF_SEVERAL = Notice("one_of_several")
"""What the certificate of each part warns of, as it may be met without the others."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinkedCertificate(Shown):
    """Certify a release of linked tables.

    linked: the tables, their keys and how many rows of each parent are used; parts: the certificate of each table.
    Their costs are for the same people and add up; requested: what the caller
    asked for, for all parts together; epsilons: for zCDP: what all parts together mean as (ε, δ). Empty for pure ε;
    written_rows: how many rows of each table were written with this certificate; issued: when and with which files, and
    by whom; published: which public tables are published as they are.
    """

    format: ClassVar[int] = CERTIFICATE_FORMAT
    document: ClassVar = (
        *("format", "issued", "notion", "total", "requested", "epsilons", "relation", "privacy_unit", "protected"),
        *("kept", "not_kept", "published", "written_rows", "ledger", "linked", "parts"),
    )

    linked: LinkedTables
    parts: Mapping[str, Certificate]
    requested: Requested
    epsilons: tuple[tuple[Fraction, Fraction], ...] = ()
    written_rows: Mapping[str, int] | None = None
    issued: Issued | None = None
    published: tuple[Notice, ...] = field(default=(), metadata=SELDOM)

    def __post_init__(self) -> None:
        if tuple(self.parts) != self.linked.names:
            raise _refused("the certificate of linked tables must have a part for each table")
        for name, part in self.parts.items():
            unit = self.linked.coded[name].unit_label
            if (part.privacy_unit, part.relation) != (unit, "add-remove"):
                raise _refused(f"the part {name} of linked tables must protect {unit}, got {part.privacy_unit}")
        is_pure = self.requested.epsilon is not None and self.requested.delta is None
        limit = self.requested.epsilon if is_pure else self.requested.rho
        stated = dict(self.epsilons).get(self.requested.delta) if self.requested.delta is not None else None
        is_more = limit is not None and self.total.amount > limit
        if self.requested.epsilon is not None and self.requested.delta is not None:
            is_more = stated is None or stated > self.requested.epsilon
        if is_pure != (self.total.notion == "pure") or is_more:
            raise _refused("the parts of a linked release cost more than, or in other terms than, was requested")
        check_pairs(self.epsilons, self.total, Fraction(0), (self.requested.epsilon, self.requested.delta))

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
    def notion(self) -> Notion:
        """What the total measures."""
        return self.total.notion

    @property
    def privacy_unit(self) -> str:
        """The privacy unit as the ledger writes it, ``KEY:K`` for the most rows of a table."""
        return max((self.linked.coded[name] for name in self.parts), key=lambda schema: schema.max_rows).unit_label

    @property
    def delta(self) -> Fraction:
        """The part of every δ that lists of texts took."""
        return sum((part.delta for part in self.parts.values()), Fraction(0))

    @property
    def relation(self) -> Relation:
        """The neighbour relation."""
        return self.first.relation

    @property
    def ledger(self) -> LedgerEntry | None:
        """Where the release was recorded, once for all parts."""
        return self.first.ledger

    @property
    def protected(self) -> str:
        """What is protected, in a few sentences."""
        return self.linked.protected

    @property
    def kept(self) -> tuple[Notice, ...]:
        """What synthetic rows keep by construction."""
        linked, (first, *others) = self.linked, self.linked.tables
        if linked.is_events:
            belong = [Notice("rows_of_key", {"key": linked.key, "rows": others[0].max_rows})]
        else:
            belong = [
                Notice("rows_belong", {"table": table.name, "parent": table.parent, "rows": table.max_rows})
                for table in others
            ]
        ordered = [
            Notice("events_ordered", {"key": linked.key, "by": table.order.by})
            if linked.is_events
            else Notice("rows_ordered", {"table": table.name, "parent": table.parent, "by": table.order.by})
            for table in (first, *others)
            if table.order is not None
        ]
        public = [
            Notice("keys_public", {"column": column, "table": table.name, "lookup": lookup})
            for table in linked.tables
            for column, lookup in table.lookups.items()
        ]
        fresh = Notice("keys_fresh_of_events" if linked.is_events else "keys_fresh")
        return (*belong, *ordered, *public, *self.published, fresh)

    @property
    def not_kept(self) -> tuple[Notice, ...]:
        """What synthetic rows do not keep."""
        linked, (first, *others) = self.linked, self.linked.tables
        with_prior = tuple(table.name for table in others if table.schema.public_tables)
        alone = [
            Notice("rows_unordered", {"table": table.name, "parent": table.parent})
            for table in others
            if table.max_rows > 1 and table.order is None
        ]
        cut = [
            Notice("events_cut", {"table": table.name, "rows": table.max_rows, "key": linked.key})
            if linked.is_events
            else Notice("rows_cut", {"table": table.name, "rows": table.max_rows, "parent": table.parent})
            for table in others
        ]
        has_rules = any(linked.coded[table.name].rules for table in others)
        return (
            Notice("drawn_after_key", {"key": linked.key}) if linked.is_events else Notice("drawn_after_rows"),
            *alone,
            Notice("depend_where_counted"),
            *cut,
            *([Notice("sums_apart")] if first.own or not linked.is_events else []),
            *([Notice("priors_of_tables", {"tables": with_prior})] if with_prior else []),
            *([Notice("totals_but", {"table": first.name})] if first.schema.public_tables and has_rules else []),
            Notice("identifiers_unused_of_events" if linked.is_events else "identifiers_unused"),
        )

    @property
    def uncovered(self) -> tuple[Notice, ...]:
        """Which lists and bounds of all tables the promise does not cover: one notice, or none."""
        return uncovered_warnings(
            [
                field if self.linked.is_events else replace(field, name=f"{table.name}.{field.name}")
                for table in self.linked.tables
                for field in table.own
            ]
        )

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """What the reader should know, each once, with the table that it is about."""
        return (
            *self.uncovered,
            *(replace(each, table=name) for name in self.parts for each in self.warnings_of(name)),
        )

    def warnings_of(self, name: str) -> tuple[Notice, ...]:
        """Return what to know of one table, and not once more what is said of the rows before and above its own."""
        own, columns = self.linked.table(name).schema.names, self.linked.coded[name].columns
        others = {each.name for each in columns if each.name not in own}
        return tuple(
            each
            for each in self.parts[name].warnings
            if each != ONE_OF_SEVERAL and each.code != "uncovered" and each.fields.get("column") not in others
        )

    @property
    def short(self) -> str:
        """The release in one line."""
        one = "values of " if self.linked.is_events else ""
        rows = [f"{part.released_rows} {name}" for name, part in self.parts.items()]
        mechanisms = " and ".join(dict.fromkeys(part.mechanism for part in self.parts.values()))
        asked = asked_text(self.total, self.requested.epsilon, self.requested.delta)
        first = f"{self.first.released_rows} {one}{self.linked.names[0]}"
        return f"{mechanisms}, {asked}, {', '.join([first, *rows[1:]])}"

    def __repr__(self) -> str:
        return f"LinkedCertificate({self.short})"

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Return a short plain summary: what is protected, at which cost, and what is kept and what is not."""
        return str(self._told("text"))

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain JSON values, always in the same order."""
        return _CERTIFICATES.write(self)

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
        return _CERTIFICATES.read(cls, values)


_CERTIFICATES: Final = Codec(
    {
        **CERTIFICATES.leaves,
        Budget: (lambda total: rational_text(total.amount), read_rational),
        Certificate: (Certificate.to_dict, Certificate.from_dict),
        LinkedTables: (LinkedTables.to_dict, LinkedTables.from_dict),
    }
)


def published(linked: LinkedTables) -> tuple[Notice, ...]:
    """Return which public tables will be published as they are."""
    return tuple(
        Notice("published_table", {"table": each.name, "file": each.file or each.name, "rows": len(each.rows)})
        for each in linked.lookups
    )


def certificate_in(file: Path) -> "tuple[Certificate | LinkedCertificate, bytes]":
    """Read a certificate of one table or of linked ones, whose sums are checked on the way; and what the file holds.

    It is read once, so that what is shown is what was hashed or signed.
    """
    try:
        content = file.read_bytes()
        values = json.loads(content)
        is_linked = isinstance(values, Mapping) and "parts" in values
        whole = LinkedCertificate.from_dict(values) if is_linked else Certificate.from_dict(values)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except (ValueError, RecursionError, ArithmeticError, ParameterError):
        reason = "it is no certificate, or its sums are wrong"
    else:
        return whole, content
    raise DataError(f"{file} cannot be read ({reason}); give the certificate that lies beside the rows", code="LW602")


# -- Model files of one table or of several: of these model and answers are lists, one entry a table.


def save_linked(certificate: LinkedCertificate, parts: Mapping[str, SavedRelease], path: Path) -> None:
    """Write a model file, which appears whole or not at all; as `lapwing.model.files.save_release`."""
    each = [documents_of(part) for part in parts.values()]
    documents: dict[str, Any] = {
        "schema.json": certificate.linked.to_dict(),
        "certificate.json": certificate.to_dict(),
        **{name: [documents[name] for documents in each] for name in ("model.json", "answers.json")},
    }
    write_documents(path, certificate.first.lapwing, documents)


def load_tables(path: Path) -> tuple[Certificate | LinkedCertificate, dict[str, SavedRelease]]:
    """Read a model file that anybody may have written; one table by itself has no name."""
    return read_documents(path, _saved)


def _saved(trees: Mapping[str, Any]) -> tuple[Certificate | LinkedCertificate, dict[str, SavedRelease]]:
    """Read back all documents."""
    if not is_of_several(trees["schema.json"]):
        saved = saved_of(trees)
        return saved.certificate, {"": saved}
    certificate = LinkedCertificate.from_dict(trees["certificate.json"])
    names = certificate.linked.names
    models, answers = read_list(trees, "model.json", dict), read_list(trees, "answers.json", list)
    if not len(models) == len(answers) == len(names):
        raise _refused("a model file of linked tables must have a model, and answers, for each table")
    if LinkedTables.from_dict(trees["schema.json"]) != certificate.linked:
        raise _refused("a model file and its certificate must be of the same linked tables")
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
