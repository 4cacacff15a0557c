"""What a mechanism must have, and the one object by which the package knows it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Relation, Terms
from lapwing.mechanisms.shared.priors import PublicRows
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.cost_lines import Planned, PlannedQuestion
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import ReleasedModel
from lapwing.schema.schemas import Schema


class Mechanism(Protocol):
    """A published system: settings, and one run that asks, solves and returns a model.

    Lapwing's own are `Registered`. Of those of others, behind `Trusted`, the methods that only these must have are
    looked for by name.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    relations: ClassVar[tuple[Relation, ...]]

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:
        """Spend at most ``budget`` on questions and return the model; rng is public."""
        ...

    def plan(self, schema: Schema, budget: Budget, terms: Terms, rng: np.random.Generator) -> Planned:
        """Return the questions that `run` would ask and the expected error, without any data."""
        ...


class Registered(Mechanism, Protocol):
    """A mechanism of Lapwing's own, a frozen dataclass of settings.

    caveat: the code of a `Notice`, what its rows never keep, for the certificate of every table of two columns or more;
    empty where that depends on the release.
    """

    caveat: ClassVar[str]

    @classmethod
    def small(cls) -> Self:
        """Return settings under which a run takes milliseconds, for privacy tests."""
        ...

    def check(self, schema: Schema, budget: Budget, terms: Terms) -> object:
        """Refuse from public numbers alone what `run` would refuse: it is called before anything is debited."""
        ...

    def statements(
        self, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return what is proved about the accuracy of a release; model is what `run` returned, rng simulates noise."""
        ...

    def certified(
        self, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel
    ) -> tuple[Statement, ...]:
        """Return again the first of `statements`, for a model that rules and public tables changed."""
        ...

    def assumptions(self) -> tuple[Notice, ...]:
        """Say what the promise takes on the caller's word, for the certificate."""
        ...


REQUIRED = tuple(
    dict.fromkeys(
        name
        for protocol in (Mechanism, Registered)
        for name in (*protocol.__annotations__, *vars(protocol))
        if not name.startswith("_")
    )
)
"""What the class of a registered mechanism must have, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Hold what a mechanism is going to be asked: public numbers, and the questions of its plan."""

    schema: Schema
    budget: Budget
    terms: Terms
    questions: Sequence[PlannedQuestion]
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Say what a mechanism needs beside reading, counting and drawing rows.

    model_bytes: cannot be done without; table_bytes: exact tables, which are counted again where there is no room.
    """

    seconds: float
    model_bytes: int
    table_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPoints:
    """Public rows of the caller's own, which are read for a mechanism because it reads no tables.

    rows: a path, a frame, or a callable that is given ``count`` and a public generator; in code already where they are
    `PublicRows`; place: returns the mechanism with them in code.
    """

    setting: str
    rows: object
    count: int
    place: Callable[[PublicRows], Mechanism]


M = TypeVar("M", bound=Registered)
CertifiedMeans = Callable[[Schema, Certificate, Sequence[Answer], ReleasedModel, float], Mapping[str, Sequence[object]]]


def nothing_certified(
    self: object, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel
) -> tuple[Statement, ...]:
    """Return nothing: what is stated is of the mechanism's own model."""
    del self, schema, terms, answers, model
    return ()


def nothing_assumed(self: object) -> tuple[Notice, ...]:
    """Return nothing: the promise rests on no word of the caller's."""
    del self
    return ()


def no_warnings(*_: object) -> tuple[Notice, ...]:
    """Warn of nothing beside the caveat."""
    return ()


def counting(*_: object) -> str:
    """Name the one step of a mechanism that asks at once."""
    return "counting and adding noise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration(Generic[M]):
    """All that the package knows of a mechanism beside its class.

    page: of the documentation; report: what it does, in the report, after its name; not_proved: the code that states
    what no bound is proved for; one_row_per_unit: whether it protects one row of each unit, and no more; two_valued:
    whether it takes required columns of two values alone; looks_at_misfits: whether it counts each column by itself,
    misfits apart, before most of its budget is spent; takes_priors: whether its model can lean on a public table;
    warnings: what the certificate warns of in one release, by its answers and statements; next_step: what comes next,
    for whoever watches, by the tables of one column and the rounds of others so far; work: time and memory of its own;
    own_points: public rows among the settings, None where these are plain values; audited: settings that audits run on
    such tables, instead of the small ones; density: the setting that says on how many points a density was fitted;
    certified_means: the noisy and released mean of each statistic, and a bound on its error.
    """

    kind: type[M]
    page: str
    report: str
    not_proved: Statement
    one_row_per_unit: bool
    two_valued: bool
    takes_priors: bool
    warnings: Callable[[Schema, Sequence[Answer], Sequence[Statement]], tuple[Notice, ...]]
    next_step: Callable[[Schema, int, int], str] = counting
    looks_at_misfits: bool = False
    work: Callable[[M, Asked], Work] | None = None
    own_points: Callable[[M], OwnPoints | None] | None = None
    audited: Callable[[Schema], tuple[M, ...]] | None = None
    density: str | None = None
    certified_means: CertifiedMeans | None = None

    @property
    def name(self) -> str:
        """Name of the mechanism."""
        return self.kind.name


def checked(registration: Registration[M], name: str) -> Registration[M]:
    """Return a registration; refuse a class that lacks what it must have, or has another lower-case name than this."""
    kind = registration.kind
    # A stub inherited from the protocol would silently check, state and assume nothing.
    own = {each for base in kind.__mro__ if base not in (Mechanism, Registered) for each in vars(base)}
    lacking = [each for each in REQUIRED if each not in own]
    if lacking:
        raise TypeError(f"{kind.__name__} cannot be registered: it lacks {', '.join(lacking)}")
    if registration.name.lower() != name:
        raise TypeError(f"{kind.__name__} cannot be registered: it is {registration.name}, and listed as {name}")
    return registration
