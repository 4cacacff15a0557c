"""Which peer is run on which table at which budget, cheapest first, and which of that the results lack."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

TABLES = ("adult-pgm", "nltcs", "magic", "rhc-icu")
"""At epsilon 1: a census table, sixteen flags, ten numbers and a class, and a small wide one of mixed columns."""
SWEPT = "nltcs"
"""The table at other epsilons too: the one that every peer can afford."""
OTHER_EPSILONS = ("0.3", "3")
DELTA = "1e-9"
PURE = "0"
PEERS = (
    ("lapwing-adaptive", DELTA),
    ("lapwing-adaptive", PURE),
    ("lapwing-independent", DELTA),
    ("lapwing-independent", PURE),
    ("mbi-mst", DELTA),
    ("dpmm-mst", DELTA),
    ("smartnoise-mst", DELTA),
    ("datasynthesizer-k1", PURE),
    ("datasynthesizer-k2", PURE),
    ("datasynthesizer-privbayes", PURE),
    ("mbi-aim", DELTA),
    ("dpmm-aim", DELTA),
    ("smartnoise-aim", DELTA),
)
"""With the delta of their promise; DataSynthesizer knows pure epsilon only."""


@dataclass(frozen=True, slots=True)
class Fit:
    """One fit of the plan.

    Parameters
    ----------
    peer, table, epsilon, delta : str
        As in the results.
    run : int
        Number of the repetition.
    """

    peer: str
    table: str
    epsilon: str
    delta: str
    run: int


def planned(runs: int) -> list[Fit]:
    """Return all fits: every table at epsilon 1 peer by peer, then the other epsilons."""
    places = [(table, "1") for table in TABLES] + [(SWEPT, epsilon) for epsilon in OTHER_EPSILONS]
    return [
        Fit(peer, table, epsilon, delta, run)
        for run in range(runs)
        for peer, delta in PEERS
        for table, epsilon in places
    ]


def is_answered(fit: Fit, version: str, cpu_limit: float, lines: Iterable[Mapping[str, str]]) -> bool:
    """Say whether a line of this version answers the fit: it ended, or was stopped at a limit at least as high."""
    wanted = (fit.peer, version, fit.table, fit.epsilon, fit.delta, str(fit.run))
    return any(
        tuple(line[key] for key in ("peer", "version", "table", "epsilon", "delta", "run")) == wanted
        and stopped_at(line["status"]) >= cpu_limit
        for line in lines
    )


def stopped_at(status: str) -> float:
    """Return the CPU seconds after which a fit was ended; infinity where that is not how it ended."""
    words = status.split()
    return float(words[2]) if status.startswith("stopped") and words[-1] == "s" else float("inf")


def lines_of(path: Path) -> list[dict[str, str]]:
    """Return the lines of a file of results; none where it is missing."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
