"""Attacks on synthetic rows."""
