import shlex
from pathlib import Path

import pytest

from lapwing.cli.outputs import resume_line
from lapwing.release.files import Targets, read_targets


@pytest.mark.parametrize("is_certified", [True, False])
@pytest.mark.parametrize("certificate", [None, Path("about it.json")])
@pytest.mark.parametrize("model", [None, Path("m.lapwing")])
def test_the_command_that_finishes_names_the_same_files(model, certificate, is_certified):
    targets = read_targets("out.csv", model, certificate if is_certified else None, no_certificate=not is_certified)

    line = resume_line(Path("my t.jsonl"), Path("d.csv"), targets, rows=5, seed=3, memory="4 GB")
    command = shlex.split(line.split("`")[1])

    assert command[:4] == ["lapwing", "resume", "my t.jsonl", "d.csv"]
    assert ("--model" in command) == (model is not None)
    assert ("--certificate" in command) == (certificate is not None and is_certified)
    assert ("--no-certificate" in command) == (not is_certified)
    assert command[-3:] == ["--rows=5", "--seed=3", "--memory=4 GB"]


def test_a_croissant_file_is_named_too():
    targets = Targets(rows=Path("o.csv"), model=None, certificate=None, croissant=Path("c.json"))

    assert "--croissant c.json" in resume_line(Path("t"), Path("d.csv"), targets, rows=None, seed=None, memory=None)


def test_without_a_transcript_nothing_can_be_resumed():
    targets = Targets(rows=Path("o.csv"), model=None, certificate=None)

    assert "running again spends again" in resume_line(None, Path("d.csv"), targets, rows=None, seed=None, memory=None)
