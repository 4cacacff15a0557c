"""The first run of the arena on two cores, in order of what it tells: ``python bench/arena/plan.py | sh``.

Each stage is one command of run.py, which skips what the results answer; so all may be ended and started again. First
one run of everything, then the second and third. Chosen by what fits in a few hours. In the comparison before this one
(bench/results/peers.csv of commit 52f99ba9) fits took 5 to 45 CPU seconds (mbi's MST), 87 to 117 (MST of dpmm and
smartnoise), 276 (mbi's AIM on adult-pgm), 0 to 5 with up to 69 for the rows (DataSynthesizer), and 0 to 7 (Lapwing). So
the slow rivals' tables are small, each of another kind, and the limit is above all of these; the quick ones have all.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from arena.tables import names

RUNS = 3
LIMIT_S = 600
"""CPU seconds of a cell, the same for all."""
SMALL = ("nltcs", "parity-3", "magic", "gauss-10", "nist-ma2019", "adult-pgm")
"""Sixteen flags; a parity that no two columns tell; ten numbers and a class; numbers that all hang together; 24 mixed
columns with rules and missing cells; the papers' own table."""
NUMBERS = ("magic", "gauss-10", "nist-ma2019")
"""Of those, where the bins matter."""
WIDER = ("icu-physionet2012", "xor-3", "rhc-icu", "bn-alarm", "letter", "parity-5", "gauss-30")
"""Sentinels; parities beyond triples and in numbers; small and wide; a known graph; integers; thirty numbers."""
REST = tuple(name for name in names() if name not in (*SMALL, *WIDER))
"""All other tables."""
NATIVE = ("adult", "bank-marketing", "houston-crime", "nyc-airbnb", "eusilc", "icu-physionet2012", "rhc-icu")
QUICK = ("lapwing", "independent", "mbi-mst", "privsyn")
"""Rivals that take seconds to a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Cells that are run together: all combinations; run.py leaves out what a rival does not offer."""

    tables: tuple[str, ...]
    forms: tuple[str, ...] = ("codes",)
    epsilons: tuple[str, ...] = ("1",)
    deltas: tuple[str, ...] = ("1e-9", "0")
    rivals: tuple[str, ...] = ()

    def command(self, runs: int) -> str:
        """Return the command of the first so many runs."""
        settings = {"tables": self.tables, "forms": self.forms, "epsilons": self.epsilons, "deltas": self.deltas}
        settings |= {"rivals": self.rivals} if self.rivals else {}
        words = " ".join(f"--{name} {' '.join(values)}" for name, values in settings.items())
        return f"python bench/arena/run.py {words} --runs {runs} --limit {LIMIT_S}"


STAGES = (
    Stage(tables=SMALL),
    Stage(tables=NUMBERS, forms=("quantiles", "native"), deltas=("1e-9",)),
    Stage(tables=SMALL, epsilons=("0.1", "10"), deltas=("1e-9",), rivals=(*QUICK, "mbi-aim2")),
    Stage(tables=SMALL, deltas=("1e-5",), rivals=(*QUICK, "mbi-aim2")),
    Stage(tables=WIDER, deltas=("1e-9",), rivals=(*QUICK, "mbi-aim2", "opendp-mst")),
    Stage(tables=REST, deltas=("1e-9",), rivals=QUICK),
    Stage(tables=NATIVE, forms=("native",), deltas=("1e-9",), rivals=("lapwing", "independent", "dpmm-mst")),
)


def commands() -> Iterator[str]:
    """Yield all commands: run by run, then stage by stage."""
    for runs in range(1, RUNS + 1):
        for stage in STAGES:
            yield stage.command(runs)


if __name__ == "__main__":
    print(*commands(), sep="\n")
