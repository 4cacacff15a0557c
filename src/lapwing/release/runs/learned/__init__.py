"""Bounds and lists of a schema that are bought with budget."""
