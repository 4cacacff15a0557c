"""All that a comparison of a synthetic table with the real one found."""

from collections.abc import Mapping
from dataclasses import dataclass

from lapwing.evaluate.associations import Associations
from lapwing.evaluate.columns import ColumnErrors
from lapwing.evaluate.disclosure import Disclosure
from lapwing.evaluate.downstream import Downstream
from lapwing.evaluate.metrics import Compared
from lapwing.evaluate.overlays import Overlays
from lapwing.evaluate.rules import Declared
from lapwing.evaluate.subgroups import SubgroupAccuracy
from lapwing.evaluate.variation import Variation
from lapwing.evaluate.weighted import Weighted


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Findings:
    """Hold all that a comparison found; where the real table is private, so is this.

    Parameters
    ----------
    tables : mapping of str to tuple of Variation
        Total variation of the 1-way, 2-way and 3-way tables, by the name of the table compared: ``synthetic``,
        ``bootstrap`` (as many real rows drawn with replacement: the sampling floor) and ``independent`` (the real rows
        with every column shuffled by itself: the lazy baseline).
    columns : mapping of str to tuple of ColumnErrors
        How far every column is from the real one, of ``synthetic`` and ``bootstrap``.
    together : mapping of str to Variation, or None
        Which cells of a row are regular at the same time, of pairs of columns that may be missing or have special
        values; by table. None where there is no pair.
    given : mapping of str to Variation, or None
        Where on another column the cells of a column are missing, likewise.
    metrics : tuple of Compared
        Single figures, each of all three tables.
    associations : Associations or None
        How strongly every pair of columns depends on each other; None where there is one column.
    downstream : Downstream or None
        How well the target is predicted; None where none was given.
    subgroups : tuple of SubgroupAccuracy
        Of the crossing of the named columns; empty where none was named.
    disclosure : Disclosure or None
        Sanity checks of disclosure; None where they were not made.
    overlays : Overlays
        Columns and maps, the real and the synthetic ones side by side.
    notes : tuple of str
        What was left out or looks wrong, one sentence each.
    rows, synthetic_rows : int
        Of the two tables.
    seed : int
        Chose tables, rows and pairs, and drew the reference rows.
    declared : Declared or None
        Rows that break rules, and gaps to public totals; None where the schema declares neither.
    weighted : Weighted or None
        Weighted totals, shares and means; None where the schema names no survey weight.
    """

    tables: Mapping[str, tuple[Variation, ...]]
    columns: Mapping[str, tuple[ColumnErrors, ...]]
    together: Mapping[str, Variation] | None
    given: Mapping[str, Variation] | None
    metrics: tuple[Compared, ...]
    associations: Associations | None
    downstream: Downstream | None
    subgroups: tuple[SubgroupAccuracy, ...]
    disclosure: Disclosure | None
    overlays: Overlays
    notes: tuple[str, ...]
    rows: int
    synthetic_rows: int
    seed: int
    weighted: Weighted | None = None
    declared: Declared | None = None
