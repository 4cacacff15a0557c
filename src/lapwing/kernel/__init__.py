"""The privacy kernel, what an auditor reads: questions with their proofs, noise, budgets, the ledger and the room.

Enters: a coded source and questions with costs. Leaves: noisy answers, each debited before it is drawn and recorded
before it is returned. No SciPy, no Polars, no floating point before an answer.
"""
