"""Bounds of the papers by their numbers, which nothing that makes a release needs: numbers in, numbers out, no row."""
