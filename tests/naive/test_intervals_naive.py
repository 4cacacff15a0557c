"""Which noisy counts an interval is made from, against sets of codes; and which answer serves a cell."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from helpers.bits import SeededBits
from helpers.cells import answered, coded, counts_asked, random_tree, splits_asked, whole_numbers
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.maths.noise_tails import sum_tail
from lapwing.model.evidence import NO_ANSWER, AskedTable, intervals, measured_groupings
from lapwing.schema.groupings.grouping import Grouping, evenly, identity, interval_grouping, lookup
from lapwing.schema.groupings.hierarchies import hierarchy

SIZES = {"a": 5, "b": 6, "c": 4}
SCHEMA = whole_numbers(**SIZES)
DOMAINS = {column.name: column.domain for column in SCHEMA.columns}
LAW = NoiseLaw("laplace", Fraction(3))
FAILURE = Fraction(1, 10)


def code_sets(grouping):
    groups = grouping.apply(np.arange(grouping.values + grouping.reserved))
    return [frozenset(np.flatnonzero(groups == group).tolist()) for group in range(grouping.groups)]


def run_sets(nested, depth):
    return [frozenset(range(*run)) for run in zip(nested.starts(depth), nested.stops(depth), strict=True)]


def tables_of(answer):
    """Return each table as a list of cells: the codes of each column, and the noisy count."""
    question = answer.question
    if isinstance(answer, NoisyCounts):
        axes = [code_sets(grouping) for grouping in question.groupings]
        yield list(zip(itertools.product(*axes), answer.counts.ravel().tolist(), strict=True)), answer.noise
    elif isinstance(answer, NoisyTree):
        for table in answer.tables:
            depths = question.depths(table.level)
            axes = [run_sets(nested, depth) for nested, depth in zip(question.hierarchies, depths, strict=True)]
            yield list(zip(itertools.product(*axes), table.counts.ravel().tolist(), strict=True)), table.noise
    else:
        tree, cells = question.tree, []
        for level, runs, count in zip(*answer.leaves, answer.counts.tolist(), strict=True):
            places = enumerate(zip(tree.hierarchies, runs, strict=True))
            sets = [run_sets(nested, tree.depths(level)[place])[run] for place, (nested, run) in places]
            cells.append((tuple(sets), count))
        yield cells, answer.noise


def naive_interval(noisy, columns, *wanted, is_whole=True):
    """Return terms, lower and upper of one cell, or of several together, by sets of codes."""
    every = [set(itertools.product(*cell)) for cell in wanted]
    for answer in noisy:
        if not set(columns) <= set(answer.question.columns):
            continue
        places = [answer.question.columns.index(name) for name in columns]
        found = []
        for cells, noise in tables_of(answer):
            seen = [(set(itertools.product(*(sets[place] for place in places))), count) for sets, count in cells]
            parts = [[(codes, count) for codes, count in seen if codes & asked] for asked in every]
            if all(
                set().union(*(codes for codes, _ in part)) == asked for part, asked in zip(parts, every, strict=True)
            ):
                counts = [count for part in parts for _, count in part]
                found.append((len(counts) * noise.sd**2, len(counts), sum(counts), noise))
        if found:
            _, terms, total, noise = min(found, key=lambda each: each[0])
            half = sum_tail(noise.kind, noise.parameter, terms, FAILURE)
            return terms, max(total - half, 0), max(total + half, 0)
        if isinstance(answer, NoisyCells) and is_whole and parts[0]:
            return enclosed(parts[0], every[0], answer.noise)
    return 0, 0, 0


def enclosed(met, asked, noise):
    """Return the interval of a cell that leaves lie across: from those inside and from all that meet it."""
    within = [count for codes, count in met if codes <= asked]
    least = sum(within) - sum_tail(noise.kind, noise.parameter, len(within), FAILURE / 2) if within else 0
    most = sum(count for _, count in met) + sum_tail(noise.kind, noise.parameter, len(met), FAILURE / 2)
    return len(met), max(least, 0), max(most, 0)


def random_grouping(rng, domain):
    match rng.integers(4):
        case 0:
            return identity(domain)
        case 1:
            return evenly(domain, int(rng.integers(1, domain.values)))
        case 2:
            return interval_grouping(domain, np.flatnonzero(rng.random(domain.values - 1) < 0.4) + 1)
    _, table = np.unique(rng.integers(0, 3, domain.values), return_inverse=True)
    return lookup(domain, table)


def random_answer(rng):
    columns = tuple(rng.permutation(list(SIZES))[: rng.integers(1, 4)].tolist())
    match rng.integers(3):
        case 0:
            asked = tuple(random_grouping(rng, DOMAINS[name]) for name in columns)
            question = MarginalCounts(columns=columns, groupings=asked, cost=Budget.pure(1))
            return NoisyCounts(question, rng.integers(-5, 40, question.shape), LAW)
        case 1:
            nested = tuple(hierarchy(DOMAINS[name], int(rng.integers(1, 4))) for name in columns)
            schedule = [place for place, each in enumerate(nested) for _ in range(each.depth)]
            amounts = [Fraction(1) if rng.random() < 0.7 else None for _ in schedule] + [Fraction(1)]
            question = TreeCounts(
                columns=columns,
                hierarchies=nested,
                schedule=tuple(rng.permutation(schedule).tolist()),
                notion="pure",
                amounts=tuple(amounts),
            )
            shapes = [shape for shape, cost in zip(question.shapes, amounts, strict=True) if cost]
            laws = [NoiseLaw("gaussian", Fraction(int(rng.integers(1, 9)))) for _ in shapes]
            return NoisyTree.of(question, [rng.integers(-5, 40, shape) for shape in shapes], laws)
    rows = coded(SCHEMA, rng.integers(0, 4, (30, 3)).tolist())
    bits = SeededBits(int(rng.integers(1000)))
    tree = answered(splits_asked(random_tree(rng, SCHEMA)), rows, bits).tree
    return answered(counts_asked(tree, threshold=None), rows, bits)


@pytest.mark.parametrize("seed", range(10))
def test_intervals_are_those_of_the_first_answer_that_covers_a_cell(seed):
    rng = np.random.default_rng(seed)
    noisy = [random_answer(rng) for _ in range(int(rng.integers(1, 4)))]
    columns = rng.permutation(list(SIZES))[: rng.integers(1, 3)].tolist()
    groupings = measured_groupings(noisy, columns) if seed % 2 else None
    if groupings is None:
        groupings = tuple(random_grouping(rng, DOMAINS[name]) for name in columns)

    found = intervals(noisy, AskedTable(columns, groupings), FAILURE)

    axes = [code_sets(grouping) for grouping in groupings]
    for cell, wanted in zip(np.ndindex(found.terms.shape), itertools.product(*axes), strict=True):
        terms, lower, upper = naive_interval(noisy, columns, wanted)
        assert found.terms[cell] == terms
        if terms:
            assert (found.lower[cell], found.upper[cell]) == (lower, upper)


@pytest.mark.parametrize("seed", range(20))
def test_under_a_condition_the_first_answer_counts_that_covers_each_cell_in_which_it_is_true(seed):
    rng = np.random.default_rng(seed)
    noisy = [random_answer(rng) for _ in range(int(rng.integers(1, 4)))]
    columns = rng.permutation(list(SIZES))[:2].tolist()
    groupings = (measured_groupings(noisy, columns) if seed % 3 else None) or tuple(
        random_grouping(rng, DOMAINS[name]) for name in columns
    )
    inside = rng.random([grouping.groups for grouping in groupings]) < 0.5

    found = intervals(noisy, AskedTable(columns, groupings, inside, 1), FAILURE)

    shown, others = (code_sets(grouping) for grouping in groupings)
    for cell, own in enumerate(shown):
        wanted = [(own, others[place]) for place in np.flatnonzero(inside[cell])]
        terms, lower, upper = naive_interval(noisy, columns, *wanted, is_whole=False) if wanted else (0, 0, 0)
        assert found.terms[cell] == terms
        if terms:
            assert (found.lower[cell], found.upper[cell]) == (lower, upper)


def table_over(columns, groupings, counts, noise=LAW):
    question = MarginalCounts(columns=columns, groupings=groupings, cost=Budget.pure(1))
    return NoisyCounts(question, np.array(counts), noise)


WHOLE = identity(DOMAINS["c"])


def test_a_later_answer_with_less_noise_is_not_taken():
    first = table_over(("c",), (WHOLE,), [9, 9, 9, 9, 0])
    later = table_over(("c",), (WHOLE,), [5, 5, 5, 5, 0], NoiseLaw("laplace", Fraction(1, 100)))

    assert intervals([first, later], AskedTable(["c"], [WHOLE]), FAILURE).lower.tolist()[:4] == [2, 2, 2, 2]
    assert intervals([later, first], AskedTable(["c"], [WHOLE]), FAILURE).lower.tolist()[:4] == [5, 5, 5, 5]


def test_ends_are_clipped_at_0_and_at_a_public_number_of_rows():
    table = table_over(("c",), (WHOLE,), [-20, 2, 99, 30, 0])

    found = intervals([table], AskedTable(["c"], [WHOLE]), FAILURE, public_rows=32)

    assert found.lower.tolist() == [0, 0, 32, 23, 0]
    assert found.upper.tolist() == [0, 9, 32, 32, 7]


def test_small_counts_that_were_left_out_give_no_interval():
    rows = coded(SCHEMA, [(1, 1, 1)] * 50)
    tree = random_tree(np.random.default_rng(1), SCHEMA)
    bits = SeededBits(1)
    filtered, whole = (answered(counts_asked(tree, threshold=each), rows, bits) for each in (1, None))
    one = Grouping(4, 1, "cuts", cuts=np.empty(0, dtype=np.int64))

    assert not intervals([filtered], AskedTable(["c"], [one]), FAILURE).terms.any()
    assert measured_groupings([filtered], ["c"]) is None
    assert intervals([whole], AskedTable(["c"], [one]), FAILURE).terms[0] > 0


def test_what_an_interval_stands_on_is_said():
    pair = table_over(("b", "c"), (evenly(DOMAINS["b"], 2), WHOLE), np.zeros((3, 5), dtype=np.int64))
    halves = hierarchy(DOMAINS["c"], 1), hierarchy(DOMAINS["b"], 1)
    tree = TreeCounts(
        columns=("c", "b"), hierarchies=halves, schedule=(0, 1), notion="pure", amounts=(None, Fraction(1), Fraction(1))
    )
    levels = NoisyTree.of(tree, [np.zeros(shape, dtype=np.int64) for shape in tree.shapes[1:]], [LAW, LAW])

    of_pair = intervals([pair], AskedTable(["c"], [WHOLE]), FAILURE).basis().tolist()
    of_tree = intervals([levels], AskedTable(["c"], [evenly(DOMAINS["c"], 2)]), FAILURE).basis().tolist()

    assert of_pair == ["3 noisy counts"] * 5
    assert of_tree == ["1 noisy count, without rows invalid in other columns"] * 2 + [NO_ANSWER]


def test_a_wild_noise_law_of_a_strange_file_gives_wide_intervals():
    table = table_over(("c",), (WHOLE,), [5] * 5, NoiseLaw("laplace", Fraction(2**120)))

    assert intervals([table], AskedTable(["c"], [WHOLE]), FAILURE).upper.tolist() == [5 + 2**61] * 5
