"""Write the certificate of a release from its settings, answers and model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lapwing.errors import DataError
from lapwing.kernel.budget.budget import Budget, BudgetRequest
from lapwing.kernel.plain import at_least
from lapwing.kernel.questions.cell_sums.question import CellSums
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics, RowStatistic
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.registry import (
    assumptions,
    name_in_files,
    postprocessed_statements,
    release_warnings,
    settings_of,
)
from lapwing.model.bounds import rows_statements
from lapwing.model.certificate.certificate import Certificate, CostLine, LedgerEntry
from lapwing.model.certificate.cost_lines import RequestedBudget
from lapwing.model.certificate.declared import broken_at_least
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.promise import (
    fields_of_origin,
    other_terms_warnings,
    pairs_at,
    uncovered_warnings,
    untold_warnings,
)
from lapwing.model.certificate.statements import Statement
from lapwing.model.evidence import views
from lapwing.model.model import ReleasedModel
from lapwing.release.runs.finishing import PostprocessedModel
from lapwing.release.runs.generators import generator
from lapwing.release.runs.judged import verdict_of
from lapwing.release.runs.misfits import misfit_warnings, of_mechanism
from lapwing.release.runs.records import Records
from lapwing.release.runs.settings import TableSettings
from lapwing.schema.fields import Field
from lapwing.schema.reading import PLAIN_FILE, Dialect
from lapwing.schema.schemas import Schema
from lapwing.version import VERSION, code_fingerprint

_BROKEN_SHARE = 0.03
_WEAK_EPSILON = 10
_WEAK_DELTA = Fraction(1, 1000)
_NO_EPSILON, _NO_DELTA = 100, Fraction(1, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCosts:
    """What answers cost together: the part of a certificate that all paid runs have in common."""

    request: BudgetRequest
    lines: tuple[CostLine, ...]
    total: Budget
    selected: Fraction
    epsilons: tuple[tuple[Fraction, Fraction], ...]

    @classmethod
    def of(cls, answers: Sequence[Answer], terms: Terms, request: BudgetRequest) -> "AnswerCosts":
        """Add up the costs of answers."""
        lines = tuple(line for answer in answers for line in CostLine.of(answer, terms))
        total = Budget(request.budget.notion, sum((line.cost.amount for line in lines), Fraction(0)))
        selected = sum((line.delta for line in lines if line.delta is not None), Fraction(0))
        epsilons = promised_epsilons(request, total, selected)
        return cls(request=request, lines=lines, total=total, selected=selected, epsilons=epsilons)

    def certificate(
        self,
        schema: Schema,
        terms: Terms,
        records: Records,
        *,
        public: Mapping[str, Any],
        **own: Any,  # noqa: ANN401
    ) -> Certificate:
        """Return the certificate of a run; ``own`` is what it alone says."""
        ledger = None
        if records.dataset is not None:
            ledger = LedgerEntry(dataset=records.dataset, release_id=records.release_id)
        return Certificate(
            lapwing=VERSION,
            code=code_fingerprint(),
            settings=public,
            lines=self.lines,
            total=self.total,
            requested=RequestedBudget.of(self.request),
            epsilons=self.epsilons,
            relation=terms.relation,
            privacy_unit=schema.unit_label,
            max_rows=terms.max_rows,
            public_rows=terms.rows,
            ledger=ledger,
            **own,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedSchema:
    """Hold a schema that noisy answers taught from names and types alone, and what a certificate says of that."""

    fields: tuple[Field, ...]
    assumed: tuple[Notice, ...]
    statements: tuple[Statement, ...]
    notes: tuple[Notice, ...]
    dialect: Dialect = PLAIN_FILE

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are modelled."""
        return tuple(field.name for field in self.fields)

    @property
    def schema(self) -> Schema:
        """The schema; a DataError where no column is left."""
        if self.fields:
            return Schema(fields=self.fields, dialect=self.dialect)
        raise DataError(
            "noise hides what every column holds, so that there is nothing to model, and the whole budget is "
            "debited; give a larger epsilon, or a schema",
            code="LW273",
        )


def certify(
    settings: TableSettings,
    terms: Terms,
    records: Records,
    answers: Sequence[Answer],
    model: ReleasedModel,
    *,
    finished: PostprocessedModel,
    earlier: Sequence[Answer] = (),
    learned: LearnedSchema | None = None,
) -> Certificate:
    """Return the certificate of a release.

    answers: all that were given under the schema; earlier: those before it was mended, or by which it was `learned`;
    their costs sum to the certificate's total; finished: what rules and public tables made of the model, which is
    released. Returns a function of public settings and released numbers alone.
    """
    schema, mechanism = settings.schema, settings.mechanism
    paid = AnswerCosts.of((*earlier, *answers), terms, settings.request)
    bought = fields_of_origin(schema, "dp")
    modelled = [field.name for field in schema.columns]
    rng = generator(settings.seed, "certificate")
    everything, answers = answers, of_mechanism(answers)
    accuracy = mechanism.statements(schema, terms, answers, model, rng)
    certificate = paid.certificate(
        settings.schema,
        terms,
        records,
        mechanism=name_in_files(mechanism),
        public=settings_of(mechanism),
        assumed_fields=fields_of_origin(schema, "assumed"),
        dp_fields=bought,
        expected_rows=terms.expected_rows,
        released_rows=model.rows,
        seed=settings.seed,
        delta=paid.selected,
        accuracy=(
            *(() if learned is None else learned.statements),
            *_noise_statements(answers),
            *rows_statements(answers, terms, finished.model.rows),
            *_of_released(settings, terms, answers, accuracy, (model, finished)),
        ),
        assumed=(*(() if learned is None else learned.assumed), *assumptions(mechanism), *_claims(answers)),
        warnings=(
            *uncovered_warnings(schema.columns),
            *_noise_warnings(answers, model, terms),
            *misfit_warnings(schema, everything),
            *(_mended_schema_notice(earlier) if learned is None else learned.notes),
            *_contrary_warnings(settings, answers),
            *promise_warnings(paid.total, paid.epsilons),
            *(untold_warnings(bought, schema.purchases) if learned is None else ()),
            *other_terms_warnings(modelled, schema.purchases, terms.relation, schema.unit_label),
            *release_warnings(settings.mechanism, schema, answers, accuracy),
            *_made_up(schema),
        ),
        purchases=schema.purchases,
        weight=schema.weight,
        verdict=verdict_of(settings, terms, answers, finished.model),
    )
    return finished.on(certificate)


def _of_released(
    settings: TableSettings,
    terms: Terms,
    answers: Sequence[Answer],
    stated: Sequence[Statement],
    models: tuple[ReleasedModel, PostprocessedModel],
) -> tuple[Statement, ...]:
    """Return what is stated of the mechanism's model as it holds for what was released."""
    model, finished = models
    if finished.model is model:
        return tuple(stated)
    return postprocessed_statements(
        settings.mechanism, settings.schema, terms, answers, stated, model=finished.model, changed=finished.changed
    )


def promised_epsilons(
    request: BudgetRequest, total: Budget, selected: Fraction = Fraction(0)
) -> tuple[tuple[Fraction, Fraction], ...]:
    """Return what a zCDP total is worth as (delta, epsilon): at the requested delta first, then at the usual ones.

    selected: the sum of the deltas of selections, part of every delta that is returned.
    """
    if total.notion == "pure":
        return ()
    if request.delta is None or request.epsilon is None:
        return pairs_at(total.rho, selected)
    stated, *usual = pairs_at(total.rho, selected, request.delta)
    # The total is at most the rho that was granted for the request, which therefore holds too.
    return (stated[0], min(request.epsilon, stated[1])), *usual


def _noise_statements(answers: Sequence[Answer]) -> tuple[Statement, ...]:
    """Say how large the noise on the counts is, once per noise law; counts that were left out bias the others."""
    laws = Counter(
        (table.noise, table.sd, any(each.threshold is not None for each in views(answer)), _is_of_means(answer))
        for answer in answers
        for table in answer.tables
    )
    return tuple(
        Statement(
            "noise_on_means" if of_means else "noise_on_kept_counts" if is_cut else "noise_on_counts",
            sd,
            {"kind": law.kind, "tables": tables},
        )
        for (law, sd, is_cut, of_means), tables in laws.items()
    )


def _is_of_means(answer: Answer) -> bool:
    """Tell whether noise is on means of coordinates, not on sums over rows."""
    return isinstance(answer.question, CellSums) and answer.question.damping is not None


def _noise_warnings(answers: Sequence[Answer], model: ReleasedModel, terms: Terms) -> tuple[Notice, ...]:
    """Say when the release knows nothing, or little: a function of the noise laws and the released number of rows."""
    if model.rows == 0 and terms.rows is None:
        return (Notice("no_rows"),)
    smallest = min((table.sd for answer in answers if not _is_of_means(answer) for table in answer.tables), default=0.0)
    return (Notice("mostly_noise", {"sd": smallest, "rows": model.rows}),) if 0 < model.rows <= 10 * smallest else ()


def promise_warnings(total: Budget, epsilons: Sequence[tuple[Fraction, Fraction]]) -> tuple[Notice, ...]:
    """Say when epsilon or delta is so large that the promise means little."""
    delta, epsilon = epsilons[0] if epsilons else (Fraction(0), total.amount)
    found, told = [], {"delta": at_least(delta, 3) if delta else "0"}
    if epsilon > _WEAK_EPSILON:
        code = "no_epsilon" if epsilon >= _NO_EPSILON else "weak_epsilon"
        found.append(Notice(code, {"epsilon": at_least(epsilon, 4), **told}))
    if delta > _WEAK_DELTA:
        found.append(Notice("no_delta" if delta >= _NO_DELTA else "weak_delta", told))
    return tuple(found)


def _claims(answers: Sequence[Answer]) -> tuple[Notice, ...]:
    """Say what is taken on the caller's word about code of theirs that was called in the room."""
    asked = [answer.question for answer in answers]
    called = [
        each.text
        for question in asked
        if isinstance(question, LinearStatistics)
        for each in question.statistics
        if isinstance(each, RowStatistic)
    ]
    return tuple(Notice("function_trusted", {"name": name}) for name in dict.fromkeys(called))


def _made_up(schema: Schema) -> tuple[Notice, ...]:
    """Say which identifiers hold names of nobody."""
    names = tuple(field.name for field in schema.fields if field.is_by_faker)
    return (Notice("made_up", {"fields": names}),) if names else ()


def _mended_schema_notice(earlier: Sequence[Answer]) -> tuple[Notice, ...]:
    """Say that the release began under another schema."""
    return (Notice("mended", {"answers": len(earlier)}),) if earlier else ()


def _contrary_warnings(settings: TableSettings, answers: Sequence[Answer]) -> tuple[Notice, ...]:
    """Say which rules the noisy counts show to be broken: synthetic rows keep them, and are wrong there."""
    return tuple(
        Notice("rule_broken", {"rule": text, "share": share})
        for text, share in broken_at_least(settings.schema, answers).items()
        if share > _BROKEN_SHARE
    )
