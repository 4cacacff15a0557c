"""Rows and marginals from a released model."""
