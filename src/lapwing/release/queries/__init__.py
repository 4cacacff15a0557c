"""Queries of a release, with intervals."""
