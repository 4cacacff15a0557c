"""Record and replay of private draws, and bugs planted in them: each is flagged."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import lapwing.kernel.questions.private_draw.answer as drawing
import lapwing.kernel.questions.private_draw.question as asking
from helpers.bits import SeededBits
from helpers.private_draws import two_valued_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.kernel.budget.conversions import log_between
from lapwing.kernel.noise.weighted import weighted_draws
from lapwing.kernel.questions.private_draw.question import DrawnRows, PrivateDraw
from lapwing.maths.reduced_density import largest_odd_family
from lapwing.mechanisms.private_sampling import mechanism as private_sampling
from lapwing.mechanisms.private_sampling.mechanism import PrivateSampling
from mechanism_checks import run, settings_for

MECHANISMS = {
    "flat": PrivateSampling(floor=0.9),
    "steep": PrivateSampling(degree=3, floor=0.05),
    "few rows": PrivateSampling(degree=1, floor=0.5, draws=1),
    "published": PrivateSampling(variant="paper", degree=1, floor=0.25, points=8),
}
TIMES = (10, 100, 1000)


def audits(mechanism, pairs, *, times=TIMES, **sizes):
    """Yield the broken promises of generated pairs, one pair after the other; the first must be released."""
    rng = np.random.default_rng([5, pairs])
    for number in range(pairs):
        pair = two_valued_pair(rng, **sizes)
        settings = settings_for(
            mechanism, pair.schema, "replace-one", pure=number % 2 == 0, times=int(rng.choice(times))
        )
        if number == 0:
            run(settings_for(mechanism, pair.schema, "replace-one", pure=True, times=1000), pair.data)
        yield audit_pair(pair.data, pair.neighbour, settings)


@pytest.mark.parametrize("pairs", [12, pytest.param(400, marks=pytest.mark.full)])
@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_no_pair_is_flagged(mechanism, pairs):
    assert [flag for flags in audits(mechanism, pairs) for flag in flags] == []


# ----------------------------------------------------------------------------------------------------- planted bugs


def with_weights(patch, change):
    """Let the room draw by other weights."""
    honest = drawing.exact_weights
    patch.setattr(drawing, "exact_weights", lambda question, source: change(honest(question, source), question, source))


def with_price(patch, change):
    """Let a row cost something else: ``change(honest price, its arguments, its keywords)``."""
    honest = asking.row_price
    for module in (asking, private_sampling):
        patch.setattr(module, "row_price", lambda *sizes, **terms: change(honest(*sizes, **terms), sizes, terms))


def the_likeliest_point_is_drawn(patch):
    patch.setattr(drawing, "weighted_draws", lambda weights, size, bits: np.full(size, weights.argmax()))


def rows_are_drawn_without_secret_bits(patch):
    patch.setattr(drawing, "weighted_draws", lambda weights, size, bits: weighted_draws(weights, size, SeededBits(1)))


def all_rows_are_one_draw(patch):
    patch.setattr(
        drawing, "weighted_draws", lambda weights, size, bits: np.repeat(weighted_draws(weights, 1, bits), size)
    )


def there_is_no_floor(patch):
    with_weights(
        patch,
        lambda weights, question, source: np.where(weights > question.least, weights, 1),
    )


def the_floor_is_rounded_down(patch):
    patch.setattr(PrivateDraw, "least", property(lambda self: max(1, int(self.floor * self.rows))))


def the_floor_is_half_as_high(patch):
    patch.setattr(PrivateDraw, "least", property(lambda self: max(1, int(self.floor * self.rows / 2))))


def misfits_count_as_false(patch):
    honest = drawing._cube_counts

    def counted(columns, source):
        counts = honest(columns, source)
        counts[0] += source.rows - counts.sum()
        return counts

    patch.setattr(drawing, "_cube_counts", counted)


def rows_with_misfits_are_dropped(patch):
    honest = drawing.low_degree_sums
    patch.setattr(drawing, "low_degree_sums", lambda counts, rows, degree: honest(counts, int(counts.sum()), degree))


def one_row_too_many_is_drawn(patch):
    honest = private_sampling.PrivateSampling._allowed
    patch.setattr(private_sampling.PrivateSampling, "_allowed", lambda *asked: honest(*asked) + 1)
    price = asking.PrivateDraw.cost.fget
    patch.setattr(asking.PrivateDraw, "cost", property(lambda self: price(self) * Fraction(self.draws - 1, self.draws)))


def the_number_of_rows_is_another_one(patch):
    patch.setattr(PrivateDraw, "check", lambda self, terms, schema: None)
    honest = PrivateSampling.run

    def run_with_twice_the_rows(self, curator, schema, budget, rng):
        terms = replace(curator.terms, rows=2 * curator.terms.rows)
        patch.setattr(type(curator), "terms", property(lambda self: terms))
        try:
            return honest(self, curator, schema, budget, rng)
        finally:
            patch.setattr(type(curator), "terms", property(lambda self: self._terms))

    patch.setattr(PrivateSampling, "run", run_with_twice_the_rows)


def epsilon_of_one_row_stands_for_its_range(patch):
    honest = asking.row_price

    def price(price, sizes, terms):
        return price if terms["notion"] == "pure" else honest(*sizes, **(terms | {"notion": "pure"})) ** 2 / 8

    with_price(patch, price)


def the_normaliser_is_free(patch):
    def price(price, sizes, terms):
        columns, degree, floor, rows = sizes
        first = log_between(1 + Fraction(2 * largest_odd_family(columns, degree), math.ceil(floor * rows)))[1]
        return first if terms["notion"] == "pure" else price

    with_price(patch, price)


def half_of_the_walsh_functions_move(patch):
    honest = asking.row_price
    patch.setattr(asking, "largest_odd_family", lambda *sizes: max(1, largest_odd_family(*sizes) // 2))
    with_price(patch, lambda price, sizes, terms: honest.__wrapped__(*sizes, **terms))


BUGS = [
    the_likeliest_point_is_drawn,
    rows_are_drawn_without_secret_bits,
    all_rows_are_one_draw,
    there_is_no_floor,
    the_floor_is_rounded_down,
    the_floor_is_half_as_high,
    misfits_count_as_false,
    rows_with_misfits_are_dropped,
    one_row_too_many_is_drawn,
    the_number_of_rows_is_another_one,
    epsilon_of_one_row_stands_for_its_range,
    the_normaliser_is_free,
    half_of_the_walsh_functions_move,
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_bug_in_a_private_draw_is_flagged(bug, monkeypatch):
    bug(monkeypatch)

    flagged = audits(PrivateSampling(degree=1, floor=0.88), 60, times=(10,), least_rows=8)

    assert any(flagged)


def test_a_range_priced_as_an_epsilon_loses_more_than_its_claim(monkeypatch):
    """The loss between tables that attain the range is told by itself, beside the price."""
    epsilon_of_one_row_stands_for_its_range(monkeypatch)
    question = PrivateDraw(columns=("x0",), degree=1, floor=Fraction(22, 25), rows=9, draws=50, notion="zcdp")

    loss = DrawnRows(question, np.zeros(50, dtype=np.int64)).privacy_loss(np.array([8, 10]), np.array([10, 8]))

    assert loss > question.cost.rho
