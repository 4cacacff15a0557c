"""Databases that keep ledgers: tables, rules, transactions. Enters: what the kernel's ledger asks. Leaves: its rows.

A ledger is as safe as the store that its owner chose. No record comes here, and nothing of rows may be imported.
"""
