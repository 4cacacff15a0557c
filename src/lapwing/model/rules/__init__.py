"""Rows that keep the schema's rules."""
