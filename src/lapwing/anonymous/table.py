"""From private rows to an anonymous table."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from lapwing.anonymous.covariance_loss import block_means, covariance_loss
from lapwing.anonymous.drawing import Grouped, draw_codes
from lapwing.anonymous.microaggregation import improved, information_loss, mdav, mdav_in_blocks, practical_partition
from lapwing.anonymous.partition import theorem_partition
from lapwing.anonymous.settings import Settings
from lapwing.anonymous.vectors import Vectors, check_coordinates, read_rows, unit_vectors
from lapwing.errors import ParameterError
from lapwing.rows.out.decode import decode
from lapwing.rows.out.writers import to_frame_kind
from lapwing.schema.schemas import Schema
from lapwing.version import VERSION

NOTICE: Final = "not differentially private; homogeneous groups can reveal shared values"
"""What every output says of itself, after its k."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class AnonymousTable:
    """Hold rows that are k-anonymous and not differentially private.

    Parameters
    ----------
    data : frame
        The rows, in the frame kind of the input, with the schema's columns and types.
    information_loss : float
        Sum of squared distances of units from the means of their groups, in percent of that from the overall mean, 0 to
        100, with three digits: columns standardised, categories as `lapwing.anonymous.vectors` lays them out.
    covariance_loss : float
        Frobenius norm of the difference between the covariance of units and that of the means of their groups, all
        scaled into the unit ball by public bounds; three digits.
    settings : Settings
        How the table was made.
    groups : int
        Number of groups.
    unit : str
        What the groups count: ``row``, or the field of the privacy unit and its most rows.
    schema : str
        Fingerprint of the schema.
    seed : int
        That the rows were drawn from.
    """

    data: Any
    information_loss: float
    covariance_loss: float
    settings: Settings
    groups: int
    unit: str
    schema: str
    seed: int

    def __repr__(self) -> str:
        return f"AnonymousTable({self.notice})"

    @property
    def notice(self) -> str:
        """What the table is, and what it is not; outputs carry it."""
        return f"k-anonymous with k = {self.settings.min_group_size}, {NOTICE}"

    def to_dict(self) -> Mapping[str, Any]:
        """Return everything but the rows as plain JSON values."""
        return {
            "notice": self.notice,
            "k": int(self.settings.min_group_size),
            "unit": self.unit,
            "groups": self.groups,
            "rows": len(self.data),
            "information_loss_percent": self.information_loss,
            "covariance_loss": self.covariance_loss,
            "settings": asdict(self.settings),
            "seed": self.seed,
            "schema": self.schema,
            "version": VERSION,
        }


def anonymous_table(
    data: object, schema: Schema, settings: Settings, rng: np.random.Generator, *, seed: int
) -> AnonymousTable:
    """Group the units of a table, and make rows from what each group has in common."""
    check_coordinates(schema)
    _check_unit(schema)
    rows = read_rows(data, schema)
    if rows.count < settings.min_group_size:
        raise ParameterError(
            f"min_group_size is {settings.min_group_size}, more than the table has {_units(schema)}; "
            "there is no group to make: use a smaller size or a larger table",
            code="LW302",
        )
    vectors = unit_vectors(rows, schema, settings.min_group_size, rng)
    standardised = vectors.standardised
    labels = _by_content(_partition(vectors, standardised, settings), vectors.raw)
    codes = draw_codes(Grouped(rows, labels), schema, settings, rng)
    return AnonymousTable(
        data=to_frame_kind(decode(codes, schema), rows.kind),
        information_loss=_rounded(information_loss(standardised, labels)),
        covariance_loss=_rounded(covariance_loss(vectors.raw, labels) / vectors.bound),
        settings=settings,
        groups=int(labels.max()) + 1,
        unit=schema.unit_label,
        schema=schema.fingerprint,
        seed=seed,
    )


def _rounded(loss: float) -> float:
    """Return a loss with three digits: more would tell single cells apart."""
    return float(f"{loss:.3g}")


def _units(schema: Schema) -> str:
    unit = schema.privacy_unit
    return "rows" if unit is None else f"values of {unit.field}"


def _check_unit(schema: Schema) -> None:
    """Refuse a privacy unit whose names rows out would show."""
    unit = schema.privacy_unit
    if unit is not None and not schema.field(unit.field).identifier:
        raise ParameterError(
            f'the privacyUnit field "{unit.field}" must have the role identifier, or rows would show whose they are; '
            "set it in the schema",
            code="LW217",
        )


def _partition(vectors: Vectors, standardised: np.ndarray, settings: Settings) -> np.ndarray:
    """Return the group of each unit."""
    size = settings.min_group_size
    if settings.partition == "theorem":
        return theorem_partition(vectors.raw / np.sqrt(vectors.bound), len(standardised) // size)
    if settings.partition == "practical" and settings.improve:
        return practical_partition(standardised, size)
    start = mdav_in_blocks if settings.partition == "practical" else mdav
    labels = start(standardised, size)
    return improved(standardised, labels, size) if settings.improve else labels


def _by_content(labels: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Sort the groups by their means, so that their order tells nothing of the order of rows in the file."""
    sizes = np.bincount(labels)
    means = block_means(points, labels)[1].T
    ranks = np.empty(sizes.size, dtype=np.int64)
    ranks[np.lexsort([sizes, *means])] = np.arange(sizes.size)
    return np.asarray(ranks[labels])
