"""An evaluation with a budget: its settings, its run, its certificate and what may be published of it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Final, cast

import numpy as np

from lapwing.errors import DataError
from lapwing.extras.evaluate.metrics.tables.public_tables import (
    NoisyVariation,
    PublicTables,
    noisy_variations,
    public_tables,
)
from lapwing.extras.evaluate.report.bought import bought_sections
from lapwing.extras.evaluate.report.page import render
from lapwing.extras.evaluate.words import say
from lapwing.kernel.budget.budget import Budget, BudgetRequest
from lapwing.kernel.noise_law import MAX_SD
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.table_distances.question import LARGEST_TOTAL, MOST_BITS, TableDistances
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Relation, Terms
from lapwing.maths.noise_tails import sum_tail
from lapwing.model.bounds import rows_statements
from lapwing.model.certificate.certificate import EVALUATION, Certificate
from lapwing.model.certificate.cost_lines import budget_text
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.promise import (
    fields_of_origin,
    other_terms_warnings,
    uncovered_warnings,
    untold_warnings,
)
from lapwing.model.certificate.statements import Statement
from lapwing.on_demand import Displayable
from lapwing.present.document import Page
from lapwing.release.marked import NOTICE, Releasable
from lapwing.release.runs.certify import AnswerCosts, promise_warnings
from lapwing.release.runs.generators import chosen_seed, generator
from lapwing.release.runs.records import Records, Run
from lapwing.rows.counting import CodedSource
from lapwing.rows.entry import source_of
from lapwing.rows.out.outputs import write_output
from lapwing.rows.source import coded_table
from lapwing.schema.named_files import refuse_private
from lapwing.schema.scalars import MOST_ROWS, align_lines
from lapwing.schema.schemas import Schema
from lapwing.version import VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class BoughtSettings:
    """Everything public that fixes an evaluation with a budget, apart from where it is recorded.

    schema: not a draft, with at least one modelled column; request: what was asked for, and the budget it grants.
    """

    document: ClassVar = (EVALUATION, "schema", "request", "relation", "expected_rows", "seed")

    schema: Schema
    request: BudgetRequest
    relation: Relation
    expected_rows: int | None
    seed: int
    compared: tuple[PublicTables, ...]

    name = EVALUATION  # what the budget is spent on
    selection_delta = Fraction(0)  # the tables compared are public

    @property
    def parts(self) -> Mapping[str, "BoughtSettings"]:
        """The settings of its one table."""
        return {"": self}

    @property
    def evaluation(self) -> tuple[str, ...]:
        """Which tables are compared."""
        return tuple(each.digest for each in self.compared)


def read_bought_settings(
    synthetic: object,
    schema: Schema,
    request: BudgetRequest,
    *,
    neighbours: str,
    expected_rows: int | None,
    seed: int | None,
    transcript: Path | None = None,
) -> BoughtSettings:
    """Check what is public, and count the synthetic table, which is public too: its counts are released as they are."""
    source = source_of(synthetic)
    refuse_private(source, "the synthetic table")
    named = cast("Relation", neighbours)
    terms = Terms(relation=named, max_rows=schema.max_rows, expected_rows=expected_rows)
    used = chosen_seed(seed, transcript)
    with coded_table(source, replace(schema.as_written_out, privacy_unit=None)) as coded:
        parts = list(coded.chunks())
    if not parts:
        raise DataError("the synthetic table has no row; there is nothing to compare", code="LW110")
    codes = {name: np.concatenate([part[name] for part in parts]) for name in coded.columns}
    compared = public_tables(codes, schema, rng=generator(used, "evaluate"))
    return BoughtSettings(
        schema=schema,
        request=request,
        relation=terms.relation,
        expected_rows=terms.expected_rows,
        seed=used,
        compared=compared,
    )


CONFIDENCE: Final = Fraction(95, 100)  # with which all intervals of an evaluation hold at once

_WIDE: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class BoughtEvaluation(Displayable):
    """Hold how far a synthetic table is from the real one, by noisy answers: it may be published.

    Parameters
    ----------
    variations : tuple of NoisyVariation
        Mean total variation of the tables of one, two and three columns, with intervals.
    certificate : Certificate
        What was spent on what, under which promise.
    noisy : tuple of answers
        The noisy answers that everything here is computed from.
    rows_error : int or None
        How far ``certificate.released_rows``, which the table was compared as, is from its true number of rows at
        most, with the same confidence by itself; None where that is a guess.
    synthetic_rows : int
        Rows of the synthetic table.
    confidence : float
        With which all intervals hold at once.
    """

    variations: tuple[NoisyVariation, ...]
    certificate: Certificate
    noisy: tuple[Answer, ...]
    rows_error: int | None
    synthetic_rows: int
    confidence: float

    def __repr__(self) -> str:
        figures = ", ".join(f"{each.ways}-way {each.mean:.4f}" for each in self.variations)
        paid = self.certificate
        return f"BoughtEvaluation({figures}; {budget_text(paid.total, paid.requested.epsilon, paid.requested.delta)})"

    def summary(self, *, details: bool = False) -> str:  # noqa: ARG002 - as of a comparison that is internal
        """Return the figures and what they cost as text of a few lines, which are all the details."""
        heading = say.listed("bought.table.heading", confidence=self.confidence)
        lines = [(say("summary.ways", ways=each.ways), *each.texts) for each in self.variations]
        table = align_lines([heading, *lines], right=[1, 2, 3, 4])
        return "\n".join(
            [NOTICE, "", table, "", *say.listed("bought.explained"), "", self.certificate.text().rstrip("\n")]
        )

    def html(self) -> str:
        """Return the report that `to_html` writes."""
        sections = bought_sections(self.variations, self.certificate, self.confidence)
        ledger = self.certificate.ledger
        title = say("bought.title_of", table=ledger.dataset) if ledger else say("bought.title")
        return render(Releasable(Page(title=title, sections=sections, lead=say("bought.lead"))))

    def to_html(self, path: str | Path) -> None:
        """Write a report that may be published: one HTML file that needs no network.

        Parameters
        ----------
        path : path
            Of the file; it appears whole.

        Raises
        ------
        DataError
            If the file cannot be written.
        LapwingError
            If the extra ``evaluate`` is not installed.
        """
        write_output(path, self.html())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return {
            "notice": NOTICE,
            "lapwing": VERSION,
            "confidence": self.confidence,
            "rows": {
                "compared_as": self.certificate.released_rows,
                "error": self.rows_error,
                "synthetic": self.synthetic_rows,
            },
            "total_variation": [each.to_dict() for each in self.variations],
            "certificate": self.certificate.to_dict(),
        }


def run_evaluation(
    source: CodedSource,
    settings: BoughtSettings,
    terms: Terms,
    run: Run,
) -> BoughtEvaluation:
    """Check, debit, ask, certify: a task of `Run`."""
    costs = _check(settings, terms)
    room = run.curator(source, settings.schema, terms, settings.request.budget)
    counted, rows, rows_error = _number_of_rows(room, terms, costs)
    questions = [
        _question(tables, rows, cost, terms)
        for tables, cost in zip(settings.compared, costs[len(counted) :], strict=True)
    ]
    answers = room.ask(*questions)
    variations = noisy_variations(
        settings.compared,
        # A recorded answer is to the question without its cells.
        [replace(answer, question=question) for answer, question in zip(answers, questions, strict=True)],
        rows=rows,
        rows_noise=counted[0].tables[0].noise if counted else None,
        rows_error=None if counted else rows_error,
        failure=1 - CONFIDENCE,
    )
    noisy = (*counted, *answers)
    return BoughtEvaluation(
        variations=variations,
        certificate=_certificate(settings, terms, run.records, noisy, rows=rows, variations=variations),
        noisy=noisy,
        rows_error=rows_error,
        synthetic_rows=settings.compared[0].rows,
        confidence=float(CONFIDENCE),
    )


def _check(settings: BoughtSettings, terms: Terms) -> tuple[Budget, ...]:
    """Return what each question costs, equal shares; refuse from public numbers alone what cannot be asked."""
    if terms.rows == 0:
        raise DataError(
            "the real table has no row, which replace-one neighbours show; there is nothing to compare", code="LW110"
        )
    is_counted = terms.rows is None and terms.expected_rows is None
    costs = settings.request.budget.split([1] * (len(settings.compared) + is_counted))
    if is_counted:
        _rows_question(costs[0]).noise(terms.relation, terms.max_rows)
    for tables in settings.compared:
        _scale_bits(tables, 1, costs[-1], terms)
    return costs


def _rows_question(cost: Budget) -> MarginalCounts:
    return MarginalCounts(columns=(), groupings=(), cost=cost)


def _number_of_rows(room: Curator, terms: Terms, costs: Sequence[Budget]) -> tuple[tuple[Answer, ...], int, int | None]:
    """Return what was answered, the number of rows to compare with, and how far the true one is from it at most."""
    if terms.rows is not None:
        return (), min(terms.rows, MOST_ROWS), max(0, terms.rows - MOST_ROWS)
    if terms.expected_rows is not None:
        return (), terms.expected_rows, None
    (counted,) = room.ask(_rows_question(costs[0]))
    noisy = int(counted.counts)
    rows = min(max(noisy, 1), MOST_ROWS)
    reach = sum_tail(counted.noise.kind, counted.noise.parameter, 1, 1 - CONFIDENCE)
    return (counted,), rows, reach + abs(rows - noisy)


def _question(tables: PublicTables, rows: int, cost: Budget, terms: Terms) -> TableDistances:
    """Return the question for the distances of some tables from what is expected of so many rows."""
    bits = _scale_bits(tables, rows, cost, terms)
    return replace(_unscaled(tables, cost), bits=bits, cells=tables.cells, expected=tables.expected(rows, bits))


def _unscaled(tables: PublicTables, cost: Budget) -> TableDistances:
    """Return the question without its cells, at a scale of 1."""
    return TableDistances(
        columns=tables.columns,
        groupings=tables.groupings,
        tables=tables.tables,
        cells=None,
        expected=None,
        bits=0,
        cost=cost,
    )


def _scale_bits(tables: PublicTables, rows: int, cost: Budget, terms: Terms) -> int:
    """Return the finest scale at which the expected counts and the noise stay inside their bounds."""
    deviation = _unscaled(tables, cost).noise(terms.relation, terms.max_rows).sd
    noise_bits = math.floor(math.log2(MAX_SD) - math.log2(max(deviation, 1.0))) - 1
    return max(0, min(MOST_BITS, noise_bits, LARGEST_TOTAL.bit_length() - 2 - rows.bit_length()))


def _certificate(
    settings: BoughtSettings,
    terms: Terms,
    records: Records,
    answers: Sequence[Answer],
    *,
    rows: int,
    variations: Sequence[NoisyVariation],
) -> Certificate:
    """Return what was spent on what, and what is proved about it."""
    schema = settings.schema
    paid = AnswerCosts.of(answers, terms, settings.request)
    bought = fields_of_origin(schema, "dp")
    modelled = [field.name for field in schema.columns]
    return paid.certificate(
        settings.schema,
        terms,
        records,
        mechanism=settings.name,
        public={"compared": [each.digest for each in settings.compared], "confidence": float(CONFIDENCE)},
        assumed_fields=fields_of_origin(schema, "assumed"),
        dp_fields=bought,
        expected_rows=terms.expected_rows,
        released_rows=rows,
        seed=settings.seed,
        accuracy=(*map(_statement, variations), *rows_statements(answers, terms, rows)),
        assumed=(Notice("rows_public"),),
        warnings=(
            *uncovered_warnings(schema.columns),
            *promise_warnings(paid.total, paid.epsilons),
            *untold_warnings(bought, schema.purchases),
            *other_terms_warnings(modelled, schema.purchases, terms.relation, schema.unit_label),
            *_width_warnings(variations),
        ),
        purchases=schema.purchases,
    )


def _statement(each: NoisyVariation) -> Statement:
    """State one figure."""
    tables = {"ways": each.ways, "tables": each.tables, "possible": each.possible}
    interval = {"lower": each.lower, "upper": each.upper, "confidence": float(CONFIDENCE)}
    return Statement("mean_variation", each.mean, {**tables, **interval})


def _width_warnings(variations: Sequence[NoisyVariation]) -> tuple[Notice, ...]:
    """Say where the noise leaves little to read."""
    return tuple(
        Notice("wide", {"ways": each.ways, "lower": each.lower, "upper": each.upper})
        for each in variations
        if each.upper - each.lower > _WIDE
    )
