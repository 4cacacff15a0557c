"""A ledger in a real Postgres with some entries, and what is done to it."""

from fractions import Fraction

import polars as pl

from helpers import databases
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.budget.ledger import Ledger

TERMS = {"relation": "add-remove", "privacy_unit": "row"}
SCHEMA = {"fields": [{"name": "flag", "type": "boolean", "constraints": {"required": True}}]}
DATA = pl.DataFrame({"flag": [True] * 70 + [False] * 30})
DELTA = Fraction(1, 10**9)


def pay(ledger, name, **more):
    return ledger.debit("adult", name, Budget.pure("0.1"), **TERMS, description={}, **more)


def paid_ledger(place):
    """Make a ledger of two debits, two noted answers and a limit that was changed."""
    made = Ledger.create_or_open(place)
    made.init("adult", unit="zcdp", limit=1, selection_delta="1e-6", **TERMS)
    pay(made, "a", delta=DELTA)
    made.note_answers("adult", "a", ["0" * 64, "1" * 64])
    pay(made, "b")
    made.set_limit("adult", 2)
    return made


def changed(database_server, *statements):
    """Run statements as the owner of the database, behind Lapwing's back."""
    databases.run(database_server.url, "SET search_path = lapwing_ledger", *statements)
