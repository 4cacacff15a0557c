"""A release that is mended, once and again, goes on under the terms that it was debited for."""

import json
from fractions import Fraction

import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import DataError
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.noise_law import calibrated, row_sensitivity
from lapwing.kernel.room.transcript import continue_transcript
from lapwing.kernel.questions.select_worst.question import Selected
from lapwing.mechanisms.adaptive.mechanism import Adaptive

ROWS = 3000
WHO = {"name": "who", "type": "integer", "role": "identifier"}
FIELDS = [
    {"name": "charges", "type": "integer", "constraints": {"minimum": 0, "maximum": 20000}},
    {"name": "pay", "type": "integer", "constraints": {"minimum": 0, "maximum": 20000}},
    {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"], "required": True}},
]


def schema_of(max_rows, *mended):
    """Return a schema in which the numbers of some columns may have commas; without a unit for no rows of one."""
    fields = [each | {"groupChar": ","} if each["name"] in mended else each for each in FIELDS]
    unit = {"privacyUnit": {"field": "who", "maxRows": max_rows}} if max_rows else {}
    return {"fields": [*fields, *([WHO] if max_rows else [])], **unit}


def table_of(max_rows):
    numbers = [f"{value:,}" for value in range(1000, 1000 + ROWS)]
    people = {"who": [row // (2 * max_rows) for row in range(ROWS)]} if max_rows else {}
    return pl.DataFrame({"charges": numbers, "pay": numbers[::-1], "sex": ["f", "m"] * (ROWS // 2), **people})


@pytest.mark.parametrize(
    ("relation", "max_rows", "notion"),
    [
        ("add-remove", 0, "rho"),
        ("add-remove", 3, "epsilon"),
        ("replace-one", 0, "epsilon"),
        ("replace-one", 1, "rho"),
        ("replace-one", 3, "epsilon"),
        ("replace-one", 3, "rho"),
    ],
)
def test_a_release_that_is_mended_twice_keeps_relation_rows_per_unit_and_noise(relation, max_rows, notion, tmp_path):
    transcript, table = tmp_path / "t.jsonl", table_of(max_rows)
    with pytest.raises(DataError) as ended:
        lw.synthesize(
            table,
            schema_of(max_rows),
            **{notion: 20},
            neighbours=relation,
            mechanism=Adaptive.small(),
            transcript=transcript,
            seed=4,
        )
    assert ended.value.code == "LW118"
    header = json.loads(transcript.read_text().splitlines()[0])
    with pytest.raises(DataError) as again:
        lw.resume(transcript, table, schema=schema_of(max_rows, "charges"))
    assert again.value.code == "LW118"

    release = lw.resume(transcript, table, schema=schema_of(max_rows, "charges", "pay"))
    resumed = lw.resume(transcript, table)

    held, now, answers = continue_transcript(transcript)
    held.close()
    every = (*now["earlier"], *answers)
    terms = relation, max(max_rows, 1)
    assert {key: now[key] for key in ("settings", "terms", "records")} == {
        key: header[key] for key in ("settings", "terms", "records")
    }
    assert len({id(each) for each in every}) == len(every) > len(now["earlier"]) > 1
    for answer in every:
        if isinstance(answer, Selected):
            assert answer.sensitivity == row_sensitivity(*terms).l1
        for part in answer.tables:
            assert part.noise == calibrated(answer.question.sensitivity(*terms), part.cost)
    costs = [answer.question.cost.amount for answer in every]
    for each in (release.certificate, resumed.certificate):
        assert (each.relation, each.max_rows) == terms
        assert each.total.amount == sum(costs) <= 20


def test_a_second_mend_is_paid_by_the_first_debit(tmp_path):
    ledger, transcript, table = tmp_path / "l.db", tmp_path / "t.jsonl", table_of(3)
    terms = {"relation": "replace-one", "privacy_unit": "who:3"}
    Ledger.create_or_open(ledger).init("d", unit="pure", limit=20, **terms)
    settings = {"epsilon": 20, "neighbours": "replace-one", "mechanism": Adaptive.small(), "ledger": ledger}
    with pytest.raises(DataError):
        lw.synthesize(table, schema_of(3), **settings, transcript=transcript)
    for mended in (["charges"], ["charges", "pay"], None):
        schema = None if mended is None else schema_of(3, *mended)
        if mended == ["charges"]:
            with pytest.raises(DataError):
                lw.resume(transcript, table, schema=schema)
        else:
            lw.resume(transcript, table, schema=schema)
        assert Ledger.open(ledger).balance("d").spent == Fraction(20)
        assert Ledger.open(ledger).verify() == 2
