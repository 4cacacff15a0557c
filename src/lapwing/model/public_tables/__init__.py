"""Rows that agree with public tables."""
