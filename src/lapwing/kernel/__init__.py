"""The privacy kernel: what an auditor reads.

Questions with their sensitivities and proofs, exact noise, budgets, the ledger, the transcript, and the room that
answers.

Enters: a coded source and questions with costs. Leaves: noisy answers, each debited before it is drawn and recorded
before
it is returned. No SciPy, no Polars, no floating point before an answer; imports `rows`, `schema`, `maths` and `errors`.
"""
