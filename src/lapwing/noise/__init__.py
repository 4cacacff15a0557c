"""Exact noise from secret bits; integers only."""
