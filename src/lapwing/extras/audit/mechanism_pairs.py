"""What record and replay runs on: all that makes releases, each with generated neighbours that it takes.

That is every mechanism at its small settings, learned schemas, bought evaluations and linked tables, at budgets from
small to large, pure and zCDP.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, cast

import numpy as np

from lapwing.extras.audit.linked_pairs import ORDERS, examine_linked, linked_pair, linked_settings, with_most_rows
from lapwing.extras.audit.linked_pairs import SCHEMA as LINKED
from lapwing.extras.audit.pairs import NeighbourPair, neighbour_pair, text_pair, two_valued_pair
from lapwing.extras.audit.replay import ReplayFindings, examine_pair, together
from lapwing.extras.audit.worst_case import Mode
from lapwing.extras.evaluate.bought import BoughtSettings
from lapwing.extras.evaluate.metrics.tables.public_tables import public_tables
from lapwing.kernel.budget.budget import Budget, read_request
from lapwing.kernel.terms import Relation
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.registry import MECHANISMS, looks_at_misfits
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.release.runs.generators import generator
from lapwing.release.runs.learned.settings import LearnSettings, read_learn_settings
from lapwing.release.runs.misfits import mended_settings, remaining_budget
from lapwing.release.runs.settings import SETTINGS, TableSettings, misfit_share
from lapwing.schema.schemas import Schema

TINY: Final = 1e-9
"""A delta so small that its event never happens in a test."""

TIMES: Final = (1, 10, 100, 1000, 10_000)
"""Budgets, beside one: noise drowns tiny tables at a budget of one, and Adaptive then asks one-way tables alone."""

RELATIONS: Final[tuple[Relation, ...]] = ("add-remove", "replace-one")

ONE_ROW: Final = range(1, 2)
SEVERAL_ROWS: Final = range(2, 8)
"""Rows that a unit may own; a fault may be there with one number of them only, or above some."""

OTHERS: Final = 20_000
"""Rows of others in large tables: far more than any shortcut for small ones is for."""

Examine = Callable[[np.random.Generator, Relation, int, int, Mode], tuple[Budget, ReplayFindings]]
"""Draws a pair under a relation and with so many rows per unit, the number of which alternates the notion, and
examines it in a mode; returns the budget and what was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Something that makes releases and is audited whole.

    rows_per_unit: how many rows a privacy unit may own: the audit has a line for each range; share: of the pairs of a
    line, beside those of a mechanism.
    """

    name: str
    relations: tuple[Relation, ...]
    rows_per_unit: tuple[range, ...]
    examine: Examine
    share: int = 1


def targets() -> Mapping[str, Target]:
    """Return everything that makes releases, by lower-case name.

    >>> ", ".join(target.name for target in targets().values())  # doctest: +ELLIPSIS
    'Adaptive, Independent, Tables, PMM, ..., learn, evaluate, link, mend, large'
    """
    found = [_of_mechanism(each) for each in MECHANISMS.values()]
    found += [
        Target(name="learn", relations=RELATIONS, rows_per_unit=(ONE_ROW, SEVERAL_ROWS), examine=_examine_learning),
        Target(
            name="evaluate",
            relations=RELATIONS,
            rows_per_unit=(ONE_ROW, SEVERAL_ROWS),
            examine=_examine_evaluation,
            share=2,
        ),
        Target(name="link", relations=("add-remove",), rows_per_unit=(SEVERAL_ROWS,), examine=_examine_link, share=6),
        Target(name="mend", relations=RELATIONS, rows_per_unit=(ONE_ROW, SEVERAL_ROWS), examine=_examine_mending),
        Target(name="large", relations=RELATIONS, rows_per_unit=(ONE_ROW, SEVERAL_ROWS), examine=_examine_large),
    ]
    return {target.name.lower(): target for target in found}


# ----------------------------------------------------------------------------------------------------- mechanisms


def settings_for(
    mechanism: Mechanism, schema: Mapping[str, Any] | Schema, relation: Relation, *, pure: bool, times: int = 1
) -> TableSettings:
    """Return settings at a budget of one, or several times that, with a fixed public seed."""
    return TableSettings(
        schema=Schema.load(cast("Any", schema)),
        mechanism=mechanism,
        request=read_request(epsilon=times) if pure else read_request(rho=Fraction(times, 2)),
        relation=relation,
        expected_rows=50,
        seed=11,
        is_seeded=True,
    )


def _of_mechanism(kind: type[Mechanism]) -> Target:
    """Return a mechanism at its small settings, or those that it says, with the tables that it takes."""
    small = kind.small()

    def examine(
        rng: np.random.Generator, relation: Relation, max_rows: int, number: int, mode: Mode
    ) -> tuple[Budget, ReplayFindings]:
        pair = two_valued_pair(rng) if kind.two_valued else _pair(rng, relation, max_rows)
        times = int(rng.choice(TIMES))
        settings_in_turn = kind.audited(pair.schema)
        chosen = settings_in_turn[number // 2 % len(settings_in_turn)]
        settings = settings_for(chosen, pair.schema, relation, pure=number % 2 == 0, times=times)
        if not looks_at_misfits(chosen):  # the share that a release without an expected number of rows has
            settings = replace(settings, misfit_share=misfit_share(settings.request.budget, max_rows, None))
        return settings.request.budget, examine_pair(pair.data, pair.neighbour, settings, mode=mode)

    rows = (ONE_ROW,) if kind.one_row_per_unit else (ONE_ROW, SEVERAL_ROWS)
    return Target(name=small.name, relations=small.relations, rows_per_unit=rows, examine=examine)


def _pair(rng: np.random.Generator, relation: Relation, max_rows: int) -> NeighbourPair:
    """Return neighbours; where units may own several rows, the one that differs has all it may in every other pair."""
    return neighbour_pair(rng, relation, max_rows, is_full=max_rows > 1 and bool(rng.integers(2)))


# --------------------------------------------------------------------------------------------------------- learn


def draft_of(schema: Schema, *, kept: Collection[str] = ()) -> Schema:
    """Return a schema whose bounds and lists are blank, but those of some fields."""
    fields = []
    for field in schema.fields:
        is_blank = not (field.identifier or field.type == "boolean" or field.name in kept)
        blanks: dict[str, Any] = {
            "minimum": None,
            "maximum": None,
            "categories": None,
            "provenance": "dp",
            "open": False,
        }
        if is_blank and field.ordered:
            blanks["ordered"] = False
        fields.append(replace(field, **blanks) if is_blank else field)
    return replace(schema, fields=tuple(fields), is_draft=True)


def learn_settings(
    schema: Schema,
    relation: Relation = "add-remove",
    *,
    budget: Mapping[str, Any] | None = None,
    **settings: Any,  # noqa: ANN401 - those of `read_learn_settings`
) -> LearnSettings:
    """Return settings at an epsilon and delta, or another budget."""
    asked: dict[str, Any] = dict.fromkeys(("epsilon", "delta", "rho", "fields", "dictionaries"))
    given = asked | dict(budget or {"epsilon": 1}) | {"quantile": 0, "neighbours": relation} | settings
    return read_learn_settings(schema, **given)


def learning_pair(
    rng: np.random.Generator, relation: Relation, max_rows: int, *, number: int, times: Sequence[int]
) -> tuple[NeighbourPair, LearnSettings]:
    """Return neighbours, and settings that learn all that is blank of their schema."""
    if number % 2:
        pair = text_pair(rng, relation, max_rows)
        draft = draft_of(Schema(fields=pair.schema.fields, privacy_unit=pair.schema.privacy_unit))
        return pair, learn_settings(draft, relation, budget=_budget(number, int(rng.choice(times)), has_texts=True))
    while True:
        pair = neighbour_pair(rng, relation, max_rows)
        has_texts = bool(rng.integers(2))
        kept = [field.name for field in pair.schema.columns if field.categories is not None and not has_texts]
        draft = draft_of(pair.schema, kept=kept)
        names = [field.name for field in draft.columns if field.type != "boolean"]
        if names:
            break
    has_texts = any(field.type == "string" and field.blank for field in draft.columns)
    budget = _budget(number, int(rng.choice(times)), has_texts=has_texts)
    quantile = str(rng.choice(["0", "0.1"]))
    return pair, learn_settings(draft, relation, budget=budget, fields=names, quantile=quantile)


def _budget(number: int, times: int, *, has_texts: bool) -> dict[str, float]:
    """Return a budget in a form that the fields allow, pure for every other two pairs."""
    forms: list[dict[str, float]] = (
        [{"epsilon": times, "delta": TINY}, {"rho": times, "delta": TINY}] if has_texts else []
    )
    forms = forms or [{"epsilon": times}, {"rho": times}]
    return forms[number // 2 % len(forms)]


def _examine_learning(
    rng: np.random.Generator, relation: Relation, max_rows: int, number: int, mode: Mode
) -> tuple[Budget, ReplayFindings]:
    """Examine a run that learns bounds and lists."""
    pair, settings = learning_pair(rng, relation, max_rows, number=number, times=(1, 10, 1000))
    return settings.request.budget, examine_pair(pair.data, pair.neighbour, settings, mode=mode)


# ------------------------------------------------------------------------------------------------------ evaluate


def synthetic_codes(schema: Schema, rng: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    """Return codes of random rows, missing, special and misfit ones among them."""
    return {
        column.name: rng.integers(0, column.domain.values + column.domain.reserved, rows) for column in schema.columns
    }


def bought_settings(
    schema: Mapping[str, Any] | Schema,
    relation: Relation,
    *,
    pure: bool = True,
    times: int = 1,
    expected_rows: int | None = None,
    rows: int = 6,
    ways: Sequence[int] = (1, 2, 3),
    seed: int = 11,
) -> BoughtSettings:
    """Return settings at a budget of one, or several times that, against a few random public rows."""
    schema, rng = Schema.load(cast("Any", schema)), generator(seed, "evaluate")
    return BoughtSettings(
        schema=schema,
        request=read_request(epsilon=times) if pure else read_request(rho=Fraction(times, 2)),
        relation=relation,
        expected_rows=expected_rows,
        seed=seed,
        compared=public_tables(synthetic_codes(schema, rng, rows), schema, ways=ways, rng=rng),
    )


def _examine_evaluation(
    rng: np.random.Generator, relation: Relation, max_rows: int, number: int, mode: Mode
) -> tuple[Budget, ReplayFindings]:
    """Examine a bought comparison with public rows."""
    pair = _pair(rng, relation, max_rows)
    times, expected = int(rng.choice([1, 10, 1000])), (None, 20)[number // 2 % 2]
    asked: dict[str, Any] = {"pure": number % 2 == 0, "times": times, "expected_rows": expected}
    settings = bought_settings(pair.schema, relation, seed=int(rng.integers(99)), **asked)
    return settings.request.budget, examine_pair(pair.data, pair.neighbour, settings, mode=mode)


# ---------------------------------------------------------------------------------------------------------- link


def _examine_link(
    rng: np.random.Generator,
    relation: Relation,  # noqa: ARG001 - the one that linked tables have
    max_rows: int,
    number: int,
    mode: Mode,
) -> tuple[Budget, ReplayFindings]:
    """Examine a release of linked tables, by one mechanism after the other."""
    mechanism = (Independent, PMM, Adaptive)[number // 2 % 3].small()
    schema = with_most_rows(LINKED, max_rows, ORDERS[number % len(ORDERS)])
    settings = linked_settings(mechanism, pure=number % 2 == 0, times=int(rng.choice([1, 100])), schema=schema)
    one, other = linked_pair(rng, schema, is_full=number % 4 == 0)
    return settings.request.budget, examine_linked(one, other, settings, mode=mode)


# ------------------------------------------------------------------------------------------- mended, and large tables


def _examine_mending(
    rng: np.random.Generator, relation: Relation, max_rows: int, number: int, mode: Mode
) -> tuple[Budget, ReplayFindings]:
    """Examine a release that ends where cells fit nothing, and goes on twice; the second time whatever fits nothing."""
    pair = _pair(rng, relation, max_rows)
    times = int(rng.choice([30, 1000]))
    settings = settings_for(Adaptive.small(), pair.schema, relation, pure=number % 2 == 0, times=times)
    settings = replace(settings, most_misfits=Fraction(1, 100))
    parts = [examine_pair(pair.data, pair.neighbour, settings, mode=mode)]
    for most in (Fraction(1, 100), Fraction(1)):
        given = [answer for part in parts for answer in part.answers]
        if parts[-1].is_released or not given or not remaining_budget(settings.request.budget, given).amount:
            break
        going_on = replace(mended_settings(settings, settings.schema), most_misfits=most)
        part = examine_pair(pair.data, pair.neighbour, going_on, mode=mode, earlier=given)
        is_same = SETTINGS.write(replace(going_on, most_misfits=settings.most_misfits)) == SETTINGS.write(settings)
        parts.append(part if is_same else replace(part, flags=(*part.flags, "a mended release has other terms")))
    whole = together(parts, [Fraction(1)] * len(parts))
    return settings.request.budget, replace(whole, is_released=parts[-1].is_released)


def _examine_large(
    rng: np.random.Generator, relation: Relation, max_rows: int, number: int, mode: Mode
) -> tuple[Budget, ReplayFindings]:
    """Examine a release of a table to which many others belong, of one row each."""
    pair = neighbour_pair(rng, relation, max_rows, is_full=max_rows > 1, others=OTHERS, most_columns=2)
    settings = settings_for(Independent.small(), pair.schema, relation, pure=number % 2 == 0)
    return settings.request.budget, examine_pair(
        pair.data, pair.neighbour, settings, mode=replace(mode, chunk_rows=None)
    )
