"""How far whole releases tell two neighbours apart: ``python bench/tight_audit.py [--runs 20000] [--only PMM]``.

Each mechanism runs so many times (or a part of it, where a run takes long) on a table of one row, and as often
on one with a row more, which loses as much as the claim allows. The attacker knows both tables and sees the answers,
or only the released model. Columns: the claim (epsilon, or mu = sqrt(2 rho), that of a Gaussian mechanism with the same
rho), the exact loss of the answers between the tables as a share of the claim, what is certified with 95 % confidence
of the answers and of the model alone, and the most likely mu of the first. Beside it ``..._curves.csv``: the share of
missed second tables at some shares of false alarms, that of the claim, and a joint 95 % band for both shares.

What is seen of a run is defined in ``tests/helpers/tight_audits.py``, so this runs from the source tree only.
"""

import argparse
import csv
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import norm

from lapwing.extras.audit.worst_case import certified_loss
from lapwing.kernel.budget.budget import read_request
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.trees.kd_tree.mechanism import KDTree
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from helpers.tight_audits import Attacked, certified_mu  # noqa: E402

MISTAKE = 0.05
LEARNED = 0.1  # of the runs choose the cut of the model's rows, and take no further part
ALPHAS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
ZCDP = ({"epsilon": 1, "delta": 1e-9}, {"epsilon": 1, "delta": 1e-2})
PURE = ({"epsilon": 1},)
CASES = (
    (PMM(), 1, 1.0, (*ZCDP, *PURE)),
    (Microaggregation(), 2, 0.5, (*ZCDP, *PURE)),
    (KDTree(), 1, 0.5, PURE),
    (Adaptive.small(), 3, 0.15, (*ZCDP, *PURE)),
)
FIELDS = (
    "mechanism",
    "columns",
    "notion",
    "delta",
    "claimed",
    "exact_share",
    "certified_answers",
    "estimated_answers",
    "certified_model",
    "runs",
    "seconds",
)
CURVES = ("mechanism", "notion", "delta", "false_alarms", "missed", "missed_by_claim", "band")


def learned_cut(first, second):
    """Return the cut that guesses best on these runs."""
    cuts = np.unique(np.concatenate([first, second]))
    right = np.searchsorted(np.sort(first), cuts, "right") - np.searchsorted(np.sort(second), cuts, "right")
    return float(cuts[right.argmax()])


def most_likely_mu(first, second, cut=0.0):
    """Return the mu under which so many guesses by a cut would be right."""
    return 2 * float(norm.ppf(((first <= cut).mean() + (second > cut).mean()) / 2))


def trade_off(first, second, alphas):
    """Return shares of false alarms on the first table, at most these, and of missed second tables."""
    cuts = np.quantile(first, 1 - np.asarray(alphas), method="higher")
    return np.array([[(first > cut).mean() for cut in cuts], [(second <= cut).mean() for cut in cuts]])


def certified(first, second, notion, cut):
    """Return the certified mu or epsilon of two columns of scores."""
    if notion == "pure":
        return certified_loss(first[:, None], second[:, None], mistake=MISTAKE)
    return certified_mu(first, second, cut, mistake=MISTAKE)


def missed_by_claim(claim, notion, alphas):
    """Return the least share of missed second tables that a claim allows at each share of false alarms."""
    if notion == "zcdp":
        return norm.cdf(norm.ppf(1 - alphas) - claim)
    return np.maximum(1 - np.exp(claim) * alphas, np.exp(-claim) * (1 - alphas))


def audited(mechanism, columns, asked, runs):
    """Return the line of one case, and those of its curve."""
    begun = time.process_time()
    budget = read_request(**asked).budget
    case = Attacked(mechanism, budget, columns)
    (first, second), notion = case.scores(runs), budget.notion
    claim = float(budget.amount) if notion == "pure" else (2 * float(budget.amount)) ** 0.5
    learned = round(LEARNED * runs)
    cut = learned_cut(first[:learned, 1], second[:learned, 1])
    named = {"mechanism": type(mechanism).__name__, "notion": notion, "delta": asked.get("delta", 0)}
    losses = np.concatenate([first[:, 3], second[:, 3]]) / float(budget.amount)
    line = named | {
        "columns": columns,
        "claimed": f"{claim:.4f}",
        "exact_share": f"{losses.mean():.4f}",
        "certified_answers": f"{certified(first[:, 0], second[:, 0], notion, 0.0):.4f}",
        "estimated_answers": f"{most_likely_mu(first[:, 0], second[:, 0]):.4f}" if notion == "zcdp" else "",
        "certified_model": f"{certified(first[learned:, 1], second[learned:, 1], notion, cut):.4f}",
        "runs": runs,
        "seconds": f"{time.process_time() - begun:.0f}",
    }
    alarms, missed = trade_off(first[:, 0], second[:, 0], ALPHAS)
    band = (np.log(4 / MISTAKE) / (2 * runs)) ** 0.5
    curve = [
        named | dict(zip(CURVES[3:], (f"{each:.4f}" for each in point), strict=True))
        for point in zip(alarms, missed, missed_by_claim(claim, notion, alarms), [band] * len(alarms), strict=True)
    ]
    return line, curve


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000, help="on each of the two tables")
    parser.add_argument("--only", help="name of one mechanism")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "bench" / "results" / "tight_audit.csv")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = [each for each in CASES if asked.only in (None, type(each[0]).__name__)]
    curves = asked.output.with_name(f"{asked.output.stem}_curves.csv")
    with asked.output.open("w", newline="", buffering=1) as lines, curves.open("w", newline="", buffering=1) as points:
        line_writer, point_writer = csv.DictWriter(lines, FIELDS), csv.DictWriter(points, CURVES)
        line_writer.writeheader()
        point_writer.writeheader()
        for mechanism, columns, part, budget in [(*rest, each) for *rest, budgets in cases for each in budgets]:
            line, curve = audited(mechanism, columns, budget, round(part * asked.runs))
            line_writer.writerow(line)
            point_writer.writerows(curve)


if __name__ == "__main__":
    main()
