"""Linear statistics on a reduced space.

ask -> fit -> model: points of a known distribution; noisy statistics; the density on the points that fits them best.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self, cast, get_args

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics as Statistics
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.maths.noise_tails import sum_tail
from lapwing.mechanisms.shared.base import CertifiedMeans, Mechanism, OwnPoints, Questions
from lapwing.mechanisms.shared.one_way import told_rows
from lapwing.mechanisms.shared.priors import PublicRows
from lapwing.mechanisms.shared.settings import check_choice, check_number, check_whole
from lapwing.mechanisms.vectors.linear_statistics.certified import (
    certified_errors,
    certified_means,
    certified_statements,
    noisy_rows,
)
from lapwing.mechanisms.vectors.linear_statistics.densities import (
    best_error,
    effective_points,
    max_entropy_weights,
    minimax_density,
)
from lapwing.mechanisms.vectors.linear_statistics.paid import NotingCurator, paid_statistics
from lapwing.mechanisms.vectors.linear_statistics.reduced_space import (
    MeasuredMu,
    Mu,
    drawn_points,
    measured_mu,
    planned_mu,
)
from lapwing.mechanisms.vectors.linear_statistics.workload import (
    Workload,
    make_workload,
    noisy_shares,
    points_as_model,
    points_of,
    truths,
    workload_answers,
)
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import ReleasedModel, whole_rows
from lapwing.model.sampling.conditions import FEW_ATOMS
from lapwing.model.statistics.expressions import RowFunction, Stat, stat
from lapwing.schema.scalars import told
from lapwing.schema.schemas import Schema
from lapwing.schema.short import short

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Solver = Literal["max-entropy", "interior-point"]

LEAST_NOISE: Final = 0.01  # less noise than this, in records, counts as so much
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
    mu : {"microaggregation", "tree", "product", "uniform"}, path, frame or callable, default "microaggregation"
        Where the points lie. A name: a model that is measured with ``mu_share`` of the budget, or uniform. A frame, or
        the path of a table: rows that their owner says are public. A callable: called once as ``mu(points, rng)``, it
        returns such a frame; rng is the public generator.
    mu_share : float, default 0.3
        Part of the budget for a measured ``mu``, from 0.01 to 0.9.
    mix_uniform : float, default 0.1
        Part of the points that is uniform, from 0 to 1.
    points : int, default 4000
        Points of the reduced space, 1 to 262144.
    solver : max-entropy or interior-point, default "max-entropy"
        ``max-entropy``: the density nearest to ``mu`` in relative entropy, statistics weighed by their noise; its
        errors are about half as large. ``interior-point``: the paper's linear program, which makes the largest distance
        from a noisy statistic smallest.
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
    ``mu`` learned with a part of the budget, whose answers ``max-entropy`` fits too; the certificate afterwards, which
    needs no assumption.

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
    mu: str | PublicRows | Callable[[int, np.random.Generator], Any] | object = "microaggregation"
    mu_share: float = 0.3
    mix_uniform: float = 0.1
    points: int = 4000
    solver: Solver = "max-entropy"
    confidence: float = 0.95

    def __post_init__(self) -> None:
        object.__setattr__(self, "statistics", _texts(self.statistics))
        for name, least, most in (("degree", 0, 8), ("bins", 2, 4096), ("points", 1, 2**18)):
            check_whole(self, name, least, most)
        shares = (("mu_share", 0.01, 0.9), ("mix_uniform", 0.0, 1.0), ("confidence", 0.5, 0.9999))
        for name, lowest, highest in shares:
            check_number(self, name, lowest, highest)
        check_choice(self, "solver", Solver)
        if self.degree == 0 and not self.statistics:
            raise ParameterError(
                "degree=0 asks for no table, and there are no statistics; give one of the two", code="LW316"
            )

    @classmethod
    def small(cls) -> Self:
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls(degree=1, bins=2, points=8, mu="product")

    @classmethod
    def audited(cls, schema: Schema) -> tuple[Self, ...]:
        """Return the small settings, without statistics and with some."""
        return cls.small(), replace(cls.small(), statistics=tuple(truths(schema)))

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:
        """Return one atom per point with a positive weight, spending exactly ``budget``."""
        workload = self._workload(schema)
        of_mu, of_workload = self._costs(budget)
        noting = NotingCurator(curator)
        mu = self._points_of(noting, schema, of_mu, rng)
        points = drawn_points(mu, schema, workload.groupings, (self.points, float(self.mix_uniform)), rng)

        terms = curator.terms
        questions = workload.questions(schema, of_workload, terms.relation, terms.rows)
        answers = workload_answers(curator.ask(*questions), workload, terms.rows)
        rows = noisy_rows(answers, terms.rows)
        least = max(1.0, rows.value)
        matrix = workload.matrix(points, schema)
        sd = max(answers[0].tables[0].sd, LEAST_NOISE)
        more = None if self.solver == "interior-point" else paid_statistics(noting.answers, points, least, sd)
        weights = self._weights(matrix, noisy_shares(answers, least), sd / least, more)
        return points_as_model(schema, workload, points, weights, whole_rows(rows.value))

    def statements(
        self, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Say how far each statistic of the release can be from the table's, and how good the density is."""
        del rng
        workload = self._workload(schema)
        asked = workload_answers(answers, workload, terms.rows)
        rows = noisy_rows(asked, terms.rows)
        weights = model.weights / model.weights.sum()
        least = max(1.0, rows.value)
        targets, matrix = noisy_shares(asked, least), workload.matrix(points_of(model), schema)
        shares = np.asarray(matrix @ weights)
        bounds = certified_errors(asked, rows, shares, self._failure)
        fit = float(np.abs(targets - shares).max())
        best = best_error(matrix, targets, max(asked[0].tables[0].sd, LEAST_NOISE) / least)
        alike = effective_points(weights)
        return (
            *certified_statements(workload, bounds, float(self.confidence)),
            Statement("fit", fit),
            Statement("gap", max(0.0, fit - best)),
            Statement("effective_points", alike, {"points": self.points}),
            Statement("spread_of_weights", self.points / alike),
        )

    def certified(
        self, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel
    ) -> tuple[Statement, ...]:
        """Say how far each statistic of any released model can be from the table's: the first of `statements`."""
        workload = self._workload(schema)
        asked = workload_answers(answers, workload, terms.rows)
        shares = workload.means(points_of(model), model.weights, schema)
        bounds = certified_errors(asked, noisy_rows(asked, terms.rows), shares, self._failure)
        return certified_statements(workload, bounds, float(self.confidence))

    def assumptions(self) -> tuple[Notice, ...]:
        """Say what the guarantee takes on the caller's word."""
        return () if self._is_named else (Notice("mu_public", {"mu": repr(self.mu)}),)

    def questions(self, schema: Schema, budget: Budget, terms: Terms, rng: np.random.Generator) -> Questions:
        """Return what `run` would ask: no model of ``mu`` is fitted, and its cells stand there as one."""
        del rng
        of_mu, of_workload = self._costs(budget)
        kind, rows = cast("MeasuredMu", self.mu), float(told_rows(terms))
        asked = () if of_mu is None else planned_mu(schema, of_mu, terms, kind, rows)
        return *asked, *self._workload(schema).questions(schema, of_workload, terms.relation, terms.rows)

    def expected(
        self, schema: Schema, budget: Budget, terms: Terms, questions: Questions, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return the noise on each statistic."""
        del budget, rng
        workload = self._workload(schema)
        first = workload_answers(questions, workload, terms.rows)[0]
        law = first.noise(terms.relation, terms.max_rows)
        one = told_rows(terms) * (first.scale if isinstance(first, Statistics) else 1)
        largest = sum_tail(law.kind, law.parameter, 1, self._failure / (workload.size + 1))
        fields = {"statistics": workload.size, "unit": workload.unit}
        surely = {"confidence": float(self.confidence), "unit": workload.unit}
        return (
            Statement("expected_statistic_noise", law.mean_absolute / one, fields),
            Statement("largest_statistic_noise", largest / one, surely),
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
        return isinstance(self.mu, str) and self.mu in get_args(Mu)

    def _workload(self, schema: Schema) -> Workload:
        """Return what is asked."""
        return make_workload(schema, self.degree, self.bins, _texts(self.statistics), self.points)

    def _costs(self, budget: Budget) -> tuple[Budget | None, Budget]:
        """Return what mu costs, if it does, and what the statistics cost."""
        if self.mu == "uniform" or not self._is_named:
            return None, budget
        share = Fraction(str(self.mu_share))
        of_mu, of_workload = budget.split([share, 1 - share])
        return of_mu, of_workload

    def _points_of(
        self, curator: Curator, schema: Schema, budget: Budget | None, rng: np.random.Generator
    ) -> ReleasedModel | PublicRows | None:
        """Return where points lie."""
        if budget is not None:
            return measured_mu(curator, schema, budget, (cast("MeasuredMu", self.mu), self.points), rng)
        if isinstance(self.mu, PublicRows):
            return self.mu
        assert self.mu == "uniform", "the api codes public rows"
        return None

    def _weights(
        self, matrix: "csr_array", targets: np.ndarray, noise: float, more: "tuple[csr_array, np.ndarray] | None"
    ) -> np.ndarray:
        """Return the density; statistics that no point has are left out, because no density changes them."""
        if more is not None:
            from scipy.sparse import csr_array, vstack  # noqa: PLC0415 - scipy is imported lazily

            matrix = csr_array(vstack([matrix, more[0]], format="csr"))
            targets = np.concatenate((targets, more[1]))
        seen = np.flatnonzero(np.diff(matrix.indptr))
        if not seen.size:
            return np.full(matrix.shape[1], 1.0 / matrix.shape[1])
        if self.solver == "interior-point":
            return minimax_density(matrix[seen], targets[seen]).weights
        return max_entropy_weights(matrix[seen], targets[seen], noise)[0]


def _texts(statistics: object) -> tuple[str | RowFunction, ...]:
    """Return statistics as plain texts and functions."""
    listed = (statistics,) if isinstance(statistics, str | Stat | RowFunction) else statistics
    if not isinstance(listed, tuple | list):
        raise ParameterError(
            f"statistics must be a list of lw.stat, texts or lw.row_function, got {told(statistics)}", code="LW340"
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
