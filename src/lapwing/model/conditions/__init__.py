"""Rows under conditions."""
