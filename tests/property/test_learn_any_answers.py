"""Whatever the noisy answers say, a paid run ends in a schema that can be written, read and used."""

import numpy as np
import pytest

from helpers.learn_runs import learn_settings
from helpers.unrecorded import RUN
from lapwing.kernel.questions.category_selection.question import SelectedTexts
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.terms import Terms
from lapwing.release.runs.learned.running import run_learning
from lapwing.schema.schemas import Schema

TEXTS = ("a", "ab", "abc", "(other)", "(other 2)", "250", "250.0", "250.01", "é", " ")
FIELDS = [
    {"name": "year", "type": "integer", "special": [0, -9], "resolution": 5},
    {"name": "gain", "type": "integer", "scale": "log", "constraints": {"minimum": 0, "maximum": None}},
    {"name": "half", "type": "integer", "constraints": {"minimum": None, "maximum": -3}, "resolution": 100},
    {"name": "size", "type": "number", "resolution": 0.25},
    {"name": "tiny", "type": "number", "constraints": {"minimum": -1e-9, "maximum": 1e-9}},
    {"name": "born", "type": "date", "resolution": "week"},
    {"name": "died", "type": "date", "constraints": {"minimum": "2020-02-29", "maximum": None}, "resolution": "month"},
    {"name": "seen", "type": "datetime", "resolution": "hour", "special": ["1900-01-01"]},
    {"name": "last", "type": "datetime", "constraints": {"minimum": None, "maximum": "2020-02-29T12:00:00"}},
    {"name": "town", "type": "string", "missingValues": ["", "(other)"]},
    {"name": "code", "type": "string", "hierarchy": {"prefixes": [1, 3, 6]}, "missingValues": ["250", "250.01"]},
    {"name": "word", "type": "string", "unlisted": "rest"},
    {
        "name": "known",
        "type": "string",
        "hierarchy": {"prefixes": [2]},
        "categories": ["250.01", "250.02", "a", "b"],
        "missingValues": ["25"],
    },
    {"name": "rank", "type": "string", "categories": ["low", "mid", "high"], "categoriesOrdered": True},
    {"name": "tree", "type": "integer", "categories": [1, 2, 3], "hierarchy": {"parents": {"1": "x", "2": "x"}}},
    {"name": "grade", "type": "number", "categories": [1, 2.5, 3]},
]
MISSING = {each["name"]: set(each.get("missingValues", [""])) for each in FIELDS}
DRAFT = {"draft": True, "fields": [{"provenance": "dp"} | each for each in FIELDS]}


class AnyAnswers:
    """Answer with huge counts in a few cells, and with a few texts."""

    def __init__(self, rng):
        self.rng, self.terms = rng, Terms(relation="add-remove")

    def ask(self, *questions):
        return tuple(map(self._answer, questions))

    def _answer(self, question):
        noise = question.noise("add-remove", 1)
        if isinstance(question, MarginalCounts):
            counts = np.zeros(question.shape, dtype=np.int64)
            counts.flat[self.rng.integers(0, counts.size, self.rng.integers(0, 4))] = 10**6
            return NoisyCounts(question, counts, noise)
        threshold = question.threshold("add-remove", 1)
        listed = {text[: question.prefix] for text in TEXTS if self.rng.integers(2)}
        shown = sorted(listed - MISSING[question.column])  # as in the room
        counts = threshold + self.rng.integers(0, 100, len(shown))
        return SelectedTexts(question, tuple(shown), counts, noise, threshold)


@pytest.mark.parametrize("seed", range(4))
def test_a_schema_comes_out_whatever_the_answers_are(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr("lapwing.release.runs.records.open_room", lambda *places, **more: AnyAnswers(rng))
    names = [each["name"] for each in FIELDS]

    for quantile in ("0", "0.1") * 8:
        texts = {"town": ["(other)", "Bern", "a"]} if rng.integers(2) else None
        settings = learn_settings(
            DRAFT, budget={"epsilon": 9, "delta": "1e-6"}, fields=names, dictionaries=texts, quantile=quantile
        )
        found = run_learning(None, settings, Terms(relation="add-remove"), RUN)

        assert Schema.load_draft(found.schema.to_dict()) == found.schema
        assert found.schema.is_draft == bool(found.open)
        assert {field.name for field in found.schema.columns if field.blank} == set(found.open)
        assert all(field.domain.size > 0 for field in found.schema.columns if not field.blank)
