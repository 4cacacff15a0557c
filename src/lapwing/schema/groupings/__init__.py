"""Domains of codes, and public maps from codes to groups: runs, lookups, hierarchies."""
