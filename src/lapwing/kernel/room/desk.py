"""The one thing of the room that a mechanism is handed: a desk where questions are put and answers received."""

from collections.abc import Callable
from typing import Any, Final, NoReturn
from weakref import WeakKeyDictionary

from lapwing.errors import ParameterError
from lapwing.kernel.terms import Terms

_Ask = Callable[..., Any]
_ROOMS: Final[WeakKeyDictionary["Desk", _Ask]] = WeakKeyDictionary()
"""Who answers at each desk; a room ends with its desk."""


class Desk:
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

    def ask(self, *questions: Any) -> Any:  # noqa: ANN401 - `release.curator.Curator` says what is answered by what
        """Answer a batch of questions, in order; see `lapwing.kernel.room.room.Room.ask`."""
        return _ROOMS[self](*questions)

    def __repr__(self) -> str:
        """Show no data."""
        return "Desk(private)"

    def __reduce__(self) -> NoReturn:
        """Refuse pickling and copying."""
        raise ParameterError(
            "a Desk can be neither pickled nor copied; ask its questions where the rows are", code="LW706"
        )
