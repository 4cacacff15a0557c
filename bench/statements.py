"""How often statements of certificate, accuracy and plan are false, on small invented tables of all mechanisms.

    PYTHONPATH=tests python bench/statements.py [--releases 200] [-o OUT.csv]

One line for each kind of statement of a mechanism: how many were checked against the rows, and how many were false
(statements at 95 % may be in 5 %); one for each mechanism whose plan expects an error: the mean error and the mean
expected one. Mechanisms, relations, four schemas, budgets with and without δ take turns.
"""

import argparse
import csv
import sys
from pathlib import Path

import numpy as np

from helpers.true_statements import counted


def main() -> None:
    """Write one line for each kind of statement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=int, default=200)
    parser.add_argument("-o", type=Path)
    chosen = parser.parse_args()
    checked, false, planned = counted(range(chosen.releases))
    with chosen.o.open("w", newline="") if chosen.o else sys.stdout as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(("mechanism", "statement", "checked", "false", "mean_error", "expected"))
        lines.writerows((*kind, count, false[kind], "", "") for kind, count in sorted(checked.items()))
        for mechanism, pairs in planned.items():
            error, expected = np.mean(pairs, axis=0)
            lines.writerow((mechanism, "expected error of the plan", len(pairs), "", f"{error:.4g}", f"{expected:.4g}"))


if __name__ == "__main__":
    main()
