"""The public description of two linked tables: parents, and at most K children of each."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

from lapwing.errors import SchemaError
from lapwing.schema.fields import Field
from lapwing.schema.files import check_object, read_json
from lapwing.schema.rules.rules import Determines, Rule, rule_to_dict, rules_from
from lapwing.schema.scalars import quote, whole_number
from lapwing.schema.schemas import Schema
from lapwing.schema.short import linked_in_short
from lapwing.schema.unit import PrivacyUnit

__all__ = ["LinkedSchema", "is_linked"]

_KEYS: Final = ("parent", "child", "key", "maxChildren", "count", "rules")
_LISTED: Final = ", ".join(_KEYS)
_COUNT: Final = "children"
_MOST_CHILDREN: Final = 10_000

T = TypeVar("T")
_Named = tuple[str, Rule]
"""A rule, and where it stands: ``2 of child``."""


def _refusal(said: str) -> SchemaError:
    """Return the error that two linked tables break a rule."""
    return SchemaError(said, code="LW250")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedSchema:
    """Everything public about two linked tables, such as households and persons.

    Parameters
    ----------
    parent : Schema
        Of the table with one row for each value of the key, without a privacy unit.
    child : Schema
        Of the table with any number of rows for each value of the key, without a privacy unit.
    key : str
        The column that links them: an identifier, of the same type and the same missing values in both.
    max_children : int
        Children of one parent that are used at most, 1 to 10,000: K.
    count : str, default "children"
        What the number of children is called, among the parent's columns.
    rules : tuple of Rule
        What every parent keeps together with its number of children, and every child with its parent's columns; names
        are those of `joined`. Rules of one table alone are in its schema.

    Raises
    ------
    SchemaError
        Where a rule is broken; the sentence names it.

    Notes
    -----
    The privacy unit is one value of the key: its one parent row and at most K child rows.

    Examples
    --------
    >>> home = {"name": "home", "type": "integer", "role": "identifier"}
    >>> size = {"name": "rooms", "type": "integer", "constraints": {"minimum": 1, "maximum": 9}}
    >>> schema = LinkedSchema.load({
    ...     "key": "home", "maxChildren": 3, "parent": {"fields": [home, size]},
    ...     "child": {"fields": [home, {"name": "adult", "type": "boolean"}]},
    ... })
    >>> [field.name for field in schema.joined.fields], schema.joined.unit_label
    (['home', 'adult', 'rooms', 'children'], 'home:3')
    """

    parent: Schema
    child: Schema
    key: str
    max_children: int
    count: str = _COUNT
    rules: tuple[Rule, ...] = ()

    __repr__ = linked_in_short

    def __post_init__(self) -> None:
        children = whole_number(self.max_children)
        if children is None or not 1 <= children <= _MOST_CHILDREN:
            raise _refusal(
                f"maxChildren must be a whole number from 1 to {_MOST_CHILDREN}, got {quote(self.max_children)}; "
                "it is the number of children of one parent that are used at most"
            )
        object.__setattr__(self, "max_children", children)
        if not isinstance(self.count, str) or not self.count:
            raise _refusal(f"count must be the name of a column, got {quote(self.count)}; leave it out")
        for what, part in (("parent", self.parent), ("child", self.child)):
            _check_part(what, part, self.key)
        # Each child is drawn for its parent, and their number follows from the parents.
        for table in self.child.public_tables:
            if table.hold == "exact":
                raise _refusal(
                    f"child: the public table of {', '.join(table.columns)} is exact, and children follow their "
                    'parents; declare it "hold": "prior" with an "sd", which the child model starts from, or count '
                    "parents"
                )
        # Cells of the key could else name one unit in one table and another in the other.
        own, other = self.parent.field(self.key), self.child.field(self.key)
        if (own.type, own.missing_values) != (other.type, other.missing_values):
            said = "must have the same type and missingValues in both tables; write them alike"
            raise _refusal(f"the key {quote(self.key)} {said}")
        taken = {field.name for part in (self.parent, self.child) for field in part.fields}
        if self.count in taken:
            raise _refusal(
                f"{quote(self.count)} is a column already, and the number of children would be called so too; give "
                'another name under "count"'
            )
        object.__setattr__(self, "rules", rules_from(self.rules))
        self._check_rules()
        # For their errors about names and rules, which number the rules of several places together.
        for what, rules in (("counted", self._rules_of_counted), ("joined", self._rules_of_joined)):
            _told(partial(getattr, self, what), partial(_where_it_stands, rules=rules))

    @property
    def counted(self) -> Schema:
        """The parent's schema with the number of children as one more column: of the rows that are asked about."""
        return replace(
            self.parent,
            fields=(*self.parent.fields, self.count_field),
            privacy_unit=PrivacyUnit(self.key, 1),
            rules=tuple(rule for _, rule in self._rules_of_counted),
        )

    @property
    def joined(self) -> Schema:
        """The child's schema with the columns of the parent, and the number of its children.

        A parent's column of a name that the child has too is called ``parent.NAME`` here.
        """
        names = self.joined_names
        given = tuple(
            field if names[field.name] == field.name else replace(field, name=names[field.name])
            for field in self._given
        )
        return replace(
            self.child,
            fields=(*self.child.fields, *given),
            privacy_unit=PrivacyUnit(self.key, self.max_children),
            rules=tuple(rule for _, rule in self._rules_of_joined),
        )

    @property
    def joined_names(self) -> dict[str, str]:
        """What each modelled column of `counted` is called in `joined`."""
        own = {field.name for field in self.child.fields}
        return {field.name: f"parent.{field.name}" if field.name in own else field.name for field in self._given}

    @property
    def _given(self) -> tuple[Field, ...]:
        """The modelled columns of `counted`."""
        return (*self.parent.columns, self.count_field)

    @property
    def _rules_of_counted(self) -> list[_Named]:
        """The rules of `counted`, each with where it stands."""
        names = {field.name for field in self._given}
        of_both = [
            each
            for each in _named(self.rules, "both tables")
            if names.issuperset(each[1].columns) and not self._is_of_child(each[1])
        ]
        return [*_named(self.parent.rules, "parent"), *of_both]

    @property
    def _rules_of_joined(self) -> list[_Named]:
        """The rules of `joined`, each with where it stands."""
        # Rules of parents tell the child model for nothing what it would else be asked about. A dependency without its
        # values stays with the parents: their model alone says what goes with what.
        same = {name for name, called in self.joined_names.items() if name == called}
        of_parents = [
            each
            for each in _named(self.parent.rules, "parent")
            if same.issuperset(each[1].columns) and not _has_own_map(each[1])
        ]
        of_both = [
            each
            for each in _named(self.rules, "both tables")
            if self._is_of_child(each[1]) or not _has_own_map(each[1])
        ]
        return [*_named(self.child.rules, "child"), *of_parents, *of_both]

    def _is_of_child(self, rule: Rule) -> bool:
        """Return whether a rule of both tables names a column of the child's own."""
        return any(field.name in rule.columns for field in self.child.fields)

    def _check_rules(self) -> None:
        """Refuse rules that could not be kept by parents first and by their children then."""
        own = {field.name for field in self.child.fields}
        for rule in self.rules:
            if _has_own_map(rule) and own.intersection(rule.columns[:-1]) and rule.columns[-1] not in own:
                raise _refusal(
                    f"the rule {quote(rule.text)} lets children determine a column of their parent, which is drawn "
                    "first; list its values, or turn it round"
                )
            renamed = [name for name, called in self.joined_names.items() if name != called and called in rule.columns]
            if renamed and not self._is_of_child(rule):
                raise _refusal(
                    f"the rule {quote(rule.text)} is of parents alone and names {quote(renamed[0])}, which both tables "
                    "have; give this column another name in one of them"
                )

    @property
    def count_field(self) -> Field:
        """The number of children: 0 to K, a public domain."""
        return Field(
            name=self.count,
            type="integer",
            minimum=0,
            maximum=self.max_children,
            required=True,
            provenance="public",
            description="rows of the child table, at most as many as are used",
        )

    @classmethod
    def load(cls, source: "str | os.PathLike[str] | Mapping[str, Any] | LinkedSchema") -> "LinkedSchema":
        """Return a linked schema from a file, from a mapping in the file format, or as it is.

        Parameters
        ----------
        source : path, mapping or LinkedSchema
            ``{"parent": {...}, "child": {...}, "key": "household", "maxChildren": 5}``, where the parts are schemas;
            ``"count"`` names the number of children, and ``"rules"`` lists rules of both together.

        Returns
        -------
        LinkedSchema

        Raises
        ------
        SchemaError
            Where the file cannot be read or breaks a rule of the format.
        """
        if isinstance(source, LinkedSchema):
            return source
        value = read_json(source) if isinstance(source, str | os.PathLike) else source
        found = check_object(value, "the schema of linked tables")
        if "fields" in found:
            said = (
                f"the schema describes one table, not two; `lapwing synthesize` takes it, and linked ones say {_LISTED}"
            )
            raise SchemaError(said, code="LW252")
        for key in found:
            if key not in _KEYS:
                said = f"the schema of linked tables has the unknown key {quote(key)}; keys are {_LISTED}"
                raise SchemaError(said, code="LW205")
        for key in _KEYS[:4]:
            if key not in found:
                raise _refusal(f'the schema of linked tables needs "{key}"; write {_LISTED}')
        parts = {
            what: _told(partial(Schema.load, check_object(found[what], what)), f"{what}: {{}}".format)
            for what in ("parent", "child")
        }
        return cls(
            **parts,
            key=found["key"],
            max_children=found["maxChildren"],
            count=found.get("count", _COUNT),
            rules=rules_from(found.get("rules")),
        )

    @property
    def fingerprint(self) -> str:
        """SHA-256 of both schemas and their link in normal form, as 64 hexadecimal digits."""
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the linked schema in the file format: JSON values that `load` makes an equal one of."""
        return {
            "key": self.key,
            "maxChildren": self.max_children,
            "count": self.count,
            "parent": self.parent.to_dict(),
            "child": self.child.to_dict(),
            "rules": list(map(rule_to_dict, self.rules)),
        }


def _told(make: Callable[[], T], told: Callable[[str], str]) -> T:
    """Return what is made; an error about it says of which of the tables it is."""
    try:
        return make()
    except SchemaError as error:
        said, code = told(str(error)), error.code
    raise SchemaError(said, code=code)


def _named(rules: Sequence[Rule], where: str) -> list[_Named]:
    """Return rules, each with its number where it stands."""
    return [(f"{number} of {where}", rule) for number, rule in enumerate(rules, 1)]


def _where_it_stands(said: str, *, rules: Sequence[_Named]) -> str:
    """Return an error about rules that were put together with each rule's number in its own list."""
    names = {str(number): name for number, (name, _) in enumerate(rules, 1)}
    return re.sub(r"(rules? |, | and )(\d+)(?= \()", lambda found: found[1] + names.get(found[2], found[2]), said)


def is_linked(source: str | os.PathLike[str]) -> bool:
    """Return whether a schema file describes two linked tables; a SchemaError where it is no JSON file."""
    value = read_json(source)
    return isinstance(value, Mapping) and "fields" not in value and {"parent", "child"} <= value.keys()


def _has_own_map(rule: Rule) -> bool:
    """Return whether a rule is a dependency whose values are not public: each model has its own."""
    return isinstance(rule, Determines) and not rule.values


def _check_part(what: str, part: object, key: object) -> None:
    """Refuse a part that is no schema, that names a privacy unit of its own, or whose key is no identifier."""
    if not isinstance(part, Schema):
        raise _refusal(f"{what} must be a Schema, got a {type(part).__name__}")
    if not isinstance(key, str):
        raise _refusal(f"key must be the name of a column of both tables, got {quote(key)}")
    if part.privacy_unit is not None:
        raise _refusal(
            f"{what} has a privacyUnit of its own; the key and maxChildren say whose rows are protected, so remove it"
        )
    if not _told(partial(part.field, key), lambda said: f"{what}: the key is in both tables, and {said}").identifier:
        raise _refusal(f'{what}: the key {quote(key)} must be an identifier; give it "role": "identifier"')
