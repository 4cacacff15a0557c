"""One command shows every figure, table and theorem of the papers, with what was measured and its bound."""

import subprocess
import sys

import pytest

from helpers.source_tree import ROOT

COMMAND = [sys.executable, str(ROOT / "bench" / "paper.py")]


def said(*words: str) -> list[str]:
    done = subprocess.run([*COMMAND, *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_list_names_each_figure_and_every_shown_one_has_its_lines() -> None:
    names = [line.partition(":")[0] for line in said()]

    assert {f"kd-tree figure-{number}" for number in (1, 2, "3a", "3b", "3c", *range(4, 11))} <= set(names)
    assert {"kd-tree table-1", "kd-tree table-2", "pmm.corollary_4_4"} <= set(names)


@pytest.mark.parametrize(
    "name",
    ["pmm.corollary_4_4", "pmm.corollary_3_7", "kd-tree figure-3a", "kd-tree table-1", "covariance_loss.theorem_5_11"],
)
def test_what_is_recorded_is_shown_with_a_verdict(name: str) -> None:
    head, *lines, verdict = said(name, "--recorded")

    assert len(lines) >= 4
    assert len(verdict.split()) >= 1
    if name.startswith("pmm"):
        w1, bound = head.split().index("w1"), head.split().index("bound")
        assert all(float(line.split()[w1]) <= float(line.split()[bound]) for line in lines)
