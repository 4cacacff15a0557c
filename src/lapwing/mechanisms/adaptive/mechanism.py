"""Adaptive: tables at several resolutions, chosen in rounds, and particles moved towards all of them.

ask -> solve -> model, a few times: one-way tables; then rounds that choose the tables which the model fits worst,
measure them, and fit again. Of one or two columns of numbers or dates: cells of all of them together
(`few_columns`). The default.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from lapwing.errors import ParameterError, SchemaError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.codec import SELDOM
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.sparse_counts.question import SparseCounts
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.kernel.questions.tree_counts.question import NoisyTree
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.budget import (
    Costs,
    Shares,
    divide_budget,
    noise_statements,
    particles_of,
    planned_questions,
    planned_work,
)
from lapwing.mechanisms.adaptive.candidates import Priority, resolved_columns
from lapwing.mechanisms.adaptive.few_columns import (
    MOST_FEW,
    are_few_columns,
    distance_statements,
    one_column_expected,
    one_column_model,
    one_column_statements,
    planned_one_column,
    two_column_model,
    two_column_questions,
)
from lapwing.mechanisms.adaptive.fit import (
    NO_PRIOR,
    class_groupings,
    finalize,
    fit_as_model,
    hard_zeros,
    initialize,
    public_factors,
)
from lapwing.mechanisms.adaptive.one_way import (
    OneWayTable,
    answered_tables,
    ask_columns,
    is_staged,
    one_way_tables,
)
from lapwing.mechanisms.adaptive.rounds import (
    Asking,
    look_at_pairs,
    measure_prior_distances,
    planned_prior_question,
    reserve_prior_budget,
    rounds,
    shrink_towards_prior,
)
from lapwing.mechanisms.shared.base import Mechanism, Questions, Work
from lapwing.mechanisms.shared.one_way import (
    is_refined,
    public_or_expected_rows,
    public_or_noisy_rows,
    reserve_row_count_budget,
)
from lapwing.mechanisms.shared.settings import check_number, check_whole
from lapwing.model.certificate.cost_lines import ChosenTable
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import Indexed, ReleasedModel
from lapwing.schema.fields import Field
from lapwing.schema.scalars import nearest, safe_repr
from lapwing.schema.schemas import Schema
from lapwing.schema.short import short

WorkloadEntry = str | tuple[str, ...]
"""A column, or the columns of a table."""

_WEIGHT = 4  # of what a workload names without one
_LARGEST_WEIGHT = 100
_PAIR = 2  # an entry and its weight
_LEAVE = "; leave it out"
MOST_STRATA = 64
_MOST_LEVELS = 6
_COARSEST = 16  # so that pairs of columns with up to 47 special values are small enough to compete
_MOST_UNSEEN = 0.01
_LEAST_HELD, _TINY = 0.05, 1e-3
"""A range that holds so many of the rows, in so small a part of the column's values, may be a single value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptive(Mechanism):
    """Measure the tables that a growing model fits worst.

    Parameters
    ----------
    one_way_share : float or None, default None
        Least part of the budget for the one-way tables, 0.001 to 0.999: by default 0.25, or 0.3 under pure ε. Where the
        number of rows (public, expected, or measured with 2 % of the budget) shows that noise would hide tables of two
        columns, they get more, up to all of it; then up to a quarter measures tables which show only what is missing or
        special in two columns, if noise would not hide these too.
    selection_share : float or None, default None
        Part of each later step that pays for choosing the table, 0.001 to 0.999; the rest measures it. By default 0.05,
        or 0.15 under pure ε, and 0.4 for tables of what is missing together (see ``one_way_share``).
    resolutions : tuple of int or None, default None
        Most groups of a column at each level, 2 to 64, decreasing to at most 16, at most 6 levels: by default
        (32, 16, 8, 4), (16, 8, 4) for more than 30 columns, (6,) for more than 200, and 64 groups, too, for at most 6
        columns of many rows. Missing and special values are groups of their own beside them; categories without a
        hierarchy have a finer level of up to 512 groups where there are several. Pairs compete at every level and at
        mixed ones; triples at the last, and a few at the one before it.
    particles : int or None, default None
        Particles between rounds, 16 to 400,000: by default 20,000, fewer for more than 100 columns, at least 5,000. At
        the end there is one for each record, if that is more, three times.
    rounds : int or None, default None
        How often tables are chosen and the model is fitted, 1 to 1000: 5, or 4 under pure ε; 3 for more than 200
        columns. The first round asks for all pairs where their noise is small; otherwise it chooses about as many
        tables as there are columns. Later ones choose more where the last tables changed the model by more than noise.
        At the end a twelfth of their budget measures two tables of four columns, in two groups each, for 4 to 24
        columns and noise that leaves one-way tables at their least share.
    workload : tuple of str or of tuples of str, or mapping of these to int, default ()
        Columns, or tables given by their columns, that matter more, and how much: a weight from 1 to 100, 4 where none
        is given. Where tables are chosen, those that contain such a column, or lie within such a table, compete alone
        for w tables of w + 2; where all pairs are asked for at once these get w times as much. The schema's survey
        weight is such a column by itself. In a list, and in files, a weight stands beside its entry: ``("age", 3)``.
    target : str or None, default None
        A column whose dependence on the others matters most; the same as this column in ``workload``.
    prior : path, frame or mapping, or a list of up to 8, or None, default None
        Rows that are public or were released before: a saved release, a file, or a frame with columns of these names.
        They steady the noisy tables of single columns, and the tables of two columns pull the model until it is
        measured otherwise, as far as a question at 2 % of the budget finds them near. The certificate names them.
    strata : str or None, default None
        A column of 2 to 64 values, such as regions, each of which is of use by itself: every table of two other columns
        is counted in each of these strata, with the noise that it has in all rows, for the price of one.

    Raises
    ------
    ParameterError
        If a setting is outside its range; when run, if ``strata`` has one value or more than 64.
    SchemaError
        When run, if the workload, target or strata name a column that the schema does not model.

    Notes
    -----
    Guarantee: ε-DP, or ρ-zCDP, at the sum of the costs of all questions, never more than ``budget``, for add-remove and
    replace-one neighbours and any number of rows per unit. Each question's cost is checked before any row is read, and
    the next cost may depend on earlier answers (filters: Rogers et al. 2016; Whitehouse et al. 2023). Strata get the
    whole budget each because their tables are parts of one table, of which a row is in one cell (parallel composition,
    McSherry 2009); of a row that moves to another stratum two cells change, which is what replace-one is charged for.

    One or two columns of numbers or dates without rules or public tables are counted otherwise. Of one column, 90 % of
    the budget count the cells that PMM counts, the rest looks for misfits and for single values in the heaviest cells.
    Of two columns, the one-way tables get 15 %, or ``one_way_share``, the rest the leaves of a tree of cells that is
    cut further where counts show rows. Any other setting asks for tables and particles instead.

    Expected error: no bound is proved for the whole; the certificate names the noise on every table, and for one or two
    columns a distance that holds with 95 % probability. Time, beside
    counting: ``O(rounds m tables)`` for m particles and all measured tables; memory ``O(m d)`` and the cells of all
    candidates.

    References
    ----------
    Boedihardjo, Strohmer, Vershynin, "Privacy of Synthetic Data: A Statistical Framework", linear statistics on a
    reduced space; McKenna, Mullins, Sheldon, Miklau (2022), AIM, for selecting what fits worst. What we changed: the
    density of most entropy; the reduced space is particles that move towards all tables at once
    (`lapwing.engine`); tables at several resolutions compete with unweighted scores; many are chosen between two fits.

    Examples
    --------
    >>> Adaptive(target="income").rounds is None
    True
    """

    __repr__ = short
    name: ClassVar[str] = "Adaptive"
    summary: ClassVar[str] = (
        "single values, cells where rows are, and tables of two to four columns that matter most (default)"
    )
    report: ClassVar[str] = (
        "counted, with noise, the values of each column and those combinations of two or three columns that matter "
        "most, and fitted a model to the counts. How columns depend on each other that it did not count together is "
        "the model's guess."
    )
    not_proved: ClassVar[Statement] = Statement("not_proved_unmeasured")
    takes_priors: ClassVar[bool] = True
    looks_at_misfits: ClassVar[bool] = True

    one_way_share: float | None = None
    selection_share: float | None = None
    resolutions: tuple[int, ...] | None = None
    particles: int | None = None
    rounds: int | None = None
    workload: tuple[WorkloadEntry | tuple[WorkloadEntry, int], ...] = ()
    target: str | None = None
    prior: object = None
    strata: str | None = field(default=None, metadata=SELDOM)

    def __post_init__(self) -> None:
        for key in ("one_way_share", "selection_share"):
            if getattr(self, key) is not None:
                check_number(self, key, 0.001, 0.999, _LEAVE, words="be a number")
        if isinstance(self.workload, Mapping):
            object.__setattr__(self, "workload", tuple(_entry_of(*each) for each in self.workload.items()))
        for key in ("resolutions", "workload"):
            value = getattr(self, key)
            if value is not None and not isinstance(value, list | tuple):
                raise ParameterError(
                    f"{key} must be a list, got {safe_repr(value)}; write it in brackets", code="LW304"
                )
        for key in ("target", "strata"):
            value = getattr(self, key)
            if not isinstance(value, str | None):
                raise ParameterError(
                    f"{key} must be the name of a column, got {safe_repr(value)}; leave it out", code="LW304"
                )
        if self.resolutions is not None:
            object.__setattr__(self, "resolutions", tuple(self.resolutions))
            _check_resolutions(self.resolutions)
        weighted = map(_weighted, self.workload)
        plain = (named if weight == _WEIGHT else (named, weight) for named, weight in weighted)
        object.__setattr__(self, "workload", tuple(plain))
        check_whole(self, "particles", 16, 400_000, _LEAVE, optional=True)
        check_whole(self, "rounds", 1, 1000, _LEAVE, optional=True)

    @classmethod
    def small(cls) -> Self:
        """Return settings under which a run takes milliseconds, for privacy tests."""
        return cls(particles=64, rounds=2, resolutions=(3, 2))

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:
        """Return particles of equal weight, spending ``budget``."""
        priorities, priors = self.priorities(schema), self.priors
        known, left = public_or_noisy_rows(curator, budget)
        of_prior, left = reserve_prior_budget(left, len(priors))
        if self._counts_few_columns(schema):
            if len(schema.columns) == 1:
                return one_column_model(curator, schema, left, known, rng)
            return two_column_model(curator, schema, left, self.one_way_share)
        costs = self.costs_of(schema, left, known, curator.terms)
        particles = self.particles or particles_of(len(schema.columns))

        # Ask: every column by itself; what noise leaves of it is its base law and its groups.
        tables, total = ask_columns(curator, schema, costs.one_way_costs)
        records = max(1.0, total)
        if priors:
            tables = shrink_towards_prior(tables, [field.name for field in schema.columns], priors, records)
        has_halves = bool(costs.fours.amount + costs.look.amount)
        columns = resolved_columns(
            tables, schema, records, costs.levels, class_groupings(schema), has_halves=has_halves
        )
        guide = NO_PRIOR
        if priors:
            guide = measure_prior_distances(curator, columns, priors, records, of_prior)
        elif costs.look.amount:
            guide = look_at_pairs(curator, columns, costs.look, records)

        # Select, measure, fit (AIM): the particles are the reduced space Ω* of linear statistics, moved by every fit.
        fit = initialize(
            columns,
            records,
            rng,
            size=particles,
            zeros=hard_zeros(schema, columns),
            public=public_factors(columns, schema, records),
            prior=guide,
        )
        fit = rounds(
            Asking(curator, costs, priorities, self.strata_place(schema)), fit, left - costs.one_way - costs.look, rng
        )

        # Model: the particles of several sweeps, of equal weight, and theta beside them for rows beyond them.
        fit = finalize(fit, rng, size=costs.particles(total, particles))
        return fit_as_model(fit, round(total))

    def statements(
        self, schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return what a reader should know of single columns, and of one or two columns how far the model is off."""
        if any(isinstance(answer, NoisyTree) for answer in answers):
            return one_column_statements(schema, terms, answers, model, rng)
        known = warnings_of(schema, terms, answers, model)
        if len(schema.columns) <= MOST_FEW:
            return (*distance_statements(schema, answers, model, rng), *known)
        return known if self.strata is None else (Statement("strata_counted", None, {"column": self.strata}), *known)

    def questions(self, schema: Schema, budget: Budget, terms: Terms, rng: np.random.Generator) -> Questions:
        """Return about what `run` would ask: answers choose its tables, and the cells of few columns."""
        del rng
        self.priorities(schema)
        rows = float(public_or_expected_rows(terms))
        if self._counts_few_columns(schema):
            left = reserve_row_count_budget(terms, budget)[1]
            if len(schema.columns) == 1:
                return planned_one_column(schema, left, terms, rows)
            return two_column_questions(schema, left, self.one_way_share)
        priors = self.priors
        weighing, rest = reserve_prior_budget(budget, len(priors))
        asked = planned_questions(schema, self.costs_of(schema, rest, rows, terms), terms)
        is_weighed = len(schema.columns) > 1
        return (*asked, *[planned_prior_question(schema, weighing)] * len(priors)) if is_weighed else asked

    def expected(
        self, schema: Schema, budget: Budget, terms: Terms, questions: Questions, rng: np.random.Generator
    ) -> tuple[Statement, ...]:
        """Return the noise of the tables, and of one column how far the model is from it."""
        if not self._counts_few_columns(schema):
            _, rest = reserve_prior_budget(budget, len(self.priors))
            return noise_statements(self.costs_of(schema, rest, float(public_or_expected_rows(terms)), terms), terms)
        if len(schema.columns) == 1:
            return one_column_expected(schema, questions, terms, rng)
        (*_, last) = (each for each in questions if isinstance(each, SparseCounts))
        value = last.noise(terms.relation, terms.max_rows).mean_absolute
        return (Statement("expected_map_noise", value),)

    def notes(self, schema: Schema, questions: Questions) -> tuple[Notice, ...]:
        """Say where no table of two columns would be measured."""
        is_related = any(isinstance(each, ChosenTable | SecondMoment) for each in questions)
        if is_related or len(schema.columns) == 1 or self._counts_few_columns(schema):
            return ()
        return (Notice("unrelated_but_prior" if self.priors else "unrelated"),)

    def work(self, schema: Schema, budget: Budget, terms: Terms, questions: Questions, rows: int) -> Work:
        """Return what choosing tables, counting them and moving the particles takes."""
        costs = self.costs_of(schema, budget, float(rows), terms)
        return planned_work(schema, costs, questions, rows, self.particles or particles_of(len(schema.columns)))

    def warnings(self, schema: Schema, answers: Sequence[Answer], accuracy: Sequence[Statement]) -> tuple[Notice, ...]:
        """Say where the release shows no relation between columns."""
        return relation_warnings(schema, answers, accuracy)

    def next_step(self, schema: Schema, one_way: int, rounds: int) -> str:
        """Say which tables come next."""
        return "one-way tables" if one_way < one_way_tables(schema) else f"round {rounds + 1}"

    def priorities(self, schema: Schema) -> tuple[Priority, ...]:
        """Refuse names that the schema lacks; return the columns and tables that matter more, by position."""
        places = {column.name: place for place, column in enumerate(schema.columns)}
        special = [(name, _WEIGHT) for name in (self.target or schema.target, schema.weight) if name is not None]
        entries = [*map(_weighted, self.workload), *special]
        named = [([entry] if isinstance(entry, str) else entry, weight) for entry, weight in entries]
        _refuse_unknown("workload or target", [name for names, _ in named for name in names], places)
        return tuple(
            Priority(frozenset(places[name] for name in names), isinstance(names, tuple), weight)
            for names, weight in named
        )

    def strata_place(self, schema: Schema) -> int | None:
        """Return the position of the column of strata, if there is one; refuse one that makes none, or too many."""
        if self.strata is None:
            return None
        places = {column.name: place for place, column in enumerate(schema.columns)}
        _refuse_unknown("strata", [self.strata], places)
        size = schema.field(self.strata).domain.size
        if not 1 < size <= MOST_STRATA:
            raise ParameterError(
                f"strata must name a column of 2 to {MOST_STRATA} values, got {self.strata!r} of {size}; name a "
                "coarser column, or leave it out",
                code="LW301",
            )
        return places[self.strata]

    def _counts_few_columns(self, schema: Schema) -> bool:
        """Return whether cells of all columns together are counted: no setting asks for tables or particles."""
        asked = [self.selection_share, self.resolutions, self.particles, self.rounds, self.prior, self.strata]
        asked += [self.one_way_share] * (len(schema.columns) == 1)
        return are_few_columns(schema) and all(setting is None for setting in asked)

    def costs_of(self, schema: Schema, budget: Budget, rows: float, terms: Terms) -> Costs:
        """Divide the budget, now that a number of rows is known."""
        is_plain = not self.workload and self.prior is None and self.strata is None
        shares = Shares(
            one_way=self.one_way_share,
            selection=self.selection_share,
            rounds=self.rounds,
            levels=self.resolutions,
            may_look=self.one_way_share is None and self.rounds is None and is_plain,
            strata=1 if self.strata_place(schema) is None else schema.field(self.strata or "").domain.size,
        )
        return divide_budget(schema, budget, rows, terms, shares)


def _refuse_unknown(what: str, names: Sequence[str], known: Mapping[str, int]) -> None:
    """Refuse names that the schema lacks."""
    for name in names:
        if name not in known:
            near = nearest(name, known)
            raise SchemaError(
                f"{what} names {name!r}, which is no modelled column; "
                + (f"did you mean {near[0]}?" if near else "see the schema"),
                code="LW219",
            )


def _check_resolutions(sizes: tuple[int, ...]) -> None:
    """Refuse levels that do not grow coarser, or are too many or too fine."""
    is_known = 1 <= len(sizes) <= _MOST_LEVELS and all(type(size) is int and 2 <= size <= 64 for size in sizes)
    if not is_known or list(sizes) != sorted(set(sizes), reverse=True) or sizes[-1] > _COARSEST:
        raise ParameterError(
            f"resolutions must be 1 to 6 decreasing numbers from 2 to 64, the last at most {_COARSEST}, "
            f"got {safe_repr(sizes)}",
            code="LW301",
        )


def _weighted(entry: object) -> tuple[WorkloadEntry, int]:
    """Return an entry of a workload, a column or the columns of a table, and its weight."""
    if not isinstance(entry, list | tuple) or len(entry) != _PAIR or isinstance(entry[1], str | list | tuple):
        return _entry(entry), _WEIGHT
    return _entry_of(*entry)


def _entry_of(entry: object, weight: object) -> tuple[WorkloadEntry, int]:
    """Return an entry of a workload that has a weight of its own."""
    named = _entry(entry)
    if type(weight) is int and 1 <= weight <= _LARGEST_WEIGHT:
        return named, weight
    raise ParameterError(
        f"the weight of {safe_repr(named)} in workload must be a whole number from 1 to {_LARGEST_WEIGHT}, got "
        f"{safe_repr(weight)}; tables that are not named have 1",
        code="LW301",
    )


def _entry(entry: object) -> WorkloadEntry:
    """Return a column, or the columns of a table."""
    if isinstance(entry, str):
        return entry
    if isinstance(entry, list | tuple) and entry and all(isinstance(name, str) for name in entry):
        return tuple(entry)
    raise ParameterError(
        f"workload must list columns, or tables as lists of columns, got {safe_repr(entry)}; name columns", code="LW304"
    )


# -- What a reader should know of a release, from its answers and its model alone.


def relation_warnings(schema: Schema, answers: Sequence[Answer], accuracy: Sequence[Statement]) -> tuple[Notice, ...]:
    """Say where no relation between columns was measured in this release, because it would be mostly noise."""
    del accuracy
    joint = [answer.question for answer in answers if len(answer.question.columns) > 1]
    tables = [question for question in joint if isinstance(question, MarginalCounts)]
    is_shown = any(grouping.regular > 1 for table in tables for grouping in table.groupings)
    if len(schema.columns) == 1 or is_shown or any(isinstance(question, SparseCounts) for question in joint):
        return ()
    if any(isinstance(question, TableDistances) for question in joint):
        return (Notice("relations_of_prior"),)
    looks = [question for question in joint if isinstance(question, SecondMoment)]
    if looks:
        return (Notice("relations_of_look", {"columns": len(looks[0].columns)}),)
    return (Notice("relations_of_missing" if joint else "no_relations"),)


def warnings_of(schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel) -> tuple[Statement, ...]:
    """Return the statements of a certificate about single columns.

    Returns how many columns have a missing or special state that noise explained; of each column of numbers or dates,
    what share of the rows is where its own counts show none, if that is more than 1 %; and of each wide one the most
    that is in a tiny range of values that no count divides, if that is more than 5 %.
    """
    return (*_absent_states(schema, model), *_ordered_columns(schema, terms, answers, model))


def _absent_states(schema: Schema, model: ReleasedModel) -> Iterator[Statement]:
    """Say how many columns have a missing or special state that no row has."""
    base = {} if model.log_linear is None else model.log_linear.base
    states = {column.name: column.domain.specials + int(column.domain.missing) for column in schema.columns}
    present = {
        column.name: np.count_nonzero(base[column.name].starts >= column.domain.values)
        for column in schema.columns
        if column.name in base
    }
    absent = sum(states[name] > count for name, count in present.items())
    if absent:
        yield Statement("states_without_rows", float(absent))


def _ordered_columns(
    schema: Schema, terms: Terms, answers: Sequence[Answer], model: ReleasedModel
) -> Iterator[Statement]:
    """Compare each ordered column with its own counts alone."""
    own = [each for each in answers if isinstance(each, NoisyCounts) and len(each.question.columns) == 1]
    if not own or not any(is_staged(column) for column in schema.columns):
        return
    for column, table in zip(schema.columns, answered_tables(own, schema, terms), strict=True):
        law = model.laws[column.name]
        if is_staged(column) and isinstance(law, Indexed):
            yield from _of_column(column, table, law, model.weights)


def _of_column(field: Field, table: OneWayTable, law: Indexed, weights: np.ndarray) -> Iterator[Statement]:
    """Say what is unseen or undivided in one column."""
    shares = np.bincount(law.index, weights, law.laws.count) / weights.sum()
    pieces = law.laws.probabilities * shares[law.laws.law_of_piece]
    starts, _, cell = table.grouping.pieces()
    assert table.masses is not None
    masses = np.bincount(cell[np.searchsorted(starts, law.laws.starts, "right") - 1], pieces, table.grouping.groups)
    regular, widths = table.grouping.regular, np.diff(np.append(starts, field.domain.values)[: starts.size + 1])
    unseen = float(masses[:regular][table.masses[:regular] <= 0].sum())
    if unseen > _MOST_UNSEEN:
        yield Statement("rows_unseen", unseen, {"column": field.name})
    is_tiny = (widths[:regular] > 1) & (widths[:regular] < _TINY * field.domain.values)
    held = float(np.max(masses[:regular] * is_tiny, initial=0.0))
    if is_refined(field) and held > _LEAST_HELD:
        yield Statement("rows_undivided", held, {"column": field.name})
