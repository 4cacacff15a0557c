"""One codec: frozen dataclasses as plain JSON values and back, by their annotations.

Reading is strict: a key too many, a key too few, or a value of another type is refused with its place. Annotations may
be str, int, float (which takes whole numbers), bool, Literal, ``X | None``, tuples, mappings from texts, dataclasses, a
union of dataclasses that each have a class variable ``kind``, and `Any` for what is plain already. Arrays may be packed
as text, of a shape that follows from what was read before (`packed_array`). All else is a leaf.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, ClassVar, Final, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from lapwing.errors import ParameterError, SchemaError
from lapwing.kernel.plain import pack_counts, unpack_counts

T = TypeVar("T")

Kind = Any
"""An annotation: a class, or a form of `typing`."""

Json = Any
"""A value of a document, or what it is made from."""

Leaf = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""How values of a type are written, and read back; what reading raises is given its place."""

SELDOM: Final = {"seldom": True}
"""Metadata of a field that is left out where it has its default."""

KNOWN: Final = {"known": True}
"""Metadata of a field that is in no document: whoever reads it knows it, or it has its default."""

Seen = Mapping[str, Any]
"""What was read so far of a document, and around it, by the name of its attribute."""


def packed_array(shape: Callable[[Seen], Any], **more: str) -> dict[str, Any]:
    """Return metadata of an array of int64, or of a tuple of them, that is written as packed text.

    shape: what its shape must be, or the shapes must be; found before memory is taken.
    """
    return {"shape": shape, **more}


_LONGEST = 60
_EXACTLY: Any = Literal  # of a value that is known when it runs
_LISTS: Final = ((str, ...), (int, ...))
_refused = partial(ParameterError, code="LW643")


@dataclass(frozen=True, slots=True)
class _Part:
    """A key of a document, the attribute behind it, and its type.

    seldom: left out where it is the default; of: another field, whose value says that this one is there; shape: of what
    is packed, by what was read before.
    """

    key: str
    name: str
    kind: Kind
    is_field: bool = False
    seldom: bool = False
    default: object = None
    of: str = ""
    shape: Callable[[Seen], Any] | None = None


@dataclass(frozen=True, slots=True)
class Codec:
    """Write and read frozen dataclasses.

    leaves: by annotation, how a type is written that is no plain value.

    The keys of a document are the fields that a constructor takes, after the tag ``kind`` where that is a class
    variable. A class variable ``document`` names them in another order, and what is derived as well: properties, which
    are written for readers, and class variables, which must be read as they are; a property behind a question mark is
    left out where it is None. A field's metadata may be `SELDOM`, `KNOWN` or `packed_array`, give another name, as
    ``{"key": "where"}``, or the field before it of which one value is this one's name: only then is it there, as with
    ``{"of": "kind"}``.

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
        """Read back what `write` wrote; a ParameterError with the place.

        known: fields that are not in the document, or that were read from it already.
        """
        return cast("T", self._object(kind, values, "", known, {}))

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
        return {
            part.key: self._part(part, it)
            for part, it in found
            if not (part.seldom and it == part.default) and (not part.of or getattr(value, part.of) == part.name)
        }

    def _part(self, part: _Part, value: Json) -> Json:
        if part.shape is None:
            return self._write(part.kind, value)
        return [pack_counts(each) for each in value] if isinstance(value, tuple) else pack_counts(value)

    def _read(self, kind: Kind, value: Json, place: str, seen: Seen) -> Json:
        if kind in self.leaves:
            return _placed(place, self.leaves[kind][1], value)
        origin, arms = _form(kind)
        if origin is Union:
            is_none = value is None and NoneType in arms
            return None if is_none else self._read(_arm(arms, value, place), value, place, seen)
        if origin is Literal:
            if _typed(type(arms[0]), value, place) not in arms:
                raise _refused(f"{place!r} must be one of {', '.join(map(str, arms))}")
            return value
        if origin is tuple:
            kinds = _kinds(arms, _typed(list, value, place))
            if len(kinds) != len(value):
                raise _refused(f"{place!r} must list {len(kinds)} values, got {len(value)}")
            listed = enumerate(zip(kinds, value, strict=True))
            return tuple(self._read(each, entry, f"{place}[{index}]", seen) for index, (each, entry) in listed)
        if origin is Mapping:
            items = _typed(dict, value, place).items()
            return {key: self._read(arms[1], each, _inside(place, key), seen) for key, each in items}
        is_object = hasattr(kind, "__dataclass_fields__")
        return self._object(kind, value, place, {}, seen) if is_object else _typed(kind, value, place)

    def _object(self, kind: Kind, values: Json, place: str, known: Mapping[str, object], around: Seen) -> Json:
        parts, given, seen = _parts(kind), dict(known), {**around, **known}
        unknown = [key for key in _typed(dict, values, place) if key not in {part.key for part in parts}]
        if unknown:
            raise _refused(f"the key {_inside(place, unknown[0])!r} is not known")
        for part in parts:
            at = _inside(place, part.key)
            if part.name in known:
                continue
            if part.of and seen[part.of] != part.name:
                if part.key in values:
                    raise _refused(f"the key {at!r} is for another {part.of}")
            elif part.key in values:
                value, unpack = values[part.key], partial(_unpacked, part, seen)
                seen[part.name] = _placed(at, unpack, value) if part.shape else self._read(part.kind, value, at, seen)
                given |= {part.name: seen[part.name]} if part.is_field else {}
            elif not part.seldom:
                raise _refused(f"the key {at!r} is missing")
        return _placed(place, lambda every: kind(**every), given)


PLAIN: Final = Codec({})
"""Of what is plain values by its annotations alone."""


@cache
def _parts(kind: Kind) -> tuple[_Part, ...]:
    """Return the keys of a class's document in order."""
    hints, own = (
        get_type_hints(kind),
        {each.name: each for each in fields(kind) if each.init and "known" not in each.metadata},
    )
    tag = ["kind"] if get_origin(hints.get("kind")) is ClassVar else []
    return tuple(
        _field(own[name], hints[name]) if name in own else _derived(name, getattr(kind, name.removesuffix("?")))
        for name in getattr(kind, "document", (*tag, *own))
    )


def _field(own: Field[Any], kind: Kind) -> _Part:
    more = own.metadata
    return _Part(
        more.get("key", own.name),
        own.name,
        kind,
        is_field=True,
        seldom="seldom" in more,
        default=own.default,
        of=more.get("of", ""),
        shape=more.get("shape"),
    )


def _derived(name: str, shown: object) -> _Part:
    """Return a key that no constructor takes."""
    kind = get_type_hints(shown.fget)["return"] if isinstance(shown, property) else _EXACTLY[shown]
    return _Part(name.removesuffix("?"), name.removesuffix("?"), kind, seldom=name.endswith("?"))


def _unpacked(part: _Part, seen: Seen, value: Json) -> Json:
    """Return what is packed, once its shape is known."""
    assert part.shape is not None
    shape = part.shape(seen)
    if _form(part.kind)[0] is not tuple:
        return unpack_counts(value, shape)
    if len(_typed(list, value, part.key)) != len(shape):
        raise _refused(f"it must list {len(shape)} values, got {len(value)}")
    return tuple(map(unpack_counts, value, shape))


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
