"""Synthetic rows and marginals from a released model."""
