"""What the bounds and lists of a schema cost that were learned from the table with privacy budget."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from lapwing.schema.typed import TypedObject

NOTIONS: Final = ("pure", "zcdp")
RELATIONS: Final = ("add-remove", "replace-one")
MOST_PURCHASES: Final = 1_000
"""Of one schema."""

_WHAT: Final = "a run of learn"
_LARGEST: Final = 10**9
_LONGEST: Final = 200
# Lengths are limited because Python writes no number of more than 4,300 digits, and one that cannot be written must not
# be met after a budget is spent. What can be typed as epsilon, delta or rho has fewer than 500.
_EXACT: Final = re.compile(r"(0|[1-9]\d{0,499})(/[1-9]\d{0,499})?", re.ASCII)
_KEYS: Final = {"privacy_unit": "privacyUnit"} | {
    key: key for key in ("fields", "notion", "amount", "delta", "relation", "release", "lapwing")
}
"""Settings, and what the file format calls them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """Say what one run of `lapwing schema learn` cost, and which fields it filled in."""

    fields: tuple[str, ...]
    notion: str  # what ``amount`` measures: epsilon, or rho of zero-concentrated privacy
    amount: Fraction
    delta: Fraction = Fraction(0)  # the lists that were learned lose more with at most this probability
    relation: str
    privacy_unit: str
    release: str  # under which a ledger and the certificate know the run
    lapwing: str

    def __post_init__(self) -> None:
        own = TypedObject({key: getattr(self, name) for name, key in _KEYS.items()}, _WHAT, "LW270")
        own.names("fields")
        own.one_of("notion", NOTIONS)
        own.one_of("relation", RELATIONS)
        if not 0 < self.amount <= _LARGEST or not 0 <= self.delta < 1:
            ranges = "must be above 0 and at most 10^9, and its delta at least 0 and below 1"
            raise own.refusal("amount", f"{ranges}; leave purchases as they were written")
        own.text("privacyUnit", is_name=True)  # it holds the name of a field, which may be any text
        for key in ("release", "lapwing"):
            text = own.text(key, is_name=True)
            if len(text) > _LONGEST or not text.isprintable():
                raise own.wrong(key, f"be a printable text of 1 to {_LONGEST} characters")

    def to_dict(self) -> dict[str, Any]:
        """Return the purchase in the file format."""
        found = {name: getattr(self, name) for name in self.__slots__}
        written = {"fields": list(self.fields), "amount": str(self.amount), "delta": str(self.delta)}
        return {_KEYS[name]: value for name, value in {**found, **written}.items() if name != "delta" or self.delta}

    @classmethod
    def from_dict(cls, value: object) -> "Purchase":
        """Read back what `to_dict` wrote; a SchemaError where it is something else."""
        source = TypedObject.of(value, _WHAT, "LW270").only(_KEYS.values(), code="LW270")
        exact = {"amount": _exact(source, "amount", None), "delta": _exact(source, "delta", "0")}
        given: dict[str, Any] = {name: source(key, "") for name, key in _KEYS.items()} | exact
        return cls(**given | {"fields": source.listed("fields")})


def purchases_from(table: TypedObject) -> tuple[Purchase, ...]:
    """Return the purchases of a schema in the file format; none where the key is absent or null."""
    return tuple(map(Purchase.from_dict, table.listed("purchases", most=MOST_PURCHASES, code="LW270")))


def _exact(source: TypedObject, key: str, usual: str | None) -> Fraction:
    """Read an exact amount."""
    text = source.text(key, usual)
    if not _EXACT.fullmatch(text):
        raise source.wrong(key, 'be an exact number as text, such as "1/10", with at most 500 digits')
    return Fraction(text)
