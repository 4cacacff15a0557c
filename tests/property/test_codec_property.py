"""What the codec writes it reads back, and of every document that is wrong in one place it names the place."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.errors import ParameterError
from lapwing.kernel.codec import SELDOM, Codec
from lapwing.kernel.plain import read_exact


@dataclass(frozen=True, kw_only=True)
class Disc:
    kind: ClassVar[str] = "disc"
    radius: Fraction


@dataclass(frozen=True, kw_only=True)
class Box:
    kind: ClassVar[str] = "box"
    sides: tuple[int, int]

    def __post_init__(self) -> None:
        if min(self.sides) < 0:
            raise ParameterError("sides must be at least 0", code="LW641")


@dataclass(frozen=True, kw_only=True)
class Drawing:
    document: ClassVar = ("format", "size", "title", "shapes", "hues", "share", "done", "more", "inner", "note")
    format: ClassVar[int] = 3

    title: str
    shapes: tuple[Disc | Box, ...]
    hues: Mapping[str, Literal["dark", "light"]]
    share: float | None
    done: bool
    more: Any
    inner: Box | None = field(metadata={"key": "next"})
    note: str = field(default="", metadata=SELDOM)

    @property
    def size(self) -> int:
        return len(self.shapes)


CODEC = Codec({Fraction: (str, read_exact)})

discs = st.builds(Disc, radius=st.fractions(min_value=0))
boxes = st.builds(Box, sides=st.tuples(st.integers(0), st.integers(0)))
drawings = st.builds(
    Drawing,
    title=st.text(),
    shapes=st.lists(discs | boxes, max_size=3).map(tuple),
    hues=st.dictionaries(st.text(), st.sampled_from(["dark", "light"]), max_size=2),
    share=st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(),
    done=st.booleans(),
    more=st.none() | st.lists(st.integers()) | st.dictionaries(st.text(), st.text()),
    inner=st.none() | boxes,
    note=st.text(),
)

DRAWING = Drawing(
    title="a",
    shapes=(Disc(radius=Fraction(1, 3)), Box(sides=(2, 5))),
    hues={"sky": "light"},
    share=0.5,
    done=True,
    more={"any": [1]},
    inner=Box(sides=(1, 1)),
    note="b",
)
VALUES: tuple[Any, ...] = (None, False, 7, 1.5, "x", [], {})
ALSO = {"share": (int, type(None)), "next": (type(None),), "more": tuple(map(type, VALUES))}
"""What these may be, beside what they are."""

FREE = ("hues", "more")
"""Objects whose keys are not fixed."""


def _nodes(tree: Any, place: str = "") -> Iterator[tuple[Any, str, str | int, Any]]:
    """Yield every value of a document but its own: what it is in, where that is, its key there, itself."""
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        yield tree, place, key, value
        if isinstance(value, dict | list) and key != "more":
            yield from _nodes(value, _inside(place, key))


def _inside(place: str, key: str | int) -> str:
    return f"{place}[{key}]" if isinstance(key, int) else f"{place}.{key}".lstrip(".")


def _wrong(document: Any) -> Iterator[tuple[str, str]]:
    """Yield documents that are wrong in one place, as text, each with the place."""
    for tree, place, key, value in _nodes(document):
        at = _inside(place, key)
        for other in VALUES:
            if type(other) not in (type(value), *ALSO.get(at, ())):
                tree[key] = other
                yield json.dumps(document), at
        tree[key] = value
        if isinstance(tree, dict) and place not in FREE and at != "note":
            del tree[key]
            yield json.dumps(document), at
            tree[key] = value
        if isinstance(value, dict) and at not in FREE:
            value["extra"] = 1
            yield json.dumps(document), _inside(at, "extra")
            del value["extra"]


@given(drawings)
def test_what_is_written_is_read_back(drawing: Drawing):
    written = CODEC.write(drawing)

    again = CODEC.read(Drawing, json.loads(json.dumps(written)))
    assert again == drawing
    assert list(again.hues) == list(drawing.hues)
    assert ("note" in written) == (drawing.note != "")


def test_keys_come_in_their_order_under_their_names():
    assert " ".join(CODEC.write(DRAWING)) == "format size title shapes hues share done more next note"


def test_a_document_that_is_wrong_in_one_place_is_refused_with_it():
    cases = list(_wrong(CODEC.write(DRAWING)))

    assert len(cases) > 100
    for text, place in cases:
        with pytest.raises(ParameterError) as caught:
            CODEC.read(Drawing, json.loads(text))
        assert f"'{place}'" in str(caught.value)
        assert caught.value.code == "LW643"


@pytest.mark.parametrize("document", [None, 5, [], "x", {**CODEC.write(DRAWING), "extra": 1}, {}])
def test_a_document_of_another_kind_is_refused(document: Any):
    with pytest.raises(ParameterError, match=r"'(the document|extra|format)'"):
        CODEC.read(Drawing, document)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 4}, "'format' must be one of 3"),
        ({"hues": {"sky": "SECRET"}}, "'hues.sky' must be one of dark, light"),
        ({"next": {"kind": "SECRET", "sides": [1, 1]}}, "'next.kind' must be one of box"),
        ({"shapes": [{"kind": "SECRET"}]}, "'shapes[0].kind' must be one of disc, box"),
        ({"next": {"kind": "box", "sides": [1, 1, 1]}}, "'next.sides' must list 2 values, got 3"),
        ({"hues": {"k" * 100: 1}}, f"'hues.{'k' * 60}' must be of type str, got int"),
    ],
)
def test_a_refusal_says_the_rule_and_no_value(change: dict[str, Any], said: str):
    with pytest.raises(ParameterError) as caught:
        CODEC.read(Drawing, CODEC.write(DRAWING) | change)

    assert str(caught.value) == said


def test_what_a_class_refuses_keeps_its_code_and_gets_its_place():
    with pytest.raises(ParameterError) as caught:
        CODEC.read(Drawing, CODEC.write(DRAWING) | {"next": {"kind": "box", "sides": [-1, 1]}})

    assert (str(caught.value), caught.value.code) == ("'next': sides must be at least 0", "LW641")


def test_fields_that_are_known_are_not_looked_for():
    codec = Codec({})

    assert codec.read(_Part, {"size": 1}, whole="w") == _Part(size=1, whole="w")


@dataclass(frozen=True, kw_only=True)
class _Part:
    document: ClassVar = ("size",)
    size: int
    whole: str
