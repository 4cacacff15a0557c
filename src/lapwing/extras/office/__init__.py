"""What a data office needs: policies of what may be spent, ledgers in Postgres, certificates on paper and signed.

In: what a run would spend, entries of a ledger, certificates. Out: refusals, a store of ledgers, pages. Reads no row.
"""
