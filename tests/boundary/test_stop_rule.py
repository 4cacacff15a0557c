"""A release that ends because cells fit nothing: what is shown hangs on answers alone, and one debit pays for all."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.peeking import rows_behind
from lapwing.errors import DataError, ParameterError
from lapwing.extras.audit.replay import audit_pair, examine_pair
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.room.transcript import continue_transcript
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.release.runs import misfits
from lapwing.release.runs.misfits import refuse_going_on
from lapwing.release.runs.reading import read_settings
from lapwing.schema.schemas import Schema
from mechanism_checks import settings_for

SCHEMA = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}},
        {"name": "charges", "type": "integer", "constraints": {"minimum": 0, "maximum": 20000}},
        {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"], "required": True}},
    ]
}
MENDED = json.loads(json.dumps(SCHEMA).replace('"charges",', '"charges", "groupChar": ",",'))


def rows(count, *, written="{:,}", wrong=1.0, seed=1):
    """Return a table of which a share of the charges is written with commas, and one in ten is missing."""
    rng = np.random.default_rng(seed)
    charges = [
        (written if rng.random() < wrong else "{}").format(value) if rng.random() > 0.1 else None
        for value in rng.integers(1000, 20000, count).tolist()
    ]
    ages = [str(value) for value in rng.integers(20, 90, count).tolist()]
    return pl.DataFrame({"age": ages, "charges": charges, "sex": ["f", "m"] * (count // 2)})


@pytest.mark.parametrize("kind", [Adaptive, Independent])
@pytest.mark.parametrize("column", ["charges", "sex"])
def test_a_column_that_does_not_parse_ends_the_release_and_is_named(kind, column):
    table = rows(4000, wrong=float(column == "charges"))
    if column == "sex":
        table = table.with_columns(pl.col("sex").replace({"f": "female", "m": "male"}))

    with pytest.raises(DataError, match=f'^column "{column}": at least about .*misfits allows 10%') as ended:
        lw.synthesize(table, SCHEMA, epsilon=1, mechanism=kind())

    assert ended.value.code == "LW118"
    assert "female" not in str(ended.value)
    assert "," not in str(ended.value).split("about ")[1].split("%")[0]


def test_missing_cells_end_nothing_and_misfits_below_the_share_are_said():
    table = rows(4000, wrong=0.0).with_columns(age=pl.lit(None, dtype=pl.String))
    said = lw.synthesize(rows(4000, wrong=0.3), SCHEMA, epsilon=10, misfits=0.5).certificate.warnings

    none = lw.synthesize(table, SCHEMA, epsilon=1).certificate.warnings
    assert not any("invalid" in each.code for each in none if each.code != "column_missing_or_invalid")
    assert [each for each in said if each.fields.get("column") == "charges" and "invalid" in each.code]


@pytest.mark.parametrize("epsilon", [0.02, 1])
def test_rows_that_fit_end_no_release(epsilon):
    for seed in range(6):
        lw.synthesize(rows(300, wrong=0.0, seed=seed), SCHEMA, epsilon=epsilon, mechanism=Independent())


def test_a_mended_schema_goes_on_with_the_rest_of_one_debit(tmp_path):
    ledger, transcript = tmp_path / "l.db", tmp_path / "t.jsonl"
    Ledger.create_or_open(ledger).init("d", unit="pure", limit=1, relation="add-remove", privacy_unit="row")
    table = rows(4000)
    settings = {"epsilon": 1, "ledger": ledger, "dataset": "d", "transcript": transcript, "seed": 3}

    with pytest.raises(DataError, match="resume"):
        lw.synthesize(table, SCHEMA, **settings)
    with pytest.raises(DataError, match="resume"):  # the same answers end it again, and nothing is drawn
        lw.resume(transcript, table)
    before = transcript.read_bytes()
    release = lw.resume(transcript, table, schema=MENDED)

    assert Ledger.open(ledger).balance("d").left == 0
    assert transcript.read_bytes().startswith(before)
    held, header, answers = continue_transcript(transcript)
    held.close()
    costs = [answer.question.cost.amount for answer in (*header["earlier"], *answers)]
    assert release.certificate.total.amount == sum(costs) <= 1
    assert sum(answer.question.cost.amount for answer in header["earlier"]) > 0
    assert any(each.code == "mended" for each in release.certificate.warnings)
    charges = release.sample(2000)["charges"].drop_nulls()
    assert len(charges) > 1500
    assert 9000 < charges.mean() < 12000
    again = lw.resume(transcript, table)
    assert again.sample(50, seed=1).equals(release.sample(50, seed=1))


def with_unit(schema, **more):
    who = {"name": "who", "type": "integer", "role": "identifier", **more}
    return {**schema, "fields": [*schema["fields"], who], "privacyUnit": {"field": "who", "maxRows": 1}}


OTHERS = {
    "a unit where there was none": (SCHEMA, with_unit(MENDED), "other rows or units"),
    "another type of the unit": (with_unit(SCHEMA), with_unit(MENDED, type="string"), "other rows or units"),
    "another number of rows": (
        with_unit(SCHEMA),
        {**with_unit(MENDED), "privacyUnit": {"field": "who", "maxRows": 2}},
        "other rows or units",
    ),
    "other texts for no unit": (
        with_unit(SCHEMA),
        {**with_unit(MENDED), "missingValues": ["7"]},
        "other rows or units",
    ),
    "another quotation mark": (SCHEMA, {**MENDED, "dialect": {"quoteChar": "'"}}, "other rows or units"),
    "an encoding of other signs": (SCHEMA, {**MENDED, "dialect": {"encoding": "cp037"}}, "other rows or units"),
    "an encoding, of a unit": (with_unit(SCHEMA), {**with_unit(MENDED), "dialect": {"encoding": "latin-1"}}, "other"),
    "a draft": (SCHEMA, {"fields": MENDED["fields"][:1], "draft": True}, "draft"),
}


@pytest.mark.parametrize(("first", "change", "said"), OTHERS.values(), ids=OTHERS)
def test_what_is_no_mended_schema_is_refused_and_changes_nothing(first, change, said, tmp_path):
    table = rows(4000).with_columns(who=pl.int_range(4000))
    with pytest.raises(DataError):
        lw.synthesize(table, first, epsilon=1, transcript=tmp_path / "t.jsonl")
    before = (tmp_path / "t.jsonl").read_bytes()

    with pytest.raises(lw.LapwingError, match=said):
        lw.resume(tmp_path / "t.jsonl", table, schema=change)

    assert (tmp_path / "t.jsonl").read_bytes() == before


def test_the_encoding_of_rows_may_be_mended(tmp_path):
    table = rows(4000, written="{:,}\u00a0€")
    table.write_csv(tmp_path / "t.csv")
    (tmp_path / "l.csv").write_bytes((tmp_path / "t.csv").read_text().encode("cp1252"))
    with pytest.raises(DataError, match="resume"):
        lw.synthesize(tmp_path / "l.csv", SCHEMA, epsilon=1, transcript=tmp_path / "t.jsonl")

    with pytest.raises(DataError, match="charges"):  # the cells still do not fit, and the release ends once more
        lw.resume(tmp_path / "t.jsonl", tmp_path / "l.csv", schema={**SCHEMA, "dialect": {"encoding": "cp1252"}})


FORGED = {
    "a budget": {"request": {"epsilon": "100", "delta": None, "rho": None}},
    "a schema of another unit": with_unit(MENDED),
    "a path": "/etc/passwd",
    "nothing": None,
}


@pytest.mark.parametrize("line", FORGED.values(), ids=FORGED)
def test_a_line_by_another_hand_changes_neither_budget_nor_unit(line, tmp_path):
    transcript = tmp_path / "t.jsonl"
    table = rows(4000).with_columns(who=pl.int_range(4000))
    with pytest.raises(DataError):
        lw.synthesize(table, SCHEMA, epsilon=1, transcript=transcript)
    with transcript.open("a") as file:
        file.write(json.dumps({"mended": line}) + "\n")

    with pytest.raises(lw.LapwingError) as refused:
        lw.resume(transcript, table)

    assert refused.value.code != "LW901"
    assert "passwd" not in str(refused.value)


def test_copies_that_are_mended_differently_do_not_both_go_on(tmp_path):
    ledger, transcript = tmp_path / "l.db", tmp_path / "t.jsonl"
    Ledger.create_or_open(ledger).init("d", unit="pure", limit=1, relation="add-remove", privacy_unit="row")
    table = rows(4000)
    with pytest.raises(DataError):
        lw.synthesize(table, SCHEMA, epsilon=1, ledger=ledger, dataset="d", transcript=transcript)
    (tmp_path / "copy.jsonl").write_bytes(transcript.read_bytes())
    lw.resume(transcript, table, schema=MENDED)

    with pytest.raises(lw.LapwingError):
        lw.resume(tmp_path / "copy.jsonl", table, schema={**MENDED, "fields": MENDED["fields"][1:]})

    assert Ledger.open(ledger).balance("d").spent == 1


def test_nothing_is_noted_before_the_debit(tmp_path):
    """A ledger that refuses leaves the transcript as it was."""
    ledger, transcript = tmp_path / "l.db", tmp_path / "t.jsonl"
    Ledger.create_or_open(ledger).init("d", unit="pure", limit=1, relation="add-remove", privacy_unit="row")
    table = rows(4000)
    with pytest.raises(DataError):
        lw.synthesize(table, SCHEMA, epsilon=1, ledger=ledger, dataset="d", transcript=transcript)
    before = transcript.read_bytes()
    ledger.rename(tmp_path / "gone.db")

    with pytest.raises(lw.LapwingError):
        lw.resume(transcript, table, schema=MENDED)

    assert transcript.read_bytes() == before


def test_a_release_that_did_not_end_takes_no_other_schema(tmp_path):
    table = rows(400, wrong=0.0)
    lw.synthesize(table, SCHEMA, epsilon=1, transcript=tmp_path / "t.jsonl")

    with pytest.raises(ParameterError, match="did not"):
        lw.resume(tmp_path / "t.jsonl", table, schema=MENDED)


# ------------------------------------------------------------------------------------------------- record and replay


def pair_of(rng, relation):
    """Return two neighbours of which some cells fit nothing, about as many as the rule allows."""
    table = rows(40, wrong=float(rng.choice([0.0, 0.1, 0.2, 1.0])), seed=int(rng.integers(2**31)))
    other = rows(2, wrong=1.0, seed=int(rng.integers(2**31)))[:1]
    return table, pl.concat([table[1:], other]) if relation == "replace-one" else table[1:]


def settings_of(kind, relation, times):
    settings = settings_for(kind.small(), Schema.from_dict(SCHEMA), relation, pure=True, times=times)
    return replace(settings, most_misfits=Fraction(1, 10))


@pytest.mark.parametrize(("kind", "relation"), [(Adaptive, "add-remove"), (Independent, "replace-one")])
def test_no_pair_is_flagged_whether_the_release_ends_or_not(kind, relation):
    rng = np.random.default_rng(7)
    found = [examine_pair(*pair_of(rng, relation), settings_of(kind, relation, times)) for times in (1, 30, 1000) * 4]

    assert [flag for each in found for flag in each.flags] == []
    assert {each.is_released for each in found} == {True, False}


def test_a_rule_that_looks_at_rows_is_flagged(monkeypatch):
    def looking(self, *questions):
        found = self._curator.ask(*questions)
        if rows_behind(self._curator).rows % 2:
            raise DataError("too many cells fit nothing", code="LW118")
        return found

    monkeypatch.setattr(misfits.Stopping, "ask", looking)
    rng = np.random.default_rng(8)

    assert audit_pair(*pair_of(rng, "add-remove"), settings_of(Independent, "add-remove", 1))


def test_a_release_that_ended_with_nothing_left_is_not_mended():
    rows = pl.DataFrame({"v": ["A", "B"] * 450, "n": [0, 1, 2] * 300})
    fields = [
        {"name": "v", "type": "string", "categories": ["a", "b"], "provenance": "public"},
        {"name": "n", "type": "integer", "constraints": {"minimum": 0, "maximum": 2}, "provenance": "public"},
    ]
    asked = {"epsilon": 1, "mechanism": lw.Adaptive()}
    spent = lw.synthesize(rows, {"fields": fields}, misfits=1, **asked).noisy
    settings = read_settings({"fields": fields}, misfits=0.1, **asked).first

    refuse_going_on(settings, spent[:-1], ())
    for answers, earlier in ((spent, ()), ((), spent), (spent[1:], spent[:1])):
        with pytest.raises(ParameterError, match="spent all of its budget"):
            refuse_going_on(settings, answers, earlier)
