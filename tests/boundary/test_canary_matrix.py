"""Whatever private table is given to whatever call or command, no planted value shows in any place."""

import pytest

from helpers.canary_calls import CALLS, MEANT, SHOWS_NAMES, TAKES_FILES
from helpers.canary_inputs import FILES, FRAMES, INPUTS, NAMED, WELL_FORMED
from helpers.canary_watch import files_of, traces_of
from lapwing.errors import LapwingError


def belongs(given, call):
    """Return whether a call can be given an input: commands take files, and a draft shows names of columns."""
    return (given in FILES or call not in TAKES_FILES) and not (given in NAMED and call in SHOWS_NAMES)


def covering(times):
    """Return pairs in which each input and each call is at least so many times, spread evenly."""
    found = {}
    for calls, inputs in (
        (list(TAKES_FILES), list(FILES)),
        ([name for name in CALLS if name not in TAKES_FILES], list(INPUTS)),
    ):
        for turn in range(times * max(len(calls), len(inputs))):
            given, at = inputs[turn % len(inputs)], turn + turn // len(inputs)
            near = (calls[(at + step) % len(calls)] for step in range(len(calls)))
            found[given, next(call for call in near if belongs(given, call) and (given, call) not in found)] = None
    return list(found)


def run(given, call, folder, capfd, monkeypatch):
    """Make one call of the matrix; return where planted values show, or what else is wrong with its error."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    data = INPUTS[given](folder)
    error, found = traces_of(CALLS[call], data, folder, capfd=capfd, monkeypatch=monkeypatch, inputs=files_of(folder))
    if isinstance(error, LapwingError) and "\n" in str(error):
        found["error"] = ["more than one line"]
    if error is not None and given in WELL_FORMED and call in MEANT:
        found["error"] = [f"refused: {error}"]
    if not isinstance(error, LapwingError | KeyboardInterrupt | SystemExit | None):
        found["error"] = [type(error).__name__]
    return found


UNREADABLE = ("gzip cut off", "lazy code that fails", "Polars lists")
REFUSED = [
    (given, call)
    for at, call in enumerate(CALLS)
    for given in (UNREADABLE[0 if call in TAKES_FILES else at % 3],)
    if belongs(given, call)
]
"""Each call with a table that nobody can read to its end, of one kind or another: the error comes from within."""

PAIRS = list(dict.fromkeys([*covering(1), *REFUSED, ("lazy code that prints", "synthesize")]))


@pytest.mark.parametrize(("given", "call"), PAIRS)
def test_no_planted_value_shows_in_the_covering_sample(given, call, tmp_path, capfd, monkeypatch):
    assert run(given, call, tmp_path / "here", capfd, monkeypatch) == {}


@pytest.mark.full
@pytest.mark.parametrize("given", INPUTS)
def test_no_planted_value_shows_in_any_call(given, tmp_path, capfd, monkeypatch):
    calls = [call for call in CALLS if belongs(given, call)]

    found = {call: run(given, call, tmp_path / str(at), capfd, monkeypatch) for at, call in enumerate(calls)}

    assert {call: places for call, places in found.items() if places} == {}


def test_the_sample_covers_every_input_and_every_call():
    pairs = covering(1)

    for at, names in enumerate((INPUTS, CALLS)):
        times = {name: sum(pair[at] == name for pair in pairs) for name in names}
        assert min(times.values()) >= 1, times
    assert len(FRAMES) + len(FILES) >= 40
    assert len(MEANT) >= 30
