"""Releases whose mechanism asks selections: certificate, frames, files, transcript, ledger, plan and commands."""

import json
from fractions import Fraction

import polars as pl
import pytest

import lapwing as lw
from helpers.selections import Selecting, levels_of, question, tables_over
from helpers.transcripts import cut_after
from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.questions.registered import answer_from_dict
from lapwing.kernel.questions.select_worst.question import Selection
from lapwing.mechanisms import registry
from lapwing.model.certificate.certificate import CERTIFICATES
from lapwing.model.certificate.cost_lines import CostLine
from lapwing.model.files import SavedRelease
from lapwing.schema.schemas import Schema

SCHEMA = {
    "fields": [
        {"name": "flag", "type": "boolean", "constraints": {"required": True}},
        {"name": "kind", "type": "string", "categories": ["a", "b", "c"]},
    ]
}
DATA = pl.DataFrame({"flag": [True] * 70 + [False] * 30, "kind": ["a", "b"] * 50})


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """Let resumed transcripts and commands find the mechanism by name."""
    monkeypatch.setattr(registry, "MECHANISMS", {**registry.MECHANISMS, "selecting": Selecting})


def released(**settings):
    settings = {"epsilon": 1, "mechanism": Selecting(), "seed": 3, "misfits": 1, **settings}
    return lw.synthesize(DATA, SCHEMA, **settings)


def kinds(answers):
    return [type(answer).__name__ for answer in answers]


def test_the_certificate_has_a_line_for_each_selection_and_sums_exactly():
    release = released(rho="0.5", epsilon=None)

    lines = release.certificate.lines
    selections = [line for line in lines if line.candidates is not None]
    assert [line.question for line in lines] == ["MarginalCounts"] * 2 + ["SelectWorst"] * 3 + ["MarginalCounts"]
    assert [line.cost.rho for line in selections] == [Fraction(1, 8), Fraction(1, 32), Fraction(1, 32)]
    assert {(line.noise, line.candidates) for line in selections} == {(None, 9)}
    assert [line.columns for line in selections] == [each.chosen for each in release.noisy[2:5]]
    assert release.certificate.total == Budget.zcdp("0.5")
    assert "for 3 noisy tables and 3 selections, zero-concentrated" in release.certificate.text()


@pytest.mark.parametrize("part", [{"candidates": 0}, {"level": 1}])
def test_a_malformed_line_of_a_selection_is_refused(part):
    line = released().certificate.to_dict()["costs"][2]

    with pytest.raises(ParameterError, match="cost line of a selection"):
        CERTIFICATES.read(CostLine, line | part)


def test_a_saved_release_keeps_its_selections(tmp_path):
    release = released()
    release.save(tmp_path / "m.lapwing")

    loaded = lw.load(tmp_path / "m.lapwing")
    loaded.save(tmp_path / "again.lapwing")

    assert [each.to_dict() for each in loaded.noisy] == [each.to_dict() for each in release.noisy]
    assert loaded.answers.equals(release.answers)
    assert (tmp_path / "again.lapwing").read_bytes() == (tmp_path / "m.lapwing").read_bytes()


def test_a_saved_selection_over_columns_that_the_schema_lacks_is_refused():
    release = released()
    domain = release.schema.field("flag").domain
    read = Schema.from_dict({"fields": [SCHEMA["fields"][0] | {"name": "other"}]}).field("other").domain
    levels = (levels_of(read),)
    foreign = Selection(question(("other",), levels, tables_over(levels, (1,))), 0, 1)

    for answer in (foreign, answer_from_dict(foreign.to_dict())):
        with pytest.raises(ParameterError, match="no modelled column"):
            SavedRelease(release.schema, release.model, release.certificate, (answer,))
    assert domain == read


def test_an_interrupted_release_is_resumed_at_every_answer(tmp_path):
    path = tmp_path / "t.jsonl"
    release = released(transcript=path)
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == 7

    for kept in range(1, 8):
        copy = tmp_path / f"cut{kept}.jsonl"
        copy.write_text(cut_after(path, kept - 1))

        resumed = lw.resume(copy, DATA)

        assert [each.to_dict() for each in resumed.noisy[: kept - 1]] == [
            each.to_dict() for each in release.noisy[: kept - 1]
        ]
        assert kinds(resumed.noisy) == kinds(release.noisy)
        assert len(copy.read_text().splitlines()) == 7
    assert resumed.certificate.to_dict() == release.certificate.to_dict()
    assert resumed.sample(30).equals(release.sample(30))


def test_a_changed_choice_in_a_transcript_is_refused_by_the_ledger(tmp_path):
    ledger, path = tmp_path / "budget.db", tmp_path / "t.jsonl"
    Ledger.create_or_open(ledger).init("d", unit="pure", limit=1, relation="add-remove", privacy_unit="row")
    first = released(ledger=ledger, dataset="d", transcript=path)
    lines = path.read_text().splitlines()

    again = lw.resume(path, DATA)
    edited = json.loads(lines[3])
    edited["answer"]["choice"] = (edited["answer"]["choice"] + 1) % 9
    path.write_text("\n".join([*lines[:3], json.dumps(edited), *lines[4:]]) + "\n")

    assert again.certificate.to_dict() == first.certificate.to_dict()
    with pytest.raises(lw.LapwingError, match="transcript lacks some of them"):
        lw.resume(path, DATA)
