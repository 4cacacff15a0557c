"""How the columns of a released model depend on each other: all pairs at once, and the strongest by themselves.

Released numbers only: whatever is computed from a released model may be published.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lapwing.errors import CapacityError
from lapwing.extras.evaluate.report.heat_maps import heat_map
from lapwing.extras.evaluate.report.parts import section
from lapwing.extras.evaluate.report.released_columns import LEAST, model_codes, most_frequent
from lapwing.extras.evaluate.words import say
from lapwing.kernel.questions.misfit_rows.question import MisfitRows
from lapwing.maths.associations import strength
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.model import ReleasedModel
from lapwing.model.sampling.marginals import marginal
from lapwing.present.document import Chart, Section, Text, clip_text, cross_name
from lapwing.schema.fields import Field
from lapwing.schema.groupings.grouping import Grouping, interval_grouping
from lapwing.schema.schemas import Schema
from lapwing.schema.values import labels

_MOST: Final = 40  # columns whose pairs are looked at: 780 pairs, some seconds
_FEW: Final = 8  # groups of a column beside another one
_DRAWN: Final = 3  # pairs with a picture of their own


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedPairs:
    """Hold how strongly columns depend on each other, shape (d, d), nan where not known, and the strongest tables."""

    columns: tuple[str, ...]
    strengths: np.ndarray
    tables: tuple["PairTable", ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairTable:
    """Hold the expected rows of two columns, shape (groups of the first, groups of the second)."""

    columns: tuple[str, str]
    labels: tuple[list[str], list[str]]
    rows: np.ndarray


def released_pairs(model: ReleasedModel, schema: Schema) -> ReleasedPairs | None:
    """Return how the first 40 columns of a released model depend on each other; None where there is no pair of rows."""
    fields = schema.columns[:_MOST]
    if len(fields) < 2 or model.rows < 2:
        return None
    groupings = [_few_groups(model, field) for field in fields]
    strengths, tables = np.eye(len(fields)), {}
    for i, j in itertools.combinations(range(len(fields)), 2):
        try:
            table = marginal(model, [fields[i].name, fields[j].name], [groupings[i], groupings[j]])
        except CapacityError:
            strengths[i, j] = strengths[j, i] = np.nan
            continue
        tables[i, j] = np.where(table < LEAST, 0.0, table)
        strengths[i, j] = strengths[j, i] = strength(tables[i, j][None])[0] if tables[i, j].any() else np.nan
    strongest = sorted((pair for pair in tables if strengths[pair] > 0), key=lambda pair: -strengths[pair])[:_DRAWN]
    texts = [labels(grouping, field) for grouping, field in zip(groupings, fields, strict=True)]
    return ReleasedPairs(
        columns=tuple(field.name for field in fields),
        strengths=strengths,
        tables=tuple(
            PairTable(columns=(fields[i].name, fields[j].name), labels=(texts[i], texts[j]), rows=tables[i, j])
            for i, j in strongest
        ),
    )


def _few_groups(model: ReleasedModel, field: Field) -> Grouping:
    """Return a column in few groups with about as many rows each, and what many rows have by itself."""
    if field.is_categorical and not field.domain.ordered:
        return most_frequent(model, field, _FEW)[0]
    codes = np.sort(model_codes(model, field, None))
    if not codes.size:  # the model expects no row with a value
        return interval_grouping(field.domain, codes)
    values, counts = np.unique(codes, return_counts=True)
    alone = values[counts >= len(codes) / _FEW]
    edges = np.unique(np.concatenate((codes[np.arange(1, _FEW) * len(codes) // _FEW], alone, alone + 1)))
    return interval_grouping(field.domain, edges[(edges > 0) & (edges < field.domain.values)])


def counted_pairs(certificate: Certificate, columns: Sequence[str]) -> set[tuple[str, str]]:
    """Return the pairs of columns that were counted together, each in the order of the alphabet."""
    pairs = set[tuple[str, str]]()
    for line in certificate.lines:
        if line.noise is not None and line.question != MisfitRows.kind:
            pairs.update(itertools.combinations(sorted(set(line.columns) & set(columns)), 2))
    return pairs


def pairs_section(found: ReleasedPairs, certificate: Certificate, total: int) -> Section:
    """Return the section of the public report about pairs of columns."""
    counted = counted_pairs(certificate, found.columns)
    words = say("model_pairs.words")
    if len(found.columns) < total:
        words += say("model_pairs.more", shown=len(found.columns), columns=total)
    names = [clip_text(name) for name in found.columns]
    upper = found.strengths[np.triu_indices(len(names), 1)]
    known = upper[np.isfinite(upper)]
    meaning = say("model_pairs.mean", mean=known.mean()) if known.size else say("model_pairs.none")
    if found.tables:
        meaning += say("model_pairs.strongest", columns=cross_name(found.tables[0].columns))
    meaning += say("model_pairs.counted", counted=len(counted), pairs=len(upper))
    chart = heat_map(
        found.strengths, names, names, title=say("model_pairs.all"), meaning=meaning, unit=say("pairs.unit")
    )
    drawn = (_drawn(each, tuple(sorted(each.columns)) in counted) for each in found.tables)
    return section("dependence", (Text(words), chart, *drawn))


def pair_chart(model: ReleasedModel, certificate: Certificate, fields: Sequence[Field]) -> Chart:
    """Return the picture of a pair of columns that somebody asked for."""
    names = (fields[0].name, fields[1].name)
    groupings = [_few_groups(model, field) for field in fields]
    texts = [labels(grouping, field) for grouping, field in zip(groupings, fields, strict=True)]
    table = PairTable(columns=names, labels=(texts[0], texts[1]), rows=marginal(model, names, groupings))
    return _drawn(table, tuple(sorted(names)) in counted_pairs(certificate, names))


def _drawn(table: PairTable, is_counted: bool) -> Chart:
    """Return the picture of one pair: each line shows where the rows with that value lie."""
    down, across = (table.rows.sum(axis=axis) > 0 for axis in (1, 0))
    rows = table.rows[down][:, across]
    shares = rows / rows.sum(axis=1, keepdims=True)
    first, second = (clip_text(name, 24) for name in table.columns)
    counted = say("model_pairs.together" if is_counted else "model_pairs.guess")
    return heat_map(
        shares,
        [text for text, is_there in zip(table.labels[0], down, strict=True) if is_there],
        [text for text, is_there in zip(table.labels[1], across, strict=True) if is_there],
        title=cross_name(table.columns),
        meaning=say("model_pairs.meaning", first=first, second=second, counted=counted),
        unit=say("model_pairs.unit"),
        domain=(0.0, float(shares.max())),
    )
