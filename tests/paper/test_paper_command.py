"""One command shows every figure, table and theorem of the papers, with what was measured and its bound."""

import subprocess
import sys

from helpers.source_tree import ROOT

COMMAND = [sys.executable, str(ROOT / "bench" / "paper.py")]


def said(*words: str) -> list[str]:
    done = subprocess.run([*COMMAND, *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_list_names_each_figure_and_every_shown_one_has_its_lines() -> None:
    names = [line.partition(":")[0] for line in said()]

    assert {f"kd-tree figure-{number}" for number in (1, 2, "3a", "3b", "3c", *range(4, 11))} <= set(names)
    assert {"kd-tree table-1", "kd-tree table-2", "pmm.corollary_4_4"} <= set(names)


def test_what_is_recorded_is_shown_with_a_verdict_and_no_distance_is_above_its_bound() -> None:
    kept = [line.partition(": ") for line in said()]
    names = [name for name, _, verdict in kept if not verdict.startswith("by its example") and "picture" not in verdict]
    assert len(names) >= 15

    for name in names:
        head, *lines, verdict = said(name, "--recorded")
        assert len(lines) >= 4, name
        assert verdict
        if name.startswith("pmm."):
            w1, bound = head.split().index("error"), head.split().index("bound")
            assert all(float(line.split()[w1]) <= float(line.split()[bound]) for line in lines)
