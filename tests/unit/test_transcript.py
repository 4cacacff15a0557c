"""The transcript: durable, held by one process, and safe to continue after a crash."""

import json
from fractions import Fraction

import numpy as np
import pytest

from helpers.transcripts import cut_after
from lapwing.errors import DataError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.room.transcript import continue_transcript, create_transcript


def answer(rows):
    asked = MarginalCounts(columns=(), groupings=(), cost=Budget.pure(Fraction(1, rows)))
    return NoisyCounts(asked, np.array(rows, dtype=np.int64), NoiseLaw("laplace", Fraction(rows)))


def written(path, *rows):
    transcript = create_transcript(path, {"who": "test"})
    transcript.record([answer(number) for number in rows])
    transcript.close()


def read(path):
    transcript, _, answers = continue_transcript(path)
    transcript.close()
    return [int(each.counts) for each in answers]


def test_header_and_answers_are_read_back(tmp_path):
    written(tmp_path / "t.jsonl", 5, 6)

    transcript, header, answers = continue_transcript(tmp_path / "t.jsonl")
    transcript.close()

    assert header["who"] == "test"
    assert [int(each.counts) for each in answers] == [5, 6]


def test_a_last_line_that_was_torn_is_cut_off_and_the_rest_continues(tmp_path):
    path = tmp_path / "t.jsonl"
    written(path, 5, 6)
    path.write_text(cut_after(path, 2)[:-7])

    transcript, _, answers = continue_transcript(path)
    transcript.record([answer(7)])
    transcript.close()

    assert [int(each.counts) for each in answers] == [5]
    assert read(path) == [5, 7]


def test_an_existing_file_is_never_overwritten(tmp_path):
    (tmp_path / "t.jsonl").write_text("precious")

    with pytest.raises(DataError, match="cannot be written"):
        create_transcript(tmp_path / "t.jsonl", {})
    assert (tmp_path / "t.jsonl").read_text() == "precious"


def test_two_processes_cannot_hold_one_transcript(tmp_path):
    transcript = create_transcript(tmp_path / "t.jsonl", {})

    with pytest.raises(DataError, match="in use by another process"):
        continue_transcript(tmp_path / "t.jsonl")

    transcript.close()
    assert read(tmp_path / "t.jsonl") == []


def test_a_symbolic_link_is_the_transcript_that_it_points_to(tmp_path):
    transcript = create_transcript(tmp_path / "t.jsonl", {})
    (tmp_path / "folder").mkdir()
    for link, target in {"link.jsonl": tmp_path / "t.jsonl", "folder/up": tmp_path}.items():
        (tmp_path / link).symlink_to(target)

    for path in (tmp_path / "link.jsonl", tmp_path / "folder" / "up" / "t.jsonl"):
        with pytest.raises(DataError, match="in use by another process"):
            continue_transcript(path)

    transcript.close()
    assert read(tmp_path / "link.jsonl") == []


@pytest.mark.parametrize(
    "text",
    [
        "no json\n",
        "[1]\n",
        '{"format": 2}\n',
        '{"format": 1}\n{"question": {}}\n',
        '{"format": 1}\n' + "[" * 10**5 + "\n",
    ],
)
def test_a_file_that_is_no_transcript_is_refused(tmp_path, text):
    (tmp_path / "t.jsonl").write_text(text)

    with pytest.raises(DataError, match="is not a Lapwing transcript"):
        continue_transcript(tmp_path / "t.jsonl")


def test_an_empty_transcript_says_that_nothing_was_paid_and_what_to_do(tmp_path):
    (tmp_path / "t.jsonl").touch()

    with pytest.raises(DataError, match="killed before anything was paid or answered; remove the file and repeat"):
        continue_transcript(tmp_path / "t.jsonl")


def test_a_missing_transcript_is_refused_and_leaves_no_lock_file(tmp_path):
    with pytest.raises(DataError, match="there is no transcript"):
        continue_transcript(tmp_path / "t.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_discarded_transcript_leaves_nothing(tmp_path):
    create_transcript(tmp_path / "t.jsonl", {}).discard()

    assert list(tmp_path.iterdir()) == []


def test_every_answer_is_on_the_disk_when_record_returns(tmp_path):
    path = tmp_path / "t.jsonl"
    transcript = create_transcript(path, {})

    transcript.record([answer(4)])

    assert json.loads(path.read_text().splitlines()[-1])["answer"]["noise"]["parameter"] == "4"
    transcript.close()
