"""What the audits see: ``python bench/audit_power.py replay|black-box|slips [--pairs 24] [-o OUT.csv]``.

``replay``: every bug of ``tests/planted`` is planted, and record and replay looks at the pairs of neighbours that its
test generates: ``--pairs`` of them, or more until the first flag, as far as the test goes. Where the test would stop at
a flag, it goes on here. Columns: the share of pairs that are flagged, the number of the first one, and seconds per
pair. A bug that is never flagged has no first pair. ``tests/boundary/test_planted.py`` runs the honest code on the same
pairs, and fails at any flag.

``black-box``: every planted bug of ``tests/boundary/test_question_black_box.py`` (``--runs 1000 10000 100000`` on each
of two neighbours; the most runs only for bugs that fewer did not show): the claim, and the lower bound that is
certified of the code as it is and of the bug. A bug is seen where its bound is above the claim.

``slips``: every slip of ``tests/planted/slips.py`` is planted, and parts of ``lapwing audit`` look for it, with
``--runs 300 3000``: columns: what saw it first, and at how many; both empty where nothing did. Releases of
most mechanisms are left out, so an audit of everything sees these slips, and perhaps more.

Bugs are written in tests, so this runs from the source tree only.
"""

import argparse
import csv
import importlib.util
import itertools
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from lapwing.extras.audit import run

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).parent / "results"
QUESTIONS = ROOT / "tests" / "boundary" / "test_question_black_box.py"
CERTIFIED = (
    "question",
    "label",
    "relation",
    "max_rows",
    "notion",
    "bug",
    "runs",
    "claim",
    "honest",
    "certified",
    "is_seen",
    "seconds",
)
SLIPS = ("slip", "seen_by", "runs", "seconds")
FIELDS = ("file", "bug", "pairs", "flagged", "share", "first_flag", "seconds_per_pair")


OUTPUTS = {
    "replay": ("audit_power.csv", FIELDS),
    "black-box": ("audit_black_box.csv", CERTIFIED),
    "slips": ("audit_slips.csv", SLIPS),
}
"""By what is measured."""


def replay_power(pairs: int, write: Callable[[dict[str, object]], None]):
    """Write one line per planted bug and audit, slow releases last."""
    sys.path.insert(0, str(ROOT / "tests"))
    bugs = importlib.import_module("helpers.planted_bugs").BUGS
    for name, bug in sorted(bugs, key=lambda each: "adaptive" in each[0]):
        if not bug.audit.looks.__name__.startswith("replay"):
            continue
        begun = time.process_time()
        flags = flags_of(bug, pairs)
        seconds = time.process_time() - begun
        write(
            {
                "file": name.partition("-")[0],
                "bug": name.partition("-")[2],
                "pairs": len(flags),
                "flagged": sum(flags),
                "share": f"{sum(flags) / len(flags):.3f}",
                "first_flag": 1 + flags.index(True) if any(flags) else "",
                "seconds_per_pair": f"{seconds / len(flags):.4f}",
            }
        )


def flags_of(bug, pairs: int):
    """Return which pairs are flagged while a bug is planted."""
    flags = []
    with pytest.MonkeyPatch.context() as patch:
        bug.plant(patch)
        for look in bug.audit.every_look():
            flags.append(bool(look()))
            if len(flags) >= (pairs if any(flags) else max(pairs, bug.within)):
                return flags


def loaded_cases():
    """Return the module of the tests that hold the planted bugs of questions."""
    sys.path.insert(0, str(ROOT / "tests"))
    spec = importlib.util.spec_from_file_location("question_black_box", QUESTIONS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def black_box_power(runs: list[int], write: Callable[[dict[str, object]], None]):
    """Write what is certified of every planted bug, at each number of runs."""
    cases = loaded_cases()
    honest, seen = {}, set()
    for number, (plant, module, asked, *_) in itertools.product(runs, cases.PLANTED):
        if number == max(runs) and (plant, asked) in seen:
            continue
        case = cases.case_of(*asked)
        if (case, number) not in honest:
            honest[case, number] = cases.loss_of(case, number)
        begun = time.process_time()
        with pytest.MonkeyPatch.context() as patch:
            plant(patch, module)
            certified = cases.loss_of(case, number)
        if certified > case.claim:
            seen.add((plant, asked))
        write(
            {
                "question": case.question,
                "label": case.label,
                "relation": case.relation,
                "max_rows": case.max_rows,
                "notion": case.cost.notion,
                "bug": next(name for name, value in vars(cases).items() if value is plant),
                "runs": number,
                "claim": f"{case.claim:.4g}",
                "honest": f"{honest[case, number]:.4g}",
                "certified": f"{certified:.4g}",
                "is_seen": certified > case.claim,
                "seconds": f"{time.process_time() - begun:.2f}",
            }
        )


LOOKING = ("independent", "large", "link", "evaluate", "mend")
"""Parts of an audit that look for slips, before the questions."""


def slip_power(counts: list[int], write: Callable[[dict[str, object]], None]):
    """Write from how many runs on each slip is seen, and by what."""
    sys.path.insert(0, str(ROOT / "tests"))
    slips = importlib.import_module("helpers.planted_bugs").SLIPS
    for name, slip in slips.items():
        begun = time.process_time()
        runs, part = next(seen_first(slip, counts), ("", ""))
        seconds = f"{time.process_time() - begun:.1f}"
        write({"slip": name, "seen_by": part, "runs": runs, "seconds": seconds})


def seen_first(slip: Callable[[pytest.MonkeyPatch], None], counts: list[int]):
    """Yield the runs at which a part of the audit flags a slip, and which part."""
    cases = [case for case in run.question_cases() if case.relation == "add-remove"]
    for runs in sorted(counts):
        looks = [(name, partial(run.audit, [name], runs=runs)) for name in LOOKING]
        looks += [(case.question, partial(run._seen_from_outside, case, runs)) for case in cases]
        yield from ((runs, name) for name, look in looks if not passes(look, slip, name in LOOKING))


def passes(look: Callable[[], run.AuditReport], slip: Callable[[pytest.MonkeyPatch], None], is_release: bool):
    """Tell whether a part of the audit flags nothing of a slip; of releases without the questions that they ask."""
    with pytest.MonkeyPatch.context() as patch:
        if is_release:
            patch.setattr(run, "question_cases", tuple)
        slip(patch)
        return look().has_passed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(OUTPUTS))
    parser.add_argument("--pairs", type=int, default=24, help="looked at per bug, or more until the first flag")
    parser.add_argument("--runs", type=int, nargs="+", help="on each neighbour")
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    name, fields = OUTPUTS[asked.what]
    with (asked.output or RESULTS / name).open("w", encoding="utf-8", newline="", buffering=1) as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n" if asked.what == "slips" else "\r\n")
        writer.writeheader()
        if asked.what == "replay":
            replay_power(asked.pairs, writer.writerow)
        elif asked.what == "slips":
            slip_power(asked.runs or [300, 3000], writer.writerow)
        else:
            black_box_power(asked.runs or [1000, 10_000, 100_000], writer.writerow)


if __name__ == "__main__":
    main()
