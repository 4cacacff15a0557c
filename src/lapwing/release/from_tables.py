"""Rows from noisy tables of elsewhere: consistent counts, a model, intervals; no private row, and no promise."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lapwing.errors import ParameterError, SchemaError
from lapwing.kernel.budget.budget import Number
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.mechanisms.shared.tables.estimates import LEAST_VARIANCE, CountedTable, consistent_estimates
from lapwing.mechanisms.shared.tables.rows import model_of_tables
from lapwing.model.model import ReleasedModel
from lapwing.release.fixed_tables import laplace_reach, normal_reach, table_frames
from lapwing.release.queries import failure_of_confidence
from lapwing.release.rows_out import RowsOut, Where, rows_out
from lapwing.release.runs.generators import chosen_seed, generator
from lapwing.release.runs.public_tables import cells_of_frame
from lapwing.release.runs.settings import usable_schema
from lapwing.schema.public_tables.cells import coded_table
from lapwing.schema.public_tables.tables import PublicTable
from lapwing.schema.scalars import check_row_count, finite_number, safe_repr
from lapwing.schema.schemas import Schema
from lapwing.schema.short import short

if TYPE_CHECKING:
    import polars as pl

PROMISE: Final = (
    "These rows were made of tables that were counted elsewhere. Nothing here protects anybody: whether these tables "
    "may be published is for whoever made them to say, and no budget of theirs is counted here."
)
_ROUNDING: Final = 1e-6  # rows
_WAY_OUT: Final = (
    'write {"columns": ["sex"], "cells": [["f", 512], ["m", 488]], "noise": {"gaussian": 5}}; noise is a '
    '"gaussian" sigma, a "laplace" scale, an "sd", the half width of a 95 % "interval", or "exact"'
)
_KEYS: Final = {"columns", "cells", "noise", "source", "complete"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowsFromTables:
    """Hold rows of tables that were counted elsewhere.

    Parameters
    ----------
    schema : Schema
        Of the rows.
    model : ReleasedModel
        What they are drawn from; its tables are whole.
    tables : tuple of polars.DataFrame
        Each table with ``count``, as the rows have it, ``lower``, ``upper`` and ``sd``.
    certificate : mapping of plain JSON values
        What went in, and that nothing is promised.
    seed : int
        Of the rows, where `sample` is given none.
    """

    schema: Schema = field(repr=False)
    model: ReleasedModel
    tables: "tuple[pl.DataFrame, ...]" = field(repr=False)
    certificate: Mapping[str, Any] = field(repr=False)
    seed: int

    __repr__ = short

    def rows(self, n: int | None = None, *, seed: int | None = None, where: Where = None) -> RowsOut:
        """Prepare rows, by default as many as were counted, of which none is drawn yet."""
        count = self.model.rows if n is None and where is None else n
        return rows_out(self.model, self.schema, count, where, (seed, self.seed))

    def sample(self, n: int | None = None, *, seed: int | None = None, where: Where = None) -> "pl.DataFrame":
        """Draw rows; by default their tables are the counts exactly."""
        import polars as pl  # noqa: PLC0415

        frames: Iterator[pl.DataFrame] = self.rows(n, seed=seed, where=where).frames()
        return pl.concat(list(frames))


def rows_from_tables(
    tables: Sequence[Mapping[str, Any]],
    schema: Schema | str | os.PathLike[str] | Mapping[str, Any],
    *,
    rows: int | None = None,
    confidence: Number = "0.95",
    seed: int | None = None,
) -> RowsFromTables:
    """Make rows of noisy tables that somebody else counted.

    Parameters
    ----------
    tables : list of mappings
        Each with ``columns``; ``cells``, lists of a value, a list of values or a range ``"0..17"`` for each column and
        a count, which may be negative or no whole number, or a frame of these (as OpenDP and Tumult give, or of a CSV
        file), whose counts are in its one other column, or in ``count``; ``noise``, what is known of the noise on each
        count: ``{"gaussian": sigma}``, ``{"laplace": scale}``, ``{"sd": deviation}``, ``{"interval": half width at 95
        %}`` or ``"exact"``; and perhaps ``source``, a text, and ``complete``: true, where nobody is in cells that are
        not listed. Groups of a column in several tables must be nested.
    schema : Schema, path or mapping
        Of the rows.
    rows : int, optional
        The number of rows, where it is known.
    confidence : number, default 0.95
        Of each interval by itself.
    seed : int, optional
        Of model and rows; a fresh one by default.

    Returns
    -------
    RowsFromTables
        With rows, whole tables that add up, intervals and a certificate. No private row is read, and no budget spent.

    Raises
    ------
    ParameterError
        If a table is not written as above, or groups are not nested.
    SchemaError
        If cells do not fit the schema, overlap, or leave something out.

    Notes
    -----
    As `Tables` does with its own answers: least squares on what tables share, whole rows that meet the result. Noise is
    taken to be unbiased and independent from count to count. Intervals are those of the law; an ``sd`` without a law
    gives Chebyshev's, which is wide.

    Examples
    --------
    >>> schema = {"fields": [{"name": "sex", "type": "string", "categories": ["f", "m"],
    ...     "constraints": {"required": True}}]}
    >>> noisy = {"columns": ["sex"], "cells": [["f", 512.5], ["m", 488]], "noise": {"gaussian": 5}}
    >>> rows_from_tables([noisy], schema, rows=1000, seed=1).sample().height
    1000
    """
    failure, known = failure_of_confidence(confidence), usable_schema(schema)
    if rows is not None:
        check_row_count("rows", rows)
    if not isinstance(tables, list | tuple) or not tables:
        raise ParameterError(f"tables must be a list, got {safe_repr(tables)}; {_WAY_OUT}", code="LW304")
    read = [_counted(each, known) for each in tables]
    counted = [each for each, _ in read]
    _check_exact([each.counts.sum() for each, law in read if law == "exact"], rows)
    found = consistent_estimates(counted, rows, {field.name: field.domain for field in known.columns})
    chosen = chosen_seed(seed)
    model = model_of_tables(known, [each.columns for each in counted], found, generator(chosen, "fit"))
    frames = table_frames(
        known,
        model,
        [(each.columns, each.groupings) for each in counted],
        found,
        [_REACHES[law](failure) for _, law in read],
        rows=rows,
    )
    return RowsFromTables(
        schema=known, model=model, tables=tuple(frames), certificate=_certificate(tables, model, chosen), seed=chosen
    )


def estimate(
    domain: Mapping[str, int], measurements: Sequence[tuple[Any, Any, float, Sequence[str]]], *, seed: int | None = None
) -> RowsFromTables:
    """Make rows of noisy marginals in the shapes of private-pgm (``mbi``).

    Parameters
    ----------
    domain : mapping of str to int
        How many codes each column has, from 0 on; of a ``mbi.Domain``, ``domain.config``.
    measurements : list of tuples
        ``(Q, y, sigma, columns)``: noisy counts y of a marginal, its last column fastest, with Gaussian noise; Q is
        None or the identity.
    seed : int, optional
        As for `rows_from_tables`.

    Returns
    -------
    RowsFromTables
        Of whole numbers.

    Raises
    ------
    ParameterError
        If Q is anything else, or y has not as many numbers as the marginal has cells.

    Examples
    --------
    >>> estimate({"a": 2}, [(None, [40.5, 59], 1.0, ("a",))], seed=1).sample()["a"].sum() > 50
    True
    """
    tables = []
    for query, y, sigma, columns in measurements:
        values, shape = np.asarray(y, dtype=np.float64).ravel(), tuple(domain[name] for name in columns)
        if values.size != np.prod(shape) or not (query is None or np.array_equal(query @ values, values)):
            raise ParameterError(
                f"a measurement of {', '.join(columns)} must have a number for each of {shape} cells, and None or the "
                "identity as its query; measure the marginal itself",
                code="LW304",
            )
        cells = [[*cell, count] for cell, count in zip(np.ndindex(*shape), values.tolist(), strict=True)]
        tables.append({"columns": list(columns), "cells": cells, "noise": {"gaussian": sigma}})
    fields = [
        {"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": size - 1, "required": True}}
        for name, size in domain.items()
    ]
    return rows_from_tables(tables, {"fields": fields}, seed=seed)


_REACHES: Final[dict[str, Callable[[Fraction], float]]] = {
    "gaussian": normal_reach,
    "interval": normal_reach,
    "exact": normal_reach,
    "laplace": laplace_reach,
    "sd": lambda failure: float(failure) ** -0.5,
}
"""How many standard deviations an interval reaches, by what is known of the noise."""


def _counted(given: Mapping[str, Any], schema: Schema) -> tuple[CountedTable, str]:
    """Return a table as least squares takes it, and the kind of its noise."""
    if not isinstance(given, Mapping) or not {"columns", "cells", "noise"} <= set(given) <= _KEYS:
        raise ParameterError(f"a table is an object, got {safe_repr(given)}; {_WAY_OUT}", code="LW304")
    law, variance = _variance(given["noise"])
    cells, columns = given["cells"], given["columns"]
    if isinstance(columns, list | tuple) and (isinstance(cells, Mapping) or hasattr(cells, "columns")):
        cells = cells_of_frame(cells, columns)
    if not isinstance(cells, list | tuple) or not all(isinstance(cell, list | tuple) and cell for cell in cells):
        raise ParameterError(f"cells must be lists of values and a count, got {safe_repr(cells)}", code="LW304")
    read = [finite_number(getattr(cell[-1], "item", lambda own=cell[-1]: own)()) for cell in cells]
    counts = [count for count in read if count is not None]
    if len(counts) < len(read):
        raise ParameterError("a count of a table must be a finite number; leave unknown cells out", code="LW301")
    # Read as a public table is, with counts in place of which others stand.
    coded = coded_table(
        PublicTable(
            columns=columns,
            cells=tuple((*cell[:-1], 1) for cell in cells),
            source=given.get("source", "elsewhere"),
            provenance="public",
            complete=given.get("complete", False),
        ),
        schema.columns,
    )
    listed = np.bincount(coded.cell[coded.cell >= 0].ravel(), minlength=len(counts))
    if (listed > 1).any():
        raise SchemaError(
            f"{coded.table.name}: each cell must be one group of each column, and some lie across groups that other "
            "cells tell apart; give tables whose cells are all combinations of groups",
            code="LW242",
        )
    if law == "exact" and min(counts) < 0:
        raise ParameterError("exact counts must be at least 0; give the noise that they have", code="LW302")
    missing = {field.name: field.domain.missing for field in schema.columns}
    inside = tuple(
        slice(each.groups - (not missing[name])) for each, name in zip(coded.groupings, coded.columns, strict=True)
    )
    values = np.append(np.array(counts, dtype=np.float64), 0.0)[coded.cell[inside]]
    return CountedTable(coded.columns, coded.groupings, values, variance), law


def _check_exact(sums: Sequence[float], rows: int | None) -> None:
    """Refuse exact tables of different numbers of rows."""
    known = sorted([*sums, *([] if rows is None else [float(rows)])])
    if sums and known[-1] - known[0] > _ROUNDING:
        raise ParameterError(
            f"exact tables, and rows, must be of one number of rows, got {known[0]:.10g} and {known[-1]:.10g}; give "
            "the noise that they have",
            code="LW316",
        )


def _variance(noise: object) -> tuple[str, float]:
    """Return the kind of a noise law and its variance."""
    if noise == "exact":
        return "exact", LEAST_VARIANCE
    (law, value) = next(iter(noise.items())) if isinstance(noise, Mapping) and len(noise) == 1 else ("", None)
    size = finite_number(value)
    if law not in set(_REACHES) - {"exact"} or size is None or not 0 < size < 2**40:
        raise ParameterError(
            f"the noise of a table must be a law and a size, got {safe_repr(noise)}; {_WAY_OUT}", code="LW304"
        )
    sd = float(size)
    if law == "laplace":
        sd = NoiseLaw("laplace", Fraction(str(size))).sd
    elif law == "interval":
        sd /= normal_reach(Fraction(1, 20))
    return law, max(sd**2, LEAST_VARIANCE)


def _certificate(tables: Sequence[Mapping[str, Any]], model: ReleasedModel, seed: int) -> dict[str, Any]:
    """Return what went in, and that nothing is promised, as plain JSON values."""
    return {
        "kind": "rows from tables",
        "promise": PROMISE,
        "tables": [
            {"columns": list(each["columns"]), "noise": each["noise"], "source": each.get("source", "not said")}
            for each in tables
        ],
        "rows": model.rows,
        "seed": seed,
    }
