"""Release a table without a schema: one debit and one transcript for what is learned and for what is released of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from lapwing.api.running import run_release, warned
from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.opening import CuratorHandle, public_terms
from lapwing.kernel.terms import Terms
from lapwing.model.certificate.certificate import DOMAIN
from lapwing.release.release import Release
from lapwing.release.runs.generators import chosen_seed
from lapwing.release.runs.learned.schemaless import SchemalessSettings, learn_schema, schemaless_settings
from lapwing.release.runs.records import Run, RunRecords, paid_run
from lapwing.rows.entry import Source, source_of
from lapwing.rows.layouts import layout_of, public_columns, public_dialect
from lapwing.rows.source import coded_table
from lapwing.schema.scalars import safe_repr
from lapwing.schema.schemas import Schema


def refuse_without_schema(**given: object) -> None:
    """Refuse settings that need a schema."""
    for name, value in given.items():
        if value is not None:
            raise ParameterError(
                f"{name} needs a schema, and got {safe_repr(value)} without one, as it is about known columns; "
                "leave it out, or give a schema",
                code="LW272",
            )


def read_schemaless(data: object, *, seed: int | None, transcript: Path | None, **asked: Any) -> SchemalessSettings:  # noqa: ANN401 - as `schemaless_settings`
    """Check the settings of `lapwing.synthesize` without a schema."""
    source = source_of(data)
    dialect = public_dialect(source)
    columns = public_columns(source, dialect)
    return schemaless_settings(
        columns, dialect, seed=chosen_seed(seed, transcript), is_seeded=seed is not None, **asked
    )


def release_schemaless(data: object, settings: SchemalessSettings, book: RunRecords) -> Release:
    """Learn a schema with a part of the budget, and release what it says with the rest."""
    source = source_of(data)
    fresh = book.fresh(settings)
    with book.taken_up(fresh) as held:
        with coded_table(source, settings.schema, is_paid=True) as coded:
            terms = public_terms(coded, settings.schema, settings.relation, settings.expected_rows)
        settings.check(terms)
        sink, run = held.begin(fresh, settings, terms)
        made = paid_run(sink, run, partial(run_schemaless, source, settings, terms))
    release = replace(made, layouts={"": layout_of(source, made.schema)})
    warned(release.certificate)
    return release


def run_schemaless(source: Source, settings: SchemalessSettings, terms: Terms, run: Run) -> Release:
    """Debit, learn, and release what was learned: a task of `Run`."""
    part, answers = run.of(DOMAIN), list[Answer]()

    @contextmanager
    def open_table(schema: Schema, budget: Budget, delta: Fraction) -> Iterator[CuratorHandle]:
        """Open a room for the rows as a schema reads them, which goes on with what is recorded."""
        with coded_table(source, schema) as coded:
            room = replace(part, recorded=part.recorded[len(answers) :]).curator(
                coded, schema, terms, budget, delta=delta
            )

            def ask(*questions: Any) -> Any:  # noqa: ANN401 - as the room
                found = room.ask(*questions)
                answers.extend(found)
                return found

            yield CuratorHandle(terms, ask)

    learned = learn_schema(settings, open_table)
    with coded_table(source, learned.schema) as coded:
        rest = replace(run.of(""), earlier=tuple(answers))
        return run_release(coded, settings.under(learned.schema), terms, rest, learned)
