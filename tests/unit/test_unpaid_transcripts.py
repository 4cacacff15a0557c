"""Transcripts beside a ledger that does not know their releases."""

import pytest

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.room.holds import transcripts_of
from lapwing.release.runs.records import unpaid_transcripts

TERMS = {"relation": "add-remove", "privacy_unit": "row"}


@pytest.fixture
def ledger(tmp_path):
    book = Ledger.create_or_open(tmp_path / "budget.db")
    book.init("one", unit="pure", limit=2, **TERMS)
    book.init("two", unit="pure", limit=2, **TERMS)
    transcripts_of(book.path).mkdir()
    return book


def answered(ledger, name):
    path = transcripts_of(ledger.path) / f"{name}.jsonl"
    path.write_text('{"format": 1}\n{"answer": 1}\n')
    return path


def test_only_answers_that_nobody_paid_for_are_a_sign_of_an_older_copy(ledger):
    ledger.debit("two", "paid", Budget.pure(1), **TERMS, description={})
    answered(ledger, "paid")
    unpaid = answered(ledger, "unpaid")
    (unpaid.parent / "begun.jsonl").write_text('{"format": 1}\n')

    assert unpaid_transcripts(ledger.path) == (unpaid,)


def test_what_is_paid_and_answered_while_others_look_is_no_sign(ledger, monkeypatch):
    honest = Ledger.unpaid

    def read(self, release_ids):
        found = honest(self, release_ids)
        answered(ledger, "meanwhile")  # by a process that has debited it after this reading
        return found

    monkeypatch.setattr(Ledger, "unpaid", read)

    assert unpaid_transcripts(ledger.path) == ()


def test_a_transcript_that_is_gone_or_cannot_be_read_says_nothing(ledger):
    folder = transcripts_of(ledger.path)
    (folder / "gone.jsonl").symlink_to(folder / "nowhere")
    (folder / "folder.jsonl").mkdir()

    assert unpaid_transcripts(ledger.path) == ()


def test_a_link_that_leads_to_itself_has_a_folder_all_the_same(tmp_path):
    loop = tmp_path / "budget.db"
    loop.symlink_to(loop)

    assert transcripts_of(loop).name == "budget.db.transcripts"
