"""Why Lapwing is behind, measure by measure, where somebody has looked; the page says so where nobody has."""

CAUSES = {
    "tv1_narrow": "most of the budget goes to pairs; every column on its own spends all of it on columns",
    "cpu_s": "imports are counted, and it fits round by round what the quicker ones fit once",
}
