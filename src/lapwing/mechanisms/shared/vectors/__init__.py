"""Rows as vectors: their moments, means of groups, and models made of them."""
