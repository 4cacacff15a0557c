"""Counts of a contingency table: answer and proof."""
