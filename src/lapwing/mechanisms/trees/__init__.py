"""Mechanisms that count in nested cells: PMM, PSMM, Grid and KDTree."""
