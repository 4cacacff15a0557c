"""How good synthetic rows are, beside the real ones: metrics, reports, and what an owner sees of a private table.

In: a private table, synthetic rows or a release. Out: findings that must not leave the house, marked `Internal`, and
comparisons that were bought with budget. `internal` alone reads rows, by the codec; `metrics` and `report` take codes.
"""
