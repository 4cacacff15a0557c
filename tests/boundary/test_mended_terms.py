"""A release that is mended, once and again, goes on under the terms that it was debited for."""

from fractions import Fraction

import pytest

import lapwing as lw
from helpers.mended_runs import mended_flags, schema_of, table_of
from lapwing.errors import DataError
from lapwing.kernel.budget.ledger import Ledger
from lapwing.mechanisms.adaptive.mechanism import Adaptive


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
    assert mended_flags(relation, max_rows, notion, tmp_path / "t.jsonl") == []


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
