"""Slips beyond a size, at a second time, from a cache, under one relation, in a last row: what sees each of them."""

import csv

import numpy as np
import pytest

from helpers import planted_slips as slips
from helpers.grown_checks import COSTS, flags_at, flags_of_all, kept_flags
from helpers.grown_questions import KINDS, grown_pair
from helpers.grown_texts import text_flags
from helpers.grown_units import identifier_flags, lone_unit_flags, many_units_flags
from helpers.mended_runs import mended_flags
from helpers.source_tree import ROOT
from lapwing.extras.audit.linked_pairs import SCHEMA, examine_linked, linked_pair, linked_settings, with_most_rows
from lapwing.extras.audit.report import PLANTED, SEEN_FROM
from lapwing.mechanisms.trees.pmm.mechanism import PMM

PURE, RHO = COSTS.values()


def of_cells(name, cells, cost, terms=("add-remove", 1), copies=1):
    """Ask one kind of question about so many cells."""
    one, two = grown_pair(2 if KINDS[name].is_narrow else max(cells, 2), 400, *terms)
    return flags_at(KINDS[name], [(one, two)], cost, size=cells, copies=copies)


def of_rows(rows, *terms):
    """Ask every kind of question about so many rows."""
    one, two = grown_pair(16, rows, *terms)
    return flags_of_all(one, two, 0, {})


def of_links():
    """Examine linked tables of which the homes are as full as they may be, and share their people."""
    rng, schema = np.random.default_rng(3), with_most_rows(SCHEMA, 3)
    settings = linked_settings(PMM.small(), times=100, schema=schema)
    pairs = [linked_pair(rng, schema, is_full=True) for _ in range(3)]
    return [flag for one, other in pairs for flag in examine_linked(one, other, settings).flags]


def digests_alike():
    """Return whether priors that differ in one row have one digest."""
    return [row for row in (0, 2**14, 99_999) if _differs_unseen(row)]


def _differs_unseen(row):
    codes = np.zeros(100_000, dtype=np.int64)
    changed = codes.copy()
    changed[row] = 1
    return slips.public_rows._digest({"x": codes}) == slips.public_rows._digest({"x": changed})


SLIPS = (
    (slips.faster_for_many_cells, lambda _: of_cells("MarginalCounts", 10**5, PURE)),
    (slips.faster_for_many_cells, lambda _: of_cells("TreeCounts", 10**5, RHO)),
    (slips.tiled_noise, lambda _: of_cells("MarginalCounts", 10**5, RHO)),
    (slips.single_draws_are_the_smallest, lambda _: of_cells("TableDistances", 10, RHO, copies=400)),
    (slips.many_rows_are_not_cut, lambda _: many_units_flags(16_385, 3)),
    (slips.a_large_lone_unit_is_cut_by_position, lambda _: lone_unit_flags(4097, 3)),
    (slips.large_tables_have_half_the_sensitivity, lambda _: of_cells("MarginalCounts", 10**4, PURE)),
    (slips.most_texts_by_exact_counts, lambda _: text_flags(100, 60, 60, PURE)),
    (slips.the_second_answer_of_a_batch_shares_its_noise, lambda _: of_cells("MarginalCounts", 10, PURE, copies=2)),
    (slips.the_second_batch_is_exact, lambda _: of_cells("MarginalCounts", 10, PURE, copies=1)),
    (
        slips.kept_tables_lack_a_cell,
        lambda _: kept_flags(None, PURE),
    ),
    (slips.tables_alike_count_once, lambda _: of_cells("TableDistances of two tables alike", 10, PURE)),
    (
        slips.a_mend_goes_on_under_the_cheaper_relation,
        lambda path: mended_flags("replace-one", 3, "epsilon", path / "t.jsonl"),
    ),
    (
        slips.a_second_mend_forgets_the_first_answers,
        lambda path: mended_flags("add-remove", 0, "rho", path / "t.jsonl"),
    ),
    (
        slips.replaced_units_of_several_rows_count_once,
        lambda _: of_cells("MarginalCounts", 10, PURE, terms=("replace-one", 3)),
    ),
    (slips.shared_keys_belong_to_the_first_parent, lambda _: of_links()),
    (
        slips.texts_of_several_rows_have_the_threshold_of_one,
        lambda _: text_flags(10, 60, 3, PURE, "replace-one", 3),
    ),
    (slips.the_last_row_of_a_large_block_is_read_as_the_first, lambda _: of_rows(70_001, "add-remove", 1)),
    (slips.the_last_block_is_left_out, lambda _: of_rows(70_001, "add-remove", 1)),
    (slips.digest_of_the_first_rows, lambda _: digests_alike()),
    (
        slips.exponents_are_texts,
        lambda _: identifier_flags(),
    ),
)


@pytest.mark.parametrize(("plant", "seen"), SLIPS, ids=[plant.__name__ for plant, _ in SLIPS])
def test_a_slip_is_seen(plant, seen, monkeypatch, tmp_path):
    plant(monkeypatch)

    assert seen(tmp_path)


def test_priors_that_differ_in_any_row_have_different_digests():
    assert digests_alike() == []


def test_every_slip_is_looked_for():
    assert {plant for plant, _ in SLIPS} == set(slips.EVERY)


def test_what_an_audit_says_that_it_sees_was_measured():
    """By `bench/audit_power.py slips`."""
    with (ROOT / "bench" / "results" / "audit_slips.csv").open(encoding="utf-8") as file:
        measured = list(csv.DictReader(file))

    assert [each["slip"] for each in measured] == [slip.__name__ for slip in slips.EVERY]
    assert len(slips.EVERY) == PLANTED
    assert sorted(int(each["runs"]) for each in measured if each["runs"]) == sorted(SEEN_FROM)
    said = f"{len(SEEN_FROM)} by `lapwing audit --runs 300`"
    assert said in (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
