"""Why Lapwing is behind, where somebody has looked; the page says so where nobody has."""

WEAK = (
    "the target's strongest pair (SEX x INDP_CAT, .107 from independent) is not counted: its 40 cells would be hidden "
    "by the noise of a pair (standard deviation 84, of 6,107 rows), as the budget is spread over some 60 pairs; "
    "`Adaptive(target=)` brings 1 - AUC of trees from .43 to .37 (5 runs each)"
)
SPREAD = (
    "a weakly tied target is one column of many: no pair of it is sure to be counted, which MST's tree is; "
    "`Adaptive(target=)` brings 1 - AUC of trees on letter from .087 to .074 (3 runs each)"
)
LEVELS = (
    "two columns, whose pair is measured at seven levels of detail (for sums over ranges): the finest has noise of "
    "standard deviation 12.6 (xor-1), alone it would have 5.8"
)
PARITY = "no linear classifier learns a parity, and nobody here one of four bits or more: chance decides"
EVEN_BITS = (
    "its pairs are independent and all alike, of 2 x 2 cells: .43 of the budget counts pairs, .25 single columns, .30 "
    "tables of three and four columns, which alone tell the parity"
)
GROUPS = (
    "all 45 pairs are counted, by groups of 4 of 32 codes, within which values are drawn without regard to each other: "
    "that alone costs .035 of the .043; Tab-PE moves whole rows by distances"
)
MANY_VALUES = (
    "premise tells location, but the table of their 124 x 118 values has more than the 4,096 cells that are counted at "
    "most: premises of fewer than some 350 rows share one group (.88 of synthetic rows have the location of their "
    "premise, all of the real ones); with 16,384 cells that table is not chosen either, for its noise"
)
OUTLIERS = "of the real correlations one is above .02, that of lon and lat: .05, and -.04 without ten far rows"
FEW = "so few rows (105, 667 and 1,200) that noise is above most counts, and chance decides"
CLIQUES = "privsyn joins up to eight of its sixteen flags into one table, where Lapwing counts pairs and triples"
COLUMNS = "most of the budget goes to pairs; `independent` spends all of it on columns, MST a third"
MEANS = "as for 1-way: columns get less of the budget"
DEVIATIONS = "as for 1-way: columns get less of the budget, and rare large values decide"
MEMORY = "Polars, Numba and 20,000 to 60,000 weighted rows are held at once"
TIME = "imports are counted, and it fits round by round what quicker ones fit once"
CAUSES = (
    ("tv1_narrow", "", COLUMNS),
    ("mean_error", "magic", "the bins alone make .071 under quantiles (the rows fitted on, coded and back)"),
    ("sd_error", "magic", "the bins alone make .851 under quantiles (the rows fitted on, coded and back)"),
    ("cpu_s", "", TIME),
    ("peak_mb", "", MEMORY),
    ("broken_rules", "", "codes cannot say rules, so that nobody keeps them"),
    ("", "mimic-demo-admissions", FEW),
    ("", "tarragona", FEW),
    ("", "teacher-climate", FEW),
    ("mean_error", "", MEANS),
    ("sd_error", "", DEVIATIONS),
    ("parity_broken", "", PARITY),
    ("auc_", "parity-", PARITY),
    ("auc_", "xor-", PARITY),
    ("", "parity-3", EVEN_BITS),
    ("auc_", "nist-ma2019", WEAK),
    ("pearson_", "nist-ma2019", "pure, or at ε = .1, noise hides pairs, and nobody is far from no relation at all"),
    ("auc_", "icu-physionet2012", "chance: AUC of trees was .763 to .788 in twelve runs of four settings"),
    ("auc_", "houston-crime", MANY_VALUES),
    ("pearson_", "houston-crime", OUTLIERS),
    ("pearson_", "gauss-10", GROUPS),
    ("auc_", "rhc-icu", "all but perfect for both"),
    ("auc_linear", "magic", "all but real rows for both: .8366 (.8351 to .8366 in three runs), .8383 and .8380"),
    ("", "nltcs", CLIQUES),
    ("auc_", "letter", SPREAD),
    ("auc_", "mushrooms", SPREAD),
    ("auc_", "plants", SPREAD),
    ("auc_", "balog-mog-d2", LEVELS),
    ("tv2_", "xor-1", LEVELS),
    ("tv2_", "balog-mog-d2", LEVELS),
    ("pearson_", "xor-", "its pairs are independent: what is left is noise, and chance decides"),
)
"""How measure and table begin, and the cause."""

AREAS = {
    "Single columns, means and standard deviations: Lapwing spends most of the budget on pairs": {
        *(COLUMNS, MEANS, DEVIATIONS),
    },
    "Memory: it holds 20,000 to 60,000 weighted rows and two large libraries": {MEMORY},
    "Parities of four bits and more: nobody learns them, and chance says who is ahead": {PARITY},
    "Tables of 100 to 1,200 rows: noise is above most counts, and chance says who is ahead": {FEW},
    "CPU time on small tables: imports count, and it fits round by round": {TIME},
    "Predicting a target that hangs weakly on many columns: no pair of it is sure to be counted; name it with "
    "`Adaptive(target=)`": {WEAK, SPREAD},
}
"""Causes in a few words, for the first sentences of the page."""


def cause_of(measure: str, table: str) -> str:
    """Return what is known of a loss in a measure on a table: the first that fits."""
    known = (cause for which, name, cause in CAUSES if measure.startswith(which) and table.startswith(name))
    return next(known, "nobody has looked yet")
