"""Distances of contingency tables."""
