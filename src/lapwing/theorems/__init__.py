"""Bounds of the papers by their numbers: numbers in, numbers out, no row.

A module for each paper; its table says what each statement became, and why it differs.

>>> import lapwing as lw
>>> round(lw.theorems.pmm.corollary_4_4(4000, 1.0, 1), 4)
0.1197
"""

from lapwing.theorems import covariance_loss, kd_tree, linear_statistics, pmm, private_sampling

__all__ = ["covariance_loss", "kd_tree", "linear_statistics", "pmm", "private_sampling"]
