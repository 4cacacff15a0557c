"""A planted bug: what stands in the place of honest code, and the audit that must flag it."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import pytest

from lapwing.kernel.room import room
from lapwing.mechanisms.shared import dry_run

Plant = Callable[[pytest.MonkeyPatch], None]
"""Plants a bug."""

Look = Callable[[], Sequence[str]]
"""Looks once, and returns what is wrong."""


@dataclass(frozen=True, slots=True)
class Audit:
    """Who looks: what yields one look after another, and at what."""

    looks: Callable[..., Iterator[Look]]
    given: tuple[object, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)

    def flags(self, within: int, first: int = 0) -> Sequence[str]:
        """Return what is wrong by the first look that says so, of so many without those before the first."""
        return next((flags for look in islice(self.every_look(), first, within) if (flags := look())), ())

    def every_look(self) -> Iterator[Look]:
        """Yield all looks."""
        return self.looks(*self.given, **self.settings)

    def __str__(self) -> str:
        of = [str(getattr(each, "name", getattr(each, "__name__", each))) for each in self.given]
        return "-".join([self.looks.__name__, *of, *map(str, self.settings.values())])


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """A bug and one audit that must flag it."""

    plant: Plant
    audit: Audit
    within: int = 160  # of how many looks one must flag it
    first: int = 0  # looks before it are left out: nothing shows on them
    says: str = ""  # part of what is said
    is_full: bool = False  # looked for in full runs alone, as another audit of the same code sees the bug


def audit(looks: Callable[..., Iterator[Look]]) -> Callable[..., Audit]:
    """Let calls of a generator name an audit, which looks later."""
    return functools.wraps(looks)(lambda *given, **settings: Audit(looks, given, settings))


def seen_by(audits: Audit | Sequence[Audit], *plants: Plant, also: Sequence[Audit] = (), **more) -> list[Bug]:
    """Return bugs, each of which each of some audits must flag; and others in full runs."""
    audits = [audits] if isinstance(audits, Audit) else audits
    bugs = [(plant, each, each not in audits) for plant in plants for each in (*audits, *also)]
    return [Bug(plant=plant, audit=each, is_full=is_full, **more) for plant, each, is_full in bugs]


def in_turn(audits: Sequence[Audit], *plants: Plant, **more) -> list[Bug]:
    """Return bugs, which each audit must flag: in CI one of them, turn by turn, as all look at the same code."""
    bugs = []
    for turn, plant in enumerate(plants):
        first, *others = [audits[(turn + place) % len(audits)] for place in range(len(audits))]
        bugs += seen_by(first, plant, also=others, **more)
    return bugs


# ------------------------------------------------------------------------------------------------------------ plants


def instead_of(owner: object, *names: str) -> Callable[[Callable], Plant]:
    """Plant a function in the place of others: it is called with the honest one, and with what that was given."""

    def plant_of(change: Callable) -> Plant:
        def plant(patch: pytest.MonkeyPatch) -> None:
            for name in names:
                patch.setattr(owner, name, _changed(getattr(owner, name), change))

        return plant

    return plant_of


def _changed(honest: object, change: Callable) -> object:
    if isinstance(honest, property):
        return property(functools.partial(change, honest.fget))
    return lambda *given, **named: change(honest, *given, **named)


def instead_of_answers(kind: str) -> Callable[[Callable], Plant]:
    """Plant a function in the place of the room's for one kind of question."""

    def plant_of(change: Callable) -> Plant:
        return lambda patch: patch.setattr(
            room, "ANSWERS", {**room.ANSWERS, kind: _changed(room.ANSWERS[kind], change)}
        )

    return plant_of


def charging(change: Callable) -> Plant:
    """Let the room charge in another way; the dry run, which would refuse what shows it, refuses nothing."""

    def charged(questions, _, spent, delta):
        return sum((question.cost for question in questions), spent), delta

    def plant(patch: pytest.MonkeyPatch) -> None:
        instead_of(room.Room, "_charge")(change)(patch)
        patch.setattr(dry_run, "charge_answers", charged)

    return plant


nothing_is_charged = charging(lambda *_: None)
