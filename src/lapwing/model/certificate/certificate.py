"""The certificate: what was spent on what, under which promise, and what was assumed.

It is written beside the rows of every release. It holds public settings and released numbers only.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget, Notion
from lapwing.kernel.codec import Codec
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.plain import rational_text, read_key, read_rational
from lapwing.kernel.terms import Relation, Terms
from lapwing.maths.arrays import Frozen
from lapwing.model.certificate.cost_lines import (
    CostLine,
    Requested,
    asked_text,
    budget_from_dict,
    budget_to_dict,
    noise_from_dict,
    noise_to_dict,
)
from lapwing.model.certificate.declared import KeptRule, KeptTable
from lapwing.model.certificate.issued import Issued
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.promise import (
    ROW,
    Together,
    check_pairs,
    pair_from_dict,
    pair_to_dict,
    together,
    unit_field,
)
from lapwing.model.certificate.statements import ROWS_WITHIN, Statement
from lapwing.model.certificate.verdict import Verdict
from lapwing.on_demand import Shown
from lapwing.schema.purchases import Purchase

__all__ = ["DOMAIN", "EVALUATION", "FORMAT", "Certificate", "CostLine", "LedgerEntry"]

FORMAT = 1
EVALUATION = "evaluation"
"""In the place of a mechanism, where a comparison with a public table was bought."""

DOMAIN = "domain"
"""In the place of a mechanism, where bounds and lists of a schema were learned."""

_refused = partial(ParameterError, code="LW621")


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """Name the entry of a ledger that a release was debited to: data set and release id."""

    dataset: str
    release_id: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Certificate(Shown):
    """Certify one release.

    Parameters
    ----------
    lapwing : str
        Version that made the release.
    code : str or None, default None
        The fingerprint of its code.
    mechanism : str
        Name of the mechanism; `EVALUATION` or `DOMAIN` where none ran.
    settings : mapping of str to plain JSON value
        Its settings.
    lines : tuple of CostLine
        One per noisy table and selection; their costs sum exactly to ``total``.
    total : Budget
        What the release cost, in the notion that it was accounted in.
    requested : Requested
        What the caller asked for: epsilon (perhaps with delta) or rho.
    epsilons : tuple of (delta, epsilon) pairs of Fraction
        For zCDP: what the total means as (ε, δ), rounded to the safe side, the requested δ first. Empty for pure ε.
    delta : Fraction, default 0
        The sum of the deltas of selections, with which the lists that they learned may lose more than ``total``; part
        of every δ in ``epsilons``.
    relation : add-remove or replace-one
        The neighbour relation of the promise.
    privacy_unit : str
        ``row``, or ``FIELD:MAXROWS``.
    max_rows : int
        Rows that one privacy unit may own.
    assumed_fields, dp_fields : tuple of str
        Fields whose domain was taken from the data by the owner's decision, or learned with budget.
    public_rows : int or None
        The number of rows, where the terms make it public; public tables have totals of their own.
    expected_rows : int or None
        The public guess of it that was given.
    released_rows : int
        The number of rows that the model stands for; of an evaluation, that the table was compared as; 0 of a domain.
    written_rows : int or None
        How many rows were written with this certificate.
    seed : int or None
        Of the public generator.
    ledger : LedgerEntry or None
        Where the release was recorded.
    accuracy : tuple of Statement
        What is proved about its accuracy.
    assumed : tuple of Notice
        What the promise takes on the caller's word, beside the schema.
    warnings : tuple of Notice
        What the reader should know; the ``text`` of each is a sentence.
    purchases : tuple of Purchase
        What it cost to learn bounds and lists of the schema; no part of ``total``.
    rules : tuple of KeptRule
        The rules of the schema, which every synthetic row keeps.
    public_tables : tuple of KeptTable
        The public tables of the schema, and how they are held.
    weight : str or None
        The column of survey weights.
    verdict : Verdict or None
        How good the rows are, from released numbers; None where these do not tell.
    issued : Issued or None
        When and with which files it was written, and by whom.

    Raises
    ------
    ParameterError
        If the lines do not sum to the total, were made under other terms, or the total passes the request.
    """

    format: ClassVar[int] = FORMAT
    document: ClassVar = (
        *("format", "issued", "verdict", "lapwing", "code", "mechanism", "settings", "notion", "total", "requested"),
        *("epsilons", "delta", "relation", "privacy_unit", "max_rows", "protected", "assumed_fields", "dp_fields"),
        *("purchases", "together", "public_rows", "expected_rows", "released_rows", "written_rows", "seed", "ledger"),
        *("assumed", "rules", "public_tables", "weight", "accuracy", "warnings", "lines"),
    )

    lapwing: str
    code: str | None = None
    mechanism: str
    settings: Mapping[str, Any]
    lines: tuple[CostLine, ...] = field(metadata={"key": "costs"})
    total: Budget
    requested: Requested
    epsilons: tuple[tuple[Fraction, Fraction], ...] = ()
    delta: Fraction = Fraction(0)
    relation: Relation
    privacy_unit: str
    max_rows: int
    assumed_fields: tuple[str, ...]
    dp_fields: tuple[str, ...]
    public_rows: int | None
    expected_rows: int | None
    released_rows: int
    written_rows: int | None = None
    seed: int | None = None
    ledger: LedgerEntry | None = None
    accuracy: tuple[Statement, ...] = ()
    assumed: tuple[Notice, ...] = ()
    warnings: tuple[Notice, ...] = ()
    purchases: tuple[Purchase, ...] = ()
    rules: tuple[KeptRule, ...] = ()
    public_tables: tuple[KeptTable, ...] = ()
    weight: str | None = None
    verdict: Verdict | None = None
    issued: Issued | None = None

    def __post_init__(self) -> None:
        Terms(
            relation=self.relation,
            max_rows=self.max_rows,
            rows=self.public_rows,
            expected_rows=self.expected_rows,
        )
        field = unit_field(self.privacy_unit)
        if self.privacy_unit != (ROW if field is None and self.max_rows == 1 else f"{field}:{self.max_rows}"):
            raise _refused(
                f"the privacy unit of a certificate of max_rows {self.max_rows} must be FIELD:{self.max_rows}, or row "
                f"for 1, got {self.privacy_unit!r}"
            )
        object.__setattr__(self, "settings", Frozen(_plain(self.settings)))
        for line in self.lines:
            if (line.relation, line.max_rows, line.cost.notion) != (self.relation, self.max_rows, self.total.notion):
                raise _refused(f"a cost line of {', '.join(line.columns)} is of other terms than the release")
        spent = sum((line.cost.amount for line in self.lines), Fraction(0))
        if spent != self.total.amount:
            raise _refused(f"the cost lines sum to {spent} and the total says {self.total.amount}; charge exactly")
        self._check_request()
        if any(rows is not None and rows < 0 for rows in (self.public_rows, self.released_rows, self.written_rows)):
            raise _refused("numbers of rows on a certificate must be at least 0")

    def _check_request(self) -> None:
        """Refuse a total above the request, and (ε, δ) pairs beside pure ε."""
        is_pure = self.total.notion == "pure"
        if is_pure != (self.requested.epsilon is not None and self.requested.delta is None):
            raise _refused(f"a {self.total.notion} total does not answer the request; epsilon alone is pure")
        limit = self.requested.epsilon if is_pure else self.requested.rho
        if limit is not None and self.total.amount > limit:
            raise _refused(f"the release cost {self.total.amount}, more than the {limit} that was requested")
        check_pairs(self.epsilons, self.total, self.delta, (self.requested.epsilon, self.requested.delta))

    @property
    def together(self) -> Together | None:
        """What this release and learning its bounds under the same terms cost; None where none was learned."""
        return together(self.total, self.delta, self.requested.delta, self._terms, self.purchases)

    @property
    def rows_within(self) -> float | None:
        """How far a noisy number of rows is off at most, in 95 % of releases; None where it is not known."""
        return next((each.value for each in self.accuracy if each.code in ROWS_WITHIN), None)

    @property
    def _terms(self) -> tuple[str, str]:
        return self.relation, self.privacy_unit

    def __repr__(self) -> str:
        rows = "" if self.mechanism == DOMAIN else f", {self.released_rows} rows"
        asked = asked_text(self.total, self.requested.epsilon, self.requested.delta)
        return f"Certificate({self.mechanism}, {asked}{rows})"

    def text(self) -> str:
        """Return a short plain summary: what is protected, under which relation, at which cost, what was assumed."""
        return str(self._told("text"))

    __str__ = text

    @property
    def protected(self) -> str:
        """What is protected, in a few sentences."""
        return str(self._told("protected"))

    @property
    def notion(self) -> Notion:
        """What the total measures."""
        return self.total.notion

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain JSON values, always in the same order."""
        return CERTIFICATES.write(self)

    def to_json(self) -> str:
        """Return the certificate as the text of a JSON file."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Read back what `to_dict` wrote; a ParameterError where it is something else."""
        if read_key(values, "format", int) != FORMAT:
            raise ParameterError(f"the certificate is of another format than {FORMAT}; update lapwing", code="LW604")
        return CERTIFICATES.read(cls, values)


def _plain(settings: object) -> dict[str, Any]:
    """Return a copy of settings that are plain JSON values."""
    try:
        copy = json.loads(json.dumps(settings, allow_nan=False, default=dict))
    except (TypeError, ValueError, RecursionError):
        copy = None
    if not isinstance(copy, dict):
        raise _refused("the settings of a certificate must be plain JSON values")
    return copy


def _path(name: object) -> Path:
    """Return the path of a name."""
    return Path(read_key({"name": name}, "name", str))


def _worked_out(value: object) -> object:
    """Return what is worked out again, whatever is in it."""
    return read_key({"together": value}, "together", dict)


CERTIFICATES: Final = Codec(
    {
        Budget: (budget_to_dict, budget_from_dict),
        Fraction: (rational_text, read_rational),
        Mapping[str, Any]: (_plain, _plain),
        Notice: (Notice.to_dict, Notice.from_dict),
        NoiseLaw: (noise_to_dict, noise_from_dict),
        Path: (Path.as_posix, _path),
        Statement: (Statement.to_dict, Statement.from_dict),
        Purchase: (Purchase.to_dict, Purchase.from_dict),
        Together: (Together.to_dict, _worked_out),
        tuple[Fraction, Fraction]: (pair_to_dict, pair_from_dict),
    }
)
"""How certificates and what is on them are written: exact numbers beside decimals for readers."""
