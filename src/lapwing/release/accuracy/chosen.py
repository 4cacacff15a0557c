"""The accuracy of a release, from released numbers, its certificate and the law of its noise alone."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Number
from lapwing.kernel.questions.questions import Answer
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.linear_statistics.mechanism import LinearStatistics
from lapwing.mechanisms.microaggregation.mechanism import Microaggregation
from lapwing.mechanisms.private_sampling.mechanism import PrivateSampling
from lapwing.model.accuracy import Accuracy, CountAccuracy, MarginalAccuracy, Statement, TableAccuracy
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.conditions.conditions import effective_atoms
from lapwing.model.model import ReleasedModel
from lapwing.model.queries.asked import most_rows
from lapwing.model.queries.row_numbers import rows_within
from lapwing.release.accuracy.conditions import Condition
from lapwing.release.accuracy.queries import count_accuracy, table_accuracy
from lapwing.release.accuracy.statements import certificate_statements
from lapwing.release.accuracy.tables import (
    MeasuredTable,
    counts_of,
    largest_errors,
    marginal_accuracy,
    measured_tables,
    tables_with_most_noise,
)
from lapwing.release.queries.queries import Groups, checked_failure
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    from lapwing.release.accuracy.tables import Counts


_PAGE: Final = "docs/accuracy.md"

_NOT_PROVED: Final = {
    Independent.name: "tables of two columns or more: the release holds no relation between columns",
    Adaptive.name: "tables that were not measured: there the rows follow the model's guess",
    Microaggregation.name: "tables of two columns or more, and for columns that were not counted by themselves",
    LinearStatistics.name: "numbers that do not follow from the statistics of the workload",
    PrivateSampling.name: "tables of more columns than the degree",
}
_ELSE: Final = "what lies inside the cells that were counted"


def release_accuracy(
    model: "ReleasedModel", schema: Schema, certificate: Certificate, noisy: Sequence[Answer], failure: Fraction
) -> Accuracy:
    """Return what may be said about the accuracy of a release.

    failure: above 0 and below 1: of the bounds of each measured table.

    A function of released numbers: nothing is simulated or drawn. Time: that of one query for each table listed, and
    about 20 ms for each law of noise and number of cells.
    """
    tables = measured_tables(noisy, schema)
    known = [(table, counts_of(table, model)) for table in tables_with_most_noise(tables)]
    listed = [(table, counts) for table, counts in known if counts is not None]

    def limit(chance: Fraction) -> float:
        return most_rows(noisy, certificate.public_rows, chance)

    marginals = [marginal_accuracy(table, counts, failure, limit) for table, counts in listed]
    return Accuracy(
        statements=(
            *_rows_statement(model, certificate, noisy, failure),
            *_all_at_once(listed, model.rows, failure),
            *certificate_statements(certificate),
            _not_proved(certificate),
        ),
        marginals=tuple(sorted(marginals, key=_most_uncertain_first)),
        measured=len(tables),
        effective_rows=effective_atoms(model.weights),
        kappa=largest_density(model, certificate),
    )


def largest_density(model: "ReleasedModel", certificate: Certificate) -> float | None:
    """Return the largest density of the released law against the points that it was fitted on, or None without any."""
    points = certificate.settings.get("points")
    if certificate.mechanism != LinearStatistics.name or not isinstance(points, int):
        return None
    if certificate.rules or certificate.public_tables:  # they split points and weigh them again
        return None
    return max(1.0, float(points * model.weights.max() / model.weights.sum()))


def _most_uncertain_first(each: MarginalAccuracy) -> tuple[object, ...]:
    """Order tables by their bounds; the names make the order the same every time."""
    return -each.variation, -each.largest_error, each.columns, -1 if each.level is None else each.level


def _rows_statement(
    model: "ReleasedModel", certificate: Certificate, noisy: Sequence[Answer], failure: Fraction
) -> tuple[Statement, ...]:
    """Say how far the number of rows is from the true one."""
    if certificate.public_rows is not None:
        text = f"The number of rows of the table is public: {certificate.public_rows}."
        if model.rows != certificate.public_rows:  # public tables may have another total
            text = text[:-1] + f"; {model.rows} are released."
        return (_statement("number_of_rows", text, float(abs(model.rows - certificate.public_rows)), "rows", None),)
    found = rows_within(noisy, model.rows, failure)
    if found is None:
        return ()
    value, which = found
    text = (
        f"{_with(failure)}, the released number of rows, {model.rows}, is within {value:.0f} of the true number of "
        f"{which}."
    )
    return (_statement("number_of_rows", text, value, "rows", float(1 - failure)),)


def _all_at_once(
    listed: "Sequence[tuple[MeasuredTable, Counts]]", rows: int, failure: Fraction
) -> tuple[Statement, ...]:
    """Bound the counts of all listed tables together.

    The table at place i may fail with probability ``failure / (i (i + 1))``. These sum to less than the failure, and
    what a table gets is fixed before its noise is drawn, however many follow and whatever they look at.
    """
    if not listed:
        return ()
    value = max(largest_errors(table, counts, failure / (table.place * (table.place + 1))) for table, counts in listed)
    share = f", {100 * value / rows:.3g} % of the rows released" if rows else ""
    text = (
        f"{_with(failure)}, no count of {_counted(len(listed))} is further than {value:.0f} rows from the true "
        f"one{share}, all tables and cells at once."
    )
    return (_statement("every_measured_count", text, value, "rows", float(1 - failure)),)


def _not_proved(certificate: Certificate) -> Statement:
    """Say what no bound is proved for."""
    what = _NOT_PROVED.get(certificate.mechanism, _ELSE)
    text = f"No bound is proved for {what}; `release.replicates` estimates such errors."
    return Statement(
        key="not_proved", text=text, value=None, unit="", confidence=None, basis="model", source="docs/accuracy.md"
    )


def _counted(tables: int) -> str:
    """Name the tables that are listed."""
    return "the one measured table listed" if tables == 1 else f"the {tables} measured tables listed"


def _with(failure: Fraction) -> str:
    """Begin a sentence with its probability."""
    return f"With {100 * float(1 - failure):.10g} % probability"


def _statement(key: str, text: str, value: float, unit: str, confidence: float | None) -> Statement:
    """Return a statement of an interval."""
    return Statement(key=key, text=text, value=value, unit=unit, confidence=confidence, basis="interval", source=_PAGE)


# -- Which accuracy is asked for: of a release, of one table of it, or of one count.


def chosen_accuracy(
    model: ReleasedModel,
    schema: Schema,
    certificate: Certificate,
    noisy: tuple[Answer, ...],
    *,
    columns: str | Sequence[str] | None,
    confidence: Number,
    where: Condition | None,
    groups: Groups | None,
) -> Accuracy | TableAccuracy | CountAccuracy:
    """Return what `Release.accuracy` was asked for."""
    failure = checked_failure(confidence)
    if (columns is not None and where is not None) or (groups is not None and columns is None):
        raise ParameterError(
            "accuracy is told of a table (columns, perhaps with groups) or of a condition (where); ask for each "
            "by itself",
            code="LW316",
        )
    public, of = certificate.public_rows, (model, schema, noisy)
    if where is not None:
        return count_accuracy(*of, where, failure=failure, public_rows=public)
    if columns is not None:
        return table_accuracy(*of, columns, groups=groups, failure=failure, public_rows=public)
    return release_accuracy(model, schema, certificate, noisy, failure)
