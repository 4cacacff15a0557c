"""What a mechanism is: settings, one run, and what is said of both."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, cast

import numpy as np

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Relation, Terms
from lapwing.mechanisms.shared.dry_run import dry_run
from lapwing.mechanisms.shared.priors import PublicRows, invented_prior, priors_of
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.cost_lines import CostLine, PlannedQuestion, PlannedRelease
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import ReleasedModel
from lapwing.schema.schemas import Schema

Questions = tuple[PlannedQuestion, ...]
CertifiedMeans = Callable[[Schema, Certificate, Sequence[Answer], ReleasedModel, float], Mapping[str, Sequence[object]]]


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
    `PublicRows`; names: what the setting may be instead; place: returns the mechanism with them in code.
    """

    setting: str
    rows: object
    names: tuple[str, ...]
    count: int
    place: Callable[[PublicRows], "Mechanism"]


class Mechanism(ABC):
    """A published system: a frozen dataclass of settings, and one run that asks, solves and returns a model.

    Attributes
    ----------
    name, summary : str
        In lists and certificates.
    relations : tuple of {"add-remove", "replace-one"}
        Neighbours that it protects.
    caveat : str
        Code of a `Notice`: what its rows never keep, for the certificate of every table of two columns or more.
    report : str
        What it does, in the report, after its name.
    not_proved : Statement
        What no bound is proved for.
    one_row_per_unit, two_valued : bool
        Whether it protects one row of each unit and no more, and takes required columns of two values alone.
    takes_priors : bool
        Whether its model can lean on a public table.
    looks_at_misfits : bool
        Whether it counts each column by itself, misfits apart, before most of its budget is spent.
    density : str or None
        The setting that says on how many points a density was fitted.
    certified_means : callable or None
        Returns the noisy and the released mean of each statistic, and a bound on its error.

    Notes
    -----
    Guarantee: that of the questions of a run, which cost at most its budget. A class of your own derives from this one,
    defines ``name`` and `run`, and runs where it is `Trusted`.
    """

    __slots__ = ()

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    relations: ClassVar[tuple[Relation, ...]] = ("add-remove", "replace-one")
    caveat: ClassVar[str] = ""
    report: ClassVar[str] = "made the model."
    not_proved: ClassVar[Statement] = Statement("not_proved_inside_cells")
    one_row_per_unit: ClassVar[bool] = False
    two_valued: ClassVar[bool] = False
    takes_priors: ClassVar[bool] = False
    looks_at_misfits: ClassVar[bool] = False
    density: ClassVar[str | None] = None
    certified_means: ClassVar[CertifiedMeans | None] = None

    @abstractmethod
    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:
        """Spend at most ``budget`` on questions and return the model; rng is public."""

    def questions(self, schema: Schema, budget: Budget, terms: Terms, rng: np.random.Generator) -> Questions:
        """Return what `run` would ask, or refuse what it would refuse, from public numbers alone.

        A dry run, which answers zeros; a mechanism whose later questions hang on answers says it by itself.
        """
        return dry_run(self, schema, budget, terms, rng)

    def expected(
        self, schema: Schema, budget: Budget, terms: Terms, questions: Questions, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return what is known of the error before anything is asked; the first one has a value, and sums it up."""
        del schema, budget, rng
        lines = [line for each in questions for line in CostLine.planned(each, terms)]
        value = max((line.noise.mean_absolute for line in lines if line.noise is not None), default=0.0)
        return (Statement("expected_largest_noise", value),)

    def notes(self, schema: Schema, questions: Questions) -> tuple[Notice, ...]:
        """Return what whoever reads the plan should know."""
        del schema, questions
        return ()

    def plan(self, schema: Schema, budget: Budget, terms: Terms, rng: np.random.Generator) -> PlannedRelease:
        """Return what `run` would ask, and the expected error, without any data."""
        questions = self.questions(schema, budget, terms, rng)
        expected = self.expected(schema, budget, terms, questions, rng)
        return PlannedRelease(questions=questions, accuracy=expected, notes=self.notes(schema, questions))

    def statements(
        self, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return what is proved about the accuracy of a release; model is what `run` returned, rng simulates noise."""
        del schema, terms, answers, model, rng
        return ()

    def certified(
        self, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel
    ) -> tuple[Statement, ...]:
        """Return again the first of `statements`, for a model that rules and public tables changed."""
        del schema, terms, answers, model
        return ()

    def warnings(self, schema: Schema, answers: Sequence[Answer], accuracy: Sequence[Statement]) -> tuple[Notice, ...]:
        """Return what the certificate warns of in one release, beside the caveat."""
        del schema, answers, accuracy
        return ()

    @property
    def priors(self) -> tuple[PublicRows, ...]:
        """Rows of the setting ``prior``, in code."""
        return priors_of(self)

    def assumptions(self) -> tuple[Notice, ...]:
        """Return what the promise takes on the caller's word, for the certificate."""
        return tuple(said for each in self.priors for said in each.origin)

    def next_step(self, schema: Schema, one_way: int, rounds: int) -> str:
        """Say what comes next to whoever watches, after tables of one column and rounds of others."""
        del schema, one_way, rounds
        return "counting and adding noise"

    def work(self, schema: Schema, budget: Budget, terms: Terms, questions: Questions, rows: int) -> Work | None:
        """Return time and memory of its own, by the questions of its plan; None where that is counting alone."""
        del schema, budget, terms, questions, rows
        return None

    def own_points(self) -> OwnPoints | None:
        """Return the public rows among the settings; None where these are plain values."""
        return None

    @classmethod
    def small(cls) -> Self:
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls()

    @classmethod
    def audited(cls, schema: Schema) -> tuple[Self, ...]:
        """Return the settings that audits run on such tables: the small ones, these also with a prior."""
        small = cls.small()
        return (small, replace(cast("Any", small), prior=(invented_prior(schema),))) if takes_prior(cls) else (small,)


def takes_prior(kind: type[Mechanism]) -> bool:
    """Tell whether a mechanism has a setting for rows that were published before."""
    return "prior" in getattr(kind, "__dataclass_fields__", ())
