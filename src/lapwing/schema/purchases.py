"""What the bounds and lists of a schema cost that were learned from the table with privacy budget."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from lapwing.errors import SchemaError
from lapwing.schema.scalars import is_encodable, quote

NOTIONS: Final = ("pure", "zcdp")
RELATIONS: Final = ("add-remove", "replace-one")
MOST_PURCHASES: Final = 1_000
"""Of one schema."""

_LARGEST: Final = 10**9
_LONGEST: Final = 200
# Lengths are limited because Python writes no number of more than 4,300 digits, and one that cannot be written must not
# be met after a budget is spent. What can be typed as epsilon, delta or rho has fewer than 500.
_EXACT: Final = re.compile(r"(0|[1-9]\d{0,499})(/[1-9]\d{0,499})?", re.ASCII)
_KEYS: Final = {"privacy_unit": "privacyUnit"} | {
    key: key for key in ("fields", "notion", "amount", "delta", "relation", "release", "lapwing")
}
"""Settings, and what the file format calls them."""


def _refusal(said: str) -> SchemaError:
    """Return the error that a purchase is not as it was written."""
    return SchemaError(f"a purchase{said}", code="LW270")


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
        if not self.fields or not all(map(_is_name, self.fields)):
            raise _refusal(' needs "fields", a list of the names of the fields that it paid for')
        for key, value, known in (("notion", self.notion, NOTIONS), ("relation", self.relation, RELATIONS)):
            if value not in known:
                raise _refusal(f"'s {key} must be one of {', '.join(known)}, got {quote(value)}")
        if not 0 < self.amount <= _LARGEST or not 0 <= self.delta < 1:
            ranges = "amount must be above 0 and at most 10^9, and its delta at least 0 and below 1"
            raise _refusal(f"'s {ranges}; leave purchases as they were written")
        # It holds the name of a field, which may be any text.
        if not _is_name(self.privacy_unit):
            raise _refusal(f"'s privacyUnit must be a text of at least one character, got {quote(self.privacy_unit)}")
        for key, text in (("release", self.release), ("lapwing", self.lapwing)):
            if not _is_name(text) or len(text) > _LONGEST or not text.isprintable():
                raise _refusal(f"'s {key} must be a printable text of 1 to {_LONGEST} characters, got {quote(text)}")

    def to_dict(self) -> dict[str, Any]:
        """Return the purchase in the file format."""
        found = {name: getattr(self, name) for name in self.__slots__}
        written = {"fields": list(self.fields), "amount": str(self.amount), "delta": str(self.delta)}
        return {_KEYS[name]: value for name, value in {**found, **written}.items() if name != "delta" or self.delta}

    @classmethod
    def from_dict(cls, value: object) -> "Purchase":
        """Read back what `to_dict` wrote; a SchemaError where it is something else."""
        if not isinstance(value, Mapping):
            raise _refusal(f" must be an object with keys, got {quote(value)}")
        for key in value:
            if key not in _KEYS.values():
                raise _refusal(f" has the unknown key {quote(key)}; leave purchases as they were written")
        found = {name: value.get(key, "") for name, key in _KEYS.items()}
        fields = found["fields"]
        exact = {key: _exact(key, value.get(key, usual)) for key, usual in (("amount", None), ("delta", "0"))}
        named = tuple(fields) if isinstance(fields, list | tuple) else ()
        given: dict[str, Any] = {**found, "fields": named, **exact}
        return cls(**given)


def purchases_from(value: object) -> tuple[Purchase, ...]:
    """Return the purchases of a schema in the file format; none where the key is absent or null."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or len(value) > MOST_PURCHASES:
        said = f'"purchases" must be a list of at most {MOST_PURCHASES} objects; leave it as it was written'
        raise SchemaError(said, code="LW270")
    return tuple(map(Purchase.from_dict, value))


def _is_name(value: object) -> bool:
    """Tell whether a value is a text that can be written, of at least one character."""
    return isinstance(value, str) and bool(value) and is_encodable(value)


def _exact(key: str, value: object) -> Fraction:
    """Read an exact amount."""
    if not isinstance(value, str) or not _EXACT.fullmatch(value):
        rule = 'must be an exact number as text, such as "1/10", with at most 500 digits'
        raise _refusal(f"'s {key} {rule}, got {quote(value)}")
    return Fraction(value)
