"""Domains learned in the room, or from planted answers, and the search for bounds written as loops."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.room.opening import open_room, public_terms
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.kernel.terms import Terms
from lapwing.release.runs.learned.bounds import learn_bounds
from lapwing.release.runs.learned.domains import learned_fields
from lapwing.release.runs.learned.settings import opened_schema
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

TINY = Fraction(1, 10**9)


@dataclass(slots=True)
class Recorder:
    """Pass questions on and keep the answers."""

    curator: Any
    answers: list[Any] = field(default_factory=list)
    batches: int = 0

    @property
    def terms(self) -> Terms:
        """Those of the curator behind."""
        return self.curator.terms

    def ask(self, *questions):
        """Ask, and remember."""
        found = self.curator.ask(*questions)
        self.answers += found
        self.batches += 1
        return found


@dataclass(slots=True)
class Planted:
    """Answer with planted counts: of codes for tables, of texts for selections, without noise."""

    codes: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    texts: Mapping[tuple[str, int | None], Mapping[str, int]] = field(default_factory=dict)
    rounds: int = 10**9
    """After so many batches of tables, all counts are 0."""

    @property
    def terms(self) -> Terms:
        """One row per unit."""
        return Terms(relation="add-remove")

    def ask(self, *questions):
        """Count, or list."""
        self.rounds -= 1
        return tuple(self._answer(question) for question in questions)

    def _answer(self, question):
        noise = question.noise("add-remove", 1)
        if isinstance(question, CategorySelection):
            threshold = question.threshold("add-remove", 1)
            planted = self.texts.get((question.column, question.prefix), {})
            shown = {text: planted[text] for text in sorted(planted) if planted[text] >= threshold}
            counts = np.array(list(shown.values()), dtype=np.int64)
            return SelectedTexts(question, tuple(shown), counts, noise, threshold)
        (name,), (grouping,) = question.columns, question.groupings
        counts = np.zeros(grouping.groups, dtype=np.int64)
        for code, rows in self.codes[name].items():
            counts[grouping.apply(np.array([code]))[0]] += rows if self.rounds >= 0 else 0
        return NoisyCounts(question, counts, noise)


def opened_room(data, draft, names, budget, bits, *, dictionaries=None, relation="add-remove", delta=Fraction(0)):
    """Return the original and the opened schema, and a recording room over a table."""
    original = Schema.load_draft(draft)
    opened = opened_schema(original, names, dictionaries or {})
    source = code_table(data, opened)
    terms = public_terms(source, opened, relation, None)
    room = open_room(
        source, opened, terms, budget, debit=_nothing, secret_bits=lambda: bits, sink=NoTranscript(), delta=delta
    )
    return original, opened, Recorder(room)


def learned(data, draft, budget, bits, *, names=None, quantile=0, dictionaries=None, relation="add-remove", delta=TINY):
    """Learn all fields of a draft, or some, in the room; return what was learned and the recording room."""
    draft = {"draft": True} | dict(draft)
    names = [each["name"] for each in draft["fields"]] if names is None else names
    original, opened, room = opened_room(
        data, draft, names, budget, bits, dictionaries=dictionaries, relation=relation, delta=delta
    )
    settings = {"quantile": Fraction(quantile), "dictionaries": dictionaries or {}}
    return learned_fields(room, opened, original, names, budget, delta, **settings), room


def planted_bounds(kind, codes, cost, *, quantile=0, limits=(None, None), rounds=10**9):
    """Return the bounds of one field whose opened codes are planted."""
    draft = {"draft": True, "fields": [{"name": "x", "type": kind}]}
    opened = opened_schema(Schema.load_draft(draft), ["x"], {})
    curator = Planted(codes={"x": codes}, rounds=rounds)
    (found,) = learn_bounds(curator, opened, ["x"], [cost], quantile=Fraction(quantile), limits={"x": limits})
    return found


def runs_by_hand(counts, levels, allowed):
    """Return what `upper_run` finds, written as loops over every run of every width."""
    passing = []
    for width, level in levels:
        places = range(len(counts) - width + 1)
        passing += [(first, width) for first in places if sum(map(int, counts[first : first + width])) > level]
    if not passing:
        return None
    start = max(first for first, _ in passing)
    stop = start + min(width for first, width in passing if first == start)
    left_out = 0
    end = stop
    while end > 1:
        left_out += int(counts[end - 1])
        if left_out > allowed:
            break
        end -= 1
    return min(start, end - 1), end


def _nothing():
    """Debit no ledger."""
