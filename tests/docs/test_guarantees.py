"""The tables of docs/guarantees.md say what the code does."""

import dataclasses
import math
import re
from fractions import Fraction

import polars as pl
import pytest

from helpers.kept import Kept
from helpers.linked_homes import released
from helpers.source_tree import ROOT
from helpers.unrecorded import recorded_in
from helpers.vectors import coordinates_of, moment_asked, sums_asked
from lapwing.extras.audit.mechanism_pairs import bought_settings
from lapwing.extras.evaluate.bought import run_evaluation
from lapwing.kernel.noise_law import Sensitivity
from lapwing.kernel.questions.private_draw.question import row_price
from lapwing.kernel.questions.registered import KINDS
from lapwing.kernel.room.opening import public_terms
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.mechanisms.trees.kd_tree.mechanism import Grid, KDTree
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.mechanisms.trees.psmm.mechanism import PSMM
from lapwing.mechanisms.vectors.linear_statistics.mechanism import LinearStatistics
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema
from mechanism_checks import MIXED, TWO_VALUED, run, settings_for, table, variants

PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
QUESTIONS = set(KINDS)
MORE_SETTINGS = {
    "Adaptive": [Adaptive.audited(Schema.load(MIXED))[1]],
    "LinearStatistics": [
        LinearStatistics(degree=1, bins=2, points=8, statistics=("flag",)),
        LinearStatistics(degree=1, bins=2, points=8, mu="adaptive"),
    ],
    "Grid": [Grid()],
    "KDTree": [KDTree()],
    "PMM": [PMM(depth=2)],
    "PSMM": [PSMM(cells=4)],
}


def rows_of(first: str, text: str = PAGE) -> list[list[str]]:
    """Return the cells of the table whose first column has this name, but for its head."""
    lines = text.partition(f"| {first} |")[2].splitlines()[2:]
    cells = []
    for line in lines:
        if not line.startswith("|"):
            break
        cells.append([cell.strip() for cell in line.strip("|").split("|")])
    return cells


def words(cell: str) -> set[str]:
    return {word.strip() for word in cell.split(",")}


TABLE = {row[0]: row[1:] for row in rows_of("mechanism")}


def asked_by(name: str) -> set[str]:
    """Return the kinds of questions that runs of a mechanism asked, over relations, notions, budgets and schemas."""
    kind = MECHANISMS[name.lower()]
    found = {type(answer.question).__name__ for each in variants(kind.small) for answer in answers_of(each)}
    schema = TWO_VALUED if name == "PrivateSampling" else MIXED
    more = [(each, schema) for each in MORE_SETTINGS.get(name, [])]
    if name == "Adaptive":
        more += [(Adaptive(), {"fields": MIXED["fields"][3:stop]}) for stop in (4, 5)]
        flags = {"fields": [{"name": f"f{each}", "type": "boolean"} for each in range(6)]}
        rows = pl.DataFrame({f"f{each}": ["true", "false"] * 20 for each in range(6)})
        looking = settings_for(Adaptive(particles=16), flags, "add-remove", pure=True, times=20)
        found |= {type(answer.question).__name__ for answer in run(looking, rows)[0].noisy}
    for mechanism, of_columns in more:
        settings = settings_for(mechanism, of_columns, "add-remove", pure=True, times=1000)
        for guess in (50, None):
            found |= {
                type(answer.question).__name__
                for answer in answers_of(dataclasses.replace(settings, expected_rows=guess))
            }
    return found


def answers_of(settings):
    return run(settings, table(40, settings.schema))[0].noisy


def test_every_mechanism_has_a_line_and_its_relations():
    for kind in MECHANISMS.values():
        relations, units, *_ = TABLE[kind.name]

        assert words(relations) == set(kind.relations)
        assert units == ("m = 1" if kind.relations == ("replace-one",) else "any m")


@pytest.mark.parametrize("name", [kind.name for kind in MECHANISMS.values()])
def test_a_mechanism_asks_the_questions_of_its_line(name):
    listed = words(TABLE[name][2])

    asked = asked_by(name)

    assert asked == listed


def test_a_bought_evaluation_asks_the_questions_of_its_line():
    schema = Schema.load(MIXED)
    asked = set()
    for rows in (None, 20):
        settings = bought_settings(schema, "add-remove", expected_rows=rows)
        source = code_table(table(40, schema), schema)
        kept = Kept()
        terms = public_terms(source, schema, "add-remove", rows)
        run_evaluation(source, settings, terms, recorded_in(kept))
        asked |= {type(answer.question).__name__ for answer in kept.answers}

    assert asked == words(TABLE["[evaluation with budget](evaluate.md#figures-that-may-be-published)"][2])


def test_linked_tables_ask_the_questions_of_both_mechanisms_under_the_terms_of_their_line():
    relations, units, questions, _ = TABLE["[linked tables](linked-tables.md)"]
    told = released(mechanism={"parent": PMM.small(), "child": Independent.small()}).certificate.to_dict()

    assert words(relations) == {told["relation"]}
    assert (units, questions) == ("1 parent, K children", "those of both mechanisms")
    assert [told["parts"][part]["max_rows"] for part in ("parent", "child")] == [1, 4]
    for part, mechanism in (("parent", "PMM"), ("child", "Independent")):
        asked = {line["question"] for line in told["parts"][part]["costs"]} - {"MisfitRows"}
        assert asked <= words(TABLE[mechanism][2])


def test_every_mechanism_has_tests_of_its_own_that_name_it_and_one_file_that_holds_all():
    boundary = ROOT / "tests" / "boundary"
    named = {first: re.findall(r"`([^`]+)`", row[-1]) for first, row in TABLE.items()}

    assert "MECHANISMS" in (boundary / "test_record_and_replay.py").read_text(encoding="utf-8")
    for first, files in named.items():
        assert files, first
        for file in files:
            text = (boundary / file).read_text(encoding="utf-8")
            assert first in text or first.startswith("[") or "MECHANISMS" in text, (first, file)


@pytest.mark.parametrize("p", [2, 3, 6])
@pytest.mark.parametrize("m", [1, 3])
def test_the_short_formulas_for_boolean_columns_are_what_the_questions_say(p, m):
    lines = {row[0]: row[1:3] for row in rows_of("question")}
    columns, half = coordinates_of(("line",) * p), p * p // 4
    pairs = p * (p - 1) // 2

    assert lines["SecondMoment"] == ["m p(p-1)/2, m² p(p-1)/2", "2m⌊p²/4⌋, 4m²⌊p²/4⌋"]
    assert lines["CellSums"] == ["m p, m² p", "2m p, 4m² p"]
    for relation, products, sums in (
        ("add-remove", Sensitivity(m * pairs, m**2 * pairs), Sensitivity(m * p, m**2 * p)),
        ("replace-one", Sensitivity(2 * m * half, 4 * m**2 * half), Sensitivity(2 * m * p, 4 * m**2 * p)),
    ):
        assert moment_asked(columns).sensitivity(relation, m) == products
        assert sums_asked(columns).sensitivity(relation, m) == sums


@pytest.mark.parametrize(("columns", "degree", "most"), [(5, 1, 5), (10, 1, 10), (16, 2, 72)])
def test_the_short_formula_for_a_drawn_row_is_what_is_charged(columns, degree, most):
    n, floor = 100_000, Fraction(1, 10)
    cell = next(row for row in rows_of("question") if row[0] == "PrivateDraw")[2]
    from_one = math.log(1 + 2 * most / math.ceil(floor * n))

    assert cell == "ε: ln(1 + 2O/c) + ln(1 + 2√O/n), ρ: ½ ln²(1 + 2O/c)"
    price = {notion: float(row_price(columns, degree, floor, n, notion=notion)) for notion in ("pure", "zcdp")}
    assert price["pure"] == pytest.approx(from_one + math.log(1 + 2 * math.sqrt(most) / n), rel=1e-6)
    assert price["zcdp"] == pytest.approx(from_one**2 / 2, rel=1e-4)


@pytest.mark.parametrize(
    "word", ["Privacy unit", "Unit of account", "Notion", "Curator, room", "Terms", "Invalid value", "Atom", "Assumed"]
)
def test_words_of_our_own_or_of_two_meanings_are_explained(word):
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")

    assert len(re.findall(rf"^- \*\*{word}\b[^*]*\*\*[^:]*:", glossary, flags=re.MULTILINE)) == 1


def test_every_question_has_its_sensitivity_its_proof_and_its_tests():
    listed = (ROOT / "tests" / "theorems" / "README.md").read_text(encoding="utf-8")
    proofs, tests = (
        {row[0].partition(",")[0]: row[1:] for row in rows_of("question", text)} for text in (PAGE, listed)
    )

    assert set(proofs) == set(tests) == QUESTIONS
    for row in proofs.values():
        assert (ROOT / "src" / "lapwing" / "kernel" / "questions" / row[-1].strip("`")).is_file()
    for row in tests.values():
        attained, planted = (re.findall(r"`([^`]+)`", cell) for cell in row)
        assert attained
        assert planted
        for path in (*attained, *planted):
            assert (ROOT / "tests" / path).is_file(), path


def test_all_questions_of_the_tables_are_of_the_closed_set_and_all_are_asked_by_something():
    listed = set().union(*(words(row[2]) for name, row in TABLE.items() if name != "[linked tables](linked-tables.md)"))

    assert listed == QUESTIONS
