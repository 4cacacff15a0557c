"""The search for the ends of noisy counts against loops over every run."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helpers.learned_runs import runs_by_hand
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.release.runs.learned.grids import WHOLE, lower_run, noise_levels, one_sided_tail, upper_run

COUNTS = st.lists(st.integers(-40, 60) | st.integers(0, 3), min_size=1, max_size=24)
LEVELS = st.lists(st.integers(0, 90), min_size=1, max_size=5)


@given(counts=COUNTS, levels=LEVELS, allowed=st.integers(0, 80) | st.just(WHOLE))
def test_the_run_found_is_the_outermost_of_all_that_pass(counts, levels, allowed) -> None:
    listed = tuple((1 << power, level) for power, level in enumerate(levels) if 1 << power <= len(counts))

    found = upper_run(np.array(counts, dtype=np.int64), listed, allowed)

    assert found == runs_by_hand(counts, listed, allowed)


@given(counts=COUNTS, levels=LEVELS, allowed=st.integers(0, 80))
def test_the_lower_end_is_the_upper_end_of_the_mirror_image(counts, levels, allowed) -> None:
    listed = tuple((1 << power, level) for power, level in enumerate(levels) if 1 << power <= len(counts))
    mirrored = upper_run(np.array(counts[::-1], dtype=np.int64), listed, allowed)

    found = lower_run(np.array(counts, dtype=np.int64), listed, allowed)

    assert found == (None if mirrored is None else (len(counts) - mirrored[1], len(counts) - mirrored[0]))


def test_levels_hold_for_all_places_at_once() -> None:
    laws = (NoiseLaw("laplace", Fraction(3)), NoiseLaw("gaussian", Fraction(40)))
    for law, cells, widest in ((law, cells, widest) for law in laws for cells in (1, 5, 63) for widest in (4, 64)):
        levels = noise_levels(law, cells, Fraction(1, 20), widest)

        assert [width for width, _ in levels] == [
            width for width in (1, 2, 4, 8, 16, 32) if width <= min(cells, widest)
        ]
        places = sum(cells - width + 1 for width, _ in levels)
        assert all(level == one_sided_tail(law, width, Fraction(1, 20) / places) for width, level in levels)


def test_one_sided_tails_are_those_of_the_law_summed_up() -> None:
    for scale, failure in ((Fraction(1), 0.05), (Fraction(5, 2), 0.01), (Fraction(20), 0.001)):
        reach = np.arange(-2000, 2001)
        masses = np.exp(-np.abs(reach) / float(scale))
        masses /= masses.sum()
        beyond = {k: masses[reach > k].sum() for k in range(400)}

        k = one_sided_tail(NoiseLaw("laplace", scale), 1, Fraction(str(failure)))

        assert beyond[k] <= failure < beyond[k - 1]
        assert one_sided_tail(NoiseLaw("laplace", scale), 0, Fraction(str(failure))) == 0
