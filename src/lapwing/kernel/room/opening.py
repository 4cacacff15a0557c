"""Open the room: settle the public terms, debit the ledger, then make secret bits."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, NoReturn
from weakref import WeakKeyDictionary

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import AnswerSink
from lapwing.kernel.terms import Relation, Terms
from lapwing.rows.counting import CodedSource
from lapwing.schema.schemas import Schema


def public_terms(source: CodedSource, schema: Schema, relation: Relation, expected_rows: int | None) -> Terms:
    """Return the terms of a release, with the number of rows only where the relation makes it public.

    schema: gives the rows per privacy unit, and whether each row names its unit.

    Guarantee: under replace-one neighbours with one row per unit both tables have the same number of rows, so showing
    it costs nothing; under add-remove neighbours, or with more rows per unit, it is never shown. Nor is it where rows
    may lack their unit's name: all of these are one unit together, so it would tell that a person joins or leaves them.
    """
    if relation == "replace-one" and schema.max_rows == 1 and schema.names_every_unit:  # [public]
        return Terms(relation=relation, rows=source.rows, expected_rows=expected_rows)
    return Terms(relation=relation, max_rows=schema.max_rows, expected_rows=expected_rows)


def open_room(
    source: CodedSource,
    schema: Schema,
    terms: Terms,
    budget: Budget,
    *,
    debit: Callable[[], None],
    secret_bits: Callable[[], BitSource],
    sink: AnswerSink,
    recorded: Sequence[Answer] = (),
    delta: Fraction = Fraction(0),
    most_cells: int | None = None,
) -> "CuratorHandle":
    """Debit the whole budget, and only then make the source of secret bits.

    debit: commits the ledger entry of this release; raises when the ledger refuses. Returns where a room answers, which
    lasts as long as the handle.

    Guarantee: no secret bit is drawn before the debit is durable, under either neighbour relation; a crash afterwards
    wastes budget and leaks nothing.
    """
    debit()
    room = Room(
        source,
        schema,
        terms,
        budget,
        bits=secret_bits(),
        sink=sink,
        recorded=recorded,
        delta=delta,
        most_cells=most_cells,
    )
    return CuratorHandle(terms, room.ask)


# -- The one thing of the room that a mechanism is handed: a handle that takes questions and returns answers.

_Ask = Callable[..., Any]
_ROOMS: Final[WeakKeyDictionary["CuratorHandle", _Ask]] = WeakKeyDictionary()
"""Who answers for each handle; a room ends with its handle."""


class CuratorHandle:
    """Pass questions to a room of which this object holds nothing: no attribute leads from here to a row.

    Guarantee: what a mechanism gets from its curator is answers, under either neighbour relation. This keeps out a slip
    of the hand; code that means harm can look at the frames of its callers, see docs/threat-model.md.
    """

    __slots__ = ("__weakref__", "_terms")

    def __init__(self, terms: Terms, ask: _Ask) -> None:
        self._terms = terms
        _ROOMS[self] = ask

    @property
    def terms(self) -> Terms:
        """The public terms of the release."""
        return self._terms

    def ask(self, *questions: Any) -> Any:  # noqa: ANN401 - `Curator.ask` says what is answered by what
        """Answer a batch of questions, in order; see `lapwing.kernel.room.room.Room.ask`."""
        return _ROOMS[self](*questions)

    def __repr__(self) -> str:
        """Show no data."""
        return "CuratorHandle(private)"

    def __reduce__(self) -> NoReturn:
        """Refuse pickling and copying."""
        raise ParameterError(
            "a CuratorHandle can be neither pickled nor copied; ask its questions where the rows are", code="LW706"
        )
