"""The certificate: what was spent on what, under which promise, and what was assumed; of one table or of several.

It is written beside the rows of every release. It holds public settings and released numbers only.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from lapwing.errors import BudgetError, DataError, ParameterError
from lapwing.kernel.budget.budget import Budget, Notion
from lapwing.kernel.codec import SELDOM, Codec
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.plain import check_format, rational_text, read_key, read_list, read_rational
from lapwing.kernel.terms import Relation, Terms
from lapwing.maths.arrays import Frozen
from lapwing.model.certificate.composition import composition, largest_of
from lapwing.model.certificate.cost_lines import (
    CostLine,
    RequestedBudget,
    budget_from_dict,
    budget_text,
    budget_to_dict,
    noise_from_dict,
    noise_to_dict,
)
from lapwing.model.certificate.declared import KeptRule, KeptTable
from lapwing.model.certificate.issued import IssueRecord
from lapwing.model.certificate.linked import linked_constraints, not_kept, published_tables, warnings_of_all
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
from lapwing.on_demand import Displayable
from lapwing.schema.linked.database import LinkedTables, with_files
from lapwing.schema.purchases import Purchase

__all__ = ["DOMAIN", "EVALUATION", "FORMAT", "Certificate", "CostLine", "LedgerEntry"]

FORMAT = 2
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
class Certificate(Displayable):
    """Certify one release.

    That of several tables has the certificate of each in ``parts``: costs are for the same people and add up, and what
    else it says of them all is what these say, one after the other.

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
        How many rows were written with this certificate, of several tables together.
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
    linked : LinkedTables or None
        Of several tables: these, their keys, and how many rows of each parent are used.
    several : mapping of str to Certificate, or None
        Of several tables: the certificate of each, by name. Made by `of_tables`.

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
        *("kept?", "not_kept?", "published?", "linked", "several"),
    )

    lapwing: str
    code: str | None = None
    mechanism: str
    settings: Mapping[str, Any]
    lines: tuple[CostLine, ...] = field(metadata={"key": "costs"})
    total: Budget
    requested: RequestedBudget
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
    issued: IssueRecord | None = None
    linked: LinkedTables | None = field(default=None, metadata=SELDOM)
    several: Mapping[str, "Certificate"] | None = field(default=None, metadata={**SELDOM, "key": "parts"})

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
        self._check_parts()
        most = {part.max_rows for part in self.parts.values()}
        for line in self.lines:
            if (line.relation, line.cost.notion) != (self.relation, self.total.notion) or line.max_rows not in most:
                raise _refused(f"a cost line of {', '.join(line.columns)} is of other terms than the release")
        spent = sum((line.cost.amount for line in self.lines), Fraction(0))
        if spent != self.total.amount:
            raise _refused(f"the cost lines sum to {spent} and the total says {self.total.amount}; charge exactly")
        self._check_request()
        if any(rows is not None and rows < 0 for rows in (self.public_rows, self.released_rows, self.written_rows)):
            raise _refused("numbers of rows on a certificate must be at least 0")

    def _check_parts(self) -> None:
        """Refuse parts that are not those of the tables, and anything of the whole that its parts do not say."""
        if (self.linked is None) != (self.several is None):
            raise _refused("a certificate of several tables must have both the tables and a part for each")
        if self.linked is None or self.several is None:
            return
        if tuple(self.several) != self.linked.names:
            raise _refused("the certificate of linked tables must have a part for each table")
        for name, part in self.several.items():
            unit = self.linked.coded[name].unit_label
            if part.linked is not None:
                raise _refused(f"the part {name} of linked tables must be of one table")
            if (part.privacy_unit, part.relation) != (unit, "add-remove"):
                raise _refused(f"the part {name} of linked tables must protect {unit}, got {part.privacy_unit}")
        if any(getattr(self, name) != value for name, value in _of_all(self.linked, self.several).items()):
            raise _refused("a certificate of linked tables must say of them all what its parts say")

    def _check_request(self) -> None:
        """Refuse a total above the request, and (ε, δ) pairs beside pure ε."""
        is_pure = self.total.notion == "pure"
        if is_pure != (self.requested.epsilon is not None and self.requested.delta is None):
            raise _refused(f"a {self.total.notion} total does not answer the request; epsilon alone is pure")
        limit = self.requested.epsilon if is_pure else self.requested.rho
        if limit is not None and self.total.amount > limit:
            raise _refused(f"the release cost {self.total.amount}, more than the {limit} that was requested")
        epsilon, delta = self.requested.epsilon, self.requested.delta
        check_pairs(self.epsilons, self.total, self.delta, (epsilon, delta))
        if epsilon is not None and delta is not None and dict(self.epsilons).get(delta, epsilon + 1) > epsilon:
            raise _refused("the release cost more, as (ε, δ), than was requested")

    @classmethod
    def of_tables(
        cls,
        linked: LinkedTables,
        parts: Mapping[str, Self],
        *,
        requested: RequestedBudget,
        epsilons: tuple[tuple[Fraction, Fraction], ...],
        issued: IssueRecord | None = None,
    ) -> Self:
        """Return the certificate of several tables; requested, epsilons: for all of them together."""
        first, *others = (part.total for part in parts.values())
        written = [part.written_rows for part in parts.values() if part.written_rows is not None]
        return cls(
            total=sum(others, first),
            requested=requested,
            epsilons=epsilons,
            relation=next(iter(parts.values())).relation,
            privacy_unit=max(linked.coded.values(), key=lambda schema: schema.max_rows).unit_label,
            written_rows=sum(written) if written else None,
            ledger=next(iter(parts.values())).ledger,
            issued=issued,
            linked=linked,
            several=parts,
            **_of_all(linked, parts),
        )

    def written(self, counts: Mapping[str, int], seed: int | None, issued: IssueRecord) -> "Certificate":
        """Return the certificate of files; counts, seed: of the rows of each table that is in them."""
        if self.linked is None:
            return replace(self, written_rows=counts[""], seed=seed, issued=issued)
        return Certificate.of_tables(
            self.linked,
            {name: replace(part, written_rows=counts.get(name), seed=seed) for name, part in self.parts.items()},
            requested=self.requested,
            epsilons=self.epsilons,
            issued=issued,
        )

    @property
    def parts(self) -> Mapping[str, "Certificate"]:
        """The certificate of each table by name; of one table this one, without a name."""
        return {"": self} if self.several is None else self.several

    @property
    def together(self) -> Together | None:
        """What this release and learning its bounds under the same terms cost; None where none was learned."""
        return together(self.total, self.delta, self.requested.delta, self._terms, self.purchases)

    def compose(self, *others: "Certificate", disjoint: bool = False) -> dict[str, Any]:
        """Add this release and others of the same people up, with what learning their schemas cost.

        Parameters
        ----------
        others : Certificate
            One of each other release, under the same neighbour relation; of rows as this one, or of people. That their
            privacy units, under whatever names, are the same people is on your word.
        disjoint : bool, default False
            Whether each release is of another part of a table, by a public rule, such as its region; on your word. All
            rows of one person are in one part.

        Returns
        -------
        dict
            Plain JSON values. ``events``: for each noisy table, selection and run of learning an event of Google's
            dp-accounting and its arguments (``rho`` is rounded up to a float); ``total``, ``delta``, ``epsilons``: the
            exact sum, the part of every δ that lists of texts took, and ε at eight δ; ``trade_off``: with which
            probability a person is found at most by a test that has so many false alarms.

        Raises
        ------
        BudgetError
            If the releases are under several relations, or some of rows and some of people, or one is named twice; if
            one is of one of several tables; with ``disjoint`` under replace-one.

        Notes
        -----
        Of disjoint parts the largest loss is that of all together (parallel composition; McSherry 2009): tables that
        differ by one person differ in one part, and given what was released of the others, also where that decided what
        is asked of this one, its release has the law that its own promise bounds. Under replace-one a person may move,
        so that two parts differ: refused. What learning cost counts in full for every part.

        dp-accounting has no event for pure ε under add-remove, so that ε is exported as what it implies, ε²/2-zCDP (Bun
        and Steinke 2016, Proposition 1.4); ``epsilons`` are the better of that and of plain addition.

        Examples
        --------
        >>> import polars as pl
        >>> from lapwing import synthesize
        >>> table = pl.DataFrame({"flag": [True, False] * 50})
        >>> flag = {"fields": [{"name": "flag", "type": "boolean"}]}
        >>> one, other = (synthesize(table, flag, rho=rho, seed=1).certificate for rho in ("0.01", "0.02"))
        >>> found = one.compose(other)
        >>> found["total"]["exact"], found["events"][0]["event"]
        ('3/100', 'ZCDpEvent')
        """
        all_of_them = (self, *others)
        if len({each.ledger or each.to_json() for each in all_of_them}) < len(all_of_them):
            raise BudgetError("a release is named twice; name the certificate of each release once", code="LW418")
        if any(warning.code == "one_of_several" for each in all_of_them for warning in each.warnings):
            raise BudgetError(
                "the certificate of one of several tables states only its own part of what was spent; name the "
                "certificate of the whole release",
                code="LW418",
            )
        bought = tuple(dict.fromkeys(purchase for each in all_of_them for purchase in each.purchases))

        def costs(*added: Certificate) -> dict[str, Any]:
            return composition(
                [each._terms for each in added],
                [each.total for each in added],
                [line for each in added for line in each.lines],
                [each.delta for each in added],
                bought,
            )

        together = costs(*all_of_them)
        return largest_of([costs(each) for each in all_of_them]) if disjoint else together

    @property
    def rows_within(self) -> float | None:
        """How far a noisy number of rows is off at most, in 95 % of releases; None where it is not known."""
        return next((each.value for each in self.accuracy if each.code in ROWS_WITHIN), None)

    @property
    def _terms(self) -> tuple[str, str]:
        return self.relation, self.privacy_unit

    @property
    def short(self) -> str:
        """The release in one line."""
        asked = budget_text(self.total, self.requested.epsilon, self.requested.delta)
        if self.mechanism == DOMAIN:
            return f"{self.mechanism}, {asked}"
        of = {self.linked.key: "values of "} if self.linked is not None and self.linked.is_events else {}
        rows = [f"{part.released_rows} {of.get(name, '')}{name or 'rows'}" for name, part in self.parts.items()]
        return ", ".join([self.mechanism, asked, *rows])

    def __repr__(self) -> str:
        return f"Certificate({self.short})"

    def text(self) -> str:
        """Return a short plain summary: what is protected, under which relation, at which cost, what was assumed."""
        return str(self._in_words("text"))

    __str__ = text

    @property
    def protected(self) -> str:
        """What is protected, in a few sentences."""
        return str(self._in_words("protected")) if self.linked is None else self.linked.protected

    @property
    def kept(self) -> tuple[Notice, ...] | None:
        """What synthetic rows of several tables keep by construction; None of one table."""
        return None if self.linked is None else linked_constraints(self.linked)

    @property
    def not_kept(self) -> tuple[Notice, ...] | None:
        """What these do not keep."""
        return None if self.linked is None else not_kept(self.linked)

    @property
    def published(self) -> tuple[Notice, ...] | None:
        """Which public tables are published as they are; None where there are none."""
        return (None if self.linked is None else published_tables(self.linked)) or None

    @property
    def notion(self) -> Notion:
        """What the total measures."""
        return self.total.notion

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain JSON values, always in the same order."""
        whole = CERTIFICATES.write(self)
        return whole if self.linked is None else {key: value for key, value in whole.items() if key not in _OF_PARTS}

    def to_json(self) -> str:
        """Return the certificate as the text of a JSON file."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Read back what `to_dict` wrote; a ParameterError where it is something else."""
        check_format(values, FORMAT, "the certificate")
        if not isinstance(values, Mapping) or "parts" not in values:
            return CERTIFICATES.read(cls, values)
        own = [key for key in values if key in _OF_PARTS]
        if own:
            raise _refused(f"the key {own[0]!r} of a certificate of linked tables stands in its parts")
        several = {name: cls.from_dict(part) for name, part in read_key(values, "parts", dict).items()}
        linked = LinkedTables.from_dict(read_key(values, "linked", dict))
        if tuple(several) != linked.names:
            raise _refused("the certificate of linked tables must have a part for each table")
        said = map(Notice.from_dict, read_list({"published": [], **values}, "published", dict))
        linked = with_files(linked, {each.fields.get("table"): each.fields.get("file") for each in said})
        values = {**values, "together": None}  # worked out again
        return CERTIFICATES.read(cls, values, linked=linked, several=several, **_of_all(linked, several))


_OF_PARTS: Final = frozenset(
    {
        *("verdict", "lapwing", "code", "mechanism", "settings", "delta", "max_rows", "assumed_fields", "dp_fields"),
        *("purchases", "together", "public_rows", "expected_rows", "released_rows", "seed", "assumed", "rules"),
        *("public_tables", "weight", "accuracy", "warnings", "costs"),
    }
)
"""Keys that a certificate of several tables leaves to its parts."""


def _of_all(linked: LinkedTables, parts: Mapping[str, Certificate]) -> dict[str, Any]:
    """Return what a certificate of several tables says of them all: by attribute, what stands in its parts alone."""
    every = parts.values()
    first = next(iter(every))

    def listed(name: str) -> tuple[Any, ...]:
        return tuple(each for part in every for each in getattr(part, name))

    return {
        "lapwing": first.lapwing,
        "code": first.code,
        "mechanism": " and ".join(dict.fromkeys(part.mechanism for part in every)),
        "settings": {name: dict(part.settings) for name, part in parts.items()},
        "delta": sum((part.delta for part in every), Fraction(0)),
        "max_rows": max(part.max_rows for part in every),
        "public_rows": None,
        "expected_rows": None,
        "released_rows": sum(part.released_rows for part in every),
        "seed": first.seed,
        "weight": None,
        "verdict": None,
        "warnings": warnings_of_all(linked, {name: part.warnings for name, part in parts.items()}),
        **{name: tuple(dict.fromkeys(listed(name))) for name in ("assumed_fields", "dp_fields")},
        **{name: listed(name) for name in ("lines", "accuracy", "assumed", "purchases", "rules", "public_tables")},
    }


def certificate_in(file: Path) -> tuple[Certificate, bytes]:
    """Read a certificate, whose sums are checked on the way; and what the file holds.

    It is read once, so that what is shown is what was hashed or signed.
    """
    try:
        content = file.read_bytes()
        whole = Certificate.from_dict(json.loads(content))
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except (ValueError, RecursionError, ArithmeticError, ParameterError) as error:
        if isinstance(error, ParameterError) and error.code == "LW604":
            raise DataError(f"{file}: {error.args[0]}", code="LW604") from None
        reason = "it is no certificate, or its sums are wrong"
    else:
        return whole, content
    raise DataError(f"{file} cannot be read ({reason}); give the certificate that lies beside the rows", code="LW602")


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
        LinkedTables: (LinkedTables.to_dict, LinkedTables.from_dict),
        Path: (Path.as_posix, _path),
        Statement: (Statement.to_dict, Statement.from_dict),
        Purchase: (Purchase.to_dict, Purchase.from_dict),
        Together: (Together.to_dict, _worked_out),
        tuple[Fraction, Fraction]: (pair_to_dict, pair_from_dict),
    }
)
"""How certificates and what is on them are written: exact numbers beside decimals for readers."""
