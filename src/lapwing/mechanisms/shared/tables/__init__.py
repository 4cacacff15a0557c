"""Noisy tables that share columns: consistent estimates, and whole rows that meet them."""
