"""Counts of a released model with their intervals."""
