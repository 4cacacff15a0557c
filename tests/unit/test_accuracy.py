"""`Release.accuracy`: what is said in public about how good a release is."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
import mechanism_checks as checks
from helpers.saved import changed
from lapwing.errors import ParameterError
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.maths.noise_norms import largest_noise
from lapwing.maths.noise_tails import sum_tail
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.model.bounds import Sums
from lapwing.model.evidence import AskedTable, MeasuredTable, intervals
from lapwing.release import accuracy as accuracy_tables
from lapwing.release.accuracy import largest_density
from lapwing.release.asked import asked_cells
from lapwing.release.queries import query_groupings
from lapwing.schema.schemas import Schema

ROUNDING = 1e-6  # of counts of a few thousand rows, added up in floats


def whole(name, size, *, required=True):
    return {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": size - 1, "required": required}}


SCHEMA = {"fields": [whole("a", 4), whole("b", 8), whole("c", 16)]}


def table(rows=3000):
    rng = np.random.default_rng(2)
    a = rng.integers(0, 4, rows)
    return pl.DataFrame({"a": a, "b": a + rng.integers(0, 5, rows), "c": rng.integers(0, 16, rows)})


def released(mechanism, epsilon=1.0, schema=SCHEMA, data=None, **more):
    return lw.synthesize(
        table() if data is None else data, schema, epsilon=epsilon, mechanism=mechanism, seed=3, **more
    )


def every_release():
    """Yield releases of each mechanism: every third of the contract checks' relations, notions, schemas and budgets."""
    for make in MECHANISMS.values():
        for settings in list(checks.variants(make.small))[::3]:
            if not checks.is_refused(settings, 40):
                yield checks.run(settings, checks.table(40, settings.schema))[0]


@pytest.fixture(scope="module")
def releases():
    return [(release, release.accuracy()) for release in every_release()]


@pytest.fixture(scope="module")
def independent():
    return released(lw.Independent())


def test_every_mechanism_has_sentences_with_figures_and_says_what_is_not_proved(releases):
    for _, found in releases:
        keys = [each.code for each in found.statements]
        assert sum(each.startswith("not_proved") for each in keys) == 1
        for each in found.statements:
            assert each.text[0].isupper() or each.text[0].isdigit()
            assert each.text.endswith(".")
            # The figure stands in the place of the certificate's words for it.
            assert not any(words in each.text for words in ("at most this", "has this", "more than this", "so many"))
            assert each.confidence is None or 0 < each.confidence < 1
            assert each.value is None or math.isfinite(each.value)
    assert len({release.certificate.mechanism for release, _ in releases}) == len(MECHANISMS)


def test_every_mechanism_has_bounds_within_their_ranges_the_most_uncertain_table_first(releases):
    for release, found in releases:
        assert found.effective_rows >= 1 - ROUNDING
        assert (found.largest_density is not None) == (release.certificate.mechanism == "LinearStatistics")
        assert found.largest_density is None or found.largest_density >= 1
        assert len(found.marginals) <= found.measured
        assert [each.variation for each in found.marginals] == sorted(
            (each.variation for each in found.marginals), reverse=True
        )
        for each in found.marginals:
            assert 0 <= each.variation <= 1
            assert 0 <= each.largest_error < math.inf
            assert each.cells >= 1


def test_every_mechanism_but_those_without_counts_has_measured_tables(releases):
    without = {release.certificate.mechanism for release, found in releases if not found.marginals}

    assert without <= {"PrivateSampling", "Microaggregation", "Grid", "KDTree"}


def test_a_loaded_release_says_the_same_again_and_again(releases, tmp_path):
    for place, (release, found) in enumerate(releases[::3]):
        release.save(tmp_path / f"{place}.lapwing")
        again = lw.load(tmp_path / f"{place}.lapwing")

        assert again.accuracy() == again.accuracy() == found
        assert again.accuracy().summary() == found.summary()
        assert json.dumps(again.accuracy().to_dict(), allow_nan=False) == json.dumps(found.to_dict())


def test_without_noise_the_bounds_are_the_errors_themselves():
    for mechanism in (lw.Independent(), lw.PMM(depth=7), lw.Grid(), lw.KDTree()):
        found = released(mechanism, epsilon=10**6).accuracy()

        # A hundred thousandth of a row: the counts are whole, and the model is exact.
        assert found.marginals
        assert max(each.largest_error for each in found.marginals) < ROUNDING
        assert max(each.variation for each in found.marginals) < ROUNDING


def test_a_table_that_the_fit_does_not_keep_has_the_misfit_in_its_bounds(independent):
    quiet = released(lw.Independent(), epsilon=10**6)
    wrong = replace(quiet.model, weights=np.ones(quiet.model.atoms), rows=6000)

    found = changed(quiet, model=wrong).accuracy()

    # Twice as many rows with the same shares: counts are off, shares are not.
    assert max(each.largest_error for each in found.marginals) > 100
    assert max(each.variation for each in found.marginals) < ROUNDING


def test_missing_and_misfit_values_are_kept_apart():
    letters = {"name": "b", "type": "string", "categories": ["x", "y", "z"], "constraints": {"required": True}}
    schema = {"fields": [whole("a", 4, required=False), letters]}
    data = pl.DataFrame({"a": [0, 1, None, 3] * 100, "b": ["x", "y", "z", "?"] * 100})

    found = {
        each.columns: each for each in released(lw.Independent(), 10**6, schema, data, misfits=1).accuracy().marginals
    }

    assert found["a",].cells == 5
    assert found["b",].cells == 3
    # The 100 misfits of b are spread over its values, as rows are released; shares of the others stay.
    assert found["b",].largest_error == pytest.approx(100 / 3, abs=0.01)
    assert found["b",].variation < ROUNDING


def test_cells_that_were_left_out_are_bounded_by_the_threshold():
    release = released(lw.Grid(variant="paper"), epsilon=10**6, data=table(50))
    (answer,) = (each for each in release.noisy if isinstance(each, NoisyCells))
    (found,) = release.accuracy().marginals

    assert answer.question.threshold is not None
    assert len(answer.counts) < found.cells
    assert found.largest_error >= answer.question.threshold - 1


def test_a_table_with_rows_in_few_cells_is_bounded_by_the_largest_noise_of_these():
    cells, law, failure = 5000, NoiseLaw("laplace", Fraction(20)), Fraction(1, 20)
    noisy = np.zeros(cells, dtype=np.int64)
    noisy[:4] = 10_000
    sums = Sums(noisy, np.ones(cells, dtype=np.int64), law, cells)
    known = accuracy_tables.Bounded(1, MeasuredTable(("x",), (), noisy, law), sums)

    found = accuracy_tables.marginal_accuracy(known, noisy.astype(float), failure, lambda _: math.inf)

    (reach,) = largest_noise("laplace", law.parameter, {1: cells}, failure * Fraction(2, 5)).values()
    total = sum_tail("laplace", law.parameter, cells, failure / 5)
    assert found.variation == pytest.approx((4 * reach + total) / 40_000)
    # Half of what the noise of all cells adds up to would be more.
    assert found.variation < cells * 20 / 2 / 40_000


def test_the_number_of_rows_is_public_or_has_an_interval(independent):
    public = released(lw.Independent(), neighbours="replace-one").accuracy()
    noisy = independent.accuracy()

    (said,) = (each for each in public.statements if each.code == "public_number_of_rows")
    assert (said.value, said.confidence) == (0.0, None)
    (said,) = (each for each in noisy.statements if each.code == "number_of_rows")
    assert abs(independent.model.rows - 3000) <= said.value < 100


def test_a_higher_confidence_has_wider_bounds(independent):
    usual, sure = independent.accuracy(), independent.accuracy(confidence=0.999)

    for one, two in zip(usual.marginals, sure.marginals, strict=True):
        assert (one.confidence, two.confidence) == (0.95, 0.999)
    assert sum(each.largest_error for each in usual.marginals) < sum(each.largest_error for each in sure.marginals)


def test_all_tables_at_once_have_a_wider_bound_than_each(independent):
    found = independent.accuracy()

    (said,) = (each for each in found.statements if each.code == "every_measured_count")
    assert said.value > max(each.largest_error for each in found.marginals)
    assert f"{said.value:.4g} rows" in said.text


def test_long_lists_are_cut_and_the_summary_tells_how_many_there_are(independent, monkeypatch):
    monkeypatch.setattr(accuracy_tables, "MOST_TABLES", 1)

    found = independent.accuracy()

    assert (len(found.marginals), found.measured) == (1, 3)
    assert "and 2 more." in found.summary()


def test_tables_that_are_too_large_are_counted_and_not_listed(independent, monkeypatch):
    monkeypatch.setattr(accuracy_tables, "MOST_CELLS", 8)

    found = independent.accuracy()

    assert {each.columns for each in found.marginals} == {("a",), ("b",)}
    assert found.measured == 3


def test_columns_that_were_counted_again_stand_on_the_first_answer(independent):
    twice = changed(independent, answers=(*independent.noisy, *independent.noisy))

    assert twice.accuracy().marginals == independent.accuracy().marginals


def test_of_a_tree_the_cells_that_a_query_shows_are_bounded():
    fields = [{"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 9999}} for name in "xy"]
    rows = pl.DataFrame({name: [(place * by) % 10000 for place in range(3000)] for name, by in (("x", 7), ("y", 13))})
    release = released(lw.KDTree(), epsilon=5, schema={"fields": fields}, data=rows, expected_rows=3000)

    found, shown = release.accuracy(["x", "y"]), release.query(["x", "y"])

    assert found.cells == shown.height
    assert shown["lower"].null_count() == 0
    assert (shown["upper"] - shown["lower"]).max() / 2 <= found.largest_error < 300
    groupings = query_groupings(release.schema, release.noisy, ["x", "y"], 20)
    met = [grouping.apply(rows[name].to_numpy()) for name, grouping in zip("xy", groupings, strict=True)]
    true = np.zeros([grouping.groups for grouping in groupings], dtype=np.int64)
    np.add.at(true, tuple(met), 1)
    ends = intervals(release.noisy, AskedTable(["x", "y"], groupings), Fraction(1, 10**6))
    assert ((ends.lower <= true) & (true <= ends.upper) & (ends.terms > 0)).all()
    assert (ends.lower > 0).any()


def test_the_largest_density_is_the_heaviest_weight_times_the_number_of_points():
    release = released(lw.LinearStatistics(degree=1, points=50), epsilon=5)

    found = largest_density(release.model, release.certificate)

    share = release.model.weights.max() / release.model.weights.sum()
    assert found == pytest.approx(50 * share)
    assert found > 1
    damaged = replace(release.certificate, settings={"points": "many", "confidence": 7})
    assert changed(release, certificate=damaged).accuracy().largest_density is None


# ------------------------------------------------------------------------------------------ one table, or one count


def test_a_measured_table_says_how_large_its_noise_is(independent):
    found = independent.accuracy("b")

    law = independent.noisy[1].noise
    assert found.is_measured
    assert found.cells == 8
    assert found.noise == pytest.approx(law.sd)
    assert found.expected_error == pytest.approx(law.mean_absolute)
    assert found.expected_variation == pytest.approx(8 * law.mean_absolute / (2 * independent.model.rows), rel=0.02)
    (listed,) = (each for each in independent.accuracy().marginals if each.columns == ("b",))
    assert (found.largest_error, found.variation) == (listed.largest_error, listed.variation)


def test_a_column_summed_out_of_a_tree_stands_on_its_best_sums():
    release = released(lw.PMM(depth=7))

    found = release.accuracy(["a"])

    assert found.is_measured
    assert found.cells == 4
    # Some level of the tree knows every value of a, by sums of its cells.
    assert found.noise > min(table.sd for answer in release.noisy for table in answer.tables)
    assert found.expected_error < found.noise


def test_a_table_that_was_not_measured_is_bounded_by_the_counts_of_fewer_columns(independent):
    data = table()
    found = independent.accuracy(["a", "b"])

    assert not found.is_measured
    assert found.variation is None
    true = np.histogramdd(data.select("a", "b").to_numpy(), bins=[np.arange(5) - 0.5, np.arange(9) - 0.5])[0]
    counts = independent.query(["a", "b"])["count"].to_numpy().reshape(true.shape)
    assert abs(counts - true).max() <= found.largest_error
    assert found.largest_error < data.height / 2
    assert "No noisy counts make up" in found.text


def test_nothing_is_claimed_where_nothing_was_counted():
    release = released(lw.Grid(variant="paper"))

    assert release.accuracy("a").largest_error is None
    assert release.accuracy(where={"a": 1}).upper is None
    assert "no bound is proved" in release.accuracy(["a", "b"]).text


def test_groups_change_the_table_that_is_told_of(independent):
    assert independent.accuracy("c", groups=4).cells == 4
    assert independent.accuracy("c", groups="measured").cells == 16


@pytest.mark.parametrize(
    ("where", "true"),
    [
        ({"a": 2}, lambda d: d["a"] == 2),
        ({"c": lw.between(3, 9)}, lambda d: d["c"].is_between(3, 9)),
        ("c >= 3 and c <= 9", lambda d: d["c"].is_between(3, 9)),
        ("not (b < 5)", lambda d: d["b"] >= 5),
        (lw.stat("a == 1 or a == 3"), lambda d: d["a"].is_in([1, 3])),
        ("c / 3 > 2 ", lambda d: d["c"] > 6),
    ],
    ids=["mapping", "range", "both", "not", "statistic", "quotient"],
)
def test_the_number_of_rows_with_a_condition_has_the_sum_of_the_noisy_counts_in_it(where, true):
    release = released(lw.Independent(), epsilon=10**6)
    rows = table().filter(true(table())).height

    found = release.accuracy(where=where)

    assert found.is_measured
    assert found.lower == found.upper == rows
    assert found.count == pytest.approx(rows, abs=0.01)


def test_a_condition_on_columns_that_were_not_counted_together_is_bounded_from_above(independent):
    found = independent.accuracy(where="a == 2 and b >= 6")

    rows = table().filter((pl.col("a") == 2) & (pl.col("b") >= 6)).height
    assert not found.is_measured
    assert (found.terms, found.noise, found.lower) == (0, None, 0.0)
    assert rows <= found.upper < 1500
    assert found.largest_error >= abs(found.count - rows)
    assert json.dumps(found.to_dict())


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_two_conditions_that_most_rows_meet_are_met_together_by_many(neighbours):
    release = released(lw.Independent(), neighbours=neighbours)

    found = release.accuracy(where={"a": [0, 1, 2], "b": lw.between(0, 6)})

    alone = [table().filter(pl.col(name) <= most).height for name, most in (("a", 2), ("b", 6))]
    assert sum(alone) - 3000 - 300 < found.lower < sum(alone) - 3000
    assert found.upper < min(alone) + 100


def test_a_count_is_at_most_the_public_number_of_rows():
    # Noise alone may put one bound far below, about one time in forty.
    releases = [released(lw.Independent(), epsilon=0.001, neighbours="replace-one") for _ in range(5)]

    assert max(release.accuracy(where="a >= 1").upper for release in releases) == 3000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"confidence": 1}, "confidence must be above 0"),
        ({"columns": "a", "where": {"a": 1}}, "ask for each by itself"),
        ({"groups": 4}, "ask for each by itself"),
        ({"columns": ["a", "a"]}, "distinct"),
        ({"where": {}}, "where names no column; choose from a, b, c"),
        ({"where": {"z": 1}}, 'no column "z"; columns: a, b, c'),
        ({"where": "(a + b) / 20"}, "true or false"),
        ({"where": "a < 2 and a > 2"}, "true for no row"),
    ],
    ids=str,
)
def test_questions_that_mean_nothing_are_refused(independent, arguments, words):
    with pytest.raises(ParameterError, match=words):
        independent.accuracy(**arguments)


def test_a_condition_that_needs_too_many_cells_is_refused():
    fields = [{"name": f"x{i}", "type": "integer", "constraints": {"minimum": 0, "maximum": 9999}} for i in range(2)]
    schema = Schema.from_dict({"fields": fields})

    with pytest.raises(ParameterError, match="cells"):
        asked_cells("x0 / 10000 + x1 / 10000 > 1", schema)


def test_a_tables_bound_is_that_of_its_own_noise(independent):
    wide = replace(independent.noisy[0], noise=replace(independent.noisy[0].noise, parameter=Fraction(500)))

    found = changed(independent, answers=(wide, *independent.noisy[1:])).accuracy()

    assert found.marginals[0].columns == ("a",)
    assert found.marginals[0].largest_error > 500


def test_a_condition_of_more_runs_than_a_statistic_holds_is_refused():
    numbers = [whole("n", 2**17)]
    release = released("independent", schema={"fields": numbers}, data=pl.DataFrame({"n": range(50)}))

    with pytest.raises(ParameterError, match="coarser numbers") as caught:
        release.accuracy(where={"n": list(range(0, 2 * 2**15 + 1, 2))})

    assert caught.value.code == "LW641"
    assert release.accuracy(where={"n": list(range(0, 2 * 2**15, 2))}).count >= 0
