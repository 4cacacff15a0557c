"""What is wrong with questions of any size: with one kind, with every kind about a table, with kept tables."""

from fractions import Fraction

import numpy as np

from helpers.grown_questions import KINDS, grown_pair
from helpers.residuals import residual_flags
from lapwing.extras.audit.held import RecordingBits
from lapwing.extras.audit.rechecks import loss_between, loss_flags_between, noise_flags
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
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


def flags_of(kind, grown, source, cost, *, size=None, copies=None, other=None):
    """Ask so many copies in one batch, then one more; return what is wrong, and the residuals of each with their laws.

    Answers must be naive counts plus noise that is drawn again from the recorded secret words, and lose at most what
    they cost between the table and the other one, if it is given.
    """
    question = kind.ask(grown, grown.values if size is None else size, cost)
    batch = [question] * (kind.copies if copies is None else copies)
    answers, bits = asked(source, grown.schema, grown.terms, [batch, [question]], cost)
    exact = kind.exact(grown, question)
    flags = noise_flags(answers, [exact] * len(answers), grown.terms, bits.playback())
    flags += ["a secret word came twice"] * bits.has_repeats
    if other is not None:
        flags += losses_flags(answers[0], exact, kind.exact(other, question))
    return flags, residuals(answers, exact)


def losses_flags(answer, exact, others):
    """Return what is wrong with what an answer loses between two tables."""
    loss, cost = loss_between(answer, exact, others), answer.question.cost.amount
    return [*loss_flags_between(answer, exact, others), *[f"{loss} is lost, {cost} is paid"] * (loss > cost)]


def asked(source, schema, terms, batches, cost, most_cells=None):
    """Return the answers to some batches, asked one after the other in one room, and the recorded secret words."""
    bits = RecordingBits(SystemBits())
    budget = Budget(cost.notion, Fraction(10**9))
    room = Room(source, schema, terms, budget, bits=bits, sink=NoTranscript(), delta=Fraction(1), most_cells=most_cells)
    return [answer for batch in batches for answer in room.ask(*batch)], bits


def residuals(answers, exact):
    """Return the noise of each table of an answer, by its law: an array with a row for each of several answers."""
    found = {}
    for answer in answers:
        tables = getattr(answer, "tables", ())
        if [table.counts.shape for table in tables] == [getattr(each, "shape", None) for each in exact]:
            for place, (table, each) in enumerate(zip(tables, exact, strict=True)):
                found.setdefault((place, table.noise), []).append((table.counts - each).reshape(-1))
    return {law: np.stack(each) for (_, law), each in found.items()}
