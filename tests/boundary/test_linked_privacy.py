"""Linked tables: all rows of one key are added or removed, and record and replay finds nothing in any part.

Planted bugs in how tables are joined and counted are flagged.
"""

import itertools
import json
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.linked_runs import (
    SCHEMA,
    audit_linked,
    changed_module,
    coded_rows,
    linked_pair,
    linked_settings,
    with_rows_of_one,
)
from lapwing.extras.audit.linked_pairs import with_most_rows
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.rows.linked import code_linked

PAIRS = 40
TIMES = (1, 100)


def flags_of(code=code_linked, change=None, mechanism=None, pairs=PAIRS, first=0):
    """Return the flags of the first of some generated pairs that has any; eight are all kinds of settings.

    Pairs before the one of number `first` are not audited: nothing shows on them.
    """
    rng = np.random.default_rng(5)
    settled = itertools.cycle(itertools.product((True, False), TIMES, (SCHEMA, with_most_rows(SCHEMA, 1))))
    for number, (pure, times, schema) in zip(range(pairs), settled, strict=False):
        one, other = linked_pair(rng, schema)
        if number < first:
            continue
        settings = linked_settings(mechanism, pure=pure, times=times, schema=schema)
        flags = audit_linked(one, other, settings if change is None else change(settings), code)
        if flags:
            return flags
    return []


@pytest.mark.parametrize("mechanism", [Independent.small(), PMM.small(), Adaptive.small()], ids=lambda each: each.name)
@pytest.mark.parametrize("pairs", [8, pytest.param(600, marks=pytest.mark.full)])
def test_no_pair_of_tables_that_differs_in_one_key_is_flagged(mechanism, pairs):
    fewer = 1 if isinstance(mechanism, Independent) else 2

    assert flags_of(mechanism=mechanism, pairs=pairs // fewer) == []


def test_the_claims_of_all_parts_are_exactly_what_was_asked_for():
    for pure in (True, False):
        settings = linked_settings(pure=pure)
        first, *others = (part.request.budget for part in settings.parts.values())

        assert sum(others, first) == settings.request.budget


def test_parts_of_which_one_claims_the_whole_budget_are_flagged():
    settings = linked_settings()
    greedy = replace(settings.parts["visits"], request=settings.request)

    assert audit_linked(
        *linked_pair(np.random.default_rng(1)), replace(settings, parts={**settings.parts, "visits": greedy})
    )


IN_RANGE = (
    ("counts.astype(schema", "counts.clip(0, below.max_rows).astype(schema"),
    ("each.astype(coded", "each.clip(0, table.max_rows - 1).astype(coded"),
)
"""Keeps a planted bug from being noticed by an index out of range before it is flagged."""

CUT = "rows = rows[read.rows.kept(read.parents[rows], table.max_rows, rows)]"
JOIN = "rows, parents = _joined(rows, read.parents[rows], above.keys)"

BUGS = {
    "further rows of a key of the first table are kept": [
        ("read.rows.kept(read.keys, 1)", "read.rows.kept(read.keys, 2)")
    ],
    "more rows are kept than noise hides": [(CUT, CUT.replace("max_rows", "max_rows + 1"))],
    "all rows are kept where there are few": [(CUT, CUT.replace("max_rows", "max_rows if len(rows) > 9 else 9"))],
    "rows are cut by their position in the table": [
        ("kept_rows(units, self.hashes[of]", "kept_rows(units, np.arange(len(of), dtype=np.uint64)")
    ],
    "the order decides across units which rows are cut": [
        (
            CUT,
            f"{CUT}\n    first = np.argsort(np.argsort(read.rows.hashes[rows]))\n"
            "    rows = rows[first < table.max_rows * len(above.keys) - 1]",
        )
    ],
    "the second half of who has too many goes to the next": [
        (CUT, CUT.replace("rows = ", "stays = ")),
        (JOIN, f"{JOIN}\n    parents = np.where(np.isin(rows, stays), parents, (parents + 1) % above.rows)"),
    ],
    "the row before the first is the last of the next person": [
        ("before = np.where(own.place == 0, _NONE, np.arange(own.rows) - 1)", "before = np.arange(own.rows) - 1")
    ],
    "the gap is from another person": [
        ("steps - steps[before], gap", "np.minimum(abs(steps - steps[:1]), gap.domain.values - 1), gap")
    ],
    "rows are counted with those of all": [
        (
            "minlength=rows)",
            "minlength=rows)\n        counts = (counts + counts.sum()) % (below.max_rows + 1)",
        )
    ],
    "a visit is counted for another person": [("minlength=rows)", "minlength=rows)[::-1]")],
    "a visit is that of another home": [
        ("rows = kept[below].parents[rows]", "rows = np.roll(kept[below].parents, 1)[rows]")
    ],
    "the keys of each table are numbered by themselves": [
        ("found[table.parent][0][above]", "np.unique(found[table.parent][0][above], return_inverse=True)[1]")
    ],
    "a key of two homes is that of one": [("np.stack((read.parents, own))", "np.stack((0 * read.parents, own))")],
    "rows without a key refer to each other": [
        ("keys = np.where(read.lacks_key[rows], _NONE, read.keys[rows])", "keys = read.keys[rows]")
    ],
    "rows whose parent is not used go to another": [
        (
            "counts = np.where(of_parents == _NONE, 0, np",
            "counts = np.where(of_parents == max((*of_parents, 0)), len(keys) - starts, np",
        ),
    ],
}


SELDOM = {
    "the gap is from another person": 72,
    "the row before the first is the last of the next person": 20,
    "a key of two homes is that of one": 21,
    "rows without a key refer to each other": 12,
}
"""Bugs that show in few pairs, and which is the first of these."""


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_in_the_join_is_flagged(bug):
    module = changed_module(*BUGS[bug], *IN_RANGE)

    assert flags_of(module.code_linked, pairs=400, first=SELDOM.get(bug, 0))


@pytest.mark.parametrize("name", ["people", "visits"])
def test_noise_for_one_row_where_many_are_used_is_flagged(name):
    assert flags_of(change=partial(with_rows_of_one, name=name))


def test_the_number_of_rows_never_leaves_its_public_domain():
    tables = {
        "homes": pl.DataFrame({"home": ["a", "b"], "kind": ["a", "b"], "age": ["1", "1"]}),
        "people": pl.DataFrame({"home": ["a"] * 50, "person": range(50), "flag": ["true"] * 50, "age": ["1"] * 50}),
        "visits": pl.DataFrame({"person": [*range(50)] * 9, "kind": ["a"] * 450}),
    }

    def most(code):
        found = code(tables, SCHEMA)
        rows = [found[name].source.rows for name in SCHEMA.names]
        return (
            next(found["homes"].source.chunks())["people"].max(),
            next(found["people"].source.chunks())["visits"].max(),
            rows,
        )

    assert most(code_linked) == (3, 2, [2, 3, 6])
    unbounded = changed_module(("counts = np.bincount(kept", "counts = 50 + np.bincount(kept"))
    assert most(unbounded.code_linked)[0] > SCHEMA.coded["homes"].field("people").domain.last


def test_rows_of_nobody_change_nothing_at_all():
    one, _ = linked_pair(np.random.default_rng(3))
    nobody = {
        "people": pl.DataFrame(
            {"home": ["nobody"] * 9, "person": ["h1-1"] * 9, "flag": ["true"] * 9, "age": ["1"] * 9}
        ),
        "visits": pl.DataFrame({"person": [None, "nobody", "h9-1"] * 3, "kind": ["a"] * 9}),
    }
    more = {name: pl.concat([table, nobody.get(name, table.clear())]) for name, table in one.items()}

    for name in SCHEMA.names:
        assert coded_rows(more, SCHEMA, name) == coded_rows(one, SCHEMA, name)


def test_a_key_that_everybody_has_takes_no_more_memory_than_the_rows_that_are_used():
    rows = 60_000
    tables = {
        "homes": pl.DataFrame({"home": range(rows), "kind": ["a"] * rows, "age": [1] * rows}),
        "people": pl.DataFrame(
            {"home": range(rows), "person": ["unknown"] * rows, "flag": [True] * rows, "age": [2] * rows}
        ),
        "visits": pl.DataFrame({"person": ["unknown"] * rows, "kind": ["a"] * rows}),
    }

    assert code_linked(tables, SCHEMA)["visits"].source.rows == 2 * rows  # each pair of the two would be 30 GB


def test_no_cell_makes_reading_fail_or_shows_in_an_error():
    odd = ["", "nan", "1e999", "\x00", "h1", None]
    tables = {
        table.name: pl.DataFrame({field.name: odd[::-1] if field.identifier else odd for field in table.written})
        for table in SCHEMA.tables
    }

    assert code_linked(tables, SCHEMA)["homes"].source.rows <= len(odd)


def real_tables(folder, parent, child, key, most, order):
    """Return schema and tables of the first keys of a real table."""
    described = json.loads((folder / "schema.json").read_text())
    fields = {field["name"]: field for field in described["fields"]}
    rows = pl.read_parquet(folder / "data.parquet").head(150)
    if order is not None:
        unit = {"privacyUnit": {"field": key, "maxRows": most}, "order": order, "constant": parent, "name": "child"}
        schema = lw.Schema.load({**unit, "fields": [fields[name] for name in (key, *parent, *child)]}).linked
        return schema, {"child": rows.select(key, *parent, *child)}
    parts = {
        part: {"fields": [fields[name] for name in (key, *names)]}
        for part, names in (("parent", parent), ("child", child))
    }
    schema = lw.Schema.load({**parts, "key": key, "maxChildren": most}).linked
    return schema, {"parent": rows.select(key, *parent), "child": rows.select(key, *child)}


REAL = {
    "eusilc": (["hsize", "db040", "eqIncome"], ["age", "rb090", "py010n"], "db030", 3, None),
    "mimic-demo-admissions": (["gender", "dob"], ["admittime", "admission_type"], "subject_id", 2, "admittime"),
}


@pytest.mark.parametrize("name", REAL)
def test_no_real_household_or_patient_that_is_left_out_is_flagged(name, shared_data):
    schema, tables = real_tables(shared_data / name, *REAL[name])
    key = schema.key
    sizes = tables["child"].group_by(key).len().sort("len", key)
    flagged = []

    for changed, pure in ((sizes[key][-1], True), (sizes[key][0], False)):  # one beyond the limit, and one below it
        fewer = {each: table.filter(pl.col(key) != changed) for each, table in tables.items()}
        flagged += audit_linked(tables, fewer, linked_settings(pure=pure, schema=schema))

    assert sizes["len"][-1] > schema.max_rows("child")
    assert flagged == []


def chain(limits):
    """Return a schema of a chain of tables, each below the one before, and rows of one unit beyond every limit."""
    tables, frames, above = {}, {}, [0]
    for level, limit in enumerate((None, *limits)):
        key = {"name": f"k{level}", "type": "integer", "role": "identifier"}
        of = {"name": f"k{level - 1}", "type": "integer", "role": "identifier"}
        link = {} if limit is None else {"foreignKeys": {f"k{level - 1}": f"t{level - 1}"}, "maxRows": limit}
        fields = [key, *([] if limit is None else [of]), {"name": "flag", "type": "boolean"}]
        tables[f"t{level}"] = {"primaryKey": f"k{level}", **link, "fields": fields}
        parents = above if limit is None else [each for each in above for _ in range(limit + 1)]
        frames[f"t{level}"] = pl.DataFrame(
            {f"k{level}": range(len(parents)), "flag": [True] * len(parents)}
            | ({} if limit is None else {f"k{level - 1}": parents})
        )
        above = list(range(len(parents)))
    return lw.Schema.load({"tables": tables}).linked, frames


@pytest.mark.parametrize("limits", [(3,), (2, 3), (2, 1, 3), (2, 3, 1, 2), (2, 1, 2, 1, 2)], ids=str)
def test_one_unit_has_the_rows_that_are_charged_for_at_every_depth(limits):
    schema, frames = chain(limits)

    coded = code_linked(frames, schema)

    for level in range(len(limits) + 1):
        name, charged = f"t{level}", int(np.prod(limits[:level], dtype=int))
        assert (schema.max_rows(name), schema.coded[name].max_rows) == (charged, charged)
        assert coded[name].source.rows == charged
