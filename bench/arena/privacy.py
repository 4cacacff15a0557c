"""What was checked of each rival's privacy before it ran, by reading the version that is locked or named."""

from typing import Literal

Verdict = Literal["as stated", "repaired", "weaker"]

CHECKED: dict[tuple[str, ...], tuple[Verdict, str]] = {
    ("lapwing", "independent"): ("as stated", "exact integers, no seed; nothing is read off the rows unpaid"),
    ("mbi-mst", "mbi-aim2", "mbi-aim2-merged", "mbi-aim3"): (
        "as stated",
        "written here from the papers on mbi's estimation; floating-point Gaussian from a seed",
    ),
    ("opendp-mst", "opendp-aim2", "opendp-aim3"): (
        "as stated",
        "OpenDP's exact noise; scores declared not monotonic; public keys; zCDP converted by the arena",
    ),
    ("dpmm-mst", "dpmm-aim"): (
        "as stated",
        "OpenDP's noise, floating-point selection; with native values weaker: which columns are constant or miss "
        "values is read off, and a row's value fills them",
    ),
    ("dpmm-privbayes",): (
        "weaker",
        "parents are drawn by mutual information in bits, divided by a root of entropies, with the sensitivity of "
        "undivided nats; the row count is public",
    ),
    ("smartnoise-mst", "smartnoise-aim"): ("weaker", "the exact row count is used and given out; else OpenDP's noise"),
    ("smartnoise-mwem",): (
        "weaker",
        "smallest and largest code of each column, rounds and width of tables come from the rows or their exact count",
    ),
    ("datasynthesizer", "datasynthesizer-k2"): (
        "weaker",
        "row count, largest codes, two-valued columns and shares of missing are read off; a seed that is 0 unless "
        "given; its description file spends epsilon once more",
    ),
    ("privsyn",): ("repaired", "floating-point noise from a seed; rows as many as noisy counts say, not as went in"),
    ("dpsynth-aim",): (
        "repaired",
        "selection with monotonic=True though L1 errors are not monotone, a loss of up to four times its charge: "
        "drawn without",
    ),
    ("dpsynth-aim-gdp", "dpsynth-swift", "dpsynth-swift-own", "dpsynth-swift-merged"): (
        "as stated",
        "errors with Gaussian noise, sensitivity 1; floating point",
    ),
    ("dpsynth-mst", "dpsynth-mst-merged"): (
        "as stated",
        "half of what columns leave chooses, by the exponential mechanism; floating point",
    ),
    ("margnet",): ("as stated", "floating-point noise from a seed; codes, so that its PrivTree bins cost nothing"),
    ("tab-pe",): (
        "repaired",
        "categories, bounds and shares of labels are read off the rows: public domain and one label given",
    ),
}


def verdict_of(rival: str) -> str:
    """Return the verdict on a rival; "not run" where there was nothing to check."""
    return next((verdict for rivals, (verdict, _) in CHECKED.items() if rival in rivals), "not run")
