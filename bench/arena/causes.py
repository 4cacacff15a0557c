"""Why Lapwing is behind, where somebody has looked; the page says so where nobody has."""

WEAK = (
    "the target's strongest pair (SEX x INDP_CAT, .107 from independent) is not counted: its 40 cells would drown in "
    "the noise of a pair (standard deviation 84, of 6,107 rows), as the budget is spread over some 60 pairs; "
    "`Adaptive(target=)` brings 1 - AUC of trees from .43 to .37 (5 runs each)"
)
CAUSES = (
    ("tv1_narrow", "", "most of the budget goes to pairs; `independent` spends all of it on columns, MST a third"),
    ("mean_error", "magic", "the bins alone make .071 under quantiles (the rows fitted on, coded and back)"),
    ("sd_error", "magic", "the bins alone make .851 under quantiles (the rows fitted on, coded and back)"),
    ("sd_error", "adult-pgm", "as for 1-way: rare large values decide, and columns get less of the budget"),
    ("auc_trees", "parity-", "nobody learned the parity, and chance decides"),
    ("auc_linear", "parity-", "as no line parts a parity, chance decides"),
    ("auc_", "nist-ma2019", WEAK),
    ("auc_", "rhc-icu", "all but perfect for both"),
    ("broken_rules", "", "codes cannot say rules, so that nobody keeps them"),
    ("parity_broken", "", "nobody learned the parity, and chance decides"),
    ("cpu_s", "", "imports are counted, and it fits round by round what quicker ones fit once"),
    ("peak_mb", "", "Polars, Numba and 20,000 to 60,000 weighted rows are held at once"),
)
"""How measure and table begin, and the cause."""


def causes_of(measure: str, tables: set[str]) -> str:
    """Return what is known of a loss in a measure on tables."""
    known = [
        cause
        for which, table, cause in CAUSES
        if measure.startswith(which) and any(name.startswith(table) for name in tables)
    ]
    return "; ".join(known) or "nobody has looked yet"
