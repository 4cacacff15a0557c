"""An attacker looks at anonymous rows: behind every figure stand at least k units, and planted bugs are seen."""

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.anonymous_groups import rare_rows, weak_figures
from lapwing.anonymous.settings import AnonymousSettings
from lapwing.anonymous.table import NO_POOL, Grouped, draw_codes, pooled_groups
from lapwing.anonymous.vectors import KeptRows, read_rows
from lapwing.rows.source import code_table

K = 5
SECRET = 912_345
NUMBERS = {
    "privacyUnit": {"field": "person", "maxRows": 4},
    "fields": [
        {"name": "person", "type": "integer", "role": "identifier"},
        *(
            {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 999_999}, "special": [-1]}
            for name in ("income", "rent")
        ),
        {"name": "sex", "type": "string", "categories": ["f", "m"]},
    ],
}


def people(seed, missing=0.0, units=60):
    """Return a table of persons with one to six rows, some of their cells missing or special."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(units), rng.integers(1, 7, units))
    columns = {
        name: [
            None if gap < missing else -1 if gap < 1.2 * missing else number
            for gap, number in zip(rng.random(person.size), rng.integers(0, 1000, person.size).tolist(), strict=True)
        ]
        for name in ("income", "rent")
    }
    return pl.DataFrame({"person": person, **columns, "sex": rng.choice(["f", "m"], person.size)})


def losses(incomes, **more):
    table = {"income": incomes, "sex": ["f", "m"] * (len(incomes) // 2)}
    made = lw.anonymize(pl.DataFrame(table), {"fields": [{**NUMBERS["fields"][1], **more}, NUMBERS["fields"][3]]}, K)
    return made.information_loss, made.covariance_loss


def test_losses_say_nothing_of_numbers_that_too_few_have():
    one, other = ([None] * 40 + pair for pair in ([3, 900_000], [400_000, 400_001]))

    assert losses(one) == losses(other)
    assert losses([*one[2:], 7, 8]) == losses([*other[2:], 9, 800_000])
    assert losses(one[:30] + list(range(12))) != losses([*other[:30], *range(11), 900_000])


def test_losses_have_three_digits_and_say_nothing_of_a_misfit():
    required = {"constraints": {"minimum": 0, "maximum": 999_999, "required": True}, "special": []}
    fitting = list(range(0, 420_000, 10_000))
    middle = sum(fitting[:-1]) // 41

    found = losses([*fitting[:-1], middle], **required)

    assert all(float(f"{loss:.3g}") == loss for loss in found)
    # One person at the middle of a number is left out of its deviation, and nothing else.
    assert losses([*fitting[:-1], None], **required) == pytest.approx(found, rel=0.05)


def test_the_pool_of_a_group_does_not_follow_the_few_numbers_in_it():
    rng = np.random.default_rng(5)
    numbers = [value for value in (100_000, 400_000, 800_000) for _ in range(10)]
    shown = set()
    for secret in (110_000, 390_000, 790_000):
        rows = KeptRows(
            {
                "income": np.array([*numbers, secret, *[1_000_001] * 9]),
                "rent": np.zeros(40, dtype=np.int64),
                "sex": np.repeat(np.array([0, 1], dtype=np.uint8), [30, 10]),
            },
            np.arange(40),
            40,
            read_rows(people(0), lw.Schema.from_dict(NUMBERS)).kind,
        )
        codes = draw_codes(
            Grouped(rows, np.repeat(np.arange(4), 10)),
            lw.Schema.from_dict(NUMBERS),
            AnonymousSettings(min_group_size=K, output="shuffle"),
            np.random.default_rng(rng.integers(100)),
        )
        shown.add(int(codes["income"][(codes["sex"] == 1) & (codes["income"] < 1_000_000)].max() // 100_000))

    assert len(shown) == 1


def test_a_privacy_unit_that_rows_would_show_is_refused():
    fields = [{"name": "person", "type": "string", "categories": ["a", "b"]}, NUMBERS["fields"][3]]
    schema = {"fields": fields, "privacyUnit": {"field": "person", "maxRows": 4}}

    with pytest.raises(lw.ParameterError, match="must have the role identifier"):
        lw.anonymize(pl.DataFrame({"person": ["a", "b"] * 9, "sex": ["f", "m"] * 9}), schema, 2)


def groups_of_k(rows):
    return np.random.default_rng(7).permutation(np.arange(rows.count) * (rows.count // K) // rows.count)


def shown_numbers(rows, labels, name, seed=0):
    """Return the number that each group shows of a column, told by a category that only the rows of one group have."""
    schema = lw.Schema.from_dict(NUMBERS)
    tagged = {**rows.codes, "sex": (labels[rows.units] % 2).astype(np.uint8)}
    shown = {}
    for group in range(int(labels.max()) + 1):
        tagged["sex"] = np.where(labels[rows.units] == group, 0, 1).astype(np.uint8)
        codes = draw_codes(
            Grouped(KeptRows(tagged, rows.units, rows.count, rows.kind), labels),
            schema,
            AnonymousSettings(min_group_size=K, output="shuffle"),
            np.random.default_rng(seed),
        )
        numbers = codes[name][(codes["sex"] == 0) & (codes[name] < 1_000_000)]
        assert np.unique(numbers).size <= 1
        if numbers.size:
            shown[group] = float(numbers[0])
    return shown


def private_cells(rows, name):
    return np.where(rows.codes[name] < 1_000_000, rows.codes[name].astype(float), np.nan)


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.7, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_every_number_is_a_mean_over_at_least_k_units(missing, seed):
    rows = read_rows(people(seed, missing), lw.Schema.from_dict(NUMBERS))
    labels = groups_of_k(rows)

    for name in ("income", "rent"):
        shown = shown_numbers(rows, labels, name)
        assert weak_figures(private_cells(rows, name), rows.units, labels[rows.units], shown, K) == []
        assert shown or np.unique(rows.units[~np.isnan(private_cells(rows, name))]).size < K


def test_the_rows_that_are_kept_of_a_unit_are_those_of_a_release():
    table, schema = people(2), lw.Schema.from_dict(NUMBERS)

    rows, source = read_rows(table, schema), code_table(table, schema)

    (codes,) = source.chunks()
    for name, column in rows.codes.items():
        np.testing.assert_array_equal(column, codes[name])
    assert (rows.rows, rows.count) == (source.rows, source.units)
    assert rows.per_unit.max() == 4
    assert rows.rows < table.height


def test_a_group_of_rows_of_one_unit_is_seen():
    person = np.repeat(np.arange(10), 4)
    table = pl.DataFrame({"person": person, "income": person * 1000, "rent": person, "sex": ["f"] * 40})
    rows = read_rows(table, lw.Schema.from_dict(NUMBERS))

    counted_by_rows = np.arange(10)  # four rows each, of one person: a bug would take them for a group of four
    shown = {unit: unit * 1000.0 for unit in range(10)}

    found = weak_figures(private_cells(rows, "income"), rows.units, counted_by_rows[rows.units], shown, K)
    assert found == list(range(10))


def test_means_without_pools_are_seen(monkeypatch):
    rows = read_rows(people(1, 0.8), lw.Schema.from_dict(NUMBERS))
    labels = groups_of_k(rows)
    monkeypatch.setattr(
        "lapwing.anonymous.table.pooled_groups", lambda known, wanted, size, order: np.arange(known.size)
    )

    shown = shown_numbers(rows, labels, "income")

    assert weak_figures(private_cells(rows, "income"), rows.units, labels[rows.units], shown, K)


def test_the_one_number_of_a_group_is_never_shown():
    table = people(3).with_columns(
        income=pl.when(pl.col("person") == 17).then(SECRET).when(pl.col("person") % 2 == 0).then(pl.col("income"))
    )

    for seed in range(5):
        for settings in ({}, {"variant": "paper"}, {"output": "shuffle"}):
            rows = lw.anonymize(table, NUMBERS, K, seed=seed, **settings).data
            assert SECRET not in rows["income"].to_list()


def test_of_fewer_than_k_numbers_in_the_whole_table_none_is_shown():
    table = people(3).with_columns(income=pl.when(pl.col("person") < K - 1).then(SECRET))

    rows = lw.anonymize(table, NUMBERS, K, seed=1).data

    assert rows["income"].null_count() == rows.height


@pytest.mark.parametrize("settings", [{}, {"partition": "mdav"}], ids=str)
def test_every_row_of_numbers_stands_at_least_k_times_in_the_table(settings):
    table = people(5, units=300).group_by("person").first()

    rows = lw.anonymize(table, NUMBERS, K, **settings, seed=1).data

    assert rare_rows(rows, ["income", "rent"], K) == 0
    assert rare_rows(table, ["income", "rent"], K) > 0, "the table itself is seen"


def dealt_out_again(rows, labels, rng):
    """Return the same rows with every column's cells dealt out anew inside each group."""
    codes = {}
    for name, column in rows.codes.items():
        order = np.lexsort((rng.random(rows.rows), labels[rows.units]))
        codes[name] = np.empty_like(column)
        codes[name][np.argsort(labels[rows.units], kind="stable")] = column[order]
    return KeptRows(codes, rows.units, rows.count, rows.kind)


@pytest.mark.parametrize(
    "settings",
    [{}, {"variant": "paper"}, {"output": "shuffle"}, {"categories": "mode"}, {"rows": 777}],
    ids=str,
)
def test_rows_out_do_not_depend_on_which_unit_of_a_group_has_which_cell(settings):
    table = people(6, 0.4, units=90).group_by("person", maintain_order=True).first()
    schema = lw.Schema.from_dict(NUMBERS)
    rows = read_rows(table, schema)
    labels = groups_of_k(rows)
    chosen = AnonymousSettings(min_group_size=K, **settings)
    others = dealt_out_again(rows, labels, np.random.default_rng(8))
    assert any((others.codes[name] != rows.codes[name]).any() for name in rows.codes)

    first, second = (
        draw_codes(Grouped(each, labels), schema, chosen, np.random.default_rng(9)) for each in (rows, others)
    )

    for name, column in first.items():
        np.testing.assert_array_equal(column, second[name])


def test_someone_who_knows_the_seed_learns_no_order_of_groups():
    table = pl.DataFrame({"income": [1] * 5 + [999] * 5})
    schema = {"fields": [NUMBERS["fields"][1]]}

    first, second = (lw.anonymize(each, schema, K, variant="paper", seed=3).data for each in (table, table.reverse()))

    assert first.equals(second)
    assert set(first["income"]) == {1, 999}


def test_shares_of_a_required_category_are_taken_over_k_units_not_rows():
    required = {"name": "sex", "type": "string", "categories": ["f", "m"], "constraints": {"required": True}}
    schema = {**NUMBERS, "fields": [*NUMBERS["fields"][:-1], required]}
    owners, known = [0] * 4 + [1] * 4 + list(range(2, 8)), ["f"] * 8 + ["?"] * 6
    lonely = pl.DataFrame({"person": owners, "income": 5, "rent": 5, "sex": known})
    others = pl.DataFrame({"person": range(10, 18), "income": 900, "rent": 900, "sex": ["m"] * 8})

    rows = lw.anonymize(pl.concat([lonely, others]), schema, 8, rows=4000, seed=1).data

    # Two of the ten who have one: the first group has eight rows with one, and is not shown by itself.
    assert (rows.filter(pl.col("income") == 5)["sex"] == "f").mean() == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize("seed", range(6))
def test_pools_do_not_overlap_and_are_large_enough(seed):
    rng = np.random.default_rng(seed)
    known = rng.integers(0, 2 * K, 40) * (rng.random(40) < rng.random())
    wanted = (known > 0) | (rng.random(40) < 0.1)

    pools = pooled_groups(known, wanted, K, rng.random(40))

    totals = np.bincount(pools[pools >= 0], known[pools >= 0], minlength=40)
    if (pools == NO_POOL).any():
        assert known.sum() < K
        assert (pools[wanted] == NO_POOL).all()
    else:
        assert (totals[pools[wanted]] >= K).all()
    assert (pools[~wanted] == np.flatnonzero(~wanted)).all()
