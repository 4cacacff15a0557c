"""Releases of linked tables: rows drawn from the first table down, each given those before and above it."""
