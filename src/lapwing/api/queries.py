"""Tables of the released model, with labels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lapwing.errors import ParameterError
from lapwing.sample.marginals import marginal
from lapwing.schema.groupings import Grouping, evenly, identity
from lapwing.schema.labels import labels
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    import polars as pl

    from lapwing.release.model import ReleasedModel


def query_table(model: "ReleasedModel", schema: Schema, columns: str | Sequence[str], groups: int) -> "pl.DataFrame":
    """Return the model's table over some columns; see `Release.query`."""
    import polars as pl  # noqa: PLC0415

    columns = [columns] if isinstance(columns, str) else columns
    if not columns or len(set(columns)) != len(columns):
        raise ParameterError(f"columns must be a column name or a list of distinct ones, got {columns!r}")
    if groups < 2:
        raise ParameterError(f"groups must be at least 2, got {groups}")
    groupings = [query_grouping(schema, name, groups) for name in columns]
    counts = marginal(model, columns, groupings)
    shown = [_shown(schema, name, grouping) for name, grouping in zip(columns, groupings, strict=True)]
    counts = counts[tuple(slice(0, len(texts)) for texts in shown)]
    cells = np.indices(counts.shape).reshape(len(columns), -1)
    frame = {
        name: pl.Series(texts, dtype=pl.String).gather(cell)
        for name, texts, cell in zip(columns, shown, cells, strict=True)
    }
    total = counts.sum()
    share = counts.ravel() / total if total > 0 else np.zeros(counts.size)
    return pl.DataFrame({**frame, free_name("count", columns): counts.ravel(), free_name("share", columns): share})


def free_name(name: str, taken: Sequence[str]) -> str:
    """Return a name for a result column: the name itself, with underscores where the table has a column called so."""
    while name in taken:
        name += "_"
    return name


def query_grouping(schema: Schema, name: str, groups: int) -> Grouping:
    """Return the grouping under which a column is shown: value by value where it has few, else nearly equal runs."""
    field = schema.field(name)
    domain = field.domain
    if field.is_categorical or domain.values <= groups:
        return identity(domain)
    return evenly(domain, groups)


def _shown(schema: Schema, name: str, grouping: Grouping) -> list[str]:
    """Return the labels of a column's groups, without the misfit group, which the model never has."""
    field = schema.field(name)
    texts = labels(grouping, field)
    return texts if field.domain.missing else texts[:-1]
