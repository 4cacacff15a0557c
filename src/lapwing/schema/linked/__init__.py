"""Linked tables: persons and their rows in order, households and persons, or a database of several tables."""
