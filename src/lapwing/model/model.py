"""The released model: a mixture of products, the one type that every mechanism returns.

Weighted atoms; each atom is a product over columns of a simple law. Per column the laws of all atoms are kept as
indices into a table of laws, as one interval per atom, or as one probability per atom. Verbs on models (rows,
marginals, conditions) are functions in the package `sampling`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np

from lapwing.errors import ParameterError
from lapwing.maths.arrays import Frozen, floats, read_only
from lapwing.model.laws import Laws
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.scalars import MOST_ROWS
from lapwing.schema.schemas import Schema

_refused = partial(ParameterError, code="LW640")

_INDEX_TYPES = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))
_CODE_TYPES = (*_INDEX_TYPES, np.dtype(np.int64))
_PROBABILITY_TYPES = (np.dtype(np.float32), np.dtype(np.float64))
_MAX_ROWS = 2**53
_MAX_WEIGHT = 1e100


@dataclass(frozen=True, slots=True, eq=False)
class Indexed:
    """Give each atom a law out of a table.

    index: uint8, uint16 or uint32, shape (k,), the law of each atom; `narrow` picks the smallest dtype.
    """

    document: ClassVar = ("law", "index", "laws")
    law: ClassVar[str] = "indexed"

    index: np.ndarray
    laws: Laws

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", _vector("the index of laws", self.index, _INDEX_TYPES))
        if int(self.index.max()) >= self.laws.count:
            raise _refused(f"an atom points at law {self.index.max()} of a table of only {self.laws.count}")

    @property
    def atoms(self) -> int:
        """Number of atoms, k."""
        return self.index.size


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Give each atom a uniform law on its own run of codes; a point has ``stop = start + 1``.

    starts, stops: uint8, uint16, uint32 or int64, shape (k,), same dtype, codes from start to stop - 1.
    """

    document: ClassVar = ("law", "starts", "stops")
    law: ClassVar[str] = "spans"

    starts: np.ndarray
    stops: np.ndarray

    def __post_init__(self) -> None:
        for name in ("starts", "stops"):
            object.__setattr__(self, name, _vector(f"{name} of spans", getattr(self, name), _CODE_TYPES))
        if self.starts.dtype != self.stops.dtype or self.starts.size != self.stops.size:
            raise _refused(
                f"spans need starts and stops of one dtype and length, got {self.starts.dtype} x {self.starts.size} "
                f"and {self.stops.dtype} x {self.stops.size}"
            )
        if self.starts.min() < 0 or (self.stops <= self.starts).any():
            raise _refused("a span must be a run of codes with 0 <= start < stop; check starts and stops")

    @property
    def atoms(self) -> int:
        """Number of atoms, k."""
        return self.starts.size


@dataclass(frozen=True, slots=True, eq=False)
class Bernoulli:
    """Give each atom code 1 with its own probability, else code 0.

    p: float32 or float64 (k,), probabilities of code 1, from 0 to 1.
    """

    document: ClassVar = ("law", "p")
    law: ClassVar[str] = "bernoulli"

    p: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", _vector("probabilities of code 1", self.p, _PROBABILITY_TYPES))
        if not ((self.p >= 0) & (self.p <= 1)).all():  # catches NaN as well
            raise _refused("probabilities of code 1 must lie from 0 to 1; clip them")

    @property
    def atoms(self) -> int:
        """Number of atoms, k."""
        return self.p.size


ColumnLaw = Indexed | Spans | Bernoulli


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, kw_only=True)
class LogLinear:
    """Hold a log-linear model beside the atoms: density = product of base laws times ``exp(sum of theta)``.

    thetas: tuple of float64, one per table, shaped by the groups of its groupings; finite; base: the base law of each
    column of the model: tables of one law; free: numbers of the tables whose theta is as few atoms had it, and is still
    to be fitted to all of them: `lapwing.model.sampling.grouped.settle_theta`; atoms: the laws of these atoms in each
    column of ``base``, where a table is free.
    """

    tables: tuple[tuple[str, ...], ...]
    groupings: tuple[tuple[Grouping, ...], ...]
    thetas: tuple[np.ndarray, ...]
    base: Mapping[str, Laws]
    free: tuple[int, ...] = ()
    atoms: Mapping[str, Indexed] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len(self.tables) == len(self.groupings) == len(self.thetas):
            raise _refused(
                f"a log-linear part needs groupings and theta for each table, got {len(self.tables)} tables, "
                f"{len(self.groupings)} lists of groupings and {len(self.thetas)} thetas"
            )
        for columns, groupings, theta in zip(self.tables, self.groupings, self.thetas, strict=True):
            shape = tuple(grouping.groups for grouping in groupings)
            if len(columns) != len(groupings) or len(set(columns)) != len(columns) or np.shape(theta) != shape:
                raise _refused(
                    f"theta over {columns} must have an axis per distinct column, shape {shape}, not {np.shape(theta)}"
                )
        thetas = tuple(read_only(theta, np.dtype(np.float64)) for theta in self.thetas)
        if not all(np.isfinite(theta).all() for theta in thetas):
            raise _refused("theta of a log-linear part must be finite; clip it")
        if any(laws.count != 1 for laws in self.base.values()):
            raise _refused("each base law of a log-linear part must be a table of one law")
        if not all(0 <= place < len(thetas) for place in self.free):
            raise _refused(f"a free table of a log-linear part is a number below {len(thetas)}")
        wanted = self.base if self.free else {}
        kinds = {name: self.atoms.get(name) for name in wanted}
        if not all(isinstance(law, Indexed) for law in kinds.values()) or len(self.atoms) != len(kinds):
            raise _refused("a log-linear part with free tables needs an indexed law of the atoms for each base law")
        if len({law.atoms for law in self.atoms.values()}) > 1:
            raise _refused("the laws of the atoms of a log-linear part must be of equally many atoms")
        object.__setattr__(self, "atoms", Frozen(self.atoms))
        object.__setattr__(self, "thetas", thetas)
        object.__setattr__(self, "base", Frozen(self.base))


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, kw_only=True)
class ReleasedModel:
    """A mixture of products: k weighted atoms, each a product over columns of simple laws.

    Parameters
    ----------
    weights : ndarray of float64, shape (k,)
        From 0 to 1e100, the largest at least 1e-100; only their ratios matter.
    rows : int, at least 0
        The released (public or noisy) number of rows that the model stands for.
    laws : mapping of str to Indexed, Spans or Bernoulli
        One per modelled column, in the order of the schema's columns; k atoms each.
    log_linear : LogLinear, optional
        Rides along; from it rows can be drawn that no atom stands for.

    Raises
    ------
    ParameterError
        If the parts disagree.

    Notes
    -----
    Everything here was computed from noisy answers and public settings; the model may be published. All arrays are
    read-only. Memory: 8 bytes an atom and, per column, 1 to 4 (Indexed), 2 to 16 (Spans), 4 or 8 (Bernoulli).

    Examples
    --------
    >>> coin = Bernoulli(np.array([0.25]))
    >>> ReleasedModel(weights=np.ones(1), rows=10, laws={"flag": coin}).atoms
    1
    """

    weights: np.ndarray
    rows: int
    laws: Mapping[str, ColumnLaw]
    log_linear: LogLinear | None = None

    def __repr__(self) -> str:
        return f"ReleasedModel({len(self.laws)} columns, {self.atoms} atoms, {self.rows} rows)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", floats("the weights of atoms", self.weights))
        object.__setattr__(self, "laws", Frozen(self.laws))
        if self.weights.size == 0 or not ((self.weights >= 0) & (self.weights <= _MAX_WEIGHT)).all():
            raise _refused("the weights of atoms must lie from 0 to 1e100; scale them")
        if self.weights.max() < 1 / _MAX_WEIGHT:
            raise _refused("the largest of the weights of atoms must be at least 1e-100; scale them")
        if isinstance(self.rows, bool) or not isinstance(self.rows, int) or not 0 <= self.rows <= _MAX_ROWS:
            raise _refused(f"rows of a model must be a whole number from 0 to 2**53, got {self.rows!r}; round it")
        for name, law in self.laws.items():
            if law.atoms != self.atoms:
                raise _refused(f"column {name!r} has laws for {law.atoms} of {self.atoms} atoms; give one each")

    @property
    def atoms(self) -> int:
        """Number of atoms, k."""
        return self.weights.size

    def validate(self, schema: Schema) -> None:
        """Check that the model is one of this schema.

        Parameters
        ----------
        schema : Schema
            The schema of the release.

        Raises
        ------
        ParameterError
            If columns disagree, or a law leaves the domain of its column or touches the misfit code.
        """
        names = tuple(field.name for field in schema.columns)
        if tuple(self.laws) != names:
            raise _refused(f"a model of columns {tuple(self.laws)} does not fit a schema of columns {names}")
        for column in schema.columns:
            _check_codes(f"column {column.name!r}", column.domain, _stop_of(self.laws[column.name]))
        if self.log_linear is not None:
            _check_log_linear(self.log_linear, schema)


def whole_rows(total: float) -> int:
    """Return a noisy number of rows as a model has it: whole, from 0 to the most that can be drawn.

    >>> whole_rows(-2.5), whole_rows(2.0**62) == MOST_ROWS
    (0, True)
    """
    return min(max(0, round(total)), MOST_ROWS)


def narrow(index: np.ndarray) -> np.ndarray:
    """Return an index of laws in the smallest dtype that holds it."""
    largest = int(index.max(initial=0))
    fitting = [dtype for dtype in _INDEX_TYPES if largest <= np.iinfo(dtype).max]
    if not fitting or index.min(initial=0) < 0:
        raise _refused(f"an index of laws must lie from 0 to 2**32 - 1, got one up to {largest}")
    return index.astype(fitting[0])


def _vector(name: str, values: np.ndarray, dtypes: tuple[np.dtype, ...]) -> np.ndarray:
    """Return values as a read-only vector, or refuse them under ``name``."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.size == 0 or values.dtype not in dtypes:
        got = f"{values.dtype} of shape {values.shape}" if isinstance(values, np.ndarray) else type(values).__name__
        raise _refused(f"{name} must be a vector of {', '.join(map(str, dtypes))} with one entry or more, got {got}")
    return read_only(values)


def _stop_of(law: ColumnLaw) -> int:
    """Return the first code that no atom reaches."""
    match law:
        case Indexed():
            return int(law.laws.stops.max())
        case Spans():
            return int(law.stops.max())
        case Bernoulli():
            return 2 if law.p.any() else 1


def _check_codes(what: str, domain: Domain, stop: int) -> None:
    """Refuse codes outside the domain; the last code may be used only where it means missing."""
    allowed = domain.size if domain.missing else domain.last
    if stop > allowed:
        raise _refused(f"{what} has a law that reaches code {stop - 1}, but its largest code is {allowed - 1}")


def _check_log_linear(part: LogLinear, schema: Schema) -> None:
    """Refuse a log-linear part whose columns, groupings or base laws are not of the schema."""
    domains = {field.name: field.domain for field in schema.columns}
    if set(part.base) != set(domains):
        raise _refused("a log-linear part needs one base law for each column of the schema; fit it again")
    for name, laws in part.base.items():
        _check_codes(f"the base law of {name!r}", domains[name], int(laws.stops.max()))
    for columns, groupings in zip(part.tables, part.groupings, strict=True):
        check_groupings(schema, columns, groupings)


def check_groupings(schema: Schema, columns: tuple[str, ...], groupings: tuple[Grouping, ...]) -> None:
    """Refuse groupings that do not map the domains of these columns of the schema."""
    domains = {field.name: field.domain for field in schema.columns}
    for name, grouping in zip(columns, groupings, strict=True):
        if name not in domains:
            raise _refused(f"a table names {name!r}, which is no modelled column of the schema")
        domain = domains[name]
        if (grouping.values, grouping.reserved) != (domain.values, domain.reserved):
            raise _refused(
                f"a grouping of {grouping.values} values and {grouping.reserved} reserved codes does not fit column "
                f"{name!r}, which has {domain.values} and {domain.reserved}"
            )
