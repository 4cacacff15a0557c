"""Budgets of trees for all inputs."""

from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.mechanisms.shared.trees.budget import bound_factor, optimal_shares, paper_shares

many_deltas = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30)
notions = st.sampled_from(["pure", "zcdp"])


@settings(max_examples=150, deadline=None)
@given(many_deltas, notions)
def test_the_optimum_is_never_worse_than_the_papers_choice(deltas: list[float], notion: str) -> None:
    optimum = bound_factor(deltas, optimal_shares(deltas, notion), notion)

    # Rounding shares to 2^-20 may cost this much where one of them is a few units.
    assert optimum <= bound_factor(deltas, paper_shares(deltas, notion), notion) * (1 + 1e-4)


@settings(max_examples=100, deadline=None)
@given(many_deltas, notions, st.sampled_from(["noisy", "exact"]))
def test_shares_are_exact_parts_of_one(deltas: list[float], notion: str, root: str) -> None:
    optimal, paper = optimal_shares(deltas, notion, root), paper_shares(deltas, notion, root)

    for shares in (optimal, paper):
        assert sum(shares) == (0 if root == "exact" and len(deltas) == 1 else 1)
        assert min(shares) >= 0
    assert all(paper[1:])


@settings(max_examples=50, deadline=None)
@given(many_deltas, notions, st.floats(1e-3, 1e3))
def test_shares_do_not_depend_on_the_unit_of_length(deltas: list[float], notion: str, unit: float) -> None:
    here, there = optimal_shares(deltas, notion), optimal_shares([unit * delta for delta in deltas], notion)

    ratio = bound_factor(deltas, here, notion) / bound_factor(deltas, there, notion)
    assert abs(ratio - 1) < 2e-4  # each is within 1e-4 of its optimum, as above
