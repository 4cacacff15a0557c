"""Why Lapwing is behind, where somebody has looked; the page says so where nobody has."""

CAUSES = (
    ("tv1_narrow", "", "most of the budget goes to pairs; `independent` spends all of it on columns, MST a third"),
    ("auc_trees", "parity-3", "nobody learned it, and chance decides: it shows in tables of four columns only"),
    ("auc_linear", "parity-3", "as no line parts a parity, chance decides"),
    ("cpu_s", "", "imports are counted, and it fits round by round what quicker ones fit once"),
)
"""Measure, table (empty for any), and the cause."""


def causes_of(measure: str, tables: set[str]) -> str:
    """Return what is known of a loss in a measure on tables."""
    known = [cause for which, table, cause in CAUSES if which == measure and (not table or table in tables)]
    return "; ".join(known) or "nobody has looked yet"
