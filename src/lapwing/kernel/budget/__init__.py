"""Budgets in exact fractions, conversions between notions, and the ledger that debits them."""
