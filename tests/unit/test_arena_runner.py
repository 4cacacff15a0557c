"""The arena's runner: every cell ends as figures or as a reason, and is not run twice."""

import argparse
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.arena_runner import (
    RIVALS,
    cells,
    field,
    google_dpsynth,
    run,
    working,
)

ADAPTER = '''"""A rival that draws every code evenly, and ways to go wrong."""
import os, signal, sys
sys.path.insert(0, {rivals!r})
import numpy as np
import working

def evenly(codes, job):
    rng = np.random.default_rng(job["run"])
    return lambda: rng.integers(0, list(job["domain"].values()), codes.shape)

def refuses(codes, job):
    raise working.Refused("epsilon 1 is too small for it")

def fails(codes, job):
    raise ValueError("the rival broke")

def is_killed(codes, job):
    os.kill(os.getpid(), signal.SIGKILL)

def never_ends(codes, job):
    while True:
        pass

working.run({{"evenly": evenly, "refuses": refuses, "fails": fails, "never_ends": never_ends, "is_killed": is_killed,
             "none": lambda codes, job: lambda: codes[:0], "beyond": lambda codes, job: lambda: codes + 10_000}},
            ("numpy",), {{"seeded": True}})
'''


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return where the adapter is, without its suffix."""
    path = tmp_path_factory.mktemp("rivals") / "even.py"
    path.write_text(ADAPTER.format(rivals=str(RIVALS)))
    return str(path.with_suffix(""))


@pytest.fixture
def options(shared_data: Path, tmp_path: Path) -> argparse.Namespace:
    """Return the settings of a run of one small table."""
    words = ["--tables", "tarragona", "--forms", "codes", "--epsilons", "1", "--deltas", "0", "--runs", "1"]
    places = ["--folder", str(tmp_path / "tables"), "-o", str(tmp_path / "arena.csv")]
    return run.read_options([*words, "--limit", "60", *places])


def rivals(adapter: str, *mechanisms: str) -> dict[str, field.Rival]:
    """Return rivals by what the adapter calls them."""
    return {name: field.Rival(script=adapter, mechanism=name, promise="either") for name in mechanisms}


def test_a_cell_has_figures_and_is_run_again_only_if_asked(adapter: str, options: argparse.Namespace) -> None:
    run.run_all(options, rivals(adapter, "evenly"))
    line = cells.read_lines(options.output)[0]
    written = options.output.stat().st_mtime_ns

    run.run_all(options, rivals(adapter, "evenly"))

    assert options.output.stat().st_mtime_ns == written
    assert (line["status"], line["reason"], line["rows"], line["rows_out"]) == ("done", "", "667", "667")
    assert 0 < float(line["tv2_narrow"]) < 1
    assert float(line["peak_mb"]) > 10
    assert line["versions"] == f"numpy {np.__version__}"

    options.again = True
    run.run_all(options, rivals(adapter, "evenly"))

    assert len(cells.read_lines(options.output)) == 1
    assert options.output.stat().st_mtime_ns > written


def test_a_cell_is_ended_at_its_limit_and_run_again_at_a_higher_one(adapter: str, options: argparse.Namespace) -> None:
    options.limit = 1
    run.run_all(options, rivals(adapter, "never_ends"))

    line = cells.read_lines(options.output)[0]
    assert (line["status"], line["reason"]) == ("did not finish", "over 1 CPU s")
    assert cells.answers(line, 1)
    assert not cells.answers(line, 2)


def test_a_cell_over_its_memory_is_ended(adapter: str, options: argparse.Namespace) -> None:
    options.memory = 1

    run.run_all(options, rivals(adapter, "never_ends"))

    line = cells.read_lines(options.output)[0]
    assert (line["status"], line["reason"]) == ("did not finish", "over 1 MB")


def test_dpsynth_draws_with_noise_for_scores_that_move_either_way() -> None:
    """The halved noise of ``monotonic=True`` is what made its loss too large."""

    def draw(scores: list[float], *, monotonic: bool) -> tuple[list[float], bool]:
        return scores, monotonic

    module = SimpleNamespace(exponential_mechanism=draw)
    google_dpsynth.repair([SimpleNamespace(), module])

    assert module.exponential_mechanism([1.0], monotonic=True) == ([1.0], False)
    with pytest.raises(working.Refused, match="read its promise again"):
        google_dpsynth.repair([SimpleNamespace()])


def test_dpsynth_runs_all_that_the_field_names_and_swift_with_our_limits_or_its_own() -> None:
    named = {rival.mechanism for rival in field.RIVALS.values() if rival.script == "google_dpsynth"}

    assert named <= google_dpsynth.FITS.keys()
    assert google_dpsynth.FITS["swift"].keywords == {"config": "SWIFTConfig", "limits": google_dpsynth.SWIFT}
    assert google_dpsynth.FITS["swift-own"].keywords == {"config": "SWIFTConfig"}


def test_rows_out_that_are_no_codes_are_refused() -> None:
    job = {"form": "codes", "domain": {"a": 2, "b": 3}}

    assert working.as_table(np.array([[1, 2]]), job).to_pydict() == {"a": [1], "b": [2]}
    for rows in ([[2, 0]], [[-1, 0]], [[0]]):
        with pytest.raises(ValueError, match="not codes of the columns"):
            working.as_table(np.array(rows), job)
