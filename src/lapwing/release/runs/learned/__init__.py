"""Bounds and lists of a schema that are learned with budget."""
