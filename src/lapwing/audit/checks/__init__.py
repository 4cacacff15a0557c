"""Answers checked against exact recounts."""
