"""Learning runs for tests: drafts of generated schemas, record and replay over generated neighbours."""

import itertools
from dataclasses import replace

import numpy as np

from helpers.category_runs import text_pair
from lapwing.api.learn_running import run_learning
from lapwing.api.learn_settings import read_learn_settings
from lapwing.audit.pairs import neighbour_pair
from lapwing.audit.replay import audit_pair
from lapwing.schema.schemas import Schema

TINY = 1e-9


def draft_of(schema, *, kept=()):
    """Return a schema whose bounds and lists are blank, but those of some fields."""
    fields = []
    for field in schema.fields:
        is_blank = not (field.identifier or field.type == "boolean" or field.name in kept)
        blanks = {"minimum": None, "maximum": None, "categories": None, "provenance": "dp", "open": False}
        if is_blank and field.ordered:
            blanks["ordered"] = False
        fields.append(replace(field, **blanks) if is_blank else field)
    return replace(schema, fields=tuple(fields), is_draft=True)


def learn_settings(schema, relation="add-remove", *, budget=None, **settings):
    """Return settings at an epsilon and delta, or another budget."""
    asked = dict.fromkeys(("epsilon", "delta", "rho", "fields", "dictionaries")) | (budget or {"epsilon": 1})
    return read_learn_settings(schema, **asked | {"quantile": 0, "neighbours": relation} | settings)


def _budget(rng, times, *, has_texts):
    """Return a budget in one of the forms that the fields allow."""
    forms = [{"epsilon": times, "delta": TINY}, {"rho": times, "delta": TINY}] if has_texts else []
    return rng.choice(forms or [{"epsilon": times}, {"rho": times}])


def flags_of_learning(
    *, pairs, relations=("add-remove", "replace-one"), rows_per_unit=(1, 3), run=run_learning, times=(1, 10, 1000)
):
    """Return the flags of the first of so many generated pairs that has any, of numbers, dates, lists and texts."""
    rng = np.random.default_rng(pairs)
    for number, relation, max_rows in itertools.product(range(pairs), relations, rows_per_unit):
        if number % 2:
            schema, data, neighbour = text_pair(rng, relation, max_rows)
            draft = draft_of(Schema(fields=schema.fields, privacy_unit=schema.privacy_unit))
            settings = learn_settings(draft, relation, budget=_budget(rng, int(rng.choice(times)), has_texts=True))
        else:
            pair = neighbour_pair(rng, relation, max_rows)
            data, neighbour = pair.data, pair.neighbour
            has_texts = bool(rng.integers(2))
            kept = [field.name for field in pair.schema.columns if field.categories is not None and not has_texts]
            draft = draft_of(pair.schema, kept=kept)
            names = [field.name for field in draft.columns if field.type != "boolean"]
            if not names:
                continue
            has_texts = any(field.type == "string" and field.blank for field in draft.columns)
            budget = _budget(rng, int(rng.choice(times)), has_texts=has_texts)
            quantile = str(rng.choice(["0", "0.1"]))
            settings = learn_settings(draft, relation, budget=budget, fields=names, quantile=quantile)
        flags = audit_pair(data, neighbour, settings, run)
        if flags:
            return flags
    return ()
