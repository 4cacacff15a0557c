"""One list of contract checks that every mechanism passes.

`MECHANISM_CHECKS` is a tuple of functions ``check(make)``; ``make`` returns the mechanism's settings. A test module
runs them over every registered mechanism, and over planted mechanisms that break one promise each.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import polars as pl

from helpers.saved import changed
from helpers.unrecorded import RUN
from lapwing.api.running import run_release
from lapwing.errors import ParameterError
from lapwing.extras.audit.mechanism_pairs import settings_for
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.kernel.room.curator import ReplayCurator
from lapwing.kernel.room.opening import public_terms
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.registry import check_mechanism
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.release.runs.generators import generator
from lapwing.release.runs.settings import TableSettings
from lapwing.rows.source import code_table
from lapwing.schema.rules.rules import rules_from
from lapwing.schema.schemas import Schema

Make = Callable[[], Mechanism]

MIXED = {
    "fields": [
        {"name": "id", "type": "integer", "role": "identifier"},
        {"name": "kind", "type": "string", "categories": ["a", "b", "c"]},
        {"name": "flag", "type": "boolean", "constraints": {"required": True}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 30, "required": True}},
        {"name": "size", "type": "number", "constraints": {"minimum": -1, "maximum": 1}, "special": [99]},
        {"name": "day", "type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-03-01"}},
    ]
}
ONE_COLUMN = {"fields": [MIXED["fields"][2]]}
TWO_VALUED = {
    "fields": [
        MIXED["fields"][0],
        {"name": "kind", "type": "string", "categories": ["a", "b"], "constraints": {"required": True}},
        MIXED["fields"][2],
    ]
}


def schemas_for(mechanism: Mechanism) -> tuple[dict, dict]:
    """Return the schemas that a mechanism takes."""
    return (TWO_VALUED if mechanism.two_valued else MIXED), ONE_COLUMN


def table(rows: int, schema: Schema) -> pl.DataFrame:
    """Return rows as text, some of them misfits."""
    values = {"id": "7", "kind": "a", "flag": "true", "age": "12", "size": "0.5", "day": "2020-02-02"}
    odd = {"id": "x", "kind": "zzz", "flag": "perhaps", "age": "N/A", "size": "nan", "day": "?"}
    return pl.DataFrame(
        {
            field.name: pl.Series(
                [odd[field.name] if i % 5 == 4 else values[field.name] for i in range(rows)], dtype=pl.String
            )
            for field in schema.fields
        }
    )


def fitting(mechanism: Mechanism) -> tuple[pl.DataFrame, dict]:
    """Return forty rows that all fit a schema which a mechanism takes, and that schema; no row names its owner."""
    fields = schemas_for(mechanism)[0]["fields"][1:]
    rows = table(50, Schema.from_dict({"fields": fields}))
    return rows.filter(pl.int_range(pl.len()) % 5 < 4), {"fields": fields}


def variants(make: Make):
    """Yield settings over supported relations, both notions, two schemas, and a small and a large budget.

    A mechanism may ask less where noise drowns a tiny table; a large budget sees to it that all of it runs.
    """
    kinds = itertools.product(make().relations, (True, False), schemas_for(make()), (1, 1000))
    for relation, pure, schema, times in kinds:
        yield settings_for(make(), schema, relation, pure=pure, times=times)


def run(settings: TableSettings, data: pl.DataFrame):
    """Run a release in memory, without a ledger."""
    source = code_table(data, settings.schema)
    terms = public_terms(source, settings.schema, settings.relation, settings.expected_rows)
    return run_release(source, settings, terms, RUN), terms


@functools.cache
def runs(make: Make):
    """Return all settings of a mechanism, each with a release of forty rows and its public terms."""
    return [(settings, *run(settings, table(40, settings.schema))) for settings in variants(make)]


def is_refused(settings: TableSettings, rows: int) -> bool:
    """Tell whether the public number of rows is too small for anything to be released."""
    public = rows if settings.relation == "replace-one" else None
    terms = Terms(relation=settings.relation, rows=public, expected_rows=settings.expected_rows)
    try:
        check_mechanism(
            settings.mechanism,
            settings.schema,
            settings.request.budget,
            terms,
            generator(settings.seed, "fit"),
        )
    except ParameterError:
        assert public is not None
        assert public < 2
        return True
    return False


def check_spends_at_most_its_budget(make: Make) -> None:
    """Add up the answers' costs: at most the budget, and something."""
    for settings, release, _ in runs(make):
        spent = sum((answer.question.cost.amount for answer in release.noisy), Fraction(0))
        assert 0 < spent <= settings.request.budget.amount


def check_rows_fit_the_schema(make: Make) -> None:
    """Rows out have the schema's columns, and only values inside its domain, for 0, 1 and duplicated rows in."""
    few = [
        (settings, *run(settings, table(rows, settings.schema)))
        for settings, rows in itertools.product(variants(make), (0, 1))
        if not is_refused(settings, rows)
    ]
    for settings, release, _ in (*few, *runs(make)):
        frame = pl.concat(list(release.frames(25)))
        assert frame.columns == [field.name for field in settings.schema.fields]
        assert frame.height == 25
        recoded = code_table(frame, settings.schema)
        for chunk in recoded.chunks():
            for column in settings.schema.columns:
                limit = column.domain.size if column.domain.missing else column.domain.last
                assert int(chunk[column.name].max()) < limit


def check_the_default_number_of_rows_is_valid(make: Make) -> None:
    """Read the released number of rows: whole, at least 0, and the public number under replace-one."""
    for settings, release, terms in runs(make):
        assert release.model.rows >= 0
        own = release.model.atoms if settings.mechanism.name == "PrivateSampling" else 40
        assert terms.rows is None or release.model.rows == own


def check_answers_alone_reproduce_the_release(make: Make) -> None:
    """Replaying the answers without any data gives the same model and the same rows."""
    for settings, release, terms in runs(make):
        curator = ReplayCurator(terms, release.noisy)

        model = settings.mechanism.run(
            curator, settings.schema, settings.request.budget, generator(settings.seed, "fit")
        )

        assert curator.is_exhausted
        assert model.rows == release.model.rows
        assert np.array_equal(model.weights, release.model.weights)
        first, second = (
            release.frames(30, seed=5),
            changed(release, model=model).frames(30, seed=5),
        )
        assert pl.concat(list(first)).equals(pl.concat(list(second)))


def check_record_and_replay_finds_nothing(make: Make) -> None:
    """Audit a few generated neighbours, both notions, one and three rows per unit (a test of its own does many)."""
    rng = np.random.default_rng(3)
    for place, (relation, max_rows, pure) in enumerate(itertools.product(make().relations, (1, 3), (True, False))):
        pair = neighbour_pair(rng, relation, max_rows)
        # Each notion meets the small budget with one number of rows, and the large one with the other.
        times = (1, 1000)[(place + place // 2) % 2]
        settings = settings_for(make(), pair.schema, relation, pure=pure, times=times)

        flags = audit_pair(pair.data, pair.neighbour, settings)

        assert flags == ()


RULES = [
    {"determines": ["kind"], "column": "flag"},
    {"when": {"kind": "a"}, "then": {"size": {"minimum": 0}}},
    {"never": {"age": {"maximum": 14}, "kind": "b"}},
]


def check_rules_look_at_no_row(make: Make) -> None:
    """Audit neighbours under a schema with rules: what keeps the rules sees released numbers only."""
    schema = Schema.load(schemas_for(make())[0])
    for relation in make().relations:
        settings = settings_for(make(), schema, relation, pure=True)
        names = {column.name for column in settings.schema.columns}
        rules = [rule for rule in rules_from(RULES) if names.issuperset(rule.columns)]
        ruled = dataclasses.replace(settings, schema=dataclasses.replace(settings.schema, rules=tuple(rules)))
        data = table(40, ruled.schema)
        odd = data.slice(4, 1)
        neighbour = pl.concat([odd, data.slice(1)]) if settings.relation == "replace-one" else data.slice(1)

        assert audit_pair(data, neighbour, ruled) == ()


MECHANISM_CHECKS = (
    check_spends_at_most_its_budget,
    check_rows_fit_the_schema,
    check_the_default_number_of_rows_is_valid,
    check_answers_alone_reproduce_the_release,
    check_record_and_replay_finds_nothing,
    check_rules_look_at_no_row,
)
