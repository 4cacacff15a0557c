"""Cells to codes, one value at a time: guarded, and the same on every engine."""
