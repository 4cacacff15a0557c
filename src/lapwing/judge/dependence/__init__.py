"""Associations and moments of pairs of columns."""
