"""Noisy counts of a huge grid's well filled cells: type, answer, proof."""
