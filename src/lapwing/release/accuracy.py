"""The accuracy of a release, from released numbers, its certificate and the law of its noise alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np

from lapwing.errors import CapacityError, ParameterError
from lapwing.kernel.budget.budget import Number
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.sparse_counts.question import NoisyCells
from lapwing.kernel.questions.tree_counts.question import NoisyTree
from lapwing.mechanisms.registry import registration_named
from lapwing.model.accuracy import (
    Accuracy,
    Basis,
    CountAccuracy,
    MarginalAccuracy,
    Statement,
    TableAccuracy,
    certificate_statements,
)
from lapwing.model.bounds import Covering, fitting_cells, most_rows, rows_within
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.intervals import runs_grouping
from lapwing.model.model import ReleasedModel, Spans
from lapwing.model.sampling.conditions import effective_atoms
from lapwing.model.sampling.marginals import marginal
from lapwing.release.asked import Condition, count_accuracy, table_accuracy
from lapwing.release.queries import Groups, Parts, checked_failure
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.groupings.hierarchies import Hierarchy
from lapwing.schema.schemas import Schema

_PAGE: Final = "docs/accuracy.md"


def release_accuracy(release: Parts, failure: Fraction) -> Accuracy:
    """Return what may be said about the accuracy of a release.

    failure: above 0 and below 1: of the bounds of each measured table.

    A function of released numbers: nothing is simulated or drawn. Time: that of one query for each table listed, and
    about 20 ms for each law of noise and number of cells.
    """
    model, certificate, noisy = release.model, release.certificate, release.noisy
    tables = measured_tables(noisy, release.schema)
    known = [(table, counts_of(table, model)) for table in tables_with_most_noise(tables)]
    listed = [(table, released) for table, released in known if released is not None]

    def limit(chance: Fraction) -> float:
        return most_rows(noisy, certificate.public_rows, chance)

    marginals = sorted(  # the most uncertain first; names make the order the same every time
        (marginal_accuracy(*each, failure, limit) for each in listed),
        key=lambda it: (-it.variation, -it.largest_error, it.columns, -1 if it.level is None else it.level),
    )
    registration = registration_named(certificate.mechanism)
    not_proved = f"No bound is proved for {registration.not_proved}; `release.replicates` estimates such errors."
    return Accuracy(
        statements=(
            *_rows_statement(model, certificate, noisy, failure),
            *_all_at_once(listed, model.rows, failure),
            *certificate_statements(certificate, registration.page),
            _statement("not_proved", not_proved, None, "", None, basis="model"),
        ),
        marginals=tuple(marginals),
        measured=len(tables),
        effective_rows=effective_atoms(model.weights),
        largest_density=largest_density(model, certificate),
    )


def largest_density(model: ReleasedModel, certificate: Certificate) -> float | None:
    """Return the largest density of the released law against the points that it was fitted on, or None without any."""
    setting = registration_named(certificate.mechanism).density
    points = None if setting is None else certificate.settings.get(setting)
    if not isinstance(points, int):
        return None
    if certificate.rules or certificate.public_tables:  # they split points and weigh them again
        return None
    return max(1.0, float(points * model.weights.max() / model.weights.sum()))


def _rows_statement(
    model: ReleasedModel, certificate: Certificate, noisy: Sequence[Answer], failure: Fraction
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
    listed: "Sequence[tuple[MeasuredTable, np.ndarray]]", rows: int, failure: Fraction
) -> tuple[Statement, ...]:
    """Bound the counts of all listed tables together.

    The table at place i may fail with probability ``failure / (i (i + 1))``. These sum to less than the failure, and
    what a table gets is fixed before its noise is drawn, however many follow and whatever they look at.
    """
    if not listed:
        return ()
    value = max(
        table.noise.largest_error(released, failure / (table.place * (table.place + 1))) for table, released in listed
    )
    share = f", {100 * value / rows:.3g} % of the rows released" if rows else ""
    tables = "the one measured table listed" if len(listed) == 1 else f"the {len(listed)} measured tables listed"
    text = (
        f"{_with(failure)}, no count of {tables} is further than {value:.0f} rows from the true "
        f"one{share}, all tables and cells at once."
    )
    return (_statement("every_measured_count", text, value, "rows", float(1 - failure)),)


def _with(failure: Fraction) -> str:
    """Begin a sentence with its probability."""
    return f"With {100 * float(1 - failure):.10g} % probability"


def _statement(
    key: str, text: str, value: float | None, unit: str, confidence: float | None, *, basis: Basis = "interval"
) -> Statement:
    return Statement(key=key, text=text, value=value, unit=unit, confidence=confidence, basis=basis, source=_PAGE)


# -- Which accuracy is asked for: of a release, of one table of it, or of one count.


def chosen_accuracy(
    release: Parts,
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
    public, of = release.certificate.public_rows, (release.model, release.schema, release.noisy)
    if where is not None:
        return count_accuracy(*of, where, failure=failure, public_rows=public)
    if columns is not None:
        return table_accuracy(*of, columns, groups=groups, failure=failure, public_rows=public)
    return release_accuracy(release, failure)


# -- Bounds for the tables that the noisy answers of a release measured.


MOST_CELLS: Final = 2**20  # larger tables are measured, and not listed

MOST_TABLES: Final = 100  # tables that are listed: those with the most noise in all


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredTable:
    """Hold one noisy table of a release.

    place: 1 for the table that was asked for first; noise: of its cells, or of those whose counts were not left out;
    released: from the model to its counts of these, None where the model does not say.
    """

    place: int
    columns: tuple[str, ...]
    level: int | None
    noise: Covering
    released: Callable[[ReleasedModel], np.ndarray | None]


def measured_tables(noisy: Sequence[Answer], schema: Schema) -> list[MeasuredTable]:
    """Return the tables of the answers, in the order in which they were asked for, each in the first answer it is in.

    noisy: of one release, in the order in which they were given.
    """
    found: dict[object, MeasuredTable] = {}
    for place, (groups, each) in enumerate(_tables(noisy, schema), start=1):
        found.setdefault((groups, each.level), replace(each, place=place))
    return list(found.values())


def marginal_accuracy(
    table: MeasuredTable, released: np.ndarray, failure: Fraction, most_rows: Callable[[Fraction], float]
) -> MarginalAccuracy:
    """Return the bounds of one table; `most_rows` gives one of the number of rows from a failure probability."""
    return MarginalAccuracy(
        columns=table.columns,
        cells=table.noise.cells,
        noise=table.noise.law.sd,
        largest_error=table.noise.largest_error(released, failure),
        variation=table.noise.variation(released, failure, most_rows),
        confidence=float(1 - failure),
        level=table.level,
    )


def _tables(noisy: Sequence[Answer], schema: Schema) -> Iterator[tuple[object, MeasuredTable]]:
    """Return the tables of all answers, each with what it is a table of; their places are not yet known."""
    for answer in noisy:
        columns, groupings = answer.question.columns, answer.question.groupings
        groups = frozenset(zip(columns, groupings, strict=False))
        match answer:
            case NoisyCounts() if columns:
                # The model never has the misfits, so their cells are left out.
                inside = fitting_cells(schema, columns, groupings)
                own = partial(_plain_counts, columns=columns, groupings=groupings, inside=inside)
                yield groups, MeasuredTable(0, columns, None, _alone(answer.counts[inside], answer.noise), own)
            case NoisyTree():
                for table in answer.tables:
                    assert table.level is not None
                    parts = list(zip(answer.question.hierarchies, answer.question.depths(table.level), strict=True))
                    own = partial(_level_counts, columns=columns, parts=parts)
                    yield groups, MeasuredTable(0, columns, table.level, _alone(table.counts, table.noise), own)
            case NoisyCells():
                tree, threshold = answer.question.tree, answer.question.threshold
                every = tree.cells - len(tree.split_cells) + sum(len(leaves) for _, leaves in tree.leaves())
                noise = replace(_alone(answer.counts, answer.noise), cells=every, threshold=threshold)
                yield groups, MeasuredTable(0, tree.columns, None, noise, partial(_leaf_counts, answer))


def _alone(counts: np.ndarray, law: NoiseLaw) -> Covering:
    """Return noisy counts each of which makes up a cell by itself."""
    noisy = counts.ravel()
    return Covering(noisy, np.ones(noisy.size, dtype=np.int64), law, noisy.size)


def _level_counts(model: ReleasedModel, columns: Sequence[str], parts: Sequence[tuple[Hierarchy, int]]) -> np.ndarray:
    """Count one level of a tree, in which a run may hold several reserved codes."""
    released = marginal(model, columns, [runs_grouping(nested, depth) for nested, depth in parts])
    for axis, (nested, depth) in enumerate(parts):
        firsts, known = nested.alone(depth)
        kept = np.moveaxis(released, axis, 0)[:known]
        released = np.moveaxis(np.add.reduceat(kept, firsts, axis=0), 0, axis)
    return np.asarray(released.ravel())


def _plain_counts(
    model: ReleasedModel, columns: Sequence[str], groupings: Sequence[Grouping], inside: np.ndarray
) -> np.ndarray:
    """Count a table on its own."""
    return np.asarray(marginal(model, columns, groupings)[inside])


def _leaf_counts(answer: NoisyCells, model: ReleasedModel) -> np.ndarray | None:
    """Count the leaves of a tree of cells, of which small ones may have been left out; None if an atom is in none."""
    tree = answer.question.tree
    spans = [model.laws[name] for name in tree.columns]
    found = np.full(model.atoms, -1, dtype=np.int64)
    levels, cells = answer.leaves
    for level in np.unique(levels).tolist():
        ends = np.empty((2, model.atoms, len(spans)), dtype=np.int64)
        for place, (law, nested) in enumerate(zip(spans, tree.hierarchies, strict=True)):
            if not isinstance(law, Spans):
                return None
            starts = nested.starts(int(tree.depths_of(place)[level]))
            for end, codes in enumerate((law.starts.astype(np.int64), law.stops.astype(np.int64) - 1)):
                ends[end, :, place] = np.searchsorted(starts, codes, side="right") - 1
        own = np.flatnonzero(levels == level)
        _, keys = np.unique(np.concatenate((cells[own], ends[0])), axis=0, return_inverse=True)
        leaf = np.full(int(keys.max()) + 1, -1, dtype=np.int64)
        leaf[keys.ravel()[: own.size]] = own
        met = leaf[keys.ravel()[own.size :]]
        found = np.where((met >= 0) & (ends[0] == ends[1]).all(axis=1), met, found)
    if (found < 0).any():
        return None
    return np.bincount(found, model.weights * (model.rows / model.weights.sum()), minlength=answer.counts.size)


def tables_with_most_noise(tables: Sequence[MeasuredTable]) -> list[MeasuredTable]:
    """Return the tables to list: small enough ones, by the noise in all their cells, at most `MOST_TABLES`."""
    small = [each for each in tables if each.noise.cells <= MOST_CELLS or each.noise.threshold is not None]
    most = sorted(small, key=lambda each: (-each.noise.cells * each.noise.law.mean_absolute, each.place))
    return most[:MOST_TABLES]


def counts_of(table: MeasuredTable, model: ReleasedModel) -> np.ndarray | None:
    """Return the model's counts; None where the model does not say, or not in reasonable time."""
    try:
        return table.released(model)
    except CapacityError:
        return None
