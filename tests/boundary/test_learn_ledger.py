"""A learned domain is paid once and drawn once, before anything is counted, however it is interrupted."""

import json
from fractions import Fraction

import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from lapwing.errors import BudgetError, DataError, LapwingError, ParameterError
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.room.room import Room
from lapwing.release.runs import records as front

CANARY, NUMBER = "canary-739173917", 739173917
SCHEMA = {
    "draft": True,
    "fields": [
        {"name": "age", "type": "integer", "provenance": "dp", "constraints": {"required": True}},
        {"name": "town", "type": "string", "provenance": "dp"},
        {"name": "born", "type": "date", "provenance": "dp"},
    ],
}
DATA = pl.DataFrame(
    {
        "age": [20 + each % 50 for each in range(3000)],
        "town": ["Bern", "Uri", "Zug"] * 1000,
        "born": ["1970-05-01", "1999-12-31"] * 1500,
    }
)
BUDGET = {"epsilon": 2, "delta": "1e-6"}


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "budget.db"
    Ledger.create_or_open(path).init(
        "d", unit="zcdp", limit=1, relation="add-remove", privacy_unit="row", selection_delta="1e-5"
    )
    return path


def learned(ledger=None, transcript=None, data=DATA, schema=SCHEMA, **settings):
    return lw.Schema.learn(data, schema, ledger=ledger, transcript=transcript, **(BUDGET | settings))


def spent(ledger):
    balance = Ledger.open(ledger).balance("d")
    return balance.spent, balance.selection_spent


NOTHING = (0, 0)


def test_a_learned_schema_keeps_the_delta_of_its_selections_as_the_ledger_does(ledger):
    (purchase,) = learned(ledger).purchases

    assert purchase.amount == spent(ledger)[0]
    assert purchase.delta == spent(ledger)[1] > 0


def test_the_ledger_has_one_line_with_budget_and_delta_and_certificate_and_schema_name_it(ledger, tmp_path):
    found = learned(ledger, certificate=tmp_path / "c.json")

    entry = Ledger.open(ledger).history("d")[-1]
    written = json.loads((tmp_path / "c.json").read_text())
    purchase = found.purchases[-1]
    assert entry.details["description"]["mechanism"] == written["mechanism"] == "domain"
    assert written["ledger"] == {"dataset": "d", "release_id": entry.release_id}
    assert purchase.release == entry.release_id
    assert spent(ledger) == (purchase.amount, purchase.delta)
    assert purchase.delta == Fraction(1, 2 * 10**6)


def test_the_room_allows_what_is_debited_and_no_more(ledger, monkeypatch):
    seen = []
    honest = front.open_room

    def watched(*places, **more):
        seen.append((places[3].amount, more["delta"]))
        return honest(*places, **more)

    monkeypatch.setattr(front, "open_room", watched)

    learned(ledger)

    assert seen == [spent(ledger)]


def test_nothing_is_counted_where_the_ledger_refuses_and_no_file_is_left(ledger, tmp_path, monkeypatch):
    monkeypatch.setattr(Room, "ask", lambda self, *asked: pytest.fail("asked"))
    before = sorted(path.name for path in tmp_path.iterdir())

    for changes in ({"epsilon": 30}, {"delta": "0.01"}, {"neighbours": "replace-one"}):
        for transcript in (None, tmp_path / "t.jsonl"):
            with pytest.raises(BudgetError):
                learned(ledger, transcript, certificate=tmp_path / "c.json", **changes)

    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert spent(ledger) == NOTHING


@pytest.mark.parametrize(
    "changes",
    [
        {"delta": None},
        {"fields": ["agee"]},
        {"fields": []},
        {"quantile": "0.25"},
        {"dictionaries": {"town": "nowhere.txt"}},
        {"dictionaries": {"age": ["1"]}},
        {"neighbours": "swap"},
        {"epsilon": -1},
        {"rho": 1},
        {"certificate": "no/such/folder/c.json"},
        {"data": DATA.drop("born")},
        {"schema": {"fields": [{"name": "flag", "type": "boolean"}]}},
    ],
)
def test_a_refusal_is_one_sentence_and_costs_nothing(ledger, tmp_path, changes):
    with pytest.raises(LapwingError) as failure:
        learned(ledger, **changes)

    assert "\n" not in str(failure.value)
    assert spent(ledger) == NOTHING
    assert not (tmp_path / "budget.db.transcripts").exists()


@pytest.mark.parametrize("names", [["age"], ["town"], ["born"]])
def test_what_cannot_be_asked_is_refused_before_the_debit(ledger, monkeypatch, names):
    monkeypatch.setattr("lapwing.kernel.noise_law.MAX_SD", 0.5)

    with pytest.raises(ParameterError, match="give a larger budget"):
        learned(ledger, fields=names)

    assert spent(ledger) == NOTHING


def test_the_same_run_with_its_transcript_is_given_again_without_a_debit_or_a_draw(ledger, tmp_path, monkeypatch):
    first = learned(ledger, tmp_path / "t.jsonl", certificate=tmp_path / "one.json")
    paid = spent(ledger)
    monkeypatch.setattr(SystemBits, "words", lambda self, count: pytest.fail("drawn"))

    again = learned(ledger, tmp_path / "t.jsonl", certificate=tmp_path / "two.json")
    without = learned(None, tmp_path / "t.jsonl")

    assert again == without == first
    assert (tmp_path / "one.json").read_text() == (tmp_path / "two.json").read_text()
    assert spent(ledger) == paid


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": 1},
        {"fields": ["town", "age"]},
        {"quantile": "0.1"},
        {"dictionaries": {"town": ["Bern"]}},
        {"schema": SCHEMA | {"name": "other"}},
        {"neighbours": "replace-one"},
        {"dataset": "other"},
    ],
)
def test_a_transcript_of_another_run_is_refused(ledger, tmp_path, changes):
    learned(ledger, tmp_path / "t.jsonl")
    paid = spent(ledger)

    with pytest.raises(DataError, match="is of another run"):
        learned(ledger, tmp_path / "t.jsonl", **changes)
    assert spent(ledger) == paid


def test_no_other_command_takes_the_transcript_up(tmp_path):
    learned(None, tmp_path / "t.jsonl")

    with pytest.raises(DataError, match="learned domain; repeat that, with the same transcript"):
        lw.resume(tmp_path / "t.jsonl", DATA)
    with pytest.raises(DataError, match="is of another run"):
        lw.evaluate(
            DATA, DATA.clone(), {"fields": [{"name": "age", "type": "boolean"}]}, rho=1, transcript=tmp_path / "t.jsonl"
        )


def everything_said(tmp_path, data, schema, *options):
    """Return all that the command prints and writes."""
    data.write_csv(tmp_path / "rows.csv")
    (tmp_path / "s.json").write_text(json.dumps(schema))
    budget = ["--epsilon", "2", "--delta", "1e-6", "--transcript", tmp_path / "t.jsonl", "-o", tmp_path / "s2.json"]
    said = lapwing("schema", "learn", tmp_path / "rows.csv", "--schema", tmp_path / "s.json", *budget, *options)
    files = [(tmp_path / name).read_text() for name in ("s2.json", "s2.json.certificate.json", "t.jsonl")]
    assert said.status == 0, said.err
    return "\n".join([said.out, said.err, *files])


def with_canaries(count):
    odd = pl.DataFrame({"age": [NUMBER] * count, "town": [CANARY] * count, "born": ["1917-07-17"] * count})
    return pl.concat([DATA, odd])


def test_a_value_of_one_row_is_in_nothing_that_is_printed_or_written(tmp_path):
    said = everything_said(tmp_path, with_canaries(1), SCHEMA)

    assert "canary" not in said
    assert str(NUMBER) not in said
    assert "1917-07" not in said
    found = lw.Schema.load(tmp_path / "s2.json")
    assert not NUMBER <= found.field("age").maximum < 2 * NUMBER
    assert not found.field("born").minimum.startswith("191")


def test_a_value_of_many_rows_is_listed_and_bounds_reach_it(tmp_path):
    everything_said(tmp_path, with_canaries(1000), SCHEMA)

    found = lw.Schema.load(tmp_path / "s2.json")
    assert CANARY in found.field("town").categories
    assert found.field("age").maximum >= NUMBER
    assert found.field("born").minimum <= "1917-07-01"


def test_an_error_after_the_rows_are_read_shows_no_value(tmp_path, monkeypatch):
    def fail(*places, **settings):
        raise ValueError(CANARY)

    monkeypatch.setattr("lapwing.release.runs.learned.running.learned_fields", fail)

    with pytest.raises(LapwingError) as failure:
        learned(None)
    assert "canary" not in str(failure.value)
    assert failure.value.__context__ is None
