import io

import pytest

from lapwing.cli.console import busy, console_progress
from lapwing.release.runs.watching import progress_counter


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "quiet"), [(Terminal, False), (Terminal, True), (io.StringIO, False)])
def test_progress_shows_on_terminals_only_and_not_when_quiet(monkeypatch, stream, quiet):
    screen = stream()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")

    with busy("counting", quiet=quiet), console_progress(quiet=quiet, first="writing rows", of="of the rows written"):
        written = progress_counter(3, "writing rows")
        written(2)
        written(1)

    is_shown = stream is Terminal and not quiet
    assert ("writing rows" in screen.getvalue()) is is_shown
    assert ("counting" in screen.getvalue()) is is_shown
