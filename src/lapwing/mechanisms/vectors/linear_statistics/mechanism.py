"""Linear statistics on a reduced space.

ask -> solve -> model: points of a known distribution; noisy statistics; the density on the points that fits them best.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, get_args

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.maths.noise_tails import sum_tail
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.mechanisms.shared.base import CertifiedMeans, Mechanism, OwnPoints, Questions
from lapwing.mechanisms.shared.one_way import public_or_expected_rows
from lapwing.mechanisms.shared.priors import PublicRows
from lapwing.mechanisms.shared.settings import Variant, check_choice, check_number, check_whole
from lapwing.mechanisms.vectors.linear_statistics.densities import (
    best_error,
    check_solver,
    effective_points,
    max_entropy_density,
    minimax_density,
)
from lapwing.mechanisms.vectors.linear_statistics.points import (
    draw_points,
    one_way_groupings,
    points_as_model,
    points_of,
)
from lapwing.mechanisms.vectors.linear_statistics.statistics import (
    MeasuredStatistics,
    WorkloadQuestion,
    certified_means,
    certified_statements,
    of_workload,
    stack,
    statistics_of,
    unit_of,
    weighted_statistics,
    workload_questions,
)
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import ReleasedModel, whole_rows
from lapwing.model.sampling.conditions import FEW_ATOMS
from lapwing.model.statistics.expressions import RowFunction, Stat, stat
from lapwing.schema.scalars import safe_repr
from lapwing.schema.schemas import Schema
from lapwing.schema.short import short

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Mu = Literal["microaggregation", "adaptive", "independent", "uniform"]

_EVEN: Final = 2.0  # weights with a smaller spread than this are nearly even


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearStatistics(Mechanism):
    """Reweight points of a known distribution so that they have the noisy statistics of the table.

    Parameters
    ----------
    statistics : tuple of lw.stat, str or lw.row_function, default ()
        Statistics of one's own, each a function of one row into [-1, 1].
    degree : int, default 2
        All marginal tables of so many columns, 0 to 8; 0 for ``statistics`` alone.
    bins : int, default 32
        About how many groups ordered columns have in the tables, 2 to 4096; columns with at most twice as many values
        are counted value by value.
    mu : {"microaggregation", "adaptive", "independent", "uniform"}, path, frame, callable or None, default None
        Where the points lie (the paper's μ, known beforehand): by default as ``microaggregation`` has it, for the
        paper's variant uniform. A name: the model of that mechanism, for ``mu_share`` of the budget. A frame,
        or the path of a table: rows that their owner says are public. A callable: called once as ``mu(points, rng)``,
        it returns such a frame; rng is the public generator.
    mu_share : float, default 0.3
        Part of the budget for a measured ``mu``, from 0.01 to 0.9.
    mix_uniform : float, default 0.1
        Part of the points that is uniform, from 0 to 1.
    points : int, default 4000
        Points of the reduced space (the paper's m), 1 to 262144.
    variant : {"default", "paper"}, default "default"
        ``default``: the density nearest to ``mu`` in relative entropy, statistics weighed by their noise; its errors
        are about half as large. ``paper``: the published linear program, which makes the largest distance from a noisy
        statistic smallest.
    confidence : float, default 0.95
        At which the certificate bounds all errors together, from 0.5 to 0.9999.

    Raises
    ------
    ParameterError
        If a setting is outside its range.

    Notes
    -----
    Guarantee: ε-DP or ρ-zCDP for add-remove and replace-one neighbours and any number of rows per unit: the questions
    of ``mu``, one `MarginalCounts` for each table, one `LinearStatistics` for the other statistics. L1 sensitivity: one
    for each table (replace-one: two), and for each other statistic the largest change that its bounds allow.

    Expected error: noise of scale ``tables / ε`` on every cell, and what the points cannot reach; the certificate
    bounds the error of every statistic afterwards. Time ``O(n d)`` for each table, then that of the solver; memory
    ``O(points * tables)``.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Privacy of Synthetic Data: A Statistical Framework", Algorithm 1 and Theorems
    2.2, 2.3. What we changed: integer counts with exact noise; a number of rows that is noisy where it is private;
    ``mu`` learned with a part of the budget, whose answers the default variant fits too; the certificate afterwards,
    which needs no assumption.

    Examples
    --------
    >>> LinearStatistics(statistics=("age >= 65",), degree=0).statistics
    ('age >= 65',)
    """

    __repr__ = short
    name: ClassVar[str] = "LinearStatistics"
    summary: ClassVar[str] = "statistics of your choice on reweighted points, with a certified error for each"
    caveat: ClassVar[str] = "few_points"
    report: ClassVar[str] = (
        "weighted public points so that chosen statistics of them agree with their noisy values. What was not "
        "chosen is as in the public points."
    )
    not_proved: ClassVar[Statement] = Statement("not_proved_beyond_workload")
    density: ClassVar[str | None] = "points"
    certified_means: ClassVar[CertifiedMeans | None] = staticmethod(certified_means)

    statistics: tuple[str | Stat | RowFunction, ...] = ()
    degree: int = 2
    bins: int = 32
    mu: str | PublicRows | Callable[[int, np.random.Generator], Any] | object = None
    mu_share: float = 0.3
    mix_uniform: float = 0.1
    points: int = 4000
    variant: Variant = "default"
    confidence: float = 0.95

    def __post_init__(self) -> None:
        object.__setattr__(self, "statistics", _texts(self.statistics))
        for name, least, most in (("degree", 0, 8), ("bins", 2, 4096), ("points", 1, 2**18)):
            check_whole(self, name, least, most)
        shares = (("mu_share", 0.01, 0.9), ("mix_uniform", 0.0, 1.0), ("confidence", 0.5, 0.9999))
        for name, lowest, highest in shares:
            check_number(self, name, lowest, highest)
        check_choice(self, "variant", Variant)
        if self.degree == 0 and not self.statistics:
            raise ParameterError(
                "degree=0 asks for no table, and there are no statistics; give one of the two", code="LW316"
            )

    @classmethod
    def small(cls) -> Self:
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls(degree=1, bins=2, points=8, mu="independent")

    @classmethod
    def audited(cls, schema: Schema) -> tuple[Self, ...]:
        """Return the small settings, without statistics and with some."""
        return cls.small(), replace(cls.small(), statistics=tuple(truths(schema)))

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:
        """Return one atom per point with a positive weight, spending exactly ``budget``."""
        of_mu, of_statistics = self._costs(budget)
        questions = self._statistics(schema, of_statistics, curator.terms)

        # Ask: points z_1..z_m of the reduced space, from mu; then b_f = (1/n) sum f(x_i) + lambda(f) (step 1).
        noting = NotingCurator(curator)
        mu = self._measured_mu(noting, schema, of_mu, rng)
        groupings = one_way_groupings(schema, self.bins)
        points = draw_points(mu, schema, groupings, (self.points, float(self.mix_uniform)), rng)
        found = statistics_of(curator.ask(*questions), curator.terms.rows)

        # Solve: h* = argmin max_f |sum_i f(z_i) h(z_i) - b_f| over densities h on the points (step 2), or the even one.
        matrix, targets = found.program(points, schema)
        if self.variant == "default":
            more = weighted_statistics(noting.answers, points, schema, (found.sd, found.least_rows))
            matrix, targets = (matrix, targets) if more is None else stack(*zip((matrix, targets), more, strict=True))
        h = self._density(matrix, targets, found.sd / found.least_rows)

        # Model: rows are drawn from the points with density h* (step 3).
        exact = {name for each in questions if each.kind == "LinearStatistics" for name in each.columns}
        return points_as_model(schema, groupings, exact, (points, h), whole_rows(found.rows))

    def statements(
        self, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Say how far each statistic of the release can be from the table's, and how good the density is."""
        del rng
        found = self._measured(schema, terms, answers)
        h = model.weights / model.weights.sum()
        matrix, targets = found.program(points_of(model), schema)
        fit = float(np.abs(targets - matrix @ h).max())
        best = best_error(matrix, targets, found.sd / found.least_rows)
        alike = effective_points(h)
        return (
            *self.certified(schema, terms, answers, model),
            Statement("fit", fit),
            Statement("gap", max(0.0, fit - best)),
            Statement("effective_points", alike, {"points": self.points}),
            Statement("spread_of_weights", self.points / alike),
        )

    def certified(
        self, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel
    ) -> tuple[Statement, ...]:
        """Say how far each statistic of any released model can be from the table's: the first of `statements`."""
        found = self._measured(schema, terms, answers)
        bounds = found.errors(found.means(model, schema), self._failure)
        return certified_statements(found, bounds, float(self.confidence))

    def assumptions(self) -> tuple[Notice, ...]:
        """Say what the guarantee takes on the caller's word."""
        return () if self._is_named else (Notice("mu_public", {"mu": repr(self.mu)}),)

    def questions(self, schema: Schema, budget: Budget, terms: Terms, rng: np.random.Generator) -> Questions:
        """Return what `run` would ask: what mu's mechanism plans, and the workload."""
        if self.variant == "paper":
            check_solver()
        of_mu, of_statistics = self._costs(budget)
        workload = self._statistics(schema, of_statistics, terms)
        return *(() if of_mu is None else self._mechanism_of_mu().questions(schema, of_mu, terms, rng)), *workload

    def expected(
        self, schema: Schema, budget: Budget, terms: Terms, questions: Questions, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return the noise on each statistic."""
        del budget, rng
        workload = self._of_workload(questions, schema, terms)
        law, one = (
            workload[0].noise(terms.relation, terms.max_rows),
            public_or_expected_rows(terms) * getattr(workload[0], "scale", 1),
        )
        size = sum(math.prod(each.shape) for each in workload if each.columns)
        largest = sum_tail(law.kind, law.parameter, 1, self._failure / (size + 1))
        fields, unit = {"statistics": size}, {"unit": unit_of(workload)}
        return (
            Statement("expected_statistic_noise", law.mean_absolute / one, fields | unit),
            Statement("largest_statistic_noise", largest / one, {"confidence": float(self.confidence)} | unit),
        )

    def warnings(self, schema: Schema, answers: Sequence[Answer], accuracy: Sequence[Statement]) -> tuple[Notice, ...]:
        """Say where a density collapsed onto few points, and where an error could be as large as a share can be."""
        del schema, answers
        found = {statement.code: statement.value or 0.0 for statement in accuracy}
        alike, drowned = found["effective_points"], found["certified_error"]
        warned = []
        if alike < FEW_ATOMS and found["spread_of_weights"] >= _EVEN:
            warned.append(Notice("collapsed", {"points": alike}))
        if drowned >= 1.0:
            warned.append(Notice("not_certified", {"error": drowned}))
        return tuple(warned)

    def own_points(self) -> OwnPoints | None:
        """Return ``mu`` where it is no name of ours."""
        if self._is_named:
            return None
        return OwnPoints(
            setting="mu",
            rows=self.mu,
            names=get_args(Mu),
            count=self.points,
            place=lambda points: replace(self, mu=points),
        )

    @property
    def _failure(self) -> Fraction:
        """Return the probability that the certificate may fail with."""
        return 1 - Fraction(str(self.confidence))

    @property
    def _is_named(self) -> bool:
        """Whether mu is one of ours."""
        return self.mu is None or (isinstance(self.mu, str) and self.mu in get_args(Mu))

    @property
    def _mu(self) -> object:
        """Where the points lie, chosen where that is left out."""
        return ("uniform" if self.variant == "paper" else "microaggregation") if self.mu is None else self.mu

    def _statistics(self, schema: Schema, budget: Budget, terms: Terms) -> tuple[WorkloadQuestion, ...]:
        """Return the questions for the statistics."""
        shape = (self.degree, self.bins, self.points)
        return workload_questions(schema, shape, _texts(self.statistics), budget, terms)

    def _of_workload(self, every: Sequence[Any], schema: Schema, terms: Terms) -> tuple[Any, ...]:
        """Return those of all questions, or answers, that are for the statistics."""
        return of_workload(every, schema, self.degree, terms.rows, has_statistics=bool(self.statistics))

    def _measured(self, schema: Schema, terms: Terms, answers: Sequence[Answer]) -> MeasuredStatistics:
        """Return the noisy statistics of a release."""
        return statistics_of(self._of_workload(answers, schema, terms), terms.rows)

    def _costs(self, budget: Budget) -> tuple[Budget | None, Budget]:
        """Return what mu costs, if it does, and what the statistics cost."""
        if self._mu == "uniform" or not self._is_named:
            return None, budget
        share = Fraction(str(self.mu_share))
        of_mu, of_statistics = budget.split([share, 1 - share])
        return of_mu, of_statistics

    def _mechanism_of_mu(self) -> Mechanism:
        """Return the mechanism whose model mu is."""
        return MECHANISMS[str(self._mu)]()

    def _measured_mu(
        self, curator: Curator, schema: Schema, budget: Budget | None, rng: np.random.Generator
    ) -> ReleasedModel | PublicRows | None:
        """Return where points lie: what a mechanism learns from a budget, or public rows; None for uniform points."""
        if budget is not None:
            return self._mechanism_of_mu().run(curator, schema, budget, rng)
        assert isinstance(self.mu, PublicRows) or self._mu == "uniform", "the api codes public rows"
        return self.mu if isinstance(self.mu, PublicRows) else None

    def _density(self, matrix: "csr_array", targets: np.ndarray, noise: float) -> np.ndarray:
        """Return h; statistics that no point has are left out, because no density changes them."""
        seen = np.flatnonzero(np.diff(matrix.indptr))
        if not seen.size:
            return np.full(matrix.shape[1], 1.0 / matrix.shape[1])
        if self.variant == "paper":
            return minimax_density(matrix[seen], targets[seen])[0]
        return max_entropy_density(matrix[seen], targets[seen], noise)[0]


class NotingCurator:
    """Pass questions on to a curator, and keep the answers.

    Guarantee: that of the curator; answers are public.
    """

    def __init__(self, curator: Curator) -> None:
        self._curator = curator
        self.answers: list[Answer] = []

    @property
    def terms(self) -> Terms:
        """The public terms."""
        return self._curator.terms

    def ask(self, *questions: Any) -> Any:  # noqa: ANN401 - `Curator.ask` says what is answered by what
        """Return the answers of the curator."""
        found = self._curator.ask(*questions)
        self.answers += found
        return found


def _texts(statistics: object) -> tuple[str | RowFunction, ...]:
    """Return statistics as plain texts and functions."""
    listed = (statistics,) if isinstance(statistics, str | Stat | RowFunction) else statistics
    if not isinstance(listed, tuple | list):
        raise ParameterError(
            f"statistics must be a list of lw.stat, texts or lw.row_function, got {safe_repr(statistics)}", code="LW340"
        )
    for each in listed:
        if not isinstance(each, str | Stat | RowFunction):
            raise ParameterError(
                f"a statistic must be lw.stat('...'), its text or lw.row_function(f), got {type(each).__name__}",
                code="LW340",
            )
        if isinstance(each, str) and each.startswith("callable "):
            raise ParameterError(
                "a row function is kept in no file, so a release with one cannot be resumed; make a new one",
                code="LW343",
            )
        if isinstance(each, str):
            stat(each)  # refuses what cannot be read
    return tuple(each.text if isinstance(each, Stat) else each for each in listed)


def truths(schema: Schema) -> list[str]:
    """Return statistics that say of each column whether something holds: of one value, order, missing and special."""
    found = []
    for field in schema.columns:
        name = f"`{field.name}`"
        if field.type == "boolean":
            found += [name, f"not {name}"]
        elif field.categories is not None:
            found += [f"{name} == {field.categories[0]!r}", f"{name} not in ({field.categories[-1]!r},)"]
        else:
            found += [f"{name} > {field.minimum!r}", f"not {name} <= {field.maximum!r}"]
        found += [f"{name} is None"] * field.domain.missing
        found += [f"{name} == {each!r}" for each in field.special[:1]]
    return [*found, f"{found[0]} or {found[-1]}", f"{found[1]} and not ({found[-1]})"]
