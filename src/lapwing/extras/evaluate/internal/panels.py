"""The comparison of rows of one person, and of siblings, with the real ones. Internal: nothing of it is released."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from lapwing.errors import ParameterError
from lapwing.extras.evaluate.metrics.metric import BOOTSTRAP, INDEPENDENT, SYNTHETIC
from lapwing.extras.evaluate.metrics.panels import (
    Panel,
    PanelErrors,
    bootstrap_units,
    compare_panels,
    dealt_rows,
    panel_of,
)
from lapwing.release.marked import Internal
from lapwing.rows.codec import encoder
from lapwing.rows.entry import private_boundary, source_of
from lapwing.rows.frames import on_column
from lapwing.rows.source import MAX_CHUNK_ROWS
from lapwing.rows.units import UnitNumbers
from lapwing.schema.fields import PrivacyUnit
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema


@private_boundary
def compare_panel_tables(
    real: object,
    synthetic: object,
    schema: Schema,
    *,
    unit: str,
    order: str | None = None,
    descending: bool = False,
    totals: tuple[int, int] | None = None,
    rng: np.random.Generator,
) -> Internal[PanelErrors]:
    """Compare the rows of each unit of a synthetic table with those of the real one: all rows, none cut.

    unit: the column of the units, which may be an identifier; order: a modelled column, or None for siblings in no
    order; totals: real and synthetic units, where some have no row. Beside the synthetic panel stand ``bootstrap``
    (real units drawn with replacement) and ``independent`` (real rows dealt out at random).
    """
    if order is not None and order not in [field.name for field in schema.columns]:
        raise ParameterError(f"order {quote(order)} must be a modelled column of the schema; name one", code="LW301")
    panels = [
        panel_of(*_codes_and_units(table, schema, unit), order=order, descending=descending, total=total, rng=rng)
        for table, total in zip((real, synthetic), totals or (None, None), strict=True)
    ]
    return Internal(panel_errors(panels[0], panels[1], schema, rng=rng))


def panel_errors(real: Panel, synthetic: Panel, schema: Schema, *, rng: np.random.Generator) -> PanelErrors:
    """Return how far a panel is from the real one, beside its two references. Internal."""
    others: Mapping[str, Panel] = {
        SYNTHETIC: synthetic,
        BOOTSTRAP: bootstrap_units(real, rng),
        INDEPENDENT: dealt_rows(real, rng),
    }
    return compare_panels(real, others, schema, rng=rng)


def _codes_and_units(table: object, schema: Schema, unit: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Read a table once: the codes of its modelled columns, and the number of each row's unit."""
    units = UnitNumbers(schema.field(unit))
    reader = source_of(table).open(replace(schema, privacy_unit=PrivacyUnit(unit, 1)))
    encoders = {field.name: encoder(field) for field in schema.columns}
    parts = [{field.name: np.empty(0, dtype=field.domain.dtype) for field in schema.columns}]
    for cells in reader.chunks(tuple(dict.fromkeys((*encoders, unit))), MAX_CHUNK_ROWS):
        parts.append({name: on_column(name, encode, cells[name]) for name, encode in encoders.items()})
        on_column(unit, units.add, cells[unit])
    codes = {name: np.concatenate([part[name] for part in parts]) for name in encoders}
    return codes, units.numbers()
