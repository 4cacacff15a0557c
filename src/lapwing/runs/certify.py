"""Write the certificate of a release from its settings, answers and model."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from lapwing.kernel.budget.budget import Budget, BudgetRequest
from lapwing.kernel.plain import at_least
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics, RowStatistic
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.grid.mechanism import KEPT_SHARE
from lapwing.mechanisms.linear_statistics.mechanism import CONDITION_NUMBER, EFFECTIVE_POINTS
from lapwing.mechanisms.registry import (
    accuracy_statements,
    assumptions,
    finished_statements,
    name_in_files,
    settings_of,
)
from lapwing.model.certificate.certificate import CERTIFIED, Certificate, CostLine, LedgerEntry, Statement
from lapwing.model.certificate.declared import FALSE_WARNING, broken_at_least, sum_reach
from lapwing.model.certificate.domain_cost import other_terms_warnings, pairs_at, untold_warnings
from lapwing.model.certificate.protection import fields_of_origin, uncovered_warnings
from lapwing.model.conditions.conditions import FEW_ATOMS
from lapwing.model.model import ReleasedModel
from lapwing.model.queries.row_numbers import rows_statements
from lapwing.runs.finishing import Finished
from lapwing.runs.generators import generator
from lapwing.runs.records import Records
from lapwing.runs.settings import Settings
from lapwing.version import VERSION, code_fingerprint

_MISFIT_SHARE, _MISSING_SHARE = 0.05, 0.95
_BROKEN_SHARE = 0.03
_FEW_KEPT = 0.5
_EVEN = 2.0  # weights with a smaller condition number than this are nearly even
_WEAK_EPSILON = 10
_WEAK_DELTA = Fraction(1, 1000)
_WEAK = "the promise is weak"
_NO_EPSILON, _NO_DELTA = 100, Fraction(1, 10)
_NOTHING = "this is next to no promise"


def certify(
    settings: Settings,
    terms: Terms,
    records: Records,
    answers: Sequence[Answer],
    model: ReleasedModel,
    *,
    finished: Finished,
) -> Certificate:
    """Return the certificate of a release.

    answers: every answer that was given; their costs sum to the certificate's total; finished: what rules and public
    tables made of it, which is released. Returns a function of public settings and released numbers alone.
    """
    lines = tuple(line for answer in answers for line in CostLine.of(answer, terms))
    total = Budget(settings.request.budget.notion, sum((line.cost.amount for line in lines), Fraction(0)))
    epsilons = promised_epsilons(settings.request, total)
    rng = generator(settings.seed, "certificate")
    bought = fields_of_origin(settings.schema, "dp")
    modelled = [field.name for field in settings.schema.columns]
    accuracy = accuracy_statements(settings.mechanism, settings.schema, terms, answers, model, rng=rng)
    certificate = Certificate(
        lapwing=VERSION,
        code=code_fingerprint(),
        mechanism=name_in_files(settings.mechanism),
        settings=settings_of(settings.mechanism),
        lines=lines,
        total=total,
        requested_epsilon=settings.request.epsilon,
        requested_delta=settings.request.delta,
        requested_rho=settings.request.rho,
        epsilons=epsilons,
        relation=terms.relation,
        privacy_unit=settings.schema.unit_label,
        max_rows=terms.max_rows,
        assumed_fields=fields_of_origin(settings.schema, "assumed"),
        dp_fields=bought,
        public_rows=terms.rows,
        expected_rows=terms.expected_rows,
        released_rows=model.rows,
        seed=settings.seed,
        ledger=ledger_entry(records),
        accuracy=(
            *_noise_statements(answers),
            *rows_statements(answers, terms, finished.model.rows),
            *_of_released(settings, terms, answers, accuracy, (model, finished)),
        ),
        assumed=(*assumptions(settings.mechanism), *_claims(answers)),
        warnings=(
            *uncovered_warnings(settings.schema),
            *_noise_warnings(answers, model, terms),
            *_misfit_warnings(settings, answers),
            *_contrary_warnings(settings, answers),
            *promise_warnings(total, epsilons),
            *untold_warnings(bought, settings.schema.purchases),
            *other_terms_warnings(modelled, settings.schema.purchases, terms.relation, settings.schema.unit_label),
            *_caveats(settings, answers),
            *_kept_warnings(accuracy),
            *_collapse_warnings(accuracy),
            *_drowned_warnings(accuracy),
        ),
        purchases=settings.schema.purchases,
        weight=settings.schema.weight,
    )
    return finished.on(certificate)


def _of_released(
    settings: Settings,
    terms: Terms,
    answers: Sequence[Answer],
    stated: Sequence[Statement],
    models: tuple[ReleasedModel, Finished],
) -> tuple[Statement, ...]:
    """Return what is stated of the mechanism's model as it holds for what was released."""
    model, finished = models
    if finished.model is model:
        return tuple(stated)
    return finished_statements(
        settings.mechanism,
        settings.schema,
        terms,
        answers,
        stated,
        model=finished.model,
        changed=finished.changed,
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


def ledger_entry(records: Records) -> LedgerEntry | None:
    """Name the ledger entry, where there is one."""
    if records.dataset is None:
        return None
    return LedgerEntry(dataset=records.dataset, release_id=records.release_id)


def _noise_statements(answers: Sequence[Answer]) -> tuple[Statement, ...]:
    """Say how large the noise on the counts is, once per noise law; counts that were left out bias the others."""
    laws = Counter(
        (table.noise, table.sd, isinstance(answer, NoisyCells) and answer.is_filtered)
        for answer in answers
        for table in answer.tables
    )
    return tuple(
        Statement(
            kind="noise on each count",
            text=f"each count of {tables} noisy table{'s' * (tables > 1)} carries discrete {law.kind} noise with "
            "mean 0 and this standard deviation, in records"
            + ("; small noisy counts were left out afterwards, so those shown are too large on average" * is_cut),
            value=sd,
        )
        for (law, sd, is_cut), tables in laws.items()
    )


def _noise_warnings(answers: Sequence[Answer], model: ReleasedModel, terms: Terms) -> tuple[str, ...]:
    """Say when the release knows nothing, or little: a function of the noise laws and the released number of rows."""
    if model.rows == 0 and terms.rows is None:
        return (
            "the noisy number of rows is 0 or less: the model is close to uniform and says nothing about the table",
        )
    smallest = min((table.sd for answer in answers for table in answer.tables), default=0.0)
    if 0 < model.rows <= 10 * smallest:
        return (
            f"the noise on each count (sd {smallest:.3g}) is large beside the {model.rows} rows released: rows are "
            "mostly noise; use more budget or fewer columns",
        )
    return ()


def promise_warnings(total: Budget, epsilons: Sequence[tuple[Fraction, Fraction]]) -> tuple[str, ...]:
    """Say when epsilon or delta is so large that the promise means little."""
    delta, epsilon = epsilons[0] if epsilons else (Fraction(0), total.amount)
    found = []
    if epsilon > _WEAK_EPSILON:
        at = f" at delta {at_least(delta, 3)}" if delta else ""
        weak = f"at least {_NO_EPSILON}: {_NOTHING}" if epsilon >= _NO_EPSILON else f"above {_WEAK_EPSILON}: {_WEAK}"
        found.append(f"epsilon {at_least(epsilon, 4)}{at} is {weak}")
    if delta > _WEAK_DELTA:
        weak = f"at least 0.1: {_NOTHING}" if delta >= _NO_DELTA else f"above 0.001: {_WEAK}"
        found.append(f"delta {at_least(delta, 3)} is {weak}; use one far below 1 / people")
    return tuple(found)


def _caveats(settings: Settings, answers: Sequence[Answer]) -> tuple[str, ...]:
    """Say what rows of the mechanism never keep, or, where it found noise only, do not keep this time."""
    if len(settings.schema.columns) == 1:
        return ()
    caveat = getattr(settings.mechanism, "caveat", "")
    if isinstance(settings.mechanism, Adaptive):
        joint = [answer.question for answer in answers if len(answer.question.columns) > 1]
        tables = [question for question in joint if isinstance(question, MarginalCounts)]
        if not joint:
            caveat = (
                "tables of two columns would be mostly noise, and none was measured: no relation between columns is "
                "kept; more budget, a delta, or a public expected number of rows may change that (`lapwing plan` tells)"
            )
        elif all(grouping.regular == 1 for table in tables for grouping in table.groupings):
            caveat = (
                "other tables of two columns would be mostly noise, and only what is missing or special in two columns "
                "was measured: no other relation between columns is kept"
            )
    return (caveat,) if caveat else ()


def _kept_warnings(accuracy: Sequence[Statement]) -> tuple[str, ...]:
    """Say where the cells of a filtered grid hold few of the rows."""
    return tuple(
        f"the cells that were kept hold {max(0.0, statement.value):.0%} of the rows, and noise among them: use wider "
        "cells, more budget or fewer columns, or another mechanism"
        for statement in accuracy
        if statement.kind == KEPT_SHARE and statement.value is not None and statement.value < _FEW_KEPT
    )


def _collapse_warnings(accuracy: Sequence[Statement]) -> tuple[str, ...]:
    """Say where a density has collapsed onto few points: it follows the noise then, and rows are copies of these."""
    found = {statement.kind: statement.value for statement in accuracy}
    alike, condition = found.get(EFFECTIVE_POINTS), found.get(CONDITION_NUMBER)
    if alike is None or condition is None or alike >= FEW_ATOMS or condition < _EVEN:
        return ()
    return (
        f"the density has collapsed: {alike:.3g} points carry it, so that rows are copies of few and follow the noise; "
        "use more budget, fewer statistics, or a mu nearer to the table",
    )


def _drowned_warnings(accuracy: Sequence[Statement]) -> tuple[str, ...]:
    """Say where nothing is certified, because an error could be as large as a share can be."""
    return tuple(
        f"the certified error is {statement.value:.3g}, so nothing is certified for some statistics: the noise is as "
        "large as they are; use more budget, fewer tables or fewer statistics"
        for statement in accuracy
        if statement.kind == CERTIFIED and statement.value is not None and statement.value >= 1.0
    )


def _claims(answers: Sequence[Answer]) -> tuple[str, ...]:
    """Say what is taken on the caller's word about code of theirs that was called in the room."""
    asked = [answer.question for answer in answers]
    called = [
        each.text
        for question in asked
        if isinstance(question, LinearStatistics)
        for each in question.statistics
        if isinstance(each, RowStatistic)
    ]
    return tuple(
        f"that {name} keeps no state, looks at nothing but the record it is given and shows nothing is the caller's "
        "claim"
        for name in dict.fromkeys(called)
    )


def _misfit_warnings(settings: Settings, answers: Sequence[Answer]) -> tuple[str, ...]:
    """Say where the noisy counts show that cells do not fit the schema, or that nearly none are there."""
    fields = {field.name: field for field in settings.schema.columns}
    tables = [answer for answer in answers if isinstance(answer, NoisyCounts) and len(answer.question.columns) == 1]
    failure = FALSE_WARNING / (2 * max(len(tables), 1))
    rows = min((_surely_all(answer, failure) for answer in tables), default=1.0)
    found = {}
    for answer in tables:
        field = fields[answer.question.columns[0]]
        share = (float(answer.counts[-1]) - sum_reach(((answer.noise, 1),), failure)) / max(rows, 1.0)
        if field.required and share > _MISFIT_SHARE:
            found[field.name] = (
                f"column {field.name!r}: at least about {share:.0%} of its cells do not fit the schema, by the noisy "
                "counts, and rows out stand for the others only; look with `lapwing schema check`"
            )
        elif not field.required and share > _MISSING_SHARE:
            found[field.name] = (
                f"column {field.name!r}: at least about {share:.0%} of its cells are missing or do not fit the schema, "
                "by the noisy counts; look with `lapwing schema check`"
            )
    return tuple(found.values())


def _contrary_warnings(settings: Settings, answers: Sequence[Answer]) -> tuple[str, ...]:
    """Say which rules the noisy counts show to be broken: rows out keep them, and do not stand for the rows then."""
    return tuple(
        f"rule {text!r}: at least about {share:.0%} of the rows break it, by the noisy counts, and rows out, which all "
        "keep it, misstate them; look with `lapwing schema check` and leave the rule out or mend it"
        for text, share in broken_at_least(settings.schema, answers).items()
        if share > _BROKEN_SHARE
    )


def _surely_all(answer: NoisyCounts, failure: float) -> float:
    """Return a number of rows that is too small with at most a given probability."""
    return float(answer.counts.sum()) + sum_reach(((answer.noise, answer.counts.size),), failure)
