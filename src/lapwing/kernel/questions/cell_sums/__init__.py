"""Sums of coordinates in cells: type, answer, proof."""
