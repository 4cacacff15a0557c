"""W1 where it is known in closed form, what it refuses, and the standard errors of its estimates."""

import numpy as np
import pytest
from scipy import stats

from lapwing.errors import CapacityError, ParameterError
from lapwing.judge import samples as line_module
from lapwing.judge.samples import (
    MAX_ASSIGNED,
    Pieces,
    random_directions,
    wasserstein_assignment,
    wasserstein_line,
    wasserstein_pieces,
    wasserstein_sliced,
    wasserstein_subsampled,
)

NORMS = {"linf": np.inf, "l1": 1, "l2": 2}
# Sums of a few thousand floats between -10 and 10.
ROUNDING = 1e-12


def interval(start, stop):
    return Pieces(np.array([start]), np.array([stop]), np.ones(1))


def cloud(seed, rows, columns):
    return np.random.default_rng(seed).random((rows, columns))


@pytest.mark.parametrize(("at", "other"), [(0.0, 0.0), (0.0, 3.0), (-1.5, 2.0), (4.0, 1.0)])
def test_point_masses_are_as_far_apart_as_their_points(at: float, other: float) -> None:
    distance = abs(at - other)

    assert wasserstein_line([at], [other]) == distance
    assert wasserstein_line([at, at, at], [other, other]) == distance
    assert wasserstein_pieces(interval(at, at), interval(other, other)) == distance
    assert wasserstein_assignment([[at, 0.0]], [[other, 0.0]]) == distance


def test_mass_that_moves_counts_by_its_weight() -> None:
    weighted = wasserstein_line([0.0, 10.0], [0.0, 10.0], weights=[1, 3], other_weights=[1, 1])

    assert weighted == pytest.approx(2.5, abs=ROUNDING)


@pytest.mark.parametrize("shift", [0.0, 0.25, 1.0, 7.0, -0.5])
def test_a_shifted_uniform_law_is_as_far_as_its_shift(shift: float) -> None:
    distance = wasserstein_pieces(interval(0.0, 1.0), interval(shift, 1.0 + shift))

    assert distance == pytest.approx(abs(shift), abs=ROUNDING)


def test_a_wider_uniform_law_is_found_across_the_crossing() -> None:
    # The distribution functions of U(0, 1) and U(-a, 1 + a) cross at 1/2; the quantiles differ by a |1 - 2u|.
    distance = wasserstein_pieces(interval(0.0, 1.0), interval(-0.5, 1.5))

    assert distance == pytest.approx(0.25, abs=ROUNDING)


def test_a_grid_is_a_quarter_of_a_cell_from_the_uniform_law() -> None:
    centres = (np.arange(8) + 0.5) / 8

    distance = wasserstein_pieces(Pieces(centres, centres, np.ones(8)), interval(0.0, 1.0))

    assert distance == pytest.approx(1 / 32, abs=ROUNDING)


def test_how_a_law_is_cut_into_pieces_does_not_matter() -> None:
    cut = Pieces(np.array([0.5, 0.0, 0.0]), np.array([1.0, 0.5, 1.0]), np.array([1.0, 1.0, 2.0]))

    assert wasserstein_pieces(cut, interval(0.0, 1.0)) == pytest.approx(0.0, abs=ROUNDING)


def test_a_narrow_piece_costs_no_digits_elsewhere() -> None:
    spike = Pieces(np.array([0.0, 0.0]), np.array([1e-9, 4e9]), np.array([0.5, 0.5]))
    point = Pieces(np.array([5e-10, 0.0]), np.array([5e-10, 4e9]), np.array([0.5, 0.5]))

    # Half of the mass, a quarter of 1e-9 apart on the mean. A slope of 5e8 that is added and taken away again leaves up
    # to 6e-8, over a length of 4e9. The tolerance is the rounding of distribution functions over that length.
    assert wasserstein_pieces(spike, point) == pytest.approx(1.25e-10, abs=1e-6)


def test_blocks_of_pieces_are_summed_alike(monkeypatch) -> None:
    rng = np.random.default_rng(3)
    starts = rng.random(40)
    law = Pieces(starts, starts + rng.random(40), rng.random(40))
    whole = wasserstein_pieces(law, interval(0.0, 2.0))

    monkeypatch.setattr(line_module, "_BLOCK", 7)

    assert wasserstein_pieces(law, interval(0.0, 2.0)) == pytest.approx(whole, abs=ROUNDING)


@pytest.mark.parametrize(("mean", "scale"), [(0.0, 1.0), (0.7, 1.0), (0.0, 2.5), (-3.0, 1.0)])
def test_gaussians_are_as_far_apart_as_their_parameters_say(mean: float, scale: float) -> None:
    quantiles = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    expected = abs(mean) if scale == 1.0 else abs(scale - 1.0) * np.sqrt(2 / np.pi)

    distance = wasserstein_line(quantiles, mean + scale * quantiles)

    # The tails beyond the last quantiles hold less than 1e-4 of the mean distance.
    assert distance == pytest.approx(expected, rel=1e-4, abs=ROUNDING)


@pytest.mark.parametrize("metric", NORMS)
@pytest.mark.parametrize("columns", [1, 2, 4])
def test_a_moved_cloud_is_as_far_as_it_was_moved(metric: str, columns: int) -> None:
    points = cloud(columns, 60, columns)
    step = np.array([0.3, -0.8, 0.1, 0.05])[:columns]

    distance = wasserstein_assignment(points, points[::-1] + step, metric=metric)

    assert distance == pytest.approx(np.linalg.norm(step, NORMS[metric]), abs=ROUNDING)


def test_the_ground_metric_is_the_largest_difference_unless_said_otherwise() -> None:
    assert wasserstein_assignment([[0.0, 0.0]], [[3.0, 4.0]]) == 4.0


@pytest.mark.parametrize("metric", NORMS)
def test_a_subsample_of_everything_is_exact_and_has_no_error(metric: str) -> None:
    points, others = cloud(1, 40, 2), cloud(2, 40, 2)

    estimate = wasserstein_subsampled(points, others, np.random.default_rng(1), size=40, repeats=3, metric=metric)

    assert estimate.value == pytest.approx(wasserstein_assignment(points, others, metric=metric), abs=ROUNDING)
    assert estimate.standard_error == pytest.approx(0.0, abs=ROUNDING)


def test_a_seed_gives_the_same_estimates_again() -> None:
    points, others = cloud(1, 90, 2), cloud(2, 70, 2)

    for estimated in (wasserstein_subsampled, wasserstein_sliced):
        settings = {"size": 20} if estimated is wasserstein_subsampled else {}
        first = estimated(points, others, np.random.default_rng(5), **settings)

        assert estimated(points, others, np.random.default_rng(5), **settings) == first
        assert estimated(points, others, np.random.default_rng(6), **settings) != first


@pytest.mark.parametrize("sliced", [False, True])
def test_the_standard_error_is_that_of_the_value(sliced: bool) -> None:
    points, others = cloud(1, 300, 2), 1.5 * cloud(2, 250, 2)
    rng = np.random.default_rng(7)

    estimates = [
        wasserstein_sliced(points, others, rng, directions=12)
        if sliced
        else wasserstein_subsampled(points, others, rng, size=30, repeats=12)
        for _ in range(300)
    ]
    spread = np.std([estimate.value for estimate in estimates], ddof=1)
    claimed = np.sqrt(np.mean([estimate.standard_error**2 for estimate in estimates]))

    # Over 300 estimates the spread is known to about 4 %; an error without its root of 12 would be off by 250 %.
    assert spread == pytest.approx(claimed, rel=0.2)


def test_the_standard_error_of_two_draws_is_half_their_difference() -> None:
    points, others = cloud(1, 20, 2), 1.5 * cloud(2, 20, 2)
    drawn = random_directions(2, 2, np.random.default_rng(3))
    first, second = (wasserstein_line(points @ direction, others @ direction) for direction in drawn)

    estimate = wasserstein_sliced(points, others, np.random.default_rng(3), directions=2)

    assert first != second
    assert estimate.standard_error == pytest.approx(abs(first - second) / 2, abs=ROUNDING)


def test_subsamples_are_further_apart_than_the_whole_samples() -> None:
    points, others = cloud(1, 200, 2), cloud(2, 200, 2)
    whole = wasserstein_assignment(points, others)

    estimate = wasserstein_subsampled(points, others, np.random.default_rng(1), size=25, repeats=20)

    assert estimate.value > whole + 3 * estimate.standard_error


@pytest.mark.parametrize(("columns", "share"), [(2, 2 / np.pi), (3, 0.5)])
def test_slices_of_two_points_have_the_known_mean(columns: int, share: float) -> None:
    points, others = np.zeros((1, columns)), np.zeros((1, columns))
    others[0, 0] = 2.0

    estimate = wasserstein_sliced(points, others, np.random.default_rng(4), directions=4000)

    assert abs(estimate.value - 2.0 * share) < 5 * estimate.standard_error
    assert estimate.standard_error < 0.02


def test_slices_of_a_line_are_exact() -> None:
    points, others = cloud(1, 50, 1), cloud(2, 30, 1) + 0.2

    estimate = wasserstein_sliced(points, others, np.random.default_rng(4), directions=5)

    assert estimate.value == pytest.approx(wasserstein_line(points[:, 0], others[:, 0]), abs=ROUNDING)


def test_directions_are_on_the_sphere_and_have_no_favourite() -> None:
    drawn = random_directions(3, 20_000, np.random.default_rng(2))

    assert np.linalg.norm(drawn, axis=1) == pytest.approx(1.0, abs=ROUNDING)
    # Five standard errors of a coordinate's mean, and of the mean of its square (1/3).
    assert np.abs(drawn.mean(axis=0)).max() < 5 * np.sqrt(1 / 3 / 20_000)
    assert np.abs((drawn**2).mean(axis=0) - 1 / 3).max() < 5 * np.sqrt(4 / 45 / 20_000)


@pytest.mark.parametrize(
    ("points", "settings"),
    [
        ([], {}),
        ([[1.0]], {}),
        ([1.0, np.nan], {}),
        ([np.inf], {}),
        (["a"], {}),
        ([1.0], {"weights": [1.0, 2.0]}),
        ([1.0, 2.0], {"weights": [-1.0, 2.0]}),
        ([1.0], {"weights": [0.0]}),
        ([1.0], {"weights": [np.nan]}),
        ([1.0], {"other_weights": [1.0, 1.0]}),
    ],
)
def test_what_is_no_weighted_sample_is_refused(points: list, settings: dict) -> None:
    with pytest.raises(ParameterError):
        wasserstein_line(points, [0.0], **settings)


@pytest.mark.parametrize(
    ("starts", "stops", "masses"),
    [([0.0], [1.0, 2.0], [1.0]), ([1.0], [0.0], [1.0]), ([0.0], [1.0], [1.0, 1.0]), ([0.0], [np.inf], [1.0])],
)
def test_what_are_no_pieces_is_refused(starts: list, stops: list, masses: list) -> None:
    with pytest.raises(ParameterError):
        Pieces(np.array(starts), np.array(stops), np.array(masses))


def test_pieces_keep_arrays_of_their_own() -> None:
    starts = np.zeros(1)
    law = Pieces(starts, np.ones(1), np.ones(1))

    starts[0] = 0.5

    assert law.starts.tolist() == [0.0]
    with pytest.raises(ValueError, match="read-only"):
        law.masses[0] = 2.0


@pytest.mark.parametrize("metric", ["", "l3", "L2"])
def test_an_unknown_ground_metric_is_refused(metric: str) -> None:
    points = cloud(1, 3, 2)

    with pytest.raises(ParameterError, match="linf, l1, l2"):
        wasserstein_assignment(points, points, metric=metric)
    with pytest.raises(ParameterError, match="linf, l1, l2"):
        wasserstein_subsampled(points, points, np.random.default_rng(1), size=2, metric=metric)


def test_samples_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ParameterError, match="equally many points"):
        wasserstein_assignment(cloud(1, 3, 2), cloud(1, 4, 2))
    with pytest.raises(ParameterError, match="same columns"):
        wasserstein_assignment(cloud(1, 3, 2), cloud(1, 3, 1))
    with pytest.raises(ParameterError, match="same columns"):
        wasserstein_sliced(cloud(1, 3, 2), cloud(1, 3, 1), np.random.default_rng(1))


def test_more_points_than_can_be_assigned_are_refused_before_any_work() -> None:
    many = np.zeros((MAX_ASSIGNED + 1, 1))

    with pytest.raises(CapacityError, match=str(MAX_ASSIGNED)):
        wasserstein_assignment(many, many)
    with pytest.raises(CapacityError, match=str(MAX_ASSIGNED)):
        wasserstein_subsampled(many, many, np.random.default_rng(1), size=MAX_ASSIGNED + 1)


@pytest.mark.parametrize("settings", [{"size": 0}, {"size": 4}, {"size": 2, "repeats": 1}])
def test_a_subsample_that_cannot_be_drawn_is_refused(settings: dict) -> None:
    with pytest.raises(ParameterError):
        wasserstein_subsampled(cloud(1, 3, 2), cloud(2, 9, 2), np.random.default_rng(1), **settings)


def test_too_few_directions_are_refused() -> None:
    with pytest.raises(ParameterError, match="directions"):
        wasserstein_sliced(cloud(1, 3, 2), cloud(2, 3, 2), np.random.default_rng(1), directions=1)
    with pytest.raises(ParameterError, match="directions"):
        random_directions(0, 3, np.random.default_rng(1))
