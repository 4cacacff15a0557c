"""Noisy counts of a tree of cells: type, answer, proof."""
