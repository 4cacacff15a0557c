"""What is wrong with questions of any size: with one kind, with every kind about a table, with kept tables."""

import numpy as np

from helpers.grown_questions import KINDS, asked, flags_of, grown_pair
from helpers.residuals import residual_flags
from lapwing.audit.rechecks import noise_flags
from lapwing.kernel.budget.budget import Budget
from lapwing.rows.source import all_codes, code_table

COSTS = {"pure": Budget.pure(1), "rho": Budget.zcdp("0.5")}


def flags_at(kind, pair, cost, **sizes):
    """Return what is wrong with a kind of question on either neighbour."""
    found = []
    for grown, other in pair:
        source = code_table(grown.frame, grown.schema)
        flags, drawn = flags_of(kind, grown, source, cost, other=other, **sizes)
        found += flags + residual_flags(drawn)
    return found


def flags_of_all(grown, other, place, settings):
    """Return what is wrong with every kind of question about a table, whose codes must be the known ones."""
    source = code_table(grown.frame, grown.schema, **settings)
    coded = all_codes(source, grown.schema)
    found = [f"the codes of {name}" for name in grown.codes if not np.array_equal(coded[name], grown.codes[name])]
    for number, kind in enumerate(KINDS.values()):
        if kind.relation is None or (grown.terms.rows is not None and grown.rows):
            cost, copies = list(COSTS.values())[(number + place) % 2], 40 if grown.rows < 10**3 else 2
            found += flags_of(kind, grown, source, cost, size=16, copies=min(kind.copies, copies), other=other)[0]
    return found


def kept_flags(most_cells, cost):
    """Return what is wrong with answers from tables that selections have kept, within so many cells."""
    grown, _ = grown_pair(16, 500)
    names = [
        "SelectWorst",
        "SelectWorst of large tables",
        *(each for each in KINDS if each.startswith("MarginalCounts")),
    ]
    once = [(KINDS[name].ask(grown, 16, cost), KINDS[name]) for name in names]
    batches = [once, once[::-1], once * 2]
    source = code_table(grown.frame, grown.schema)
    questions = [[question for question, _ in batch] for batch in batches]
    answers, bits = asked(source, grown.schema, grown.terms, questions, cost, most_cells)
    exact = [kind.exact(grown, question) for batch in batches for question, kind in batch]
    return noise_flags(answers, exact, grown.terms, bits.playback())
