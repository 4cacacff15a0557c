"""Record and replay of trees of cells: rows walked down one by one, noise drawn again, losses by another route.

Nothing here uses the sorted paths, the ranks or the formulas of the room: a cell's children are looked up among the
hierarchies' cuts, empty cells are found by counting up, and tail probabilities are written out again.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final

from lapwing.extras.audit.held import Rows
from lapwing.extras.audit.worst_case import QuestionCase, Recheck
from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.noise.enclosures import LaplaceTail
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.geometric import survivors
from lapwing.kernel.noise.laplace import discrete_laplace, discrete_laplace_at_least
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.kernel.questions.sparse_counts.question import NoisyCells, SparseCounts
from lapwing.kernel.questions.split_decisions.question import SplitDecisions, Splits
from lapwing.kernel.terms import Terms

Runs = tuple[int, ...]
"""The run of each column: a cell of a level that the context names."""

Cell = tuple[int, ...]
"""A level, then the run of each column."""

ROUNDING: Final = Fraction(1, 10**30)
"""Losses here are this much too low at most and never too high; far above the error of `_DIGITS` digits."""

_DIGITS: Final = 80


@dataclass(frozen=True, slots=True)
class _Listed:
    """A listed cell: decisions on the path above it, whether it decides itself, and whether it is divided."""

    runs: Runs
    above: int
    decides: bool
    goes_on: bool


@dataclass(frozen=True)
class _Walk:
    """A tree of cells as plain lists, to be walked cell by cell."""

    tree: CellTree

    @cached_property
    def _starts(self) -> list[list[list[int]]]:
        """First codes of the runs of each column on each level of its hierarchy."""
        return [[each.starts(depth).tolist() for depth in range(each.depth + 1)] for each in self.tree.hierarchies]

    def runs_of(self, row: Runs, level: int) -> Runs:
        """Return the cell of a level in which a row of codes lies."""
        depths = [self.tree.schedule[:level].count(place) for place in range(len(row))]
        return tuple(bisect_right(self._starts[place][depths[place]], code) - 1 for place, code in enumerate(row))

    def below(self, level: int, runs: Runs) -> list[Runs]:
        """Return the cells of the next level that lie in a cell of this one, in order."""
        axis = self.tree.schedule[level]
        depth = self.tree.schedule[:level].count(axis)
        above, under = self._starts[axis][depth], self._starts[axis][depth + 1]
        first = bisect_left(under, above[runs[axis]])
        last = bisect_left(under, above[runs[axis] + 1]) if runs[axis] + 1 < len(above) else len(under)
        return [(*runs[:axis], run, *runs[axis + 1 :]) for run in range(first, last)]

    def rank(self, runs: Runs) -> int:
        """Return how many cells of the first level come before one."""
        number = 0
        for width, run in zip(self._widths, runs, strict=True):
            number = number * width + run
        return number

    def unranked(self, rank: int) -> Runs:
        """Return the cell of the first level that has a rank."""
        runs: list[int] = []
        for width in reversed(self._widths):
            rank, run = divmod(rank, width)
            runs.append(run)
        return tuple(reversed(runs))

    @cached_property
    def _widths(self) -> list[int]:
        """Runs of each column on the first level."""
        done = self.tree.schedule[: self.tree.first]
        return [len(starts[done.count(place)]) for place, starts in enumerate(self._starts)]

    @cached_property
    def cells(self) -> int:
        """Cells of the first level."""
        return math.prod(self._widths)

    @cached_property
    def chosen(self) -> list[Runs]:
        """The cells of the first level that are split."""
        return [tuple(runs) for runs in self.tree.split_cells.tolist()]

    @cached_property
    def listed(self) -> list[tuple[int, list[_Listed]]]:
        """The listed cells of each level after the first."""
        found, parents = [], [(runs, 1) for runs in self.chosen]
        for level in range(self.tree.first + 1, self.tree.depth + 1):
            place = level - self.tree.first - 1
            is_decided = level < self.tree.depth and place < len(self.tree.decisions)
            splits = iter(self.tree.decisions[place].tolist() if is_decided else ())
            cells = []
            for runs, above in ((child, above) for parent, above in parents for child in self.below(level - 1, parent)):
                decides = is_decided and len(self.below(level, runs)) == 2
                cells.append(_Listed(runs, above, decides, next(splits) if decides else is_decided))
            if cells:
                found.append((level, cells))
            parents = [(each.runs, each.above + each.decides) for each in cells if each.goes_on]
        return found

    @cached_property
    def leaves(self) -> list[Cell]:
        """The listed leaves of all levels after the first, one level after the other."""
        return [(level, *each.runs) for level, cells in self.listed for each in cells if not each.goes_on]


@lru_cache(maxsize=4)
def _walk(tree: CellTree) -> _Walk:
    """Return the walk over a tree, which several checks of one answer share."""
    return _Walk(tree)


def recounted_cells(answer: Splits | NoisyCells, source: Rows) -> dict[Cell, int]:
    """Count the cells that an answer is about the slow way: each row walks down the tree, as far as it was divided."""
    tree = answer.tree if isinstance(answer, Splits) else answer.question.tree
    walk = _walk(tree)
    divided = {(tree.first, *runs) for runs in walk.chosen}
    divided |= {(level, *each.runs) for level, cells in walk.listed for each in cells if each.goes_on}
    counts: Counter[Cell] = Counter()
    for row in _rows(tree, source):
        level = tree.first
        path = [(level, *walk.runs_of(row, level))]
        while path[-1] in divided:
            level += 1
            path.append((level, *walk.runs_of(row, level)))
        counts.update(path if isinstance(answer, Splits) else path[-1:])
    return dict(counts)


def _rows(tree: CellTree, source: Rows) -> Iterator[Runs]:
    """Yield the codes of the rows that are in a tree."""
    for chunk in source.chunks():
        for row in zip(*(chunk[name].tolist() for name in tree.columns), strict=True):
            if all(code < nested.covered for code, nested in zip(row, tree.hierarchies, strict=True)):
                yield row


def cell_flags(answer: Splits | NoisyCells, exact: dict[Cell, int], terms: Terms, bits: BitSource) -> list[str]:
    """Return what is wrong with an answer, given an independent count and the recorded secret words."""
    question = answer.question
    where = f"the answer over {question.columns}"
    price = question.epsilon if question.notion == "pure" else question.epsilon**2 / 2
    law, flags = _law(question, terms), []
    if question.cost.amount != price or question.cost.notion != question.notion:
        flags.append(f"{where} is charged {question.cost}, its epsilon costs {price}")
    if answer.noise != law:
        flags.append(f"{where} declares {answer.noise}, its epsilon needs {law}")
    if isinstance(answer, Splits):
        return flags + _split_flags(where, answer, exact, law, bits)
    return flags + _count_flags(where, answer, exact, law, bits)


def _lost(question: SplitDecisions) -> int:
    """Return how many counts the decisions on a path lose."""
    return 3 if question.rule == "privtree" else len(question.tree.schedule) - question.tree.first


def _law(question: SplitDecisions | SparseCounts, terms: Terms) -> NoiseLaw:
    """Return the noise that an epsilon needs: of a scale of the records that one unit moves, over all counts, by it.

    Gaussian noise, of counts of which none is left out, has the variance of the squared records, cell by cell, by the
    squared epsilon.
    """
    cells = 1 if terms.relation == "add-remove" else 2
    if isinstance(question, SplitDecisions):
        # The losses of k counts span k + 1 of them; in ρ the square of half the span is what matters.
        counts = _lost(question) if question.notion == "pure" else math.ceil((_lost(question) + 1) / 2)
        return NoiseLaw("laplace", cells * terms.max_rows * counts / question.epsilon)
    if question.notion == "zcdp" and question.threshold is None:
        return NoiseLaw("gaussian", cells * terms.max_rows**2 / question.epsilon**2)
    return NoiseLaw("laplace", cells * terms.max_rows / question.epsilon)


def _split_flags(where: str, answer: Splits, exact: dict[Cell, int], law: NoiseLaw, bits: BitSource) -> list[str]:
    """Decide again, level by level, until something differs."""
    question, first, walk = answer.question, answer.tree.first, _walk(answer.tree)

    occupied = sorted(walk.rank(cell[1:]) for cell in exact if cell[0] == first)
    needed = [_needed(question, law, exact[first, *walk.unranked(rank)], 0) for rank in occupied]
    noise = discrete_laplace(law.parameter, len(occupied), bits).tolist()
    split = [rank for rank, least, drawn in zip(occupied, needed, noise, strict=True) if drawn >= least]
    tail = LaplaceTail(law.parameter, _needed(question, law, 0, 0))
    split += _among_empty(survivors(walk.cells - len(occupied), tail, bits).tolist(), occupied)
    if [walk.rank(runs) for runs in walk.chosen] != sorted(split):
        return [f"{where} is not what its noise decides on level {first}"]

    for level, cells in walk.listed:
        deciding = [each for each in cells if level < answer.tree.depth and len(walk.below(level, each.runs)) == 2]
        noise = discrete_laplace(law.parameter, len(deciding), bits).tolist()
        for each, drawn in zip(deciding, noise, strict=True):
            least = _needed(question, law, exact.get((level, *each.runs), 0), each.above)
            if not each.decides or each.goes_on != (drawn >= least):
                return [f"{where} is not what its noise decides on level {level}"]
    return []


def _count_flags(where: str, answer: NoisyCells, exact: dict[Cell, int], law: NoiseLaw, bits: BitSource) -> list[str]:
    """Count again, and compare all cells and counts."""
    question, walk = answer.question, _walk(answer.question.tree)
    first, least = question.tree.first, question.threshold
    split = [walk.rank(runs) for runs in walk.chosen]
    draw = discrete_laplace if law.kind == "laplace" else discrete_gaussian

    occupied = sorted(walk.rank(cell[1:]) for cell in exact if cell[0] == first)
    noise = draw(law.parameter, len(occupied), bits).tolist()
    counts = {rank: exact[first, *walk.unranked(rank)] + drawn for rank, drawn in zip(occupied, noise, strict=True)}
    kept = {rank: count for rank, count in counts.items() if least is None or count >= least}
    elsewhere = sorted([*occupied, *split])
    empties = walk.cells - len(elsewhere)
    if least is None:
        empty, noise = list(range(empties)), draw(law.parameter, empties, bits).tolist()
    else:
        empty = survivors(empties, LaplaceTail(law.parameter, least), bits).tolist()
        noise = discrete_laplace_at_least(least, law.parameter, len(empty), bits).tolist()
    kept |= dict(zip(_among_empty(empty, elsewhere), noise, strict=True))
    shown = [((first, *walk.unranked(rank)), kept[rank]) for rank in sorted(kept)]

    noise = draw(law.parameter, len(walk.leaves), bits).tolist()
    noisy = [(cell, exact.get(cell, 0) + drawn) for cell, drawn in zip(walk.leaves, noise, strict=True)]
    shown += [(cell, count) for cell, count in noisy if least is None or count >= least]
    return [] if shown == _shown(answer) else [f"{where} does not hold the exact counts plus their noise"]


def _among_empty(numbers: Sequence[int], elsewhere: Sequence[int]) -> list[int]:
    """Return the ranks of cells that have these numbers among all but those elsewhere; both increasing."""
    ranks, before = [], 0
    for number in numbers:
        while before < len(elsewhere) and elsewhere[before] <= number + before:
            before += 1
        ranks.append(number + before)
    return ranks


def _shown(answer: NoisyCells) -> list[tuple[Cell, int]]:
    """Return the cells of an answer with their noisy counts, in order."""
    walk = _walk(answer.question.tree)
    named = [(answer.question.tree.first, *runs) for runs in answer.first_cells.tolist()]
    return list(
        zip(
            named + [walk.leaves[place] for place in answer.listed_places.tolist()], answer.counts.tolist(), strict=True
        )
    )


def loss_flags(answer: Splits | NoisyCells, exact: dict[Cell, int], other: dict[Cell, int]) -> list[str]:
    """Return what is wrong with the loss of an answer between two tables: above its epsilon, or told otherwise."""
    where, flags = f"the answer over {answer.question.columns}", []
    is_gaussian, paid = answer.noise.kind == "gaussian", answer.question.cost.amount
    loss = cell_loss(answer, exact, other) if is_gaussian else _log_ratio(answer, exact, other)
    if (loss if is_gaussian else _priced(answer.question, loss)) > paid:
        flags.append(f"{where} loses {float(loss):.6g}, at most {paid} is paid for")
    told = answer.privacy_loss(exact, other)
    if not 0 <= told - loss <= 2 * ROUNDING:
        flags.append(f"{where} tells a loss of {float(told):.6g}, it is {float(loss):.6g}")
    return flags


def cell_loss(answer: Splits | NoisyCells, exact: dict[Cell, int], other: dict[Cell, int]) -> Fraction:
    """Return the loss of an answer between two tables in the notion of its budget."""
    if answer.noise.kind == "gaussian":
        squares = sum((exact.get(cell, 0) - other.get(cell, 0)) ** 2 for cell in {*exact, *other})
        return squares / (2 * answer.noise.parameter)
    return _priced(answer.question, _log_ratio(answer, exact, other))


def _priced(question: SplitDecisions | SparseCounts, loss: Fraction) -> Fraction:
    """Return the loss of one answer in the notion of its budget: of splits in ρ by the span that goes with it."""
    if question.notion == "pure":
        return loss
    if isinstance(question, SparseCounts):
        return loss**2 / 2
    return (loss * (_lost(question) + 1) / _lost(question)) ** 2 / 8


def _log_ratio(answer: Splits | NoisyCells, exact: dict[Cell, int], other: dict[Cell, int]) -> Fraction:
    """Return ``|ln P[answer | exact] / P[answer | other]|``, at most `ROUNDING` too low."""
    changed = {cell for cell in {*exact, *other} if exact.get(cell, 0) != other.get(cell, 0)}
    with localcontext(Context(prec=_DIGITS)):
        one, two = (_log_probability(answer, table, changed) for table in (exact, other))
        loss = Fraction(abs(one - two))
    return max(Fraction(0), loss - ROUNDING)


def _log_probability(answer: Splits | NoisyCells, table: dict[Cell, int], changed: set[Cell]) -> Decimal:
    """Return the log-probability of what an answer says of the changed cells on one table, up to a constant."""
    if isinstance(answer, Splits):
        return sum(_split_terms(answer, table, changed), Decimal(0))
    return sum(_count_terms(answer, table, changed), Decimal(0))


def _split_terms(answer: Splits, table: dict[Cell, int], changed: set[Cell]) -> Iterator[Decimal]:
    """Yield the log-probability of the decision of each changed cell on one table."""
    first, walk = answer.tree.first, _walk(answer.tree)
    chosen = set(walk.chosen)
    places = [(cell, 0, cell[1:] in chosen) for cell in changed if cell[0] == first]
    for level, cells in walk.listed:
        places += [((level, *each.runs), each.above, each.goes_on) for each in cells if each.decides]
    for cell, above, is_split in places:
        if cell in changed:
            least = _needed(answer.question, answer.noise, table.get(cell, 0), above)
            # Not split is Z <= least - 1, as likely as Z >= 1 - least.
            yield _log_tail(answer.noise.parameter, least if is_split else 1 - least)


def _count_terms(answer: NoisyCells, table: dict[Cell, int], changed: set[Cell]) -> Iterator[Decimal]:
    """Yield the log-probability of what is shown of each changed leaf on one table, up to a constant."""
    shown, least, scale = dict(_shown(answer)), answer.question.threshold, answer.noise.parameter
    for cell in changed:
        count = table.get(cell, 0)
        if cell in shown:
            yield -Decimal(abs(shown[cell] - count)) * scale.denominator / scale.numerator
        elif least is not None:
            yield _log_tail(scale, 1 - (least - count))


def _needed(question: SplitDecisions, law: NoiseLaw, count: int, above: int) -> int:
    """Return the least noise that splits a cell."""
    if question.rule == "paper":
        return question.threshold + 1 - count
    with localcontext(Context(prec=_DIGITS)):
        halving = Decimal(law.parameter.numerator) / law.parameter.denominator * Decimal(2).ln()
        step = int(halving.to_integral_value(ROUND_CEILING))
    return question.threshold + 1 - max(question.threshold - step, count - step * above)


def _log_tail(scale: Fraction, least: int) -> Decimal:
    """Return ``ln P[Z >= least]`` for discrete Laplace noise of a scale."""
    rate = Decimal(scale.denominator) / scale.numerator
    q = (-rate).exp()
    if least > 0:
        return -rate * least - (1 + q).ln()
    below = (-rate * (1 - least)).exp() / (1 + q)
    return (1 - below).ln()


def cells_recheck(cases: Callable[[], Iterable[QuestionCase]]) -> Recheck:
    """Return how a question about the cells of a tree is computed again."""
    return Recheck(
        cases=cases,
        recount=lambda answer, source, _: [recounted_cells(answer, source)],
        flags=cell_flags,
        loss=cell_loss,
        loss_flags=loss_flags,
    )
