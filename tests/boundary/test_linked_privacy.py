"""Two linked tables: all rows of one key are added or removed, and record and replay finds nothing in either part.

Planted bugs in how tables are joined and counted are flagged.
"""

import itertools
import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.linked_runs import (
    SCHEMA,
    audit_linked,
    changed_module,
    linked_pair,
    linked_settings,
    with_rows_of_one,
)
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.pmm.mechanism import PMM
from lapwing.rows.linked import code_linked

PAIRS = 40
TIMES = (1, 100)


def flags_of(code=code_linked, change=None, mechanism=None, pairs=PAIRS):
    """Return the flags of the first of some generated pairs that has any."""
    rng = np.random.default_rng(5)
    settled = itertools.cycle(itertools.product((True, False), TIMES))
    for _, (pure, times) in zip(range(pairs), settled, strict=False):
        settings = linked_settings(mechanism, pure=pure, times=times)
        one, other = linked_pair(rng)
        flags = audit_linked(one, other, settings if change is None else change(settings), code)
        if flags:
            return flags
    return []


@pytest.mark.parametrize("mechanism", [Independent.small(), PMM.small(), Adaptive.small()], ids=lambda each: each.name)
@pytest.mark.parametrize("pairs", [20, pytest.param(600, marks=pytest.mark.full)])
def test_no_pair_of_tables_that_differs_in_one_key_is_flagged(mechanism, pairs):
    fewer = 4 if isinstance(mechanism, Adaptive) else 1

    assert flags_of(mechanism=mechanism, pairs=pairs // fewer) == []


def test_the_claims_of_both_parts_are_exactly_what_was_asked_for():
    for pure in (True, False):
        settings = linked_settings(pure=pure)

        assert settings.parent.request.budget + settings.child.request.budget == settings.request.budget


def test_two_parts_that_each_claim_the_whole_budget_are_flagged():
    settings = linked_settings()
    greedy = replace(settings, child=replace(settings.child, request=settings.request))

    assert audit_linked(*linked_pair(np.random.default_rng(1)), greedy)


CUT = ("counts.astype(dtype)", "counts.clip(0, schema.max_children).astype(dtype)")
"""Keeps a planted bug from being noticed by an index out of range before it is flagged."""

BUGS = {
    "further parent rows of a key are kept": ("parents.kept(of_parents, 1)", "parents.kept(of_parents, 2)"),
    "more children are kept than noise hides": (
        "children.kept(of_children, schema.max_children)",
        "children.kept(of_children, schema.max_children + 1)",
    ),
    "all children are kept where parents are few": (
        "children.kept(of_children, schema.max_children)",
        "children.kept(of_children, schema.max_children if parents.rows > 3 else 9)",
    ),
    "orphans go to whoever is the last parent": (
        " & (place[of_children] >= 0)\n    parent_of = place[of_children[used]]",
        " & first.any()\n    parent_of = place[of_children[used]] % max(1, np.count_nonzero(first))",
    ),
    "the join multiplies rows by their parents": (
        "parent_of = place[of_children[used]]",
        "used = np.repeat(np.flatnonzero(used), np.bincount(of_parents, minlength=len(place))[of_children[used]])\n"
        "    parent_of = place[of_children[used]]",
    ),
    "the keys of each table are numbered by themselves": (
        '    children = _told("child", child, schema.child, units)\n    numbers = units.numbers()',
        "    own = UnitNumbers(schema.child.field(schema.key))\n"
        '    children = _told("child", child, schema.child, own)\n'
        "    numbers = np.concatenate((units.numbers(), own.numbers()))",
    ),
    "the first rows in the table are kept": (
        "return kept_rows(units, self.hashes, max_rows",
        "return kept_rows(units, np.arange(self.rows, dtype=np.uint64), max_rows",
    ),
    "children are counted as shares of all": (
        "minlength=np.count_nonzero(first))",
        "minlength=np.count_nonzero(first)) * 3 // max(1, np.bincount(parent_of).max(initial=0))",
    ),
    "rows without a key are dropped where others have none": (
        "used = children.kept",
        "of_children = of_children[::-1] if len(of_children) % 2 else of_children\n    used = children.kept",
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_in_the_join_is_flagged(bug):
    module = changed_module(BUGS[bug], CUT)

    assert flags_of(module.code_linked, pairs=400)


def test_noise_for_one_child_where_many_are_used_is_flagged():
    assert flags_of(change=with_rows_of_one)


def test_the_number_of_children_never_leaves_its_public_domain():
    homes = pl.DataFrame({"home": ["a", "b"], "kind": ["a", "b"], "age": ["1", "1"]})
    people = pl.DataFrame({"home": ["a"] * 50, "flag": ["true"] * 50, "age": ["1"] * 50})

    def most(code):
        pair = code(homes, people, SCHEMA)
        return next(pair.parent.chunks())["children"].max(), pair.child.rows

    assert most(code_linked) == (3, 3)
    unclipped = changed_module(("counts = np.bincount(parent_of", "counts = 50 + np.bincount(parent_of"))
    assert most(unclipped.code_linked)[0] > SCHEMA.count_field.domain.last


def test_orphans_change_nothing_at_all():
    one, _ = linked_pair(np.random.default_rng(3))
    orphans = pl.DataFrame({"home": ["nobody"] * 9, "flag": ["true"] * 9, "age": ["1"] * 9})

    def shown(children):
        pair = code_linked(one[0], children, SCHEMA)
        return [{name: codes.tolist() for name, codes in chunk.items()} for chunk in pair.child.chunks()]

    assert shown(pl.concat([one[1], orphans])) == shown(one[1])


def test_no_cell_makes_reading_fail_or_shows_in_an_error():
    odd = ["", "nan", "1e999", "\x00", "h1", None]
    homes = pl.DataFrame({"home": odd, "kind": odd, "age": odd})
    people = pl.DataFrame({"home": odd[::-1], "flag": odd, "age": odd})

    pair = code_linked(homes, people, SCHEMA)

    assert pair.parent.rows <= len(odd)


def real_tables(folder, parent, child, key, most):
    """Return schema, and parents and children of the first keys of a real table."""
    described = json.loads((folder / "schema.json").read_text())
    fields = {field["name"]: field for field in described["fields"]}
    parts = {
        part: {"fields": [fields[name] for name in (key, *names)]}
        for part, names in (("parent", parent), ("child", child))
    }
    rows = pl.read_parquet(folder / "data.parquet").head(150)
    schema = lw.LinkedSchema.load({**parts, "key": key, "maxChildren": most})
    return schema, rows.select(key, *parent), rows.select(key, *child)


REAL = {
    "eusilc": (["hsize", "db040", "eqIncome"], ["age", "rb090", "py010n"], "db030", 3),
    "mimic-demo-admissions": (["gender", "dob"], ["admittime", "admission_type"], "subject_id", 2),
}


@pytest.mark.parametrize("name", REAL)
def test_no_real_household_or_patient_that_is_left_out_is_flagged(name, shared_data):
    schema, parents, children = real_tables(shared_data / name, *REAL[name])
    key = schema.key
    sizes = children.group_by(key).len().sort("len", key)
    flagged = []

    for changed, pure in ((sizes[key][-1], True), (sizes[key][0], False)):  # one beyond the limit, and one below it
        fewer = tuple(table.filter(pl.col(key) != changed) for table in (parents, children))
        settings = linked_settings(pure=pure, schema=schema)
        flagged += audit_linked((parents, children), fewer, settings)

    assert sizes["len"][-1] > schema.max_children
    assert flagged == []
