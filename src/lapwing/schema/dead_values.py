"""Categories that no row can have under the rules of a schema. Public rules and domains only."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from lapwing.schema.groupings.grouping import identity
from lapwing.schema.rules.codes import CombinationRule, DependencyRule, components
from lapwing.schema.rules.search import is_impossible
from lapwing.schema.values.labels import labels

if TYPE_CHECKING:
    from lapwing.schema.schemas import Schema


MOST_LOOKED_AT: Final = 1_000
"""Categories of a column that is looked at."""


def dead_values(schema: "Schema") -> dict[str, list[str]]:
    """Return the categories that certainly no row can have, by column.

    Returns labels of categories, and ``missing``; columns without any are left out, and so are numbers, dates and
    columns with more than 1,000 categories.

    >>> from lapwing.schema.schemas import Schema
    >>> fields = [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]
    >>> dead_values(Schema.from_dict({"fields": fields, "rules": [{"never": {"a": True}}]}))
    {'a': ['true']}
    """
    found: dict[str, list[str]] = {}
    for component in components(schema.coded_rules):
        for name in component:
            field = schema.field(name)
            if not field.is_categorical or field.domain.values > MOST_LOOKED_AT:
                continue
            dead = [
                code
                for alike in _alike(schema, name)
                if is_impossible(schema, {name: np.array([[alike[0], alike[0] + 1]])}, component)
                for code in alike
            ]
            if dead:
                named = labels(identity(field.domain), field)
                found[name] = [named[code] for code in sorted(dead)]
    return found


def _alike(schema: "Schema", name: str) -> Iterator[list[int]]:
    """Yield the codes of a column that rows may hold, those together that no rule tells apart."""
    domain = schema.field(name).domain
    # The last code is missing, where that is allowed, else the misfit: rows out never show one.
    codes = np.arange(domain.size if domain.missing else domain.last)
    kinds = []
    for rule in schema.coded_rules:
        if name in rule.columns and isinstance(rule, CombinationRule):
            kinds.append(rule.groupings[rule.columns.index(name)].apply(codes))
        elif name in rule.columns and not isinstance(rule, DependencyRule):
            kinds.append(codes)
    if kinds:
        _, kind = np.unique(np.stack(kinds), axis=1, return_inverse=True)
        yield from (np.flatnonzero(kind.reshape(-1) == each).tolist() for each in range(kind.max() + 1))
