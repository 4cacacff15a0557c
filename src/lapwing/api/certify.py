"""Write the certificate of a release from its settings, answers and model."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from lapwing.api.generators import generator
from lapwing.api.records import Records
from lapwing.api.settings import Settings
from lapwing.budget.budget import Budget
from lapwing.budget.conversions import certificate_epsilons
from lapwing.mechanisms.registry import accuracy_statements, settings_of
from lapwing.release.certificate import Certificate, CostLine, LedgerEntry, Statement
from lapwing.release.model import ReleasedModel
from lapwing.release.questions import Answer
from lapwing.release.terms import Terms
from lapwing.release.version import VERSION


def certify(
    settings: Settings, terms: Terms, records: Records, answers: Sequence[Answer], model: ReleasedModel
) -> Certificate:
    """Return the certificate of a release.

    Parameters
    ----------
    settings, terms, records
        What is public about the release, and where it is recorded.
    answers : sequence of NoisyCounts or NoisyTree
        Every answer that was given; their costs sum to the certificate's total.
    model : ReleasedModel
        What was released.

    Returns
    -------
    Certificate
        A function of public settings and released numbers alone.
    """
    lines = tuple(line for answer in answers for line in CostLine.of(answer, terms))
    total = Budget(settings.request.budget.notion, sum((line.cost.amount for line in lines), Fraction(0)))
    by_origin = {
        origin: tuple(column.name for column in settings.schema.columns if column.provenance == origin)
        for origin in ("assumed", "dp")
    }
    return Certificate(
        lapwing=VERSION,
        mechanism=settings.mechanism.name,
        settings=settings_of(settings.mechanism),
        lines=lines,
        total=total,
        requested_epsilon=settings.request.epsilon,
        requested_delta=settings.request.delta,
        requested_rho=settings.request.rho,
        epsilons=certificate_epsilons(total.rho) if total.notion == "zcdp" else (),
        relation=terms.relation,
        privacy_unit=settings.schema.unit_label,
        max_rows=terms.max_rows,
        assumed_fields=by_origin["assumed"],
        dp_fields=by_origin["dp"],
        public_rows=terms.rows,
        expected_rows=terms.expected_rows,
        released_rows=model.rows,
        seed=settings.seed,
        ledger=_entry(records),
        accuracy=(
            *_noise_statements(answers),
            *accuracy_statements(
                settings.mechanism, settings.schema, terms, answers, model, rng=generator(settings.seed, "certificate")
            ),
        ),
        warnings=_warnings(model, terms),
    )


def _entry(records: Records) -> LedgerEntry | None:
    """Name the ledger entry, where there is one."""
    if records.dataset is None:
        return None
    return LedgerEntry(dataset=records.dataset, release_id=records.release_id)


def _noise_statements(answers: Sequence[Answer]) -> tuple[Statement, ...]:
    """Say how large the noise on the counts is, once per noise law."""
    laws = Counter(table.noise for answer in answers for table in answer.tables)
    return tuple(
        Statement(
            kind="noise on each count",
            text=f"each count of {tables} noisy tables carries discrete {law.kind} noise with mean 0 and this standard "
            "deviation, in records",
            value=law.sd,
        )
        for law, tables in laws.items()
    )


def _warnings(model: ReleasedModel, terms: Terms) -> tuple[str, ...]:
    """Say when the release knows nothing."""
    if model.rows == 0 and terms.rows is None:
        return (
            "the noisy number of rows is 0 or less: the model is close to uniform and says nothing about the table",
        )
    return ()
