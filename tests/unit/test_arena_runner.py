"""The arena's runner: every cell ends as figures or as a reason, and is not run twice."""

import argparse
import dataclasses
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from helpers.arena_runner import (
    RIVALS,
    cells,
    field,
    forms,
    google_dpsynth,
    run,
    standings,
    tables,
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


def test_what_goes_wrong_is_a_reason_and_the_next_cell_is_run(adapter: str, options: argparse.Namespace) -> None:
    run.run_all(options, rivals(adapter, "refuses", "fails", "is_killed", "none", "beyond", "evenly"))

    found = {line["rival"]: (line["status"], line["reason"]) for line in cells.read_lines(options.output)}
    assert found == {
        "refuses": ("refused", "epsilon 1 is too small for it"),
        "fails": ("failed", "ValueError: the rival broke"),
        "is_killed": ("failed", "ended by signal 9, as where the machine's memory runs out"),
        "none": ("failed", "it gave no rows"),
        "beyond": ("failed", "ValueError: the rival's rows are not codes of the columns"),
        "evenly": ("done", ""),
    }


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


@pytest.mark.usefixtures("shared_data")
def test_bought_bins_have_nearly_equal_shares_with_a_large_budget(tmp_path: Path) -> None:
    table = tables.made("magic", tmp_path)

    given = forms.prepared(table, "quantiles", "1000", "0", run=0, scratch=tmp_path)

    codes = pl.read_parquet(given.job["train"])
    shares = codes["fLength"].value_counts(normalize=True)["proportion"]
    assert len(shares) == given.job["domain"]["fLength"] == 32
    assert shares.max() < 2 / 32
    assert given.job["epsilon"] == "900.0"
    # Back and forth, every value lies in its bin.
    assert given.native(codes)["fLength"].is_between(0, 500).all()


def test_dpsynth_draws_with_noise_for_scores_that_move_either_way() -> None:
    """The halved noise of ``monotonic=True`` is what made its loss too large."""

    def draw(scores: list[float], *, monotonic: bool) -> tuple[list[float], bool]:
        return scores, monotonic

    module = SimpleNamespace(exponential_mechanism=draw)
    google_dpsynth.repair([SimpleNamespace(), module])

    assert module.exponential_mechanism([1.0], monotonic=True) == ([1.0], False)
    with pytest.raises(working.Refused, match="read its promise again"):
        google_dpsynth.repair([SimpleNamespace()])


def test_rows_out_that_are_no_codes_are_refused() -> None:
    job = {"form": "codes", "domain": {"a": 2, "b": 3}}

    assert working.as_table(np.array([[1, 2]]), job).to_pydict() == {"a": [1], "b": [2]}
    for rows in ([[2, 0]], [[-1, 0]], [[0]]):
        with pytest.raises(ValueError, match="not codes of the columns"):
            working.as_table(np.array(rows), job)


def line_of(rival: str, table: str, figure: float, run_: str = "0") -> cells.Line:
    """Return a line with one figure."""
    cell = cells.Cell(table, "codes", rival, "1", "1e-9", run_)
    return dataclasses.asdict(cell) | {"status": "done", "tv2_narrow": str(figure)}


def test_ratios_are_to_the_best_rival_and_have_intervals_over_places() -> None:
    lines = [line_of("lapwing", table, 0.2, run_) for table in "abcde" for run_ in "01"]
    lines += [line_of("mbi-mst", table, 0.1 if table == "b" else 0.4, run_) for table in "abcde" for run_ in "02"]
    lines += [line_of("privsyn", "a", 0.8), line_of("independent", "a", 0.01)]

    found = standings.ratio_to_best(lines, "tv2_narrow", "codes")

    # Logarithms: four times that of a half, and that of two; the quantile of Student's law is 2.776.
    assert found == standings.Ratio(*(pytest.approx(end, rel=1e-3) for end in (0.6598, 0.3056, 1.4245)), 5, 4)
    few = standings.ratio_to_best([line for line in lines if line["table"] in "ab"], "tv2_narrow", "codes")
    assert few == standings.Ratio(pytest.approx(1.0), None, None, 2, 1)
    lost = [(loss.rival, loss.place[0], loss.ours, loss.theirs) for loss in standings.losses(lines)]
    assert lost == [("independent", "a", 0.2, 0.01), ("mbi-mst", "b", 0.2, 0.1)]
