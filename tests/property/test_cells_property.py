"""Trees of cells hold what they promise for all trees, rows, rules and thresholds."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.bits import SeededBits
from helpers.cells import coded, counts_asked, random_tree, splits_asked, whole_numbers, wrong_with
from lapwing.extras.audit.checks.cells import cell_loss, loss_flags, recounted_cells
from lapwing.kernel.questions.registered import answer_from_dict
from lapwing.kernel.terms import Terms

SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=3)
EPSILONS = st.fractions(Fraction(1, 10), Fraction(20), max_denominator=20)


@st.composite
def trees_and_tables(draw):
    """Return a schema, a random tree, the rows of a table, and those of a neighbour with up to `most` other rows."""
    schema = whole_numbers(**{f"x{i}": size for i, size in enumerate(draw(SIZES))})
    tree = random_tree(np.random.default_rng(draw(st.integers(0, 2**32))), schema, deepest=3)
    row = st.tuples(*(st.one_of(st.none(), st.integers(0, each.domain.values - 1)) for each in schema.columns))
    rows = draw(st.lists(row, max_size=12))
    most, relation = draw(st.integers(1, 3)), draw(st.sampled_from(["add-remove", "replace-one"]))
    added = draw(st.lists(row, max_size=most))
    kept = rows[draw(st.integers(0, most)) :] if relation == "replace-one" else rows
    return schema, tree, rows, kept + added, Terms(relation=relation, max_rows=most)


def check(question, schema, rows, other, terms, seed):
    """Return an answer after checking it, its losses both ways, and its record."""
    source = coded(schema, rows)
    answer, flags = wrong_with(question, source, SeededBits(seed), terms)
    assert flags == []
    one, two = (recounted_cells(answer, each) for each in (source, coded(schema, other)))
    assert loss_flags(answer, one, two) == []
    assert question.notion == "zcdp" or answer.privacy_loss(one, two) <= question.epsilon
    assert answer.privacy_loss(one, two) == answer.privacy_loss(two, one)
    assert answer.privacy_loss(one, one) == 0
    assert cell_loss(answer, one, two) <= question.cost.amount
    assert answer_from_dict(answer.to_dict()).to_dict() == answer.to_dict()
    return answer


@settings(max_examples=150)
@given(
    trees_and_tables(),
    st.sampled_from(["paper", "privtree"]),
    st.integers(-3, 12),
    st.one_of(st.none(), st.integers(-3, 6)),
    EPSILONS,
    st.sampled_from(["pure", "zcdp"]),
    st.integers(0, 99),
)
def test_answers_are_right_and_lose_at_most_their_epsilon(case, rule, threshold, least, epsilon, notion, seed):
    schema, tree, rows, other, terms = case
    if tree.first < tree.depth:
        asked = splits_asked(tree, rule=rule, threshold=threshold, epsilon=epsilon, notion=notion)
        tree = check(asked, schema, rows, other, terms, seed).tree
    counts = check(
        counts_asked(tree, threshold=least, epsilon=epsilon, notion=notion), schema, rows, other, terms, seed
    )

    levels, cells = counts.leaves
    assert len({(level, *cell) for level, cell in zip(levels.tolist(), cells.tolist(), strict=True)}) == len(levels)
    if least is None:
        inside = sum(None not in row for row in rows)
        assert counts.counts.size == tree.cells - len(tree.split_cells) + sum(len(each) for _, each in tree.leaves())
        exact = recounted_cells(counts, coded(schema, rows))
        assert sum(exact.values()) == inside


@settings(max_examples=60)
@given(trees_and_tables(), st.integers(0, 99))
def test_the_leaves_partition_the_table(case, seed):
    schema, tree, *_ = case
    if tree.first < tree.depth:
        asked = splits_asked(tree, threshold=0, epsilon=Fraction(1))
        tree = wrong_with(asked, coded(schema, []), SeededBits(seed))[0].tree
    covered = np.zeros([nested.covered for nested in tree.hierarchies], dtype=int)
    split = {tuple(cell) for cell in tree.split_cells.tolist()}
    first = [cell for cell in np.ndindex(*tree.shape) if cell not in split]

    for level, cells in [(tree.first, first), *((level, cells.tolist()) for level, cells in tree.leaves())]:
        depths = tree.depths(level)
        for cell in cells:
            pieces = tuple(
                slice(nested.starts(depth)[run], nested.stops(depth)[run])
                for nested, depth, run in zip(tree.hierarchies, depths, cell, strict=True)
            )
            covered[pieces] += 1

    assert (covered == 1).all()
