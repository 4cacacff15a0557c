"""Interacting particles: made-up rows of equal weight, moved until their tables are those that were measured.

Enters: axes, tables with targets and ridges, a public generator. Leaves: particles and the parameters that explain
them.
Imports `maths` and `errors` alone; compiled by numba.
"""
