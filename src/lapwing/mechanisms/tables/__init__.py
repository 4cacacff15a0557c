"""Exactly the tables that are named: measured, made consistent, in whole numbers, with rows that meet them."""
