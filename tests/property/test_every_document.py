"""Everything that the codec writes: it is read back as it was, and of a changed document nothing is passed over.

A document that is changed in one place is refused with one of our errors, or says what it is then read as: written
again it is the same. So a key too many, one too few, and a value of another type are refused wherever they stand, and
no size that a stranger claims takes memory.
"""

import copy
import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.bits import SeededBits
from helpers.good_files import JOB
from helpers.kept import Kept
from helpers.models import small_schema
from helpers.saved import small_saved
from helpers.vectors import coordinates_of, cut_cells, lattice_cells, sums_asked
from lapwing.errors import LapwingError
from lapwing.extras.audit.linked_pairs import linked_settings
from lapwing.extras.audit.rechecks import RECHECKS
from lapwing.extras.studio.jobs import Job
from lapwing.kernel.codec import PLAIN, Codec
from lapwing.kernel.plain import pack_counts
from lapwing.kernel.questions.linear_statistics.question import RowStatistic, Statistic
from lapwing.kernel.questions.questions import RECORDS
from lapwing.kernel.questions.registered import KINDS, answer_from_dict, question_from_dict
from lapwing.kernel.questions.shared.projections import Projection
from lapwing.kernel.room.room import Room
from lapwing.kernel.terms import Terms
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.files import documents_of, saved_of
from lapwing.release.runs.reading import read_settings
from lapwing.release.runs.records import Records
from lapwing.release.runs.settings import SETTINGS, Settings
from lapwing.schema.groupings.grouping import identity, interval_grouping, lookup
from lapwing.schema.groupings.hierarchies import hierarchy

MEMORY = 32 * 2**20
"""Most bytes that reading a small document takes, whatever it claims."""

BOMB = pack_counts(np.zeros(10**6, dtype=np.int64))
OTHERS: dict[type, tuple[Any, ...]] = {
    type(None): (),
    bool: (),
    int: (-1, 0, 1, 2**26 + 1, 2**53, 2**63, 2**80, 10**400),
    float: (-1.5, 1e300),
    str: ("", "x", "0", "-1", "1/0", "1e999999999", "9" * 5000, "????", BOMB, "\0"),
    list: ([None], [[]], [2**80], [-1, 1]),
    dict: ({"kind": "x"}, {"x": 1}),
}
"""What a value of a type is changed into, beside a value of each other type."""

CLAIMS = {int: OTHERS[int], str: (BOMB,)}
EMPTY: tuple[Any, ...] = (None, True, 7, 1.5, float("nan"), "text", [], {})
FREE = ("linked", "settings", "schema")
"""Plain values of any kind, and what is read by a reader of its own: a mechanism's settings, a schema."""

DERIVED = {"decimal", "sd", "means", "protected", "together", "figures"}
"""What stands in a document for readers: it is read past, and worked out again."""


@dataclass(frozen=True)
class Document:
    """A document of one kind: as it was written, how it is read, and how that is written again.

    lax: keys with a reader of their own, to which several values may be the same.
    """

    tree: Any
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]
    lax: tuple[str, ...] = ()


def of(codec: Codec, value: Any) -> Document:
    """Return what a codec writes of a value."""
    return Document(codec.write(value), lambda tree: codec.read(type(value), tree), codec.write)


def question_of(kind: str, *, is_last: bool = False) -> Document:
    """Return the first question of a kind that the audit asks, or the last."""
    case = list(RECHECKS[kind].cases())[-is_last]
    return Document(case.asked.to_dict(), question_from_dict, lambda each: each.to_dict())


def answer_of(kind: str) -> Document:
    """Return an answer to the first."""
    case = next(iter(RECHECKS[kind].cases()))
    places: dict[str, Any] = {"bits": SeededBits(1), "sink": Kept(), "delta": Fraction(1, 2)}
    room = Room(case.sources[0], case.schema, case.terms, case.cost, **places)
    return Document(room.ask(case.asked)[0].to_dict(), answer_from_dict, lambda each: each.to_dict())


def sums_over(cells: Projection) -> Document:
    """Return a question for sums over cells."""
    asked = sums_asked(coordinates_of(("line", "line")), cells)
    return Document(asked.to_dict(), question_from_dict, lambda each: each.to_dict())


def release_settings() -> Settings:
    """Return settings of a release that leave nothing out."""
    chosen: dict[str, Any] = {"mechanism": "independent", "expected_rows": 50, "seed": 1}
    return read_settings(small_schema(), epsilon=1, delta="1e-6", **chosen)


def records() -> Document:
    """Return where a run is recorded."""
    value = Records(release_id="a", ledger="b", dataset="c", transcript=None)
    return replace(of(RECORDS, value), read=lambda tree: RECORDS.read(Records, tree, transcript=None))


def in_a_file(name: str) -> Document:
    """Return one document of a model file."""
    whole = documents_of(small_saved())
    return Document(whole[name], lambda tree: saved_of({**whole, name: tree}), lambda saved: documents_of(saved)[name])


AGES, GRADES = (small_schema().field(name).domain for name in ("age", "grade"))
MAKERS: dict[str, Callable[[], Document]] = {
    **{f"question {kind}": partial(question_of, kind) for kind in KINDS},
    **{f"last question {kind}": partial(question_of, kind, is_last=True) for kind in KINDS},
    **{f"answer {kind}": partial(answer_of, kind) for kind in KINDS},
    "sums over cuts": lambda: sums_over(cut_cells([[1], [1]], [0])),
    "sums over a lattice": lambda: sums_over(lattice_cells([[1], [1]], spacing=1, norm=4)),
    "shift": lambda: of(RECORDS, identity(AGES)),
    "cuts": lambda: of(RECORDS, interval_grouping(AGES, [3])),
    "table": lambda: of(RECORDS, lookup(GRADES, [0, 1, 1, 0, 2])),
    "hierarchy": lambda: of(RECORDS, hierarchy(AGES, 3)),
    **{
        f"statistic {place}": partial(of, RECORDS, each)
        for place, each in enumerate(
            (
                Statistic(text="age >= 65", program=(("in", "age", (65, 121)),)),
                RowStatistic(text="f", columns=("age",), lower=-5, upper=5),
            )
        )
    },
    "terms": lambda: of(RECORDS, Terms(relation="add-remove", max_rows=2, expected_rows=50)),
    "records": records,
    "settings": lambda: Document(
        SETTINGS.write(release_settings()),
        Settings.from_dict,
        SETTINGS.write,
        ("schema", "settings", "delta", "misfit_share"),
    ),
    "settings of several tables": lambda: Document(
        SETTINGS.write(linked_settings()),
        Settings.from_dict,
        SETTINGS.write,
        ("schema", "settings", "delta", "misfit_share", "linked"),
    ),
    "job of the studio": lambda: Document(JOB, lambda tree: PLAIN.read(Job, tree, name="a", place=Path()), PLAIN.write),
    "certificate": lambda: Document(small_saved().certificate.to_dict(), Certificate.from_dict, Certificate.to_dict),
    "model": lambda: in_a_file("model.json"),
    "answers": lambda: in_a_file("answers.json"),
}


@pytest.fixture(params=MAKERS)
def document(request: pytest.FixtureRequest) -> Document:
    """Return a document of each kind."""
    return MAKERS[request.param]()


def text_of(tree: Any) -> str:
    """Return a document as text, without what is derived; of an array its numbers."""
    return json.dumps(_plain(tree), sort_keys=True, default=np.ndarray.tolist)


def _plain(tree: Any) -> Any:
    if isinstance(tree, list):
        return [_plain(each) for each in tree]
    return {key: _plain(each) for key, each in tree.items() if key not in DERIVED} if isinstance(tree, dict) else tree


def nodes(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the place of every value of a document: what it is in, and its key; of long lists the first and last."""
    keys = list(tree) if isinstance(tree, dict) else sorted({0, 1, len(tree) - 1} & set(range(len(tree))))
    for key in keys:
        yield tree, key
        if isinstance(tree[key], dict | list) and key not in FREE:
            yield from nodes(tree[key])


def changes(value: Any) -> Iterator[Any]:
    """Yield what a value is changed into."""
    yield from (each for each in EMPTY if type(each) is not type(value))
    if isinstance(value, np.ndarray):
        yield from (value[:0], value[..., None], value.astype(np.float32), np.full_like(value, 99), -value - 1)
        return
    yield from OTHERS[type(value)]
    if isinstance(value, list):
        yield from ([], value[:-1], value + value, value[::-1])
    if isinstance(value, dict):
        yield {**value, "extra": 1}
        yield from ({each: value[each] for each in value if each != key} for key in value)


def changed(document: Document) -> Iterator[tuple[Any, Any]]:
    """Yield the document changed in one place after another, each with its key there."""
    tree = document.tree
    yield from ((each, None) for each in changes(tree))
    for inner, key in nodes(tree):
        value = inner[key]
        for other in changes(value):
            inner[key] = other
            yield tree, key
        inner[key] = value


def test_what_is_written_is_read_back(document: Document) -> None:
    assert text_of(document.write(document.read(copy.deepcopy(document.tree)))) == text_of(document.tree)


def test_a_change_is_refused_or_is_what_is_read(document: Document) -> None:
    passed, refused = [], 0

    for tree, key in changed(document):
        try:
            found = text_of(document.write(document.read(tree)))
        except LapwingError:
            refused += 1
            continue
        if found != text_of(tree) and key not in document.lax:
            passed.append((key, text_of(tree)[:4000], found[:4000]))

    assert passed == []
    assert refused > 10


def claims(document: Document) -> Iterator[Any]:
    """Yield the document with another number, or with more counts, in one place after another."""
    for inner, key in nodes(document.tree):
        value = inner[key]
        for inner[key] in CLAIMS.get(type(value), ()):
            yield document.tree
        inner[key] = value


def test_no_claimed_size_takes_memory(document: Document) -> None:
    tracemalloc.start()
    try:
        for tree in claims(document):
            with suppress(LapwingError):
                document.read(tree)
            assert tracemalloc.get_traced_memory()[1] < MEMORY, text_of(tree)[:400]
    finally:
        tracemalloc.stop()
