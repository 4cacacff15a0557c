"""Privacy budget: exact amounts, conversions to the safe side, and the persistent ledger."""
