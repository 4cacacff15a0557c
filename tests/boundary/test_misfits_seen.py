"""Cells that fit nothing are seen whatever the mechanism: most of the budget is left, or the certificate says so."""

import json
import re
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.bits import SeededBits
from helpers.misfit_tables import SCHEMA, table
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.misfit_rows.answer import answer_misfit_rows
from lapwing.kernel.questions.misfit_rows.question import MisfitRows
from lapwing.kernel.room.transcript import continue_transcript
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.registry import MECHANISMS, looks_at_misfits
from lapwing.model.certificate.notices import Notice
from lapwing.release.runs.reading import read_settings
from lapwing.release.runs.settings import SETTINGS, TableSettings, misfit_share
from lapwing.rows.linked import code_linked
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

ROWS = 900
SPENT = Fraction(2, 25)
"""The part that was spent, at most, before a mechanism which does not count misfits itself: half of it says which."""


def field(name, values, *, required):
    return {"name": name, "type": "string", "categories": values, "constraints": {"required": required}}


def schema(*, required, two_valued=False, **more):
    third = field("n", ["0", "1"] if two_valued else ["0", "1", "2"], required=True)
    return {"fields": [field("v", ["a", "b"], required=required), field("o", ["p", "q"], required=True), third], **more}


def rows(values=("A", "B"), *, kept=0.0, count=ROWS):
    """Return rows of which a share has a value of the schema in v, and the others one of these."""
    v = [("a", "b")[i % 2] if i < kept * count else values[i % len(values)] for i in range(count)]
    plain = {"o": [("p", "q")[i // 2 % 2] for i in range(count)], "n": [str(i // 4 % 2) for i in range(count)]}
    return pl.DataFrame({"v": v, **plain})


def made(table, described, kind, transcript=None, **more):
    """Return the part of the budget that was spent when the release ended, or the release."""
    asked = {"epsilon": 1} if "rho" not in more else {}
    neighbours = kind.relations[0] if "neighbours" not in more else more.pop("neighbours")
    settings = {"mechanism": kind.name, "neighbours": neighbours, **asked, **more}
    try:
        return None, lw.synthesize(table, described, transcript=transcript, **settings)
    except lw.DataError as error:
        said, code = str(error), error.code
    assert code == "LW118"
    held, _, answers = continue_transcript(transcript)
    held.close()
    whole = Fraction(str(more.get("rho", 1)))
    return (sum(answer.question.cost.amount for answer in answers) / whole, said), None


def test_a_mechanism_of_somebody_else_is_not_trusted_to_look():
    class Derived(lw.Adaptive):
        name = "Derived"

    assert looks_at_misfits(lw.Adaptive())
    assert not looks_at_misfits(Derived())


@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("kind", MECHANISMS.values(), ids=MECHANISMS)
def test_a_column_of_which_no_cell_fits_ends_a_release_of_any_mechanism_early_or_is_said(kind, required, tmp_path):
    two_valued = kind.two_valued
    if two_valued and not required:
        pytest.skip("it takes required columns alone")

    ended, release = made(
        rows(), schema(required=required, two_valued=two_valued), kind, tmp_path / "t.jsonl", expected_rows=ROWS
    )

    if looks_at_misfits(kind()):  # it counts columns by themselves, and names the one
        said = ended[1] if release is None else " ".join(each.text for each in release.certificate.warnings)
        assert re.search("""column ["']v["']: at least about .* of its (cells fit nothing|values are invalid)""", said)
    else:
        assert re.search('column "v": .* of its values are invalid|of the rows hold an invalid value', ended[1])
        assert ended[0] <= SPENT


@pytest.mark.parametrize(
    "kind", [each for each in MECHANISMS.values() if not looks_at_misfits(each())], ids=lambda k: k.name
)
def test_half_of_the_rows_are_enough_at_nine_hundred_rows_and_epsilon_one(kind, tmp_path):
    two_valued = kind.two_valued

    ended, release = made(rows(kept=0.5), schema(required=True, two_valued=two_valued), kind, tmp_path / "t.jsonl")

    assert ended or "rows_invalid" in {each.code for each in release.certificate.warnings}


FITTING = schema(required=True)["fields"][1:]
DATES = {"name": "v", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31"}}
NUMBERS = {"name": "v", "type": "number", "constraints": {"minimum": 0, "maximum": 9}}
OWNED = {"privacyUnit": {"field": "who", "maxRows": 2}}
WHO = {"name": "who", "type": "integer", "role": "identifier"}
OTHERS = {
    "a blank behind": (rows(("a ", "b ")), schema(required=False), {}),
    "numbers with a comma": (rows(("1,5", "2,5")), {"fields": [NUMBERS, *FITTING]}, {}),
    "dates of another format": (rows(("31.12.2020", "01.02.2020")), {"fields": [DATES, *FITTING]}, {}),
    "all columns": (rows().with_columns(o=pl.lit("?"), n=pl.lit("x")), schema(required=False), {}),
    "missing cells of a required column": (rows((None, None)), schema(required=True), {}),
    "rho": (rows(), schema(required=True), {"rho": "0.05"}),
    "replace-one": (rows(), schema(required=True), {"neighbours": "replace-one"}),
    "several rows per unit": (
        rows(count=1800).with_columns(who=pl.int_range(1800) // 2),
        {**schema(required=True), "fields": [*schema(required=True)["fields"], WHO], **OWNED},
        {},
    ),
    "one column": (rows().select("v"), {"fields": schema(required=True)["fields"][:1]}, {}),
}  # fmt: skip


@pytest.mark.parametrize(("table", "described", "more"), OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("name", ["pmm", "independent"])
def test_other_cells_that_fit_nothing_are_seen_too(name, table, described, more, tmp_path):
    ended, _ = made(table, described, MECHANISMS[name], tmp_path / "t.jsonl", **more)

    assert ended is not None
    assert ended[0] <= SPENT


@pytest.mark.parametrize("name", ["pmm", "independent"])
def test_the_column_is_named_where_there_are_rows_enough(name, tmp_path):
    ended, _ = made(rows(count=6000), schema(required=False), MECHANISMS[name], tmp_path / "t.jsonl")

    assert ended[1].startswith('column "v": at least about ')
    assert ended[0] == SPENT


def test_missing_cells_of_a_column_that_may_lack_them_end_nothing():
    table = rows((None, None))

    _, release = made(table, schema(required=False), MECHANISMS["pmm"])

    assert not any("invalid" in each.code for each in release.certificate.warnings)


@pytest.mark.parametrize("name", ["pmm", "independent", "psmm"])
def test_rows_that_fit_end_no_release_and_are_warned_of_by_none(name):
    for epsilon in (0.02, 1, 100):
        _, release = made(rows(("a", "b")), schema(required=True), MECHANISMS[name], epsilon=epsilon)

        assert not any("invalid" in each.code for each in release.certificate.warnings)


def test_fewer_misfits_than_end_a_release_are_said_in_its_certificate():
    _, release = made(rows(kept=0.8), schema(required=True), MECHANISMS["pmm"], epsilon=20, misfits=0.5)

    (said,) = [each for each in release.certificate.warnings if "invalid" in each.code]
    assert 0.1 < said.fields["share"] <= 0.22


def test_a_mended_schema_goes_on_with_all_but_what_was_asked_first(tmp_path):
    transcript = tmp_path / "t.jsonl"
    ended, _ = made(rows(), schema(required=True), MECHANISMS["pmm"], transcript)
    mended = json.loads(json.dumps(schema(required=True)).replace('["a", "b"]', '["A", "B"]'))

    release = lw.resume(transcript, rows(), schema=mended)

    paid = [line for line in release.certificate.lines if line.question == "MisfitRows"]
    each = Fraction(1, 25) / 3
    assert [line.cost.amount for line in paid] == [Fraction(1, 25), each, each, each, Fraction(23, 25) / 25]
    assert release.certificate.total.amount == 1
    assert set(release.sample(50)["v"]) <= {"A", "B"}
    assert "lw.resume('" in ended[1]


def test_a_release_that_allows_any_misfits_asks_nothing_and_spends_all_on_its_mechanism():
    _, release = made(rows(), schema(required=True), MECHANISMS["pmm"], misfits=1)

    assert {line.question for line in release.certificate.lines} == {"TreeCounts", "MarginalCounts"}
    assert release.certificate.total.amount == 1


def test_a_header_without_a_share_asks_nothing_and_one_that_has_it_says_so():
    settings = read_settings(schema(required=True), epsilon=1, mechanism="pmm")
    header = SETTINGS.write(settings)
    share = header.pop("misfit_share")

    assert share == "1/25"
    assert TableSettings.from_dict(header).misfit_share is None
    assert SETTINGS.write(TableSettings.from_dict(header | {"misfit_share": share})) == SETTINGS.write(settings)


def test_the_plan_names_what_is_asked_first_and_a_release_has_its_lines():
    planned = lw.plan(schema(required=True), expected_rows=ROWS, epsilon=1, mechanism="pmm")
    release = lw.synthesize(rows(("a", "b")), schema(required=True), epsilon=1, mechanism="pmm", expected_rows=ROWS)

    assert planned.lines == release.certificate.lines
    assert "(rows that do not fit the schema)" in planned.text()
    assert not any(answer.question.kind == "MisfitRows" for answer in release.noisy)


def test_the_share_falls_with_the_rows_that_are_expected_and_not_below_a_floor():
    budget = read_settings(schema(required=True), epsilon=1, mechanism="pmm", expected_rows=3600)

    assert budget.first.misfit_share == Fraction(1, 100)
    assert misfit_share(budget.request.budget, 100, 3600) == Fraction(1, 25)
    assert misfit_share(budget.request.budget, 1, 10**9) == Fraction(1, 200)


# ------------------------------------------------------------------------------------------------ keys of linked tables

HOMES = 400
KEY = {"name": "home", "type": "string", "role": "identifier"}
LINKED = {
    "tables": {
        "homes": {"primaryKey": "home", "fields": [KEY, field("region", ["n", "s"], required=True)]},
        "people": {
            "foreignKeys": {"home": "homes"},
            "maxRows": 5,
            "fields": [KEY, {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}],
        },
    }
}


def linked(written, *, lost=1.0, people=1200):
    """Return homes, and people of whom a share has keys that are written in another way."""
    homes = pl.DataFrame({"home": [f"h{k:04d}" for k in range(HOMES)], "region": ["n", "s"] * (HOMES // 2)})
    keys = [f"h{k % HOMES:04d}" for k in range(people)]
    keys = [written(key) if place < lost * people else key for place, key in enumerate(keys)]
    return {"homes": homes, "people": pl.DataFrame({"home": keys, "age": [k % 90 for k in range(people)]})}


WRITTEN = {
    "a blank behind": lambda key: key + " ",
    "upper case": str.upper,
    "no zeros": lambda key: key.replace("0", ""),
}


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("mechanism", [None, "independent"])
def test_keys_that_never_meet_end_the_release_of_linked_tables_and_are_told_as_keys(written, mechanism, tmp_path):
    transcript = tmp_path / "t.jsonl"

    with pytest.raises(lw.DataError, match=r'^people: .* have a "home" that no row of homes has') as ended:
        lw.synthesize(linked(written), LINKED, epsilon=10, mechanism=mechanism, transcript=transcript)

    assert ended.value.code == "LW118"
    held, _, answers = continue_transcript(transcript)
    held.close()
    assert {answer.question.kind for answer in answers} == {"MisfitRows"}
    assert sum(answer.question.cost.amount for answer in answers) <= Fraction(10, 25)


def test_some_keys_that_meet_nothing_are_said_in_the_certificate():
    release = lw.synthesize(linked(str.upper, lost=0.3), LINKED, epsilon=50, mechanism="independent")

    assert ("keys_unmatched", "people") in {(each.code, each.table) for each in release.certificate.warnings}


def test_keys_that_meet_are_no_matter():
    release = lw.synthesize(linked(str.upper, lost=0.0), LINKED, epsilon=50, mechanism="independent")

    assert not any("keys" in each.text for each in release.certificate.warnings)
    assert release.sample()["people"].height > 1100


def test_the_rows_of_a_unit_move_what_is_counted_of_keys_by_no_more_than_it_may_own():
    described, rng = Schema.load(LINKED).linked, np.random.default_rng(5)
    seen = set()
    for _ in range(60):
        homes = [f"h{k}" for k in rng.integers(0, 8, rng.integers(1, 9))]
        people = [f"h{k}" for k in rng.integers(0, 9, rng.integers(1, 60))]
        unit = f"h{rng.integers(0, 9)}"
        both = []
        for left in (None, unit):
            texts = {"schema_overrides": {"home": pl.String}}
            tables = {
                "homes": pl.DataFrame({"home": [h for h in homes if h != left], "region": "n"}, **texts),
                "people": pl.DataFrame({"home": [h for h in people if h != left], "age": 1}, **texts),
            }
            source = code_linked(tables, described)["people"].source
            kept = {h: min(5, tables["people"]["home"].to_list().count(h)) for h in set(tables["people"]["home"])}
            met = set(tables["homes"]["home"])
            assert source.unmet == sum(count for h, count in kept.items() if h not in met)
            assert source.rows == sum(count for h, count in kept.items() if h in met)
            both.append((source.rows, source.unmet))
        moved = sum(abs(one - other) for one, other in zip(*both, strict=True))
        assert moved <= 5
        seen.add(moved)
    assert 5 in seen


def test_a_table_further_down_with_hardly_a_row_is_said_by_the_counts_that_are_there_anyway():
    person = {"name": "person", "type": "string", "role": "identifier"}
    people = {**LINKED["tables"]["people"], "primaryKey": "person"}
    people["fields"] = [*people["fields"], person]
    visits = {"foreignKeys": {"person": "people"}, "maxRows": 2, "fields": [person, field("n", ["0"], required=True)]}
    described = {"tables": {"homes": LINKED["tables"]["homes"], "people": people, "visits": visits}}
    tables = linked(str.upper, lost=0.0)
    tables["people"] = tables["people"].with_columns(person=pl.Series([f"p{k}" for k in range(1200)]))
    said = {}
    for written in (str.upper, str.lower):
        tables["visits"] = pl.DataFrame({"person": [written(f"p{k}") for k in range(1200)], "n": "0"})
        release = lw.synthesize(tables, described, epsilon=200, mechanism="independent")
        said[written] = [each for each in release.certificate.warnings if "written alike" in each.text]

    assert said[str.lower] == []
    (one,) = said[str.upper]
    assert one == Notice("few_rows", {"rows": 20}, table="visits")


def test_noise_comes_from_secret_bits_and_its_law_alone():
    data, _ = table(np.random.default_rng(2), 9)
    source = PrivateRows.of(code_table(data, SCHEMA), SCHEMA)
    question = MisfitRows(columns=tuple(each.name for each in SCHEMA.columns), cost=Budget.pure(1))
    terms = Terms(relation="add-remove")

    one, same, other = (answer_misfit_rows([question], source, terms, SeededBits(seed))[0] for seed in (1, 1, 2))

    assert one.counts.tolist() == same.counts.tolist() != other.counts.tolist()
    assert one.noise == question.noise("add-remove", 1)
