"""One codec: frozen dataclasses as plain JSON values and back, by their annotations.

Reading is strict: a key too many, a key too few, or a value of another type is refused with its place. Annotations may
be str, int, float (which takes whole numbers), bool, Literal, ``X | None``, tuples, mappings from texts, dataclasses, a
union of dataclasses that each have a class variable ``kind``, and `Any` for what is plain already. All else is a leaf.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, ClassVar, Final, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from lapwing.errors import ParameterError, SchemaError

T = TypeVar("T")

Kind = Any
"""An annotation: a class, or a form of `typing`."""

Json = Any
"""A value of a document, or what it is made from."""

Leaf = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""How values of a type are written, and read back; what reading raises is given its place."""

SELDOM: Final = {"seldom": True}
"""Metadata of a field that is left out where it has its default."""

_LONGEST = 60
_EXACTLY: Any = Literal  # of a value that is known when it runs
_LISTS: Final = ((str, ...), (int, ...))
_refused = partial(ParameterError, code="LW643")


@dataclass(frozen=True, slots=True)
class _Part:
    """A key of a document, the attribute behind it, and its type; seldom: left out where it is the default."""

    key: str
    name: str
    kind: Kind
    is_field: bool = False
    seldom: bool = False
    default: object = None


@dataclass(frozen=True, slots=True)
class Codec:
    """Write and read frozen dataclasses.

    leaves: by annotation, how a type is written that is no plain value.

    The keys of a document are the fields that a constructor takes, after the tag ``kind`` where that is a class
    variable. A class variable ``document`` names them in another order, and what is derived as well: properties, which
    are written for readers, and class variables, which must be read as they are. A field's metadata may be `SELDOM`,
    or give another name, as ``{"key": "where"}``.

    >>> from fractions import Fraction
    >>> from lapwing.kernel.plain import read_exact
    >>> @dataclass(frozen=True)
    ... class Sum:
    ...     kind: ClassVar[str] = "sum"
    ...     terms: tuple[Fraction, ...]
    >>> codec = Codec({Fraction: (str, read_exact)})
    >>> codec.write(Sum((Fraction(1, 3), Fraction(2))))
    {'kind': 'sum', 'terms': ['1/3', '2']}
    >>> codec.read(Sum, {"kind": "sum", "terms": ["1/3", 2]})
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: 'terms[1]': an exact number must be a text such as '1/15', got '2'
    `lapwing explain LW643` says why, and what to do
    """

    leaves: Mapping[Any, Leaf]

    def write(self, value: object) -> dict[str, Any]:
        """Return a dataclass as plain JSON values."""
        return cast("dict[str, Any]", self._write(type(value), value))

    def read(self, kind: type[T], values: object, **known: object) -> T:
        """Read back what `write` wrote; known: fields that are not in the document. A ParameterError with the place."""
        return cast("T", self._object(kind, values, "", known))

    def _write(self, kind: Kind, value: Json) -> Json:
        if kind in self.leaves:
            return self.leaves[kind][0](value)
        origin, arms = _form(kind)
        if origin is Union:
            several = len(arms) - (NoneType in arms) > 1
            return None if value is None else self._write(type(value) if several else arms[0], value)
        if origin is tuple and arms in _LISTS and arms[0] not in self.leaves:
            return list(value)  # often hundreds of names, at each of a thousand choices
        if origin is tuple:
            return [self._write(each, entry) for each, entry in zip(_kinds(arms, value), value, strict=True)]
        if origin is Mapping:
            return {key: self._write(arms[1], each) for key, each in value.items()}
        if not hasattr(kind, "__dataclass_fields__"):
            return value
        found = ((part, getattr(value, part.name)) for part in _parts(kind))
        return {part.key: self._write(part.kind, it) for part, it in found if not (part.seldom and it == part.default)}

    def _read(self, kind: Kind, value: Json, place: str) -> Json:
        if kind in self.leaves:
            return _placed(place, self.leaves[kind][1], value)
        origin, arms = _form(kind)
        if origin is Union:
            return None if value is None and NoneType in arms else self._read(_arm(arms, value, place), value, place)
        if origin is Literal:
            if _typed(type(arms[0]), value, place) not in arms:
                raise _refused(f"{place!r} must be one of {', '.join(map(str, arms))}")
            return value
        if origin is tuple:
            kinds = _kinds(arms, _typed(list, value, place))
            if len(kinds) != len(value):
                raise _refused(f"{place!r} must list {len(kinds)} values, got {len(value)}")
            listed = enumerate(zip(kinds, value, strict=True))
            return tuple(self._read(each, entry, f"{place}[{index}]") for index, (each, entry) in listed)
        if origin is Mapping:
            items = _typed(dict, value, place).items()
            return {key: self._read(arms[1], each, _inside(place, key)) for key, each in items}
        return (
            self._object(kind, value, place, {})
            if hasattr(kind, "__dataclass_fields__")
            else _typed(kind, value, place)
        )

    def _object(self, kind: Kind, values: Json, place: str, known: Mapping[str, object]) -> Json:
        parts, given = _parts(kind), dict(known)
        unknown = [key for key in _typed(dict, values, place) if key not in {part.key for part in parts}]
        if unknown:
            raise _refused(f"the key {_inside(place, unknown[0])!r} is not known")
        for part in parts:
            at = _inside(place, part.key)
            if part.key in values:
                found = self._read(part.kind, values[part.key], at)
                given |= {part.name: found} if part.is_field else {}
            elif not part.seldom:
                raise _refused(f"the key {at!r} is missing")
        return _placed(place, lambda every: kind(**every), given)


@cache
def _parts(kind: Kind) -> tuple[_Part, ...]:
    """Return the keys of a class's document in order."""
    hints, own = get_type_hints(kind), {each.name: each for each in fields(kind) if each.init}
    tag = ["kind"] if get_origin(hints.get("kind")) is ClassVar else []
    return tuple(
        _field(own[name], hints[name]) if name in own else _derived(name, getattr(kind, name))
        for name in getattr(kind, "document", (*tag, *own))
    )


def _field(own: Field[Any], kind: Kind) -> _Part:
    return _Part(own.metadata.get("key", own.name), own.name, kind, True, "seldom" in own.metadata, own.default)


def _derived(name: str, shown: object) -> _Part:
    """Return a key that no constructor takes."""
    kind = get_type_hints(shown.fget)["return"] if isinstance(shown, property) else _EXACTLY[shown]
    return _Part(name, name, kind)


def _form(kind: Kind) -> tuple[Kind, tuple[Kind, ...]]:
    """Return what an annotation is a form of, and of what; every union is a `Union`."""
    origin: Kind = get_origin(kind)
    return Union if origin is UnionType else origin, get_args(kind)


def _kinds(arms: tuple[Any, ...], values: Sequence[object]) -> Sequence[Any]:
    """Return the type of each value of a tuple."""
    return arms[:1] * len(values) if arms[-1] is Ellipsis else arms


def _arm(arms: tuple[Any, ...], value: object, place: str) -> Kind:
    """Return the member of a union that a value is read as: the only one, or the one that its tag names."""
    known = [arm for arm in arms if arm is not NoneType]
    if len(known) == 1:
        return known[0]
    tag = _typed(dict, value, place).get("kind")
    for arm in known:
        if arm.kind == tag:
            return arm
    raise _refused(f"{_inside(place, 'kind')!r} must be one of {', '.join(arm.kind for arm in known)}")


def _typed(kind: Kind, value: Json, place: str) -> Json:
    """Return a value if it is of this type (a truth value is no number)."""
    if kind is Any or type(value) is kind or (kind is float and type(value) is int):
        return value
    raise _refused(f"{place or 'the document'!r} must be of type {kind.__name__}, got {type(value).__name__}")


def _inside(place: str, key: object) -> str:
    """Return the place of a key, which may be any text of a stranger's."""
    return f"{place}.{str(key)[:_LONGEST]}" if place else str(key)[:_LONGEST]


def _placed(place: str, read: Callable[[Any], T], value: object) -> T:
    """Return what is read; what refuses it is told where that was."""
    try:
        return read(value)
    except (ParameterError, SchemaError) as error:
        said, code = str(error), error.code
    raise ParameterError(f"{place!r}: {said}" if place else said, code=code)
